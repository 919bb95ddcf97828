"""The main ways of watching, in the whole window, with agents of three real simulators."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QStyle
from pytestqt.qtbot import QtBot

from studio.replay.player import Player
from studio.replay.transport.scrub_bar import ScrubBar
from studio.window.main_window import MainWindow
from td3core import checkpoint
from td3core.randomness import Purpose, episode_seed
from tests.studio.replay.scenes import WAIT_MS, load, watched
from tests.support.marks import release

pytestmark = [
    pytest.mark.slow,
    # Importing Box2D while warnings are errors ends the interpreter.
    pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning"),
]
AGENTS = Path(str(files("resources") / "agents"))
STEPS = 15
ROLL_OUT = """
import json, sys
from pathlib import Path

from td3core import checkpoint
from td3core.envs.make import make_env
agent = checkpoint.load(Path(sys.argv[1]))
act, critic = agent.policy(), agent.critic()
env = make_env(agent.header.config.env)
obs, _ = env.reset(seed=int(sys.argv[2]))
rows = []
for _ in range(int(sys.argv[3])):
    action = act(obs)
    value = float(critic.target_value(obs[None], action[None])[0])
    seen, (obs, reward, *_) = obs, env.step(action)
    rows.append([reward, value, *map(float, action), *map(float, seen)])
env.close()
print(json.dumps(rows))
"""


def drawn(qtbot: QtBot, player: Player) -> NDArray[np.int64]:
    """Return the pixels of the current step in the environment's own size."""
    with qtbot.waitSignal(player.captured, timeout=WAIT_MS) as captured:
        player.capture()
    return np.frombuffer(captured.args[0].constBits(), np.uint8).astype(np.int64)


def point_at(qtbot: QtBot, bar: ScrubBar, step: int) -> None:
    """Click on a step of the bar."""
    handle = bar.style().pixelMetric(QStyle.PixelMetric.PM_SliderLength, None, bar)
    x = handle / 2 + step * (bar.width() - handle) / bar.maximum()
    qtbot.mouseClick(bar, Qt.MouseButton.LeftButton, pos=QPoint(round(x), bar.height() // 2))


def rolled_out(agent: Path) -> NDArray[np.float64]:
    """Play the first episode of seed 0 in another process, without the renderer."""
    seed = str(episode_seed(0, Purpose.EVALUATION, 0))
    done = subprocess.run(
        [sys.executable, "-c", ROLL_OUT, str(agent), seed, str(STEPS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return np.array(json.loads(done.stdout))


@pytest.mark.parametrize("env", [*release("BipedalWalker-v3", "Pendulum-v1"), "HalfCheetah-v5"])
def test_an_agent_is_watched_scrubbed_measured_and_filmed(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, env: str
) -> None:
    agent, player = AGENTS / f"{env}.safetensors", window.replay.player
    window.docks.open("instruments")
    panel = window.panels.named("instruments")
    pictures = watched(player)
    load(qtbot, player, agent)
    played = []
    for step in range(STEPS + 1):
        qtbot.waitUntil(lambda step=step: pictures[-1].step.number == step, timeout=WAIT_MS)
        played.append((pictures[-1].step, drawn(qtbot, player)))
        if step < STEPS:
            player.step()
    for step in (2, STEPS - 1, 0, 9):
        pictures.clear()
        point_at(qtbot, window.replay.controls.scrub_bar, step)
        qtbot.waitUntil(lambda: bool(pictures), timeout=WAIT_MS)
        reached, pixels = played[step]
        assert pictures[-1].step == reached
        assert np.abs(drawn(qtbot, player) - pixels).mean() < 1.5
    numbers = panel.numbers
    assert numbers is not None
    qtbot.waitUntil(lambda: numbers.last >= STEPS, timeout=WAIT_MS)
    shown = np.column_stack([numbers.reward, numbers.min_q, numbers.action, numbers.obs])
    np.testing.assert_allclose(shown, rolled_out(agent), rtol=1e-5, atol=1e-5)
    film = tmp_path / "film.mp4"
    words = ["film", str(agent), "--out", str(film), "--max-seconds-per", "0.5", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "td3core", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    with av.open(str(film)) as found:
        frames = sum(1 for _ in found.decode(video=0))
        assert found.duration is not None
        assert frames == told["frames"]
        assert found.duration / av.time_base == pytest.approx(frames / told["fps"], abs=0.01)
    # Its end stays for half of it.
    assert told["duration_s"] == pytest.approx(0.5, abs=0.05)
    assert told["checkpoints"][0]["env_steps"] == (checkpoint.read_header(agent).counters.env_steps)
