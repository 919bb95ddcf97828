"""A renderer that is stopped, hangs or crashes is noticed at once, and can be restarted."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.replay import watchdog
from studio.replay.pane import ReplayPane
from studio.replay.player import Player, PlayerState
from studio.replay.renderer import heartbeat
from studio.replay.renderer.heartbeat import LifeSigns, new_signs
from studio.replay.watchdog import problem_of
from tests.studio.replay.scenes import WAIT_MS, blocks, load, renderers, watched
from tests.support.marks import release, slow

NOTICED_S = 2.0
HANGING = '''
"""An environment that stops working in its constructor, or at its third step or picture."""
import ctypes
import os
import time
from pathlib import Path

import gymnasium as gym
import numpy as np
from gymnasium.spaces import Box


class Hanging(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 50}
    action_space = Box(-1.0, 1.0, (1,))
    observation_space = Box(-1.0, 1.0, (1,))

    def __init__(self, render_mode=None, how=""):
        self.render_mode, self.how, self.steps = render_mode, how, 0
        Path(__file__).with_name("began").touch()
        if how == "loading":
            time.sleep(3600)
        elif how == "loading in circles":
            while True:
                np.zeros(1).sum()
        elif how == "killed":
            os.kill(os.getpid(), 9)
        elif how == "loading slowly":
            for part in range(35):
                exec(f"part = {part}; time.sleep(0.1)")

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.steps == 3:
            if self.how == "segfault":
                ctypes.string_at(0)
            elif self.how == "step":
                time.sleep(3600)
            elif self.how == "slow":
                time.sleep(2.5)
        return np.zeros(1, np.float32), 1.0, False, False, {}

    def render(self):
        if self.steps >= 3 and self.how == "render":
            time.sleep(3600)
        return np.full((20, 20, 3), self.steps % 256, np.uint8)


LOADING = ("loading", "loading in circles", "loading slowly", "killed")
for how in ("step", "render", "segfault", "slow", *LOADING):
    name = f"Hanging-{how.replace(' ', '_')}-v0"
    gym.register(name, Hanging, kwargs={"how": how}, max_episode_steps=1000)
'''


@pytest.fixture
def hanging(stage: Callable[[str, str], Callable[[str], Path]]) -> Callable[[str], Path]:
    """Return a function that writes an agent for an environment that fails in some way."""
    write = stage("hanging_envs", HANGING)
    return lambda how: write(f"Hanging-{how.replace(' ', '_')}-v0")


@pytest.mark.parametrize(
    "how", ["loading", pytest.param("loading in circles", marks=pytest.mark.release)]
)
def test_an_environment_that_hangs_while_it_loads_is_noticed(
    qtbot: QtBot,
    pane: ReplayPane,
    agent: Path,
    hanging: Callable[[str], Path],
    tmp_path: Path,
    how: str,
) -> None:
    player = pane.player
    for restarted in (False, True) if how == "loading in circles" else (False,):
        (tmp_path / "began").unlink(missing_ok=True)
        with qtbot.waitSignal(player.silent, timeout=WAIT_MS, check_params_cb=bool) as told:
            if restarted:
                qtbot.mouseClick(pane.renderer_button, Qt.MouseButton.LeftButton)
            else:
                player.load(hanging(how))
        assert list(map(str, told.args)) == [
            "The environment is not answering: the agent does not finish loading."
            " Training is not affected."
        ]
        assert (tmp_path / "began").exists()
        assert pane.renderer_button.isVisible()
    load(qtbot, player, agent)
    assert (len(renderers()), pane.message.isVisible()) == (1, False)


def test_a_renderer_killed_while_it_loads_is_noticed_and_replaced(
    qtbot: QtBot, player: Player, agent: Path, hanging: Callable[[str], Path]
) -> None:
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as told:
        player.load(hanging("killed"))
    assert list(map(str, told.args)) == [
        "The renderer stopped (signal 9). Training is not affected."
    ]
    load(qtbot, player, agent)


@pytest.mark.slow
def test_an_agent_that_loads_slowly_is_only_slow(
    qtbot: QtBot, player: Player, hanging: Callable[[str], Path]
) -> None:
    told: list[str] = []
    player.silent.connect(told.append)
    load(qtbot, player, hanging("loading slowly"))
    assert (told, player.answers) == ([], True)


@pytest.mark.parametrize("how", [*slow("step"), *release("render")])
def test_an_environment_that_hangs_is_noticed_and_replaced(
    qtbot: QtBot, pane: ReplayPane, agent: Path, hanging: Callable[[str], Path], how: str
) -> None:
    player = pane.player
    load(qtbot, player, hanging(how))
    pictures = watched(player)
    with qtbot.waitSignal(player.silent, timeout=WAIT_MS) as told:
        player.play()
    assert list(map(str, told.args)) == [
        "The environment is not answering. Training is not affected."
    ]
    assert pane.renderer_button.isVisible()
    assert pane.message.text() == str(told.args[0])
    assert max((picture.step.number for picture in pictures), default=0) < 3
    before = player.pid
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        qtbot.mouseClick(pane.renderer_button, Qt.MouseButton.LeftButton)
    assert (player.pid != before, player.state) == (True, PlayerState.PAUSED)
    assert len(renderers()) == 1
    assert not pane.renderer_button.isVisible()
    load(qtbot, player, agent)
    assert not pane.message.isVisible()


@pytest.mark.slow
def test_a_stopped_process_is_noticed_and_may_come_back(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    player = pane.player
    load(qtbot, player, agent)
    player.play()
    assert player.pid is not None
    os.kill(player.pid, signal.SIGSTOP)
    # Stopped in the middle of a step, it may count as an environment that does not answer first.
    stopped = "The renderer is not answering"
    qtbot.waitUntil(lambda: pane.message.text().startswith(stopped), timeout=WAIT_MS)
    assert (player.answers, pane.renderer_button.isVisible()) == (False, True)
    pictures = watched(player)
    os.kill(player.pid, signal.SIGCONT)
    # The step in which it was stopped began long ago: until it ends, it counts as slow.
    qtbot.waitUntil(lambda: player.answers and bool(pictures), timeout=WAIT_MS)
    shown = pane.renderer_button, pane.message
    qtbot.waitUntil(lambda: not any(part.isVisible() for part in shown), timeout=WAIT_MS)
    os.kill(player.pid, signal.SIGSTOP)
    qtbot.waitUntil(lambda: not player.answers, timeout=WAIT_MS)
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.restart()
    assert len(renderers()) == 1


@pytest.mark.parametrize("gives_up", ["closes", *slow("restarts")])
def test_the_window_never_waits_for_a_renderer_that_reads_nothing(
    qtbot: QtBot, player: Player, agent: Path, gives_up: str
) -> None:
    load(qtbot, player, agent)
    pid = player.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    rescue = threading.Timer(5, os.kill, (pid, signal.SIGCONT))
    rescue.start()
    # More than a pipe holds.
    for step in range(5000):
        player.seek(step)
    waited = not rescue.is_alive()
    rescue.cancel()
    assert not waited
    if gives_up == "restarts":
        qtbot.waitUntil(lambda: not player.answers, timeout=WAIT_MS)
        with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
            player.restart()
    else:
        player.close()
    assert not psutil.pid_exists(pid)


def test_a_crash_in_native_code_is_noticed_and_replaced(
    qtbot: QtBot, player: Player, agent: Path, hanging: Callable[[str], Path]
) -> None:
    load(qtbot, player, hanging("segfault"))
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as told:
        player.play()
    assert list(map(str, told.args)) == [
        f"The renderer stopped (signal {signal.SIGSEGV.value}). Training is not affected."
    ]
    assert player.state is PlayerState.CRASHED
    assert not blocks()
    load(qtbot, player, agent)


@pytest.mark.slow
def test_a_slow_step_is_only_slow(
    qtbot: QtBot, player: Player, hanging: Callable[[str], Path]
) -> None:
    load(qtbot, player, hanging("slow"))
    told: list[str] = []
    player.silent.connect(told.append)
    pid, pictures = player.pid, watched(player)
    player.play()
    qtbot.waitUntil(lambda: any(p.step.number > 5 for p in pictures), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: len(told) == 2, timeout=WAIT_MS)
    assert list(map(str, told)) == [
        "The environment is not answering. Training is not affected.",
        "",
    ]
    assert (player.pid, player.answers) == (pid, True)


@pytest.mark.parametrize(
    ("beat", "since", "loading", "idle", "word"),
    [
        (105.0, 0.0, 0, 0.0, ""),
        (99.0, 0.0, 0, 0.0, ""),
        (98.0, 0.0, 0, 0.0, "process"),
        (99.9, 98.9, 0, 0.0, ""),
        (99.9, 98.0, 0, 0.0, "environment"),
        (99.9, 85.0, 1, 1.4, ""),
        (99.9, 98.0, 1, 1.6, "loading"),
        (99.9, 0.0, 1, 1.6, ""),
    ],
)
def test_what_counts_as_silence(
    beat: float, since: float, loading: int, idle: float, word: str
) -> None:
    signs: LifeSigns = new_signs()
    signs.beat.value, signs.waiting_since.value = beat, since
    signs.loading.value, signs.idle_s.value = loading, idle
    found = problem_of(signs, 100.0)
    assert word in str(found) if word else not found


def test_silence_of_two_seconds_is_noticed_on_a_computer_that_has_the_time() -> None:
    longest = max(watchdog.STEP_S, watchdog.BEAT_S, watchdog.IDLE_S + heartbeat.LOOK_S)
    assert longest + watchdog.CHECK_MS / 1000 <= NOTICED_S
