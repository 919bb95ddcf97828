"""Output of the renderer: messages through the pipe, pictures through shared memory."""

import numpy as np

from studio.replay.renderer import protocol
from studio.replay.renderer.frame_ring import RingWriter
from studio.replay.renderer.scaling import Picture, fitted
from td3core.system.child_process import LinePipe


class FrameSender:
    """Sends to the window, with pictures in the size that it shows."""

    def __init__(self, pipe: LinePipe, prefix: str) -> None:
        self._pipe, self._ring = pipe, RingWriter(prefix)
        self._box: protocol.Fit | None = None
        """The size for one picture; None until the window requests one."""

    @property
    def has_room(self) -> bool:
        """True if a picture can be sent."""
        return self._ring.has_room

    def fit(self, box: protocol.Fit) -> None:
        """Send pictures in this size, except captures."""
        self._box = box

    def release(self, slot: int) -> None:
        """Reuse a slot."""
        self._ring.release(slot)

    def send(self, reply: protocol.Reply) -> None:
        """Send a message."""
        self._pipe.send(reply)

    def send_picture(self, picture: Picture, frame: protocol.Frame) -> None:
        """Send a picture, or several side by side, and the message about it."""
        picture = self._scaled(picture, max(1, len(frame.steps)))
        block = self._ring.fit(picture)
        if block:
            self.send(protocol.Block(name=block))
        height, width, _ = picture.shape
        slot = self._ring.write(picture)
        self.send(protocol.Drawn(slot, width, height, frame))

    def send_capture(self, picture: Picture, frame: protocol.Frame) -> None:
        """Send a picture in its own size, with its numbers."""
        self.send(protocol.Captured(picture, frame))

    def close(self) -> None:
        """Free the shared memory."""
        self._ring.close()

    def _scaled(self, picture: Picture, count: int) -> Picture:
        if self._box is None:
            return picture
        if count == 1:
            return fitted(picture, *self._box)
        tiles = np.split(picture, count, axis=1)
        return np.concatenate(
            [fitted(np.ascontiguousarray(tile), *self._box) for tile in tiles], axis=1
        )
