"""A video that an environment, not the disk, made impossible."""

import gymnasium as gym
import pytest

from td3core import checkpoint
from td3core.envs.make import check_env
from td3core.errors import RunError
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
