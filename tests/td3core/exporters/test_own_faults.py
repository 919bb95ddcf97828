"""An export that an environment, not the disk, made impossible."""

import gymnasium as gym
import numpy as np
import pytest

from td3core import checkpoint
from td3core.envs.make import check_env
from td3core.errors import RequestError, RunError
from td3core.exporters.film.writer import FilmWriter
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


def test_a_name_without_the_suffix_of_a_film_is_refused_before_an_episode_is_played(
    grid, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(Grid, "step", None)
    with pytest.raises(RequestError, match=r"names no format of films; use \.mp4"):
        find_exporter(tmp_path / "film", "video").export(grid, tmp_path / "film")


def test_a_fault_of_the_encoder_is_not_blamed_on_the_environment(
    grid, tmp_path, monkeypatch
) -> None:
    def fail(*_):
        raise ValueError("no such codec")

    monkeypatch.setattr(FilmWriter, "_encode", fail)
    with pytest.raises(ValueError, match=r"^no such codec$"):
        find_exporter(tmp_path / "a.mp4").export(grid, tmp_path / "a.mp4")
    assert not any(tmp_path.glob("*a.mp4*"))


@pytest.mark.parametrize("differs", ["length", "reward", "observation"])
def test_instruments_are_refused_if_the_environment_does_not_repeat_itself(
    grid, tmp_path, monkeypatch, differs
) -> None:
    played = []

    def reset(env, *, seed=None, options=None):
        env.left = 6
        played.append(seed)
        return np.zeros(1, np.float32), {}

    def step(env, action):
        env.left -= 1
        other = len(played) == 2 and env.left == 2
        obs = np.full(1, 0.5 if other and differs == "observation" else 0.0, np.float32)
        over = not env.left or (other and differs == "length")
        return obs, float(other and differs == "reward"), over, False, {}

    monkeypatch.setattr(Grid, "reset", reset)
    monkeypatch.setattr(Grid, "step", step)
    agent = checkpoint.load(grid)
    target = tmp_path / "a.mp4"
    played.clear()
    with pytest.raises(RequestError, match=r"Grid-v0 does not repeat itself: step \d differs"):
        record(agent, target, episodes=1, seed=0, instruments=True)
    assert not list(tmp_path.glob("*a.mp4*"))
    # From the third reset on, it repeats.
    _, info = record(agent, target, episodes=1, seed=0, instruments=True)
    assert info.frames == 6


def test_an_environment_is_named_in_its_exceptions_before_a_film_with_instruments(
    grid, tmp_path, monkeypatch
) -> None:
    def fail(*_):
        raise ValueError("sensor lost")

    monkeypatch.setattr(Grid, "step", fail)
    with pytest.raises(RunError, match=r"environment Grid-v0 raised ValueError: sensor lost\."):
        record(checkpoint.load(grid), tmp_path / "a.mp4", episodes=1, seed=0, instruments=True)
