"""One process at a time writes to a run, and a dead one is no obstacle."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from td3core.errors import RequestError
from td3core.runs.lock import RunLock, holder, kept_free, left_behind
from td3core.system.json_lines import Codec
from td3core.text import Text

HOLD = """
import sys
from pathlib import Path
from td3core.runs.lock import RunLock
lock = RunLock(Path(sys.argv[1]))
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


@contextmanager
def another_process(root: Path, run: Path) -> Iterator[subprocess.Popen[str]]:
    """Let a process of its own hold the lock; a line on its input makes it let go."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def let_go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "released\n"


def test_a_run_held_by_another_process_is_refused_with_its_number(
    root: Path, tmp_path: Path
) -> None:
    with another_process(root, tmp_path) as other:
        with pytest.raises(RequestError, match=rf"is locked by a living process \(pid {other.pid}"):
            RunLock(tmp_path).acquire()
        found = holder(tmp_path)
        assert found is not None
        assert found.pid == other.pid
        let_go(other)
        assert holder(tmp_path) is None
        assert not left_behind(tmp_path)
        with RunLock(tmp_path):
            mine = holder(tmp_path)
            assert mine is not None
            assert mine.pid == os.getpid()


def test_the_lock_of_a_killed_process_is_free_at_once(root: Path, tmp_path: Path) -> None:
    with another_process(root, tmp_path) as other:
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert left_behind(tmp_path)
        assert holder(tmp_path) is None
        with RunLock(tmp_path):
            assert holder(tmp_path) is not None
    assert not left_behind(tmp_path)


def test_two_locks_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        with pytest.raises(RequestError, match=f"pid {os.getpid()}"):
            RunLock(tmp_path).acquire()
        # The one refused has not taken the record away.
        assert left_behind(tmp_path)
    with RunLock(tmp_path):
        pass


def test_the_number_of_a_process_that_came_later_does_not_pass_for_the_holder(
    tmp_path: Path,
) -> None:
    with RunLock(tmp_path):
        record = (tmp_path / "lock.json").read_text()
    # As a killed process leaves it, were its number given to this one.
    (tmp_path / "lock.json").write_text(record)
    assert left_behind(tmp_path)
    assert holder(tmp_path) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x", "host": 1}', "[" * 9000])
def test_a_damaged_record_costs_only_the_name_of_the_holder(tmp_path: Path, text: str) -> None:
    with RunLock(tmp_path):
        (tmp_path / "lock.json").write_text(text)
        with pytest.raises(RequestError, match=r"is locked by a living process\.$"):
            RunLock(tmp_path).acquire()


def test_another_process_that_is_told_of_the_holder_reads_the_same_words(tmp_path: Path) -> None:
    codec = Codec(Text)
    with RunLock(tmp_path), pytest.raises(RequestError) as refused:
        RunLock(tmp_path).acquire()
    told = codec.decode(codec.encode(refused.value.message))
    assert told.english == refused.value.message.english
    assert told.english.endswith(f"is locked by a living process (pid {os.getpid()}).")


def test_looking_at_a_run_that_was_never_locked_writes_nothing(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_cannot_be_locked(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="gone cannot be locked"):
        RunLock(tmp_path / "gone").acquire()


def test_a_run_that_is_kept_free_can_be_taken_only_afterwards(tmp_path: Path) -> None:
    with kept_free(tmp_path) as free:
        assert free
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(RequestError, match="is locked by a living process"):
            RunLock(tmp_path).acquire()
    with RunLock(tmp_path), kept_free(tmp_path) as free:
        assert not free


def test_releasing_twice_does_no_harm(tmp_path: Path) -> None:
    lock = RunLock(tmp_path)
    lock.release()
    lock.acquire()
    lock.release()
    lock.release()
    assert holder(tmp_path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
@pytest.mark.parametrize("deleted", [("lock",), ("lock", "lock.json")], ids="+".join)
def test_a_deleted_lock_lets_no_second_writer_in_while_the_first_lives(
    root: Path, tmp_path: Path, deleted: tuple[str, ...]
) -> None:
    with another_process(root, tmp_path) as other:
        for name in deleted:
            (tmp_path / name).unlink()
        assert holder(tmp_path) is not None
        refused = RunLock(tmp_path)
        # Asking again changes nothing: a refused lock leaves no new file that is free.
        for _ in range(2):
            with pytest.raises(RequestError, match="is locked by a living process"):
                refused.acquire()
        other.send_signal(signal.SIGKILL)
        other.wait()
        # The refused lock does not hold the new file either.
        with RunLock(tmp_path):
            assert holder(tmp_path) is not None
        refused.acquire()
        refused.release()
    assert holder(tmp_path) is None


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
def test_two_locks_of_one_process_exclude_each_other_without_the_file(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        (tmp_path / "lock").unlink()
        with pytest.raises(RequestError, match="is locked by a living process"):
            RunLock(tmp_path).acquire()
    with RunLock(tmp_path):
        pass


def test_where_folders_cannot_be_locked_the_file_still_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.runs.lock.fcntl", None)
    with RunLock(tmp_path), pytest.raises(RequestError, match=f"pid {os.getpid()}"):
        RunLock(tmp_path).acquire()
    assert holder(tmp_path) is None
