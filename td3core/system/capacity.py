"""Cores and memory that this process may use: a container may have less than the system reports.

The only module that determines these. Limits are those of this process's control groups, v1 or v2;
without any, the whole machine counts. Nothing is cached: a limit may change at run time.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_JOBS = 1024
"""Most runs at once that may be asked for."""
_ROOT = Path("/")


def usable_cores(root: Path = _ROOT) -> int:
    """Return the number of cores this process may use (at least 1)."""
    cores = _allowed_cores()
    for folder in _groups(root, "cpu"):
        words = _words(folder / "cpu.max")
        if not words:
            words = [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
        # Not a number, or a negative one: no limit.
        with contextlib.suppress(ValueError):
            quota, period = map(int, words)
            if quota > 0 and period > 0:
                cores = min(cores, quota // period)
    return max(cores, 1)


def free_cores(root: Path = _ROOT) -> int:
    """Return how many usable cores are idle now, at least 1."""
    usable = usable_cores(root)
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return usable
    # The load is measured for the whole machine.
    idle = (os.cpu_count() or 1) - round(load)
    return max(min(usable, idle), 1)


def usable_memory(root: Path = _ROOT) -> int:
    """Return the maximum memory of this process, in bytes."""
    return min([_machine_memory()[0], *(limit for limit, _ in _memory_limits(root))])


def free_memory(root: Path = _ROOT) -> int:
    """Return the memory still available to this process, in bytes."""
    left = (max(limit - used, 0) for limit, used in _memory_limits(root))
    return min([_machine_memory()[1], *left])


def _allowed_cores() -> int:
    if sys.version_info >= (3, 13):
        return os.process_cpu_count() or 1
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # Not on macOS or Windows.
        return os.cpu_count() or 1


def _machine_memory() -> tuple[int, int]:
    """Return the machine's total and available memory in bytes."""
    # Imported late: settings need the number of cores, and are imported everywhere.
    import psutil

    found = psutil.virtual_memory()
    return int(found.total), int(found.available)


def _memory_limits(root: Path) -> Iterator[tuple[int, int]]:
    """Yield each memory limit, and how much of it is in use and not reclaimable."""
    for folder in _groups(root, "memory"):
        limit = _words(folder / "memory.max") or _words(folder / "memory.limit_in_bytes")
        used = _words(folder / "memory.current") or _words(folder / "memory.usage_in_bytes")
        with contextlib.suppress(ValueError, IndexError):
            yield int(limit[0]), int(used[0]) - _reclaimable(folder)


def _reclaimable(folder: Path) -> int:
    """Return the bytes of inactive file cache, which the kernel reclaims when needed."""
    words = _words(folder / "memory.stat")
    found = dict(zip(words[::2], words[1::2], strict=False))
    # The first is that of cgroup v1, including nested groups.
    value = found.get("total_inactive_file", found.get("inactive_file", ""))
    return int(value) if value.isdigit() else 0


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control groups, each of which limits it.

    A container may not see the innermost group, and sees its own limits in the outermost one.
    """
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        # cgroup v2 has one hierarchy, v1 has one per controller.
        folder = root / "sys/fs/cgroup" / (controller if controllers else "")
        yield folder
        for part in path.split("/"):
            if part not in ("", "..") and "\0" not in part:
                folder /= part
                yield folder


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _text(path: Path) -> str:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return path.read_text()
    except (OSError, ValueError):
        return ""
