"""An export that an environment, not the disk, made impossible."""

import gymnasium as gym
import numpy as np
import pytest

from td3core import checkpoint
from td3core.envs.make import check_env
from td3core.errors import RequestError, RunError
from td3core.exporters.registry import find_exporter
from td3core.exporters.video import record
from tests.td3core.helpers import finish


class Unplugged(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    action_space = gym.spaces.Box(-1, 1, (1,))
    observation_space = gym.spaces.Box(-1, 1, (1,))

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        return self.observation_space.low, {}

    def step(self, action):
        return self.observation_space.low, 0.0, False, True, {}

    def render(self):
        raise PermissionError(13, "Permission denied", "/dev/motor")


def test_an_oserror_of_the_environment_is_not_blamed_on_the_videos_file(tmp_path, runs_dir) -> None:
    gym.register("Unplugged-v0", Unplugged)
    try:
        assert check_env("Unplugged-v0").obs_dim == 1
        agent = checkpoint.load(finish(runs_dir, "Unplugged-v0").last_checkpoint)
        with pytest.raises(RunError, match=r"Unplugged-v0 raised PermissionError: .*motor"):
            record(agent, tmp_path / "film.mp4", episodes=1, seed=0)
    finally:
        del gym.registry["Unplugged-v0"]


class Grid(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}
    action_space = gym.spaces.Box(-1, 1, (1,))
    size = 1

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = gym.spaces.Box(-1, 1, (self.size,))

    def reset(self, *, seed=None, options=None):
        return self.observation_space.low, {}

    def step(self, action):
        return self.observation_space.low, 0.0, False, True, {}

    def render(self):
        return np.zeros((64, 64, 3), np.uint8)


@pytest.fixture
def grid(runs_dir):
    """Return an agent of an environment that can be changed."""
    gym.register("Grid-v0", Grid)
    try:
        yield finish(runs_dir, "Grid-v0").last_checkpoint
    finally:
        del gym.registry["Grid-v0"]


@pytest.mark.parametrize("name", ["a.py", "a.h", "a.mp4"])
def test_an_export_names_the_environment_in_its_exceptions(
    grid, tmp_path, monkeypatch, name
) -> None:
    def fail(*_):
        raise ValueError("sensor lost")

    monkeypatch.setattr(Grid, "step", fail)
    with pytest.raises(RunError, match=r"environment Grid-v0 raised ValueError: sensor lost\."):
        find_exporter(tmp_path / name, None).export(grid, tmp_path / name)
    assert not any(tmp_path.glob("a.*"))


@pytest.mark.parametrize("name", ["a.py", "a.mp4"])
def test_an_environment_of_other_sizes_is_refused(grid, tmp_path, monkeypatch, name) -> None:
    monkeypatch.setattr(Grid, "size", 2)
    with pytest.raises(RequestError, match=r"Grid-v0 has changed since .*obs_dim was 1 and is 2"):
        find_exporter(tmp_path / name, None).export(grid, tmp_path / name)
