"""The rates that an environment declares, as any kind of number."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from td3core import checkpoint
from td3core.checkpoint.agent import agent_of
from td3core.envs.agent_view import ActionRepeat
from td3core.envs.rendering import DEFAULT_FPS
from td3core.exporters.actor.deployed import deployed_actor
from td3core.playing.playback import Playback
from tests.td3core.helpers import finish


class Clock(gym.Env[Any, Any]):
    metadata = {"render_modes": ["rgb_array"]}
    action_space = observation_space = gym.spaces.Box(-1, 1, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.observation_space.low, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.low, 0.0, False, True, {}


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    gym.register("Clock-v0", Clock)
    try:
        trained = finish(tmp_path_factory.mktemp("clock"), "Clock-v0").last_checkpoint
        assert trained is not None
        yield trained
    finally:
        del gym.registry["Clock-v0"]


NUMBERS = [50, 50.0, np.int64(50), np.float32(50), np.array(50)]
UNUSABLE = [0, -5, float("nan"), float("inf"), np.float32("nan"), np.int64(0), None, "50"]


@pytest.mark.parametrize("step", [0.04, np.float32(0.04), np.float64(0.04)], ids=repr)
def test_the_control_rate_is_that_of_the_physics_whatever_number_dt_is(
    clock: Path, monkeypatch: pytest.MonkeyPatch, step: Any
) -> None:
    monkeypatch.setattr(Clock, "dt", step, raising=False)
    monkeypatch.setitem(Clock.metadata, "render_fps", 50)
    assert deployed_actor(clock).control_rate_hz == 25.0


@pytest.mark.parametrize("fps", NUMBERS, ids=repr)
def test_the_frame_rate_may_be_any_kind_of_number(
    clock: Path, monkeypatch: pytest.MonkeyPatch, fps: Any
) -> None:
    monkeypatch.setitem(Clock.metadata, "render_fps", fps)
    assert deployed_actor(clock).control_rate_hz == 50.0
    assert speed(clock) == 50.0
    assert ActionRepeat(Clock(), 2).metadata["render_fps"] == 25.0


@pytest.mark.parametrize("fps", UNUSABLE, ids=repr)
def test_a_rate_that_is_no_positive_finite_number_is_as_none(
    clock: Path, monkeypatch: pytest.MonkeyPatch, fps: Any
) -> None:
    monkeypatch.setattr(Clock, "dt", fps, raising=False)
    monkeypatch.setitem(Clock.metadata, "render_fps", fps)
    assert deployed_actor(clock).control_rate_hz is None
    assert speed(clock) == DEFAULT_FPS


def speed(agent: Path) -> float:
    """Return the steps per second at which an agent is played."""
    with closing(Playback(agent_of(checkpoint.load(agent)), 0, 0)) as playback:
        return playback.fps
