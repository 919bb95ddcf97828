"""The pane, as seen by the user."""

import os
import signal
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from studio.replay import checkpoint_model
from studio.replay.pane import ReplayPane
from studio.replay.player import PlayerState
from tests.studio.replay.scenes import WAIT_MS, load, pixels, watched


def click_row(qtbot: QtBot, pane: ReplayPane, path: Path) -> None:
    view = pane.checkpoints.view
    where = view.visualRect(pane.checkpoints.model.find(path)).center()
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=where)


def test_two_clicks_on_first_launch_show_a_bundled_agent_moving(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    pictures = watched(pane.player)
    click_row(qtbot, pane, bundled)
    qtbot.mouseClick(pane.controls.play_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len({pixels(p) for p in pictures}) >= 10, timeout=WAIT_MS)
    assert pane.view.image is not None
    assert pane.caption.title.text() == "Pendulum-v1 · step 50,000"
    assert pane.controls.play_button.accessibleName() == "Pause"
    shown = [label.text() for label in pane.findChildren(QLabel)]
    assert f"step {pictures[-1].step.number}" in shown
    assert "episode 1" in shown


def test_play_with_nothing_chosen_takes_the_bundled_agent(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.keyClick(pane.view, Qt.Key.Key_Space)
    assert pane.player.path == bundled
    assert pane.checkpoints.chosen() == bundled
    assert pane.player.state is PlayerState.PLAYING
    qtbot.keyClick(pane.checkpoints.view, Qt.Key.Key_Space)
    assert pane.player.state is PlayerState.PAUSED


def test_play_without_any_agent_says_how_to_get_one(
    qtbot: QtBot, pane: ReplayPane, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane.checkpoints.model.clear_section(checkpoint_model.Section.BUNDLED)
    qtbot.mouseClick(pane.controls.play_button, Qt.MouseButton.LeftButton)
    assert "no saved agent yet" in pane.message.text()
    assert pane.player.state is PlayerState.EMPTY


def test_enter_on_a_row_plays_it(qtbot: QtBot, bundled: Path, pane: ReplayPane) -> None:
    pane.checkpoints.view.setCurrentIndex(pane.checkpoints.model.find(bundled))
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.keyClick(pane.checkpoints.view, Qt.Key.Key_Return)
    assert pane.player.state is PlayerState.PLAYING


def test_a_crash_offers_to_restart_the_renderer(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    load(qtbot, pane.player, bundled)
    assert not pane.renderer_button.isVisible()
    assert pane.player.pid is not None
    with qtbot.waitSignal(pane.player.crashed, timeout=WAIT_MS):
        os.kill(pane.player.pid, signal.SIGKILL)
    assert pane.message.text().endswith("Training is not affected.")
    assert pane.renderer_button.isVisible()
    with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
        qtbot.mouseClick(pane.renderer_button, Qt.MouseButton.LeftButton)
    assert not pane.renderer_button.isVisible()
    assert not pane.message.isVisible()


def fits(pane: ReplayPane) -> bool:
    """Return whether the picture has the available size, and is not drawn again."""
    room = QSize(500, 500).scaled(pane.view.size(), Qt.AspectRatioMode.KeepAspectRatio)
    return pane.view.image is not None and pane.view.image.size() == room


def test_controls_reach_the_player(qtbot: QtBot, bundled: Path, pane: ReplayPane) -> None:
    # Pictures are compared, and layouts settle late.
    pane.view.setFixedSize(200, 200)
    load(qtbot, pane.player, bundled)
    qtbot.waitUntil(lambda: fits(pane), timeout=WAIT_MS)
    pictures = watched(pane.player)
    qtbot.mouseClick(pane.controls.step_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(pictures), timeout=WAIT_MS)
    assert pictures[0].step.number == 1
    pane.controls.speed_combo.setCurrentIndex(1)
    assert pane.player.speed == 0.25
    pane.controls.seed_spin.setValue(5)
    assert pane.player.seed == 5
    qtbot.waitUntil(lambda: pictures[-1].step.number == 0, timeout=WAIT_MS)
    # Now: the memory behind it may be overwritten later.
    first, count = pixels(pictures[-1]), len(pictures)
    qtbot.mouseClick(pane.controls.restart_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: len(pictures) > count, timeout=WAIT_MS)
    assert pictures[-1].step.number == 0
    assert pixels(pictures[-1]) == first


def test_the_pane_fits_a_narrow_dock_and_every_control_has_a_name(pane: ReplayPane) -> None:
    size = pane.minimumSizeHint()
    assert size.width() <= 320
    assert size.height() <= 560
    for name in ("restart_button", "back_button", "play_button", "step_button", "speed_combo"):
        control = getattr(pane.controls, name)
        assert control.objectName() == f"replay_{name}"
        assert control.accessibleName()
        assert control.toolTip()


def test_the_pane_asks_for_pictures_in_its_own_size(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    pane.choose(agent)

    def shown() -> QSize:
        return pane.view.image.size() if pane.view.image else QSize()

    def wanted() -> QSize:
        return QSize(500, 500).scaled(pane.view.size(), Qt.AspectRatioMode.KeepAspectRatio)

    qtbot.waitUntil(lambda: shown() == wanted(), timeout=WAIT_MS)
    before = wanted()
    pane.resize(pane.width() + 90, pane.height() + 70)
    qtbot.waitUntil(lambda: wanted() != before and shown() == wanted(), timeout=WAIT_MS)
