"""Power failures: the contents of a folder if the system kept only what was flushed.

A kill leaves what the kernel holds; a power cut leaves what has reached the disk. That is certain
only of a file's contents as of its last fsync, and of names (new, renamed, deleted) as of the last
fsync of the folder they stand in. Of all else the disk may hold the old or the new, by the name and
by the sector.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECTOR = 64
"""Bytes written at once; smaller than real ones, so that small files have several."""

Tree = dict[str, bytes | None]
"""Every file below a folder, by its path; ``None`` is a folder."""
Choose = Callable[[], bool]
"""Decides for one name, or one sector, whether the new version has reached the disk."""


def never() -> bool:
    """Say that nothing has reached the disk unasked."""
    return False


def always() -> bool:
    """Say that everything has reached the disk."""
    return True


def _either(seed: int) -> Choose:
    source = random.Random(seed)
    return lambda: source.random() < 0.5


def disks(seed: int) -> dict[str, tuple[Choose, Choose]]:
    """Return the possible treatments of names and contents that were not flushed."""
    return {
        "nothing unasked": (never, never),
        "names, but not contents": (always, never),
        "contents, but not names": (never, always),
        "every name and some sectors": (always, _either(seed)),
        "some names and some sectors": (_either(seed + 1), _either(seed + 2)),
    }


@dataclass
class Cut:
    """The power fails: a moment, a disk, and what it holds."""

    moment: int
    disk: str
    tree: Tree
    env_steps: int

    def lay_out(self, folder: Path) -> None:
        """Write the tree to a folder."""
        for name, contents in self.tree.items():
            path = folder / name
            if contents is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.write_bytes(contents)


@dataclass
class Power:
    """Follows all changes below ``root``, and predicts every cut that could make a difference."""

    root: Path
    env_steps: Callable[[], int]
    """The step of the run, recorded with each cut."""
    _held: dict[int, int] = field(default_factory=dict)
    """An open handle for each file and folder ever seen: its number is not given to another."""
    _contents: dict[int, bytes] = field(default_factory=dict)
    """Contents of files, as last flushed."""
    _names: dict[int, dict[str, int]] = field(default_factory=dict)
    """Names in folders, as last flushed."""
    _cuts: dict[int, Cut] = field(default_factory=dict)
    _moment: int = 0

    def begin(self) -> None:
        """Treat everything that exists already as safely on disk."""
        self._names = self._look()
        self._contents = {n: self._read(n) for n in self._held if n not in self._names}

    def close(self) -> None:
        """Let go of all handles."""
        for handle in self._held.values():
            os.close(handle)

    def flushed(self, handle: int) -> None:
        """Note that a file or folder has been flushed."""
        now, number = self._look(), os.fstat(handle).st_ino
        if number in now:
            self._names[number] = now[number]
        elif number in self._held:
            self._contents[number] = self._read(number)

    def fail(self) -> dict[str, Tree]:
        """Return the contents of each kind of disk if the power fails now; keep new outcomes."""
        now, trees = self._look(), dict[str, Tree]()
        self._moment += 1
        for disk, (name, sector) in disks(self._moment * 3).items():
            tree = dict(self._tree(self.root.stat().st_ino, "", now, name, sector))
            trees[disk] = tree
            state = hash(frozenset(tree.items()))
            # Of moments with the same outcome the latest: most would be lost in it.
            self._cuts[state] = Cut(self._moment, disk, tree, self.env_steps())
        return trees

    @property
    def cuts(self) -> list[Cut]:
        """All cuts that make a difference."""
        return list(self._cuts.values())

    def _look(self) -> dict[int, dict[str, int]]:
        """Return the names in each folder, as a process sees them."""
        found = {}
        for here, folders, files in os.walk(self.root):
            path = Path(here)
            names = {name: self._hold(path / name) for name in (*folders, *files)}
            found[self._hold(path)] = names
        return found

    def _hold(self, path: Path) -> int:
        number = path.stat().st_ino
        if number not in self._held:
            self._held[number] = os.open(path, os.O_RDONLY)
        return number

    def _read(self, number: int) -> bytes:
        handle = self._held[number]
        return os.pread(handle, os.fstat(handle).st_size, 0)

    def _tree(
        self, folder: int, place: str, now: dict[int, dict[str, int]], name: Choose, sector: Choose
    ) -> Iterator[tuple[str, bytes | None]]:
        old, new = self._names.get(folder, {}), now.get(folder, {})
        for each in sorted(old.keys() | new.keys()):
            number = old.get(each) if old.get(each) == new.get(each) else None
            if number is None:
                number = (new if name() else old).get(each)
            if number is None:
                continue
            if number in now or number in self._names:
                yield f"{place}{each}", None
                yield from self._tree(number, f"{place}{each}/", now, name, sector)
            else:
                yield f"{place}{each}", self._left(number, sector)

    def _left(self, number: int, sector: Choose) -> bytes:
        """Return what is left of a file's contents; a hole is read as zeros."""
        old, new = self._contents.get(number, b""), self._read(number)
        size = len(old) if old == new or not sector() else len(new)
        found = bytearray(old[:size].ljust(size, b"\0"))
        for begin in range(0, size, SECTOR):
            part = new[begin : min(begin + SECTOR, size)]
            if found[begin : begin + SECTOR] != part and sector():
                found[begin : begin + len(part)] = part
        return bytes(found)


@contextmanager
def failing(root: Path, env_steps: Callable[[], int]) -> Iterator[Power]:
    """Foretell a cut before and after each flush, renaming, link and deletion below ``root``."""
    power = Power(root, env_steps)
    power.begin()

    def around(work: Any, done: Callable[..., None] = lambda *_: None) -> Any:
        def wrapped(*given: Any, **more: Any) -> Any:
            power.fail()
            result = work(*given, **more)
            done(*given)
            power.fail()
            return result

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", around(os.fsync, power.flushed))
        for name in ("replace", "link", "unlink", "mkdir"):
            patch.setattr(os, name, around(getattr(os, name)))
        try:
            yield power
        finally:
            patch.undo()
            power.close()
