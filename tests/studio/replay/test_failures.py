"""Failures in the process that draws are reported, and the pane continues."""

import os
import re
import signal
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.player import Player, PlayerState
from td3core import __version__
from tests.studio.replay.scenes import WAIT_MS, blocks, load, pixels, watched


def test_a_killed_renderer_is_told_of_and_comes_back(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    player.play()
    assert player.pid is not None
    with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
        os.kill(player.pid, signal.SIGKILL)
    assert list(map(str, said.args)) == [
        "The renderer stopped (signal 9). Training is not affected."
    ]
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
    assert list(map(str, said.args)) == [
        "The renderer stopped: ValueError: the motor is on fire. Training is not affected."
    ]
    load(qtbot, player, agent)
    assert player.state is PlayerState.PAUSED


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
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
    assert sentence in str(said.args[0])
    assert player.state is PlayerState.EMPTY
    load(qtbot, player, agent)


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        (
            "Mute-v0",
            "scripted_stage:Mute-v0 returned no picture at step 0: expected uint8 (height, width,"
            " 3), got NoneType.",
        ),
        ("Blind-v0", "scripted_stage:Blind-v0 cannot draw itself here: no display."),
    ],
)
def test_where_nothing_can_be_drawn_the_agent_plays_as_numbers_and_the_reason_is_shown(
    qtbot: QtBot, pane: ReplayPane, staged: Callable[[str], Path], env: str, sentence: str
) -> None:
    shown: list[str] = []
    pane.view.show_text = shown.append  # type: ignore[method-assign]
    pictures = watched(pane.player)
    load(qtbot, pane.player, staged(env))
    pane.player.measure(True)
    pane.player.step()
    qtbot.waitUntil(lambda: pictures[-1].data is not None, timeout=WAIT_MS)
    assert pictures[-1].images == ()
    assert (pictures[-1].step.number, pictures[-1].step.total) == (1, 1.0)
    assert shown[-1] == f"{sentence} The instruments show its numbers."


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        (
            "Rare-v0",
            "scripted_stage:Rare-v0 returned no picture at step 1: expected uint8 (height, width,"
            " 3), got NoneType.",
        ),
        ("Once-v0", "scripted_stage:Once-v0 cannot draw itself here: no display."),
    ],
)
def test_where_a_later_step_is_not_drawn_the_last_picture_stays_and_the_agent_plays_on(
    qtbot: QtBot, pane: ReplayPane, staged: Callable[[str], Path], env: str, sentence: str
) -> None:
    player, told = pane.player, list[object]()
    player.undrawn.connect(told.append)
    pictures = watched(player)
    load(qtbot, player, staged(env))
    for number in (1, 2, 3):
        player.step()
        qtbot.waitUntil(lambda n=number: pictures[-1].step.number == n, timeout=WAIT_MS)
    assert pictures[-1].step.total == 3.0
    by_step = {picture.step.number: pixels(picture) for picture in pictures}
    assert by_step[0] == by_step[1]
    assert by_step[2] == by_step[3]
    assert (by_step[1] == by_step[2]) is (env == "Once-v0")
    assert list(map(str, told)) == [sentence]
    assert pane.message.isVisible()
    assert f"{sentence} The last picture stays." in pane.message.toolTip()
    with qtbot.waitSignal(player.captured, timeout=WAIT_MS):
        player.capture()
    # An episode may begin without a picture, too.
    player.start_over(1)
    qtbot.waitUntil(lambda: pictures[-1].step.number == 0, timeout=WAIT_MS)
    assert len(pictures[-1].images) == 1
    assert player.state is PlayerState.PAUSED


SPY = """
import os
raise RuntimeError("it saw " + str(os.environ.get("MUJOCO_GL")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a choice")
def test_the_renderer_has_the_chosen_opengl_before_it_imports_mujoco(
    qtbot: QtBot,
    pane: ReplayPane,
    agent: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    (tmp_path / "spy").mkdir()
    (tmp_path / "spy" / "mujoco.py").write_text(SPY)
    monkeypatch.syspath_prepend(tmp_path / "spy")
    cheetah = Path(str(files("resources") / "agents" / "HalfCheetah-v5.safetensors"))
    with qtbot.waitSignal(pane.player.refused, timeout=WAIT_MS) as said:
        pane.player.load(cheetah)
    assert re.search(r"it saw (egl|osmesa|glfw|disabled)\.", str(said.args[0]))
    # The window system needs nothing but a library that is almost always there.
    load(qtbot, pane.player, agent)
    before = pane.player.pid
    with qtbot.waitSignals([pane.player.loaded, pane.player.frame_ready], timeout=WAIT_MS):
        pane.options.set_opengl("glfw")
    assert pane.player.pid != before
    assert pane.player.path == agent
    with qtbot.waitSignal(pane.player.refused, timeout=WAIT_MS) as said:
        pane.player.load(cheetah)
    assert "it saw glfw." in str(said.args[0]) or "install libgl1" in str(said.args[0])


def test_a_renderer_of_another_version_ends_with_a_sentence(
    qtbot: QtBot, player: Player, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("td3core.system.child_process.__version__", "0.0.9")
        with qtbot.waitSignal(player.crashed, timeout=WAIT_MS) as said:
            player.load(agent)
    assert f"TD3 Studio was updated from 0.0.9 to {__version__}: restart it." in str(said.args[0])
    assert player.state is PlayerState.CRASHED


def test_a_refusal_that_was_overtaken_does_not_stop_the_play(
    qtbot: QtBot, player: Player, agent: Path, tmp_path: Path
) -> None:
    refusals: list[object] = []
    player.refused.connect(refusals.append)
    load(qtbot, player, agent)
    player.play()
    player.load(tmp_path / "nowhere.safetensors")
    player.load(agent)
    pictures = watched(player)
    qtbot.waitUntil(lambda: any(p.step.number > 1 for p in pictures), timeout=WAIT_MS)
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
