"""The pictures and numbers of the current episode, compressed and bounded in memory."""

import io
from bisect import bisect_right
from typing import NamedTuple

import numpy as np

from studio.replay.renderer.protocol import Frame
from studio.replay.renderer.scaling import Picture

MOST_BYTES = 128 * 2**20
_QUALITY = 90
_OVERHEAD = 1000
"""Upper bound in bytes for a step's numbers, without its picture."""


class Kept(NamedTuple):
    """A step that was drawn."""

    jpeg: bytes
    frame: Frame

    @property
    def step(self) -> int:
        """Number of the step, from 0."""
        return self.frame.step.number

    @property
    def size(self) -> int:
        """Bytes it takes."""
        return len(self.jpeg) + _OVERHEAD

    def picture(self) -> Picture:
        """Return the picture, shape (height, width, 3)."""
        # Imported late: not every renderer draws.
        from PIL import Image

        with Image.open(io.BytesIO(self.jpeg)) as image:
            return np.asarray(image)


class Recording:
    """Keeps the drawn steps of one episode, in the environment's own size.

    When they take too much memory, every second one is dropped, and from then on only every second
    new one is kept.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self.clear()

    def clear(self) -> None:
        """Forget the episode."""
        self._kept: list[Kept] = []
        self._seen, self._every = 0, 1
        self.bytes = 0
        """Bytes kept."""

    def add(self, picture: Picture, frame: Frame) -> None:
        """Keep a step, unless it is kept already; steps arrive in order."""
        if self._kept and frame.step.number <= self._kept[-1].step:
            return
        self._seen += 1
        if (self._seen - 1) % self._every and not frame.step.over:
            return
        kept = Kept(_compressed(picture), frame)
        self._kept.append(kept)
        self.bytes += kept.size
        while self.bytes > self._most_bytes and len(self._kept) > 1:
            self._thin_out()

    def _thin_out(self) -> None:
        self._kept = self._kept[::2]
        self._every *= 2
        self.bytes = sum(kept.size for kept in self._kept)

    def at(self, step: int) -> Kept | None:
        """Return the last kept step up to ``step``."""
        at = self._after(step)
        return self._kept[at - 1] if at else None

    def after(self, step: int) -> Kept | None:
        """Return the first kept step after ``step``."""
        at = self._after(step)
        return self._kept[at] if at < len(self._kept) else None

    def _after(self, step: int) -> int:
        return bisect_right(self._kept, step, key=lambda kept: kept.step)


def _compressed(picture: Picture) -> bytes:
    from PIL import Image

    target = io.BytesIO()
    # Full colour resolution: simulators draw thin coloured lines.
    Image.fromarray(picture).save(target, "JPEG", quality=_QUALITY, subsampling=0)
    return target.getvalue()
