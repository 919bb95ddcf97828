"""A replay buffer that this machine could not hold is refused before anything is written."""

from pathlib import Path

import pytest

from td3core.buffer.replay_buffer import make_buffer
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
