"""A robotics user: trains an arm of their own, takes its actor away, and looks at other robots."""

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from td3core import checkpoint
from tests.walkthroughs.seeing import NotSeenError
from tests.walkthroughs.user import User

_CODE = '''
import gymnasium as gym
import numpy as np


class Reach(gym.Env):
    """Moves the tip of an arm to a target on a line."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}
    observation_space = gym.spaces.Box(-2.0, 2.0, (2,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, render_mode=None, length=1.0):
        self.render_mode, self.length = render_mode, length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tip, self.target = 0.0, float(self.np_random.uniform(-self.length, self.length))
        self.steps = 0
        return self._seen(), {}

    def step(self, action):
        self.tip = float(np.clip(self.tip + 0.1 * float(action[0]), -self.length, self.length))
        self.steps += 1
        return self._seen(), -abs(self.tip - self.target), False, self.steps == 50, {}

    def render(self):
        picture = np.full((160, 240, 3), 245, np.uint8)
        for place, colour in ((self.target, (30, 140, 80)), (self.tip, (40, 90, 220))):
            at = int(120 + 100 * place / self.length)
            picture[60:100, max(at - 6, 0) : at + 6] = colour
        return picture

    def _seen(self):
        return np.array([self.tip, self.target], np.float32)
'''


def walk(by: User) -> None:
    for module in ("my_arm", "their_arm"):
        (by.home / "code" / f"{module}.py").write_text(_CODE)
    theirs = train_theirs(by.home / "theirs")
    check(by)
    train(by)
    watch(by)
    export(by)
    by.expect("the colleague's run is ready", lambda: theirs.poll() is not None)
    open_theirs(by)
    look_at_the_cheetah(by)
    compare(by)
    by.expect_no_error()


def train_theirs(folder: Path) -> "subprocess.Popen[bytes]":
    """Let a colleague train their own arm."""
    words = ["train", "their_arm:Reach", "--steps", "300", "--runs-dir", str(folder)]
    fewer = ["--set", "learning_starts=100", "--no-eval", "--json"]
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "td3core", *words, *fewer]
    # What they typed is allowed on their machine, not on this one.
    own = {"TD3_STUDIO_TRUST": f"{folder}.json"}
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=os.environ | own)


def check(by: User) -> None:
    """Name the own environment with an argument, and let the studio check it."""
    by.fill("env_combo", "my_arm:Reach")
    by.expect_text("env_facts", "2 observations · 1 action")
    by.click_text("Advanced")
    by.fill("field_env_args", '{"length": 1.5, "max_episode_steps": 50}')
    by.fill("field_learning_starts", "300")
    by.fill("field_eval_interval", "500")
    by.fill("field_checkpoint_interval", "500")
    by.click_text("Advanced")
    by.click("env_check_button")
    by.expect(
        "the check has ended",
        lambda: (
            "can be used" in by.text("env_check_summary")
            or "No problems" in by.text("env_check_summary")
        ),
    )
    by.take("checked")
    by.click_text("Close")
    by.expect_gone("env_check_dialog")


def train(by: User) -> None:
    by.fill("steps_spin", "1 500")
    by.click("train_button")
    by.expect_state("learning")
    by.expect_state("finished")


def watch(by: User) -> None:
    """The own pictures of the environment are played."""
    by.click_row("checkpoint_list", "last", double=True)
    by.expect_text("replay_title", "my_arm:Reach")
    by.expect_moving()
    by.take("own_environment")


def export(by: User) -> None:
    """Take the actor away, and see that it acts as the studio's agent does."""
    file = by.home / "actor.safetensors"
    by.choose_from("replay_share_button", "Export actor")
    by.pick("export_format_combo", "Weights")
    by.take("export")
    by.with_file(file, lambda: by.click("export_start_button"))
    by.expect_text("export_status", "Written to")
    by.click("export_close_button")
    (agent,) = (by.home / "runs").glob("my_arm*/checkpoints/last.safetensors")
    seen = np.array([0.1, -0.4], np.float32)
    actions = act(file, seen), checkpoint.load(agent).policy()(seen)
    if not np.allclose(*actions, atol=1e-6):
        raise NotSeenError(f"the exported actor acts as the agent: {actions}")
    if file.stat().st_size >= agent.stat().st_size:
        raise NotSeenError("only the networks are exported")


def act(actor: Path, seen: np.ndarray) -> np.ndarray:
    """Compute an action from the file alone, as a robot without the studio would."""
    tensors = load_file(actor)
    layers = sorted(name for name in tensors if name.startswith("actor.") and "weight" in name)
    for name in layers:
        seen = tensors[name] @ seen + tensors[name.replace("weight", "bias")]
        seen = np.tanh(seen) if name == layers[-1] else np.maximum(seen, 0.0)
    return seen


def open_theirs(by: User) -> None:
    """Open the colleague's agent: its code runs only once that is allowed."""
    (agent,) = (by.home / "theirs").glob("*/checkpoints/last.safetensors")
    by.with_file(agent, lambda: by.press("Ctrl+O"))
    by.part("consent_dialog")
    by.expect_text("consent_module", "their_arm")
    by.expect_text("consent_path", "their_arm.py")
    refuse = by.part("consent_refuse_button")
    by.look_at_window()
    by.expect("Enter would refuse", refuse.hasFocus, patience_s=5)
    by.take("consent")
    by.click("consent_refuse_button")
    by.part("replay_allow_button")
    by.take("refused")
    by.click("replay_allow_button")
    by.click("consent_allow_button")
    by.expect_text("replay_title", "their_arm:Reach")
    if by.part("replay_play_button").accessibleName() == "Play":
        by.click("replay_play_button")
    by.expect_moving()


def look_at_the_cheetah(by: User) -> None:
    """Drop a MuJoCo agent on the window, and choose another camera."""
    by.drop(Path(str(files("resources") / "agents" / "HalfCheetah-v5.safetensors")))
    by.expect_text("replay_title", "HalfCheetah-v5")
    by.expect_moving()
    by.choose_from("replay_menu_button", "Camera > Free")
    by.expect_moving()
    by.choose_from("replay_menu_button", "Camera > Tracking")
    by.expect_moving()
    by.take("mujoco")


def compare(by: User) -> None:
    """See how the cheetah copes with noise, and with a push."""
    by.choose_from("replay_menu_button", "Compare agents")
    by.click("compare_noise_check")
    by.click("compare_push_check")
    by.take("compare_dialog")
    by.click("compare_start_button")
    for number in (1, 2, 3):
        by.part(f"compare_view_{number}")
    by.expect_text("compare_agents_heading", "step ")
    by.expect_moving("compare_view_3")
    by.click("compare_push_button")
    by.press("F9")
    by.expect_moving("compare_view_1")
    by.take("compared")
    by.press("F9")
    by.click("compare_agents_close_button")
    by.expect_gone("compare_view_1")
