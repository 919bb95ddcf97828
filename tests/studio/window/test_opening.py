"""Agents and runs are opened by drag and drop, by the dialog, and from the command line."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

import studio.app
from studio import __main__
from studio.window.main_window import MainWindow
from tests.td3core.helpers import finish

WAIT_MS = 60_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return finish(tmp_path / "elsewhere", "Pendulum-v1", steps=30).run


def drop(window: MainWindow, *paths: Path) -> None:
    """Drop files on the window, as a file manager does."""
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    copy, left, none = (
        Qt.DropAction.CopyAction,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    enter = QDragEnterEvent(QPoint(9, 9), copy, mime, left, none)
    QApplication.sendEvent(window, enter)
    assert enter.isAccepted()
    QApplication.sendEvent(window, QDropEvent(QPointF(9, 9), copy, mime, left, none))


def test_a_run_or_an_agent_dropped_on_the_window_is_opened(
    qtbot: QtBot, window: MainWindow, run: Path
) -> None:
    with qtbot.waitSignal(window.model.run_opened, timeout=WAIT_MS):
        drop(window, run)
    assert window.model.record.run == run
    last = run / "checkpoints" / "last.safetensors"
    with qtbot.waitSignal(window.opener.agent_opened, timeout=WAIT_MS):
        drop(window, last)
    assert window.replay.player.path == last


def test_an_agent_that_is_opened_or_imported_stays_when_the_run_saves(
    qtbot: QtBot, window: MainWindow, run: Path
) -> None:
    opened = run / "checkpoints" / "last.safetensors"
    pane, trains = window.replay, window.runs_dir / "trains"
    pane.set_current_run(trains)
    for choose in (
        lambda: window.opener.agent_opened.emit(opened),
        lambda: window.importing.imported.emit({"checkpoint": str(opened)}),
    ):
        pane.controls.follow_check.setChecked(True)
        with qtbot.waitSignal(pane.player.loaded, timeout=WAIT_MS):
            choose()
        assert not pane.controls.follows_latest
        pane.note_saved(trains / "checkpoints" / "step_000001000.safetensors", 1000, None)
        assert pane.player.path == opened


def test_the_dialog_opens_what_was_chosen_and_refuses_the_rest(
    qtbot: QtBot, window: MainWindow, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no agent")
    chosen = [str(text)]
    monkeypatch.setattr(QFileDialog, "getOpenFileNames", lambda *_: (chosen, ""))
    with qtbot.waitSignal(window.opener.refused, timeout=WAIT_MS) as told:
        window.opener.action.trigger()
    assert [str(each) for each in told.args] == [f"{text} is neither an agent nor a run."]
    chosen[:] = [str(run / "run.toml")]
    with qtbot.waitSignal(window.model.run_opened, timeout=WAIT_MS):
        window.opener.action.trigger()


def test_a_path_on_the_command_line_opens_the_window_with_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(studio.app, "run", lambda *words: asked.append(words) or 0)
    assert __main__.main([str(run)]) == 0
    assert __main__.main(["agent.safetensors"]) == 0
    assert asked == [(None, [run]), (None, [Path("agent.safetensors")])]


def test_the_walker_is_the_agent_that_plays_first(window: MainWindow) -> None:
    # Whatever else is bundled: only the walker has earlier agents for the timeline.
    model = window.replay.checkpoints.model
    assert model.rowCount() > 5
    first = model.first()
    assert first is not None
    assert first.stem == "BipedalWalker-v3"
    assert first.with_suffix("").is_dir()
