"""What goes wrong in the process that draws is told, and the pane goes on."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.player import Player, PlayerState
from tests.studio.replay.scenes import WAIT_MS, blocks, load, watched


def test_a_killed_renderer_is_told_of_and_comes_back(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    player.play()
    assert player.pid is not None
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
        os.kill(player.pid, signal.SIGKILL)
    assert said.args == ["The renderer stopped (signal 9). Training is not affected."]
    assert player.state is PlayerState.CRASHED
    assert not blocks()
    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.restart()
    assert player.path == agent
    with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS):
        player.play()


def test_an_environment_that_fails_is_told_of_in_its_own_words(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    load(qtbot, player, staged("Failing-v0"))
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
        player.play()
    assert said.args == [
        "The renderer stopped: ValueError: the motor is on fire. Training is not affected."
    ]
    load(qtbot, player, agent)
    assert player.state is PlayerState.PAUSED


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ("Mute-v0", "scripted_stage:Mute-v0 cannot render images"),
        ("Blind-v0", "scripted_stage:Blind-v0 cannot draw itself here: no display."),
        ("Changed-v0", "the one installed here has 2 and 1."),
        ("Missing-v0", "Missing-v0"),
    ],
)
def test_an_environment_that_cannot_be_shown_is_refused(
    qtbot: QtBot,
    player: Player,
    agent: Path,
    staged: Callable[[str], Path],
    env: str,
    sentence: str,
) -> None:
    with qtbot.waitSignal(player.refused, timeout=WAIT_MS) as said:
        player.load(staged(env))
    assert sentence in said.args[0]
    assert player.state is PlayerState.EMPTY
    load(qtbot, player, agent)


def test_a_refusal_that_was_overtaken_does_not_stop_the_play(
    qtbot: QtBot, player: Player, agent: Path, tmp_path: Path
) -> None:
    refusals: list[str] = []
    player.refused.connect(refusals.append)
    load(qtbot, player, agent)
    player.play()
    player.load(tmp_path / "nowhere.safetensors")
    player.load(agent)
    pictures = watched(player)
    qtbot.waitUntil(lambda: any(p.moment.step > 1 for p in pictures), timeout=WAIT_MS)
    assert player.state is PlayerState.PLAYING
    assert not refusals


def test_a_truncated_checkpoint_is_refused_and_a_sound_one_plays_afterwards(
    qtbot: QtBot, pane: ReplayPane, agent: Path, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.safetensors"
    torn.write_bytes(agent.read_bytes()[:-100])
    with qtbot.waitSignal(pane.player.refused, timeout=WAIT_MS):
        pane.player.load(torn)
    assert pane.message.isVisible()
    assert "torn.safetensors is not a readable checkpoint" in pane.message.text()
    load(qtbot, pane.player, agent)
    assert not pane.message.isVisible()
    with qtbot.waitSignal(pane.player.frame_ready, timeout=WAIT_MS):
        qtbot.mouseClick(pane.controls.play_button, Qt.MouseButton.LeftButton)
