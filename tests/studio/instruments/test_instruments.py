"""The instruments agree with an independent rollout with torch's networks."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from PySide6.QtCore import QSettings
from PySide6.QtGui import QAccessible
from pytestqt.qtbot import QtBot

from studio.formatting import format_number, format_return, plain_minus
from studio.instruments.episode_curves import NO_CRITIC
from studio.instruments.instrument import Instrument
from studio.instruments.instruments_panel import InstrumentPanel
from studio.replay.player import Player
from studio.theme.theme import load_theme
from td3core import checkpoint
from td3core.checkpoint import Counters, Header
from td3core.checkpoint.shapes import network_shapes
from td3core.config import make_settings
from td3core.envs.info import EnvInfo
from td3core.envs.trust import locate
from td3core.envs.trust_store import remember
from td3core.randomness import Purpose, episode_seed
from td3core.system import timestamp
from tests.studio.replay.scenes import WAIT_MS, load, watched
from tests.td3core.algorithm.autograd_td3 import AutogradTD3

BOUNDED = '''
"""Bounds that differ for each dimension and are not symmetric; ends after forty steps."""
import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box


class Bounded(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 100}
    action_space = Box(np.float32([-3.0, 0.0]), np.float32([1.0, 10.0]))
    observation_space = Box(-50.0, 50.0, (3,), np.float32)

    def __init__(self, render_mode=None):
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        self.obs = self.np_random.uniform(-5.0, 5.0, 3).astype(np.float32)
        return self.obs, {}

    def step(self, action):
        self.t += 1
        reward = float(np.sin(self.t) - 0.1 * np.square(action).sum())
        push = np.float32([action[0], action[1], -action[0]])
        self.obs = (0.9 * self.obs + np.sin(self.t) + 0.003 * push).astype(np.float32)
        return self.obs, reward, False, self.t == 40, {}

    def render(self):
        return np.full((20, 21, 3), self.t, np.uint8)


class Unseen(Bounded):
    def render(self):
        raise ImportError("no display")
'''
GAMMA, SCALE, FLOOR = 0.95, 0.5, -3.0


@pytest.fixture
def bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bounded_stage.py").write_text(BOUNDED)
    monkeypatch.syspath_prepend(tmp_path)
    found = locate("bounded_stage")
    assert found is not None
    remember(found)


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "panel.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def panel(qtbot: QtBot, player: Player, settings: QSettings) -> Iterator[InstrumentPanel]:
    made = InstrumentPanel(settings, load_theme("dark"))
    qtbot.addWidget(made)
    made.resize(1000, 220)
    made.use_player(player)
    yield made
    made.hide()


def write(path: Path, name: str = "Bounded", *, actor_only: bool = False, **values: Any) -> Path:
    """Write an agent with random networks that saturates now and then."""
    info = EnvInfo(
        env_id=f"bounded_stage:{name}",
        obs_dim=3,
        act_dim=2,
        action_low=(-3.0, 0.0),
        action_high=(1.0, 10.0),
        max_episode_steps=None,
        reward_threshold=None,
    )
    small = {"actor_hidden": (8, 8), "critic_hidden": (8, 8), "gamma": GAMMA}
    shaping = {"reward_scale": SCALE, "reward_floor": FLOOR}
    config, tunables = make_settings({**small, **shaping, **values, "env": info.env_id})
    header = Header(
        config=config,
        tunables=tunables,
        env=info,
        counters=Counters(env_steps=50_000),
        evaluation=None,
        complete=False,
        created=timestamp.now(),
    )
    random = np.random.default_rng(3)
    tensors: dict[str, Any] = {
        key: random.normal(size=shape).astype(np.float32)
        for key, shape in network_shapes(header).items()
        if not actor_only or key.startswith("actor")
    }
    if config.normalize_observations:
        tensors |= {
            "obs_norm.count": np.array([100.0]),
            "obs_norm.mean": np.array([1.0, -2.0, 0.5]),
            "obs_norm.squares": np.array([900.0, 100.0, 2500.0]),
        }
    checkpoint.save(path, header, tensors)
    return path


def independent(path: Path) -> dict[str, Any]:
    """Play the first episode of seed 0 with torch and formulas of its own."""
    found = checkpoint.load(path)
    config = found.header.config
    nets = {k: v for k, v in found.tensors.items() if not k.startswith("obs_norm")}
    agent = AutogradTD3(nets, config, found.header.tunables)
    mean, std = np.zeros(3), np.ones(3)
    if config.normalize_observations:
        mean = found.tensors["obs_norm.mean"]
        std = np.sqrt(found.tensors["obs_norm.squares"] / found.tensors["obs_norm.count"] + 1e-8)
    env = runpy.run_path(str(path.with_name("bounded_stage.py")))["Bounded"]()
    obs, _ = env.reset(seed=episode_seed(0, Purpose.EVALUATION, 0))
    low, high = env.action_space.low, env.action_space.high
    seen: dict[str, list[Any]] = {key: [] for key in ("obs", "action", "reward", "q")}
    over = False
    while not over:
        x = torch.tensor(np.clip((obs - mean) / std, -10, 10)[None], dtype=torch.float32)
        with torch.no_grad():
            action = agent.act("actor", x)
            q = [float(agent.value(name, x, action)) for name in agent.critics]
        taken = low + (action[0].numpy() + 1) / 2 * (high - low)
        seen["obs"].append(obs.copy())
        seen["action"].append(taken)
        seen["q"].append(q)
        obs, reward, terminated, truncated, _ = env.step(taken.astype(np.float32))
        seen["reward"].append(reward)
        over = terminated or truncated
    arrays = {key: np.array(values) for key, values in seen.items()}
    shaped = np.maximum(SCALE * arrays["reward"], FLOOR)
    arrays["discounted"] = np.array(
        [sum(GAMMA**k * r for k, r in enumerate(shaped[t:])) for t in range(len(shaped))]
    )
    return arrays


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """A screen reader is running."""
    monkeypatch.setattr(QAccessible, "isActive", lambda: True)


def assert_taken(actions: Instrument, expected: NDArray[np.floating[Any]]) -> None:
    """Compare the action read to a screen reader, in three digits."""
    said = actions.accessibleDescription().split(", ")
    found = [float(plain_minus(each.split()[0])) for each in said]
    np.testing.assert_allclose(found, expected, rtol=6e-3, atol=1e-5)
    low, high = np.array([-3.0, 0.0]), np.array([1.0, 10.0])
    share = 2 * (expected - low) / (high - low) - 1
    words = ["MIN" if each <= -0.99 else "MAX" if each >= 0.99 else "" for each in share]
    assert [each.partition(" ")[2] for each in said] == words


def test_before_an_agent_plays_the_panel_says_in_whole_what_will_appear(
    panel: InstrumentPanel,
) -> None:
    panel.resize(500, 220)
    panel.show()
    said = panel.hint.label
    assert said.text() == "The numbers of an agent appear here when it plays."
    assert panel.hint.isVisible()
    assert panel.hint.rect().contains(said.geometry())
    assert said.height() >= said.heightForWidth(said.width())
    assert panel.message.text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("values", [{}, {"normalize_observations": True, "twin_critics": False}])
def test_the_instruments_show_what_an_independent_rollout_comes_to(
    qtbot: QtBot,
    player: Player,
    panel: InstrumentPanel,
    heard: None,
    bounded: None,
    tmp_path: Path,
    values: dict[str, Any],
) -> None:
    agent = write(tmp_path / "agent.safetensors", **values)
    expected = independent(agent)
    load(qtbot, player, agent)
    pictures = watched(player)
    for _ in range(7):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) == 7, timeout=WAIT_MS)
    # Nothing was computed or sent for a closed panel; opening it also shows past steps.
    assert [picture.data for picture in pictures] == [None] * 7
    assert panel.numbers is None
    for switch in panel.switches.values():
        switch.setChecked(True)
    panel.show()
    qtbot.waitUntil(lambda: panel.numbers is not None and panel.numbers.last == 7, timeout=WAIT_MS)
    reward, value, actions, observations, sweep = panel.instruments
    assert (panel.hint.isVisible(), reward.isVisible()) == (False, True)
    assert value.accessibleDescription().endswith(", obtained at the end")
    # So fast that most pictures are skipped.
    player.reduce_rate(True)
    player.set_speed(8.0)
    player.play()
    qtbot.waitUntil(lambda: pictures[-1].step.over, timeout=WAIT_MS)
    player.pause()
    assert len(pictures) < 40
    numbers = panel.numbers
    assert numbers is not None
    close = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(numbers.obs, expected["obs"], **close)
    np.testing.assert_allclose(numbers.reward, expected["reward"], **close)
    np.testing.assert_allclose(numbers.total, expected["reward"].cumsum(), **close)
    np.testing.assert_allclose(numbers.min_q, expected["q"].min(axis=1), **close)
    np.testing.assert_allclose(numbers.discounted, expected["discounted"], **close)
    assert_taken(actions, expected["action"][-1])
    low, high = expected["obs"].min(axis=0), expected["obs"].max(axis=0)
    scaled = (expected["obs"] - low) / (high - low)
    np.testing.assert_allclose(observations.chart.columns(), scaled, **close)
    shown = value.chart.content
    np.testing.assert_allclose(shown.ys[0], expected["q"].min(axis=1), **close)
    np.testing.assert_allclose(shown.ys[1], expected["discounted"], **close)
    # A picture that is shown again, as scrubbing does, moves the cursor of every instrument.
    back = pictures[3]
    player.frame_ready.emit(back)
    row = back.step.number - 1
    assert reward.chart.content.cursor == back.step.number
    total = format_return(expected["reward"][: row + 1].sum())
    reading = format_number(expected["reward"][row])
    assert reward.accessibleDescription() == f"return {total}, reward {reading}"
    assert_taken(actions, expected["action"][row])
    sweep.dimension.setValue(2)
    at = pytest.approx(expected["action"][row][1], abs=1e-4)
    qtbot.waitUntil(
        lambda: sweep.chart.content is not None and sweep.chart.content.cursor == at,
        timeout=WAIT_MS,
    )
    found = sweep.chart.content
    assert (found.x[0], found.x[-1]) == (0.0, 10.0)
    nearest = int(np.abs(found.x - found.cursor).argmin())
    q = expected["q"][row]
    critics = [y[nearest] for y in found.ys[1:] if y is not None]
    np.testing.assert_allclose(critics, q, **close)
    assert found.ys[0][nearest] == pytest.approx(q.min(), abs=1e-5)


def test_without_critic_or_picture_the_other_numbers_are_shown(
    qtbot: QtBot,
    player: Player,
    panel: InstrumentPanel,
    settings: QSettings,
    heard: None,
    bounded: None,
    tmp_path: Path,
) -> None:
    agent = write(tmp_path / "actor.safetensors", "Unseen", actor_only=True)
    panel.switches["sweep"].setChecked(True)
    panel.show()
    load(qtbot, player, agent)
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS) as shown:
        player.step()
    assert shown.args[0].images == ()
    reward, value, actions, *_, sweep = panel.instruments
    assert value.note.text() == sweep.note.text() == str(NO_CRITIC)
    assert value.chart.content.ys[0] is None
    assert reward.chart.content.cursor == 1
    assert len(actions.accessibleDescription().split(", ")) == 2
    for switch in panel.switches.values():
        switch.setChecked(False)
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS) as shown:
        player.step()
    assert shown.args[0].data is None
    again = InstrumentPanel(settings, load_theme("light"))
    qtbot.addWidget(again)
    assert not any(switch.isChecked() for switch in again.switches.values())
