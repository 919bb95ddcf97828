"""A ring of pictures in shared memory: the renderer writes, the window reads and releases.

The window unlinks a block as soon as it has attached to it. Both sides keep their mapping, but the
name is gone, so that no memory leaks, however either side ends.
"""

import contextlib
from multiprocessing.shared_memory import SharedMemory

import numpy as np
from numpy.typing import NDArray

SLOTS = 3
CHANNELS = 3


class RingWriter:
    """The renderer's side. It reuses a slot only after the window has released it.

    Slot numbers are unique across blocks, so that a late release for an old block cannot free a
    slot of the new one.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._blocks = 0
        self._memory: SharedMemory | None = None
        self._slot_bytes = 0
        self._free: set[int] = set()

    @property
    def has_room(self) -> bool:
        """True if a slot is free."""
        return self._memory is None or bool(self._free)

    def fit(self, picture: NDArray[np.uint8]) -> str | None:
        """Create a new block if the picture needs one; return its name in that case."""
        if self._memory is not None and picture.nbytes == self._slot_bytes:
            return None
        self.close()
        name = block_name(self._prefix, self._blocks)
        self._memory = SharedMemory(name, create=True, size=picture.nbytes * SLOTS)
        self._slot_bytes = picture.nbytes
        self._free = {self._blocks * SLOTS + i for i in range(SLOTS)}
        self._blocks += 1
        return name

    def write(self, picture: NDArray[np.uint8]) -> int:
        """Copy a picture (height, width, 3) into a free slot and return the slot's number."""
        assert self._memory is not None
        slot = self._free.pop()
        start = slot % SLOTS * self._slot_bytes
        np.ndarray(picture.shape, np.uint8, self._memory.buf, start)[...] = picture
        return slot

    def release(self, slot: int) -> None:
        """Free a slot that the window no longer needs."""
        if self._memory is not None and slot // SLOTS == self._blocks - 1:
            self._free.add(slot)

    def close(self) -> None:
        """Close the block."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None


class RingReader:
    """The window's side."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._blocks = 0
        self._memory: SharedMemory | None = None

    def attach(self, name: str) -> None:
        """Attach to a new block; pictures in the old one are lost."""
        self.close()
        self._memory = SharedMemory(name)
        self._memory.unlink()
        self._blocks += 1

    def view(self, slot: int, width: int, height: int) -> memoryview:
        """Return the bytes of one picture; release the view before the next :meth:`attach`."""
        assert self._memory is not None
        assert self._memory.buf is not None
        size = width * height * CHANNELS
        start = slot % SLOTS * size
        return self._memory.buf[start : start + size]

    def close(self) -> None:
        """Close the block."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def sweep(self) -> None:
        """Remove a block that the renderer created but did not announce before it died."""
        with contextlib.suppress(FileNotFoundError):
            self.attach(block_name(self._prefix, self._blocks))
        self.close()


def block_name(prefix: str, number: int) -> str:
    """Return the name of a renderer's n-th block."""
    return f"{prefix}{number}"
