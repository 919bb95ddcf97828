"""Actions of whole numbers, bounds that overflow, rewards that no float32 holds."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box

from td3core.envs.agent_view import AgentView
from td3core.envs.make import check_env
from td3core.errors import RequestError
from tests.support.scripted import Script, SpacesEnv
from tests.td3core.helpers import fail

OBS = Box(-1.0, 1.0, (3,), np.float32)


def view(action: Box) -> AgentView:
    return AgentView(SpacesEnv(action, OBS))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8])
def test_actions_of_whole_numbers_are_rounded_to_the_nearest(dtype: Any) -> None:
    env = view(Box(0, 10, (5,), dtype))
    taken = env.to_env(np.float32([-1.0, 1.0, 0.17, -0.11, 0.19]))
    assert taken.dtype == dtype
    assert taken.tolist() == [0, 10, 6, 4, 6]


def test_negative_whole_numbers_are_rounded_to_the_nearest() -> None:
    taken = view(Box(-3, 3, (4,), np.int16)).to_env(np.float32([-0.6, 0.6, -1.0, -0.1]))
    assert taken.tolist() == [-2, 2, -3, 0]


def test_uniform_actions_reach_both_ends_of_whole_numbers_alike() -> None:
    env = view(Box(0, 2, (1,), np.int64))
    uniform = np.linspace(-1.0, 1.0, 1001, dtype=np.float32)
    counts = np.bincount([int(env.to_env(np.array([a]))[0]) for a in uniform])
    assert counts.tolist() == pytest.approx([250, 500, 250], abs=2)


@pytest.mark.parametrize(
    "action",
    [
        Box(-1.7e308, 1.7e308, (1,), np.float64),
        Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (1,), np.int64),
        Box(0, np.iinfo(np.uint64).max, (1,), np.uint64),
    ],
    ids=["range beyond float64", "int64", "uint64"],
)
def test_bounds_that_cannot_be_scaled_are_refused(action: Box) -> None:
    gym.register("Scripted/Wide-v0", SpacesEnv, kwargs={"action": action, "obs": OBS})
    try:
        with pytest.raises(RequestError, match="too far apart"):
            check_env("Scripted/Wide-v0")
    finally:
        gym.registry.pop("Scripted/Wide-v0")


def test_the_widest_bounds_of_float32_still_do() -> None:
    widest = float(np.finfo(np.float32).max)
    taken = view(Box(-widest, widest, (3,), np.float32)).to_env(np.float32([-1.0, 0.0, 1.0]))
    assert taken.tolist() == [-widest, 0.0, widest]


@pytest.mark.parametrize(("reward", "scale"), [(1e39, 1.0), (1e38, 100.0)])
def test_a_reward_beyond_float32_is_blamed_on_the_environment(
    runs_dir: Path, scripted: Any, reward: float, scale: float
) -> None:
    script = Script(reward=lambda step, action: reward if step == 23 else 1.0)
    failed, _ = fail(runs_dir, scripted(script), reward_scale=scale)
    assert f"reward of {reward}" in str(failed.message)
    assert "step 22" in str(failed.message)
    assert not failed.diverged
