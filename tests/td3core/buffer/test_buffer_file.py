"""The replay buffer on disk: only new rows are written, and they are read back unchanged."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.buffer.buffer_file import BLOCK, BufferFile, ring_in
from td3core.buffer.replay_buffer import ReplayBuffer, ring_sizes
from td3core.buffer.rows import RowLayout
from td3core.errors import RequestError
from tests.support.power import failing
from tests.td3core.helpers import sample

WIDTH = 4 * (2 * 1 + 1 + 2)


def add(buffer: ReplayBuffer, count: int) -> None:
    for _ in range(count):
        n = float(buffer.stored)
        buffer.add(np.float32([n]), np.float32([n / 2]), n, np.float32([n + 1]), False)


def samples(buffer: ReplayBuffer) -> bytes:
    batch = sample(buffer, np.random.default_rng(0), 500)
    return b"".join(part.tobytes() for part in batch)


@given(
    capacity=st.integers(1, 50),
    slack=st.integers(0, 60),
    pieces=st.lists(st.integers(0, 40), min_size=1, max_size=8),
)
def test_sampling_does_not_depend_on_the_slack(
    capacity: int, slack: int, pieces: list[int]
) -> None:
    plain, roomy = ReplayBuffer(capacity, 1, 1), ReplayBuffer(capacity, 1, 1, slack)
    for buffer in (plain, roomy):
        add(buffer, sum(pieces) + 1)
    assert samples(plain) == samples(roomy)


@given(
    capacity=st.integers(1, 3 * BLOCK),
    pieces=st.lists(st.integers(0, 700), min_size=2, max_size=12),
    looked_at=st.integers(0, 11),
)
def test_an_older_state_can_be_read_back_until_the_slack_is_used_up(
    tmp_path_factory: pytest.TempPathFactory, capacity: int, pieces: list[int], looked_at: int
) -> None:
    path, slack = tmp_path_factory.mktemp("memory") / "replay.f32", 700
    buffer = ReplayBuffer(capacity, 1, 1, slack)
    file = BufferFile(path, buffer)
    for number, count in enumerate(pieces):
        add(buffer, count)
        sums, stored = file.save(), buffer.stored
        before = samples(buffer) if stored else b""
        if number == looked_at % len(pieces) and stored:
            # What the next save writes, whether or not its checkpoint comes to be.
            add(buffer, slack)
            file.save()
            again = ReplayBuffer(capacity, 1, 1, slack)
            BufferFile(path, again).load(stored, sums)
            assert samples(again) == before
            assert again.stored == stored
            break


def test_the_length_of_a_file_tells_two_rings_with_as_many_checksums_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, layout = tmp_path / "replay.f32", RowLayout.of(1, 1)
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 30)
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK_BYTES", 20 * layout.bytes)
    assert ring_sizes(100, layout) == (120, 130)
    for rows, ring in ((0, 120), (120, 120), (121, 130), (130, 130)):
        path.write_bytes(bytes(rows * layout.bytes))
        assert ring_in(path, np.zeros(2, np.uint32), 100, layout) == ring


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    path, buffer = tmp_path / "replay.f32", ReplayBuffer(5000, 1, 1, slack=1000)
    file = BufferFile(path, buffer)
    written: list[int] = []
    for count in (3000, 10, 0, 4000):
        add(buffer, count)
        file.save()
        rows = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, WIDTH)
        written.append(int(rows.any(axis=1).sum()))
        # What is written next shows in the zeros.
        path.write_bytes(bytes(path.stat().st_size))
    assert written == [3000, 10, 0, 4000]
    assert path.stat().st_size == 6000 * WIDTH


def test_after_reading_it_back_only_what_is_new_is_written(tmp_path: Path) -> None:
    path, buffer = tmp_path / "replay.f32", ReplayBuffer(5000, 1, 1, slack=1000)
    add(buffer, 3000)
    sums = BufferFile(path, buffer).save()
    again = ReplayBuffer(5000, 1, 1, slack=1000)
    file = BufferFile(path, again)
    file.load(3000, sums)
    path.write_bytes(bytes(3000 * WIDTH))
    add(again, 10)
    file.save()
    rows = np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, WIDTH)
    assert np.flatnonzero(rows.any(axis=1)).tolist() == list(range(3000, 3010))


@pytest.mark.parametrize("left", [None, 0, 1000])
def test_a_file_that_was_deleted_or_shortened_is_written_whole_again(
    tmp_path: Path, left: int | None
) -> None:
    path, buffer = tmp_path / "replay.f32", ReplayBuffer(2000, 1, 1, slack=500)
    file = BufferFile(path, buffer)
    add(buffer, 1500)
    file.save()
    if left is None:
        path.unlink()
    else:
        os.truncate(path, left * WIDTH)
    add(buffer, 10)
    sums = file.save()
    again = ReplayBuffer(2000, 1, 1, slack=500)
    BufferFile(path, again).load(1510, sums)
    assert samples(again) == samples(buffer)


def test_a_memory_read_back_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    straight, broken = (ReplayBuffer(2000, 1, 1, slack=500) for _ in range(2))
    add(straight, 4321)
    file = BufferFile(path, broken)
    add(broken, 3000)
    sums = file.save()
    add(broken, 500)
    file.save()
    again = ReplayBuffer(2000, 1, 1, slack=500)
    file = BufferFile(path, again)
    file.load(3000, sums)
    add(again, 400)
    file.save()
    add(again, 4321 - 3400)
    assert samples(again) == samples(straight)


@pytest.mark.skipif(os.name != "posix", reason="needs flushed folders")
def test_a_saved_memory_survives_a_power_failure(tmp_path: Path) -> None:
    buffer = ReplayBuffer(100, 1, 1, slack=50)
    file = BufferFile(tmp_path / "replay.f32", buffer)
    with failing(tmp_path, lambda: 0) as power:
        for count in (20, 300):
            add(buffer, count)
            file.save()
            whole = {"replay.f32": (tmp_path / "replay.f32").read_bytes()}
            assert all(tree == whole for tree in power.fail().values())


def test_an_empty_memory_is_saved_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "replay.f32"
    sums = BufferFile(path, ReplayBuffer(10, 1, 1)).save()
    path.touch()
    buffer = ReplayBuffer(10, 1, 1)
    BufferFile(path, buffer).load(0, sums)
    assert buffer.size == 0


@pytest.mark.parametrize("damage", ["missing", "short", "flipped", "overwritten", "not a number"])
def test_a_file_that_is_not_what_it_was_is_refused(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "replay.f32"
    buffer = ReplayBuffer(3000, 1, 1, slack=500)
    file = BufferFile(path, buffer)
    add(buffer, 3400)
    sums = file.save()
    data = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "short":
        path.write_bytes(data[:-1])
    elif damage == "flipped":
        data[2 * BLOCK * WIDTH] ^= 1
        path.write_bytes(data)
    elif damage == "overwritten":
        add(buffer, 2500)
        file.save()
    else:
        # In a block that the ring has partly moved on from, and that no check sum covers.
        place = 410 * WIDTH
        data[place : place + 4] = np.float32([np.nan]).tobytes()
        path.write_bytes(data)
    with pytest.raises(RequestError, match=r"replay\.f32"):
        BufferFile(path, ReplayBuffer(3000, 1, 1, slack=500)).load(3400, sums)
