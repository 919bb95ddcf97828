"""Agents to play, environments that misbehave, and the pictures shown by a player."""

from pathlib import Path
from typing import Any

import numpy as np
import psutil
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.player import Player
from studio.replay.renderer.protocol import Frame
from td3core import checkpoint
from td3core.checkpoint import Counters, Header
from td3core.config import make_settings
from td3core.envs.info import EnvInfo
from td3core.system import timestamp
from tests.support.quick_children import server_pid

PENDULUM = "Pendulum-v1"


WAIT_MS = 30_000


SCRIPTED = '''
"""Environments that do one thing wrong each."""
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box


class Scripted(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}
    action_space = Box(-1.0, 1.0, (1,))
    observation_space = Box(-1.0, 1.0, (1,))
    drawn = False

    def __init__(self, render_mode=None, draws="well", fails_at=0, obs_dim=1, ballast=0):
        self.render_mode, self.draws, self.fails_at = render_mode, draws, fails_at
        self.observation_space = Box(-1.0, 1.0, (obs_dim,))
        # Refers to itself, as Box2D's environments do.
        self.ballast = np.ones(ballast * 2**20, np.uint8), self
        self.obs, self.steps = np.zeros(obs_dim, np.float32), 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return self.obs, {}

    def step(self, action):
        self.steps += 1
        if self.steps == self.fails_at:
            raise ValueError("the motor is on fire")
        return self.obs, 1.0, False, False, {}

    def render(self):
        if self.draws == "never":
            return None
        if self.draws == "rarely" and self.steps % 2:
            return None
        if self.draws == "without driver" or self.draws == "once" and Scripted.drawn:
            raise ImportError("no display")
        Scripted.drawn = True
        size = 20 + (10 * self.steps if self.draws == "in many sizes" else 0)
        return np.full((size, size + 1, 3), self.steps % 256, np.uint8)


def register(name, **kwargs):
    gym.register(name, entry_point=Scripted, kwargs=kwargs, max_episode_steps=1000)


register("Sound-v0")
register("Mute-v0", draws="never")
register("Blind-v0", draws="without driver")
register("Rare-v0", draws="rarely")
register("Once-v0", draws="once")
register("Growing-v0", draws="in many sizes")
register("Failing-v0", fails_at=3)
register("Changed-v0", obs_dim=2)
register("Heavy-v0", ballast=8)
'''


def write_agent(path: Path, env: EnvInfo, env_steps: int = 50_000, **settings: Any) -> Path:
    """Write an exported agent with small random networks."""
    config, tunables = make_settings(
        {
            "env": env.env_id,
            "env_args": env.args,
            "actor_hidden": (8,),
            "critic_hidden": (8,),
            **settings,
        }
    )
    header = Header(
        config=config,
        tunables=tunables,
        env=env,
        counters=Counters(env_steps=env_steps),
        evaluation=None,
        complete=False,
        created=timestamp.now(),
    )
    random = np.random.default_rng(1)
    critic = (env.obs_dim + env.act_dim, 8, 1)
    widths = {"actor": (env.obs_dim, 8, env.act_dim), "critic1": critic, "critic2": critic}
    tensors = {}
    for name, (first, hidden, last) in widths.items():
        for i, shape in enumerate(((hidden, first), (last, hidden))):
            tensors[f"{name}.{i}.weight"] = random.normal(size=shape).astype(np.float32)
            tensors[f"{name}.{i}.bias"] = np.zeros(shape[0], np.float32)
    path.parent.mkdir(parents=True, exist_ok=True)
    checkpoint.save(path, header, tensors)
    return path


def watched(player: Player) -> list[Frame]:
    """Return a list that fills with the pictures that arrive."""
    pictures: list[Frame] = []
    player.frame_ready.connect(pictures.append)
    return pictures


def load(qtbot: QtBot, player: Player, path: Path) -> None:
    """Load an agent and wait for its first picture."""
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.load(path)


def endings(qtbot: QtBot, pictures: list[Frame], count: int) -> list[float]:
    """Wait until this many episodes are over and return their returns."""

    def totals() -> list[float]:
        return [picture.step.total for picture in pictures if picture.step.over]

    qtbot.waitUntil(lambda: len(totals()) >= count, timeout=WAIT_MS)
    return totals()[:count]


def pixels(picture: Frame) -> bytes:
    return bytes(picture.images[0].constBits())


def blocks() -> set[str]:
    folder = Path("/dev/shm")
    return {path.name for path in folder.glob("td3_*")} if folder.is_dir() else set()


def renderers() -> list[psutil.Process]:
    """Return child processes, except the interpreter's own."""
    children = psutil.Process().children(recursive=True)
    own = [child for child in children if child.pid != server_pid()]
    return [child for child in own if "resource_tracker" not in " ".join(child.cmdline())]


def played(qtbot: QtBot, pane: ReplayPane, seed: int) -> list[float]:
    """Play the first episode of a seed to its end; return the return of each agent."""
    pictures = watched(pane.player)
    pane.player.start_over(seed)
    pane.player.play()
    qtbot.waitUntil(
        lambda: any(p.step.over and p.playback_id >= pictures[-1].playback_id for p in pictures),
        timeout=WAIT_MS,
    )
    pane.player.frame_ready.disconnect(pictures.append)
    last = next(p for p in reversed(pictures) if p.step.over)
    assert all(p.step.number == max(step.number for step in p.steps) for p in pictures)
    return [step.total for step in last.steps]
