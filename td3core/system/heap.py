"""How much freed memory the C library keeps for later allocations."""

import contextlib
import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""
_KEPT = 64 << 20
_LARGEST = 16 << 20


def keep_freed_memory() -> None:
    """Let this process keep up to 64 MB of freed memory, if the C library is glibc.

    Drawing an image briefly takes a few megabytes. If they are returned to the system each time,
    getting them again causes hundreds of page faults, which take a third as long as drawing.
    """
    if sys.platform != "linux":
        return
    # Other C libraries have no mallopt.
    with contextlib.suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGEST)
