"""Written data survives a power failure as soon as the function returns."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from td3core.system.files import GrowingFile, alias, copy, make_folder, write_atomically
from tests.support.power import Tree, failing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links and flushed folders")

OLD, NEW = b"old" * 100, b"new" * 120


def grow(folder: Path) -> None:
    file = GrowingFile(folder / "to")
    file.append("first\n")
    file.sync()
    file.append("second\n")
    file.sync()


WRITES: dict[str, Callable[[Path], None]] = {
    "replaced": lambda folder: write_atomically(folder / "to", NEW),
    "named again": lambda folder: alias(folder / "from", folder / "to"),
    "copied": lambda folder: copy(folder / "from", folder / "new"),
    "made": lambda folder: make_folder(folder / "a/b"),
    "appended": grow,
}


def left(folder: Path) -> Tree:
    """Return what is below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_was_written_survives(tmp_path: Path, write: Callable[[Path], None]) -> None:
    (tmp_path / "from").write_bytes(NEW)
    (tmp_path / "to").write_bytes(OLD)
    with failing(tmp_path, lambda: 0) as power:
        before = left(tmp_path)
        write(tmp_path)
        after = left(tmp_path)
        trees = power.fail()
    assert before != after
    assert {disk for disk, tree in trees.items() if tree != after} == set()
    # And on the way to it, each file was the old or the new one.
    for cut in power.cuts:
        for name in ("from", "to"):
            assert (name == "to" and write is grow) or cut.tree[name] in (before[name], after[name])


def test_a_folder_without_links_gets_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", none)
    test_what_was_written_survives(tmp_path, WRITES["named again"])
    assert (tmp_path / "to").stat().st_ino != (tmp_path / "from").stat().st_ino


@pytest.mark.parametrize("broken", ["replace", "link"])
def test_a_name_that_cannot_be_given_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    (tmp_path / "from").write_bytes(NEW)
    (tmp_path / "to").write_bytes(OLD)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, broken, full)
    monkeypatch.setattr("td3core.system.files.os.pread", full)
    with pytest.raises(OSError, match="No space left"):
        alias(tmp_path / "from", tmp_path / "to")
    assert left(tmp_path) == {"from": NEW, "to": OLD}


@pytest.mark.parametrize("write", [alias, copy])
def test_a_copy_that_is_interrupted_leaves_the_old_file_and_no_part_of_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path, Path], None]
) -> None:
    (tmp_path / "from").write_bytes(NEW)
    (tmp_path / "to").write_bytes(OLD)

    def no_link(*_: object) -> None:
        raise OSError("no links here")

    def interrupted(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "hardlink_to", no_link)
    monkeypatch.setattr("td3core.system.files.os.pread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "from", tmp_path / "to")
    assert left(tmp_path) == {"from": NEW, "to": OLD}


def test_a_name_that_a_file_has_already_leaves_no_third_one(tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(NEW)
    for _ in range(2):
        alias(tmp_path / "from", tmp_path / "to")
    assert left(tmp_path) == {"from": NEW, "to": NEW}


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="no way to find holes")
def test_a_copy_takes_as_much_room_as_the_file(tmp_path: Path) -> None:
    path, other = tmp_path / "replay.f32", tmp_path / "copy.f32"
    with path.open("wb") as file:
        file.write(b"first")
        file.seek(3 * 2**20 + 17)
        file.write(b"middle" * 300_000)
        file.truncate(2**33)
    copy(path, other)
    assert other.stat().st_size == 2**33
    assert other.stat().st_blocks <= path.stat().st_blocks + 16
    with path.open("rb") as one, other.open("rb") as two:
        assert one.read(6 * 2**20) == two.read(6 * 2**20)
    copied = tmp_path / "plain"
    copied.write_bytes(os.urandom(2**21 + 3))
    other.unlink()
    copy(copied, other)
    assert other.read_bytes() == copied.read_bytes()
