"""A replay buffer that this machine could not hold is refused before anything is written."""

from pathlib import Path

import pytest

from td3core.buffer.replay_buffer import SLACK, make_buffer, ring_rows
from td3core.buffer.rows import RowLayout
from td3core.errors import RequestError
from td3core.protocol.events import Failed
from tests.td3core.helpers import run


def test_a_memory_beyond_the_machine_is_refused_with_what_would_fit(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.buffer.replay_buffer.usable_memory", lambda: 20_000)
    outcome, _ = run(runs_dir, buffer_size=1000)
    assert isinstance(outcome, Failed)
    assert outcome.request
    assert "buffer_size 1000" in str(outcome.message)
    assert "would fit" in str(outcome.message)
    assert not runs_dir.exists()


def test_a_memory_that_fits_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from td3core.envs.make import check_env

    info = check_env("Pendulum-v1")
    room = 100 * RowLayout.of(*info.sizes).bytes
    monkeypatch.setattr("td3core.buffer.replay_buffer.usable_memory", lambda: room)
    assert make_buffer(100, info.obs_dim, info.act_dim).capacity == 100
    with pytest.raises(RequestError):
        make_buffer(101, info.obs_dim, info.act_dim)


def test_the_rows_beyond_the_capacity_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    room = (100 + SLACK) * RowLayout.of(3, 1).bytes
    monkeypatch.setattr("td3core.buffer.replay_buffer.usable_memory", lambda: room)
    assert make_buffer(100, 3, 1, kept=True).rows.nbytes == room
    with pytest.raises(RequestError, match="buffer_size 101 "):
        make_buffer(101, 3, 1, kept=True)


def test_as_many_transitions_as_are_said_to_fit_do_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    room = 3 * SLACK * RowLayout.of(3, 1).bytes
    monkeypatch.setattr("td3core.buffer.replay_buffer.usable_memory", lambda: room)
    with pytest.raises(RequestError, match=f"About {SLACK // 2} transitions would fit"):
        make_buffer(10 * SLACK, 3, 1, kept=True)
    assert make_buffer(SLACK // 2, 3, 1, kept=True).rows.nbytes == room / 2


def test_rows_beyond_the_capacity_take_a_gibibyte_at_most() -> None:
    images = RowLayout.of(96 * 96 * 3, 3)
    assert 0.99 < (ring_rows(1000, images, kept=True) - 1000) * images.bytes / 2**30 <= 1.0
    humanoid = RowLayout.of(348, 17)
    assert ring_rows(1000, humanoid, kept=True) == 1000 + SLACK
    assert ring_rows(1000, images, kept=False) == 1000


def test_memory_that_the_system_does_not_grant_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 103. GiB")

    with monkeypatch.context() as patch:
        patch.setattr("td3core.buffer.replay_buffer.np.zeros", refuse)
        with pytest.raises(RequestError, match="more than the system grants") as refused:
            make_buffer(1000, 3, 1)
    assert "buffer_size 1000" in str(refused.value)
