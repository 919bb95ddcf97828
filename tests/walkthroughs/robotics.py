"""A robotics engineer: opens a colleague's agent for an own environment, compares and films it."""

import os
import subprocess
import sys

from PySide6.QtCore import Qt

from tests.walkthroughs.user import User

_MODULE = '''
import gymnasium as gym
import numpy as np


class Reach(gym.Env):
    """A finger on a rail that has to reach a target."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    action_space = gym.spaces.Box(-1, 1, (1,))
    observation_space = gym.spaces.Box(-2, 2, (2,))

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, (self.at, self.target) = 0, self.np_random.uniform(-1, 1, 2)
        return self._seen(), {}

    def step(self, action):
        self.steps += 1
        self.at = float(np.clip(self.at + 0.1 * float(action[0]), -1, 1))
        return self._seen(), -abs(self.at - self.target), False, self.steps >= 60, {}

    def render(self):
        picture = np.full((120, 240, 3), 235, np.uint8)
        for place, colour in ((self.target, (220, 120, 40)), (self.at, (40, 90, 200))):
            x = int(110 + 100 * place)
            picture[50:70, x : x + 20] = colour
        return picture

    def _seen(self):
        return np.array([self.at, self.target], np.float32)
'''


def _colleagues_run(by: User) -> None:
    """Train an agent in another process, as somebody else would."""
    words = ["train", "reach_env:Reach", "--steps", "600", "--trust-env", "--json"]
    settings = ("learning_starts=100", "eval_interval=300", "checkpoint_interval=200")
    small = ("actor_hidden=16", "critic_hidden=16", "eval_episodes=2")
    for value in (*settings, *small):
        words += ["--set", value]
    trust = {"TD3_STUDIO_TRUST": str(by.home / "colleague.json")}
    with subprocess.Popen(
        [sys.executable, "-m", "td3core", *words, "--runs-dir", str(by.home / "theirs")],
        env=os.environ | trust,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        by.expect("the colleague's run has ended", lambda: process.poll() is not None)
    assert process.returncode == 0


def walk(by: User) -> None:
    (by.home / "code" / "reach_env.py").write_text(_MODULE)
    _colleagues_run(by)
    (run,) = (by.home / "theirs").iterdir()
    by.with_file(run / "run.toml", lambda: by.press("Ctrl+O"))
    by.part("consent_dialog")
    by.take("question")
    by.click("consent_allow_button")
    by.expect_text("replay_title", "reach_env:Reach")
    by.click("replay_play_button")
    by.expect_moving()
    by.take("agent")
    by.choose("Compare", lambda: by.click("replay_menu_button"))
    by.part("compare_dialog")
    for text in ("200", "600"):
        view, index = by.row("compare_agents", text)
        view.setCurrentIndex(index)
        if index.data(Qt.ItemDataRole.CheckStateRole) != Qt.CheckState.Checked.value:
            by.press("Space", view)
    by.take("choose")
    by.click("compare_start_button")
    by.expect("agents are side by side", lambda: by.part("compare_view").isVisible())
    by.expect_moving("compare_view")
    by.take("side_by_side")
    by.click("compare_close_button")
    by.expect_text("replay_title", "reach_env:Reach")
    by.expect_moving()
    by.press("Ctrl+Shift+F")
    film = by.home / "reach.mp4"
    by.with_file(film, lambda: by.click("film_start_button"))
    by.expect_text("film_status", "reach.mp4: ")
    by.take("film")
    by.click("film_close_button")
    by.press("Ctrl+Shift+X")
    actor = by.home / "actor.safetensors"
    by.with_file(actor, lambda: by.click("export_start_button"))
    by.expect("the actor is written", actor.is_file)
    by.take("export")
    by.click("export_close_button")
    by.expect_no_error()
