"""How many cores and how much memory this process may use; containers may have less than shown."""

import os
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores(cgroup: Path = _CGROUP) -> int:
    """Return the number of cores this process may use (at least 1)."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # Not on macOS or Windows.
        cores = os.cpu_count() or 1
    words = _words(cgroup / "cpu.max")
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        cores = min(cores, round(int(words[0]) / int(words[1])))
    return max(cores, 1)


def free_memory(cgroup: Path = _CGROUP) -> int:
    """Return the bytes of memory that are still available to this process."""
    free = int(psutil.virtual_memory().available)
    limit, used = _words(cgroup / "memory.max"), _words(cgroup / "memory.current")
    if limit and used and limit[0].isdigit() and used[0].isdigit():
        free = min(free, max(int(limit[0]) - int(used[0]), 0))
    return free


def _words(path: Path) -> list[str]:
    """Return the words of a file of the control group; none where there are no control groups."""
    try:
        return path.read_text().split()
    except (OSError, ValueError):
        return []
