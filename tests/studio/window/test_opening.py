"""Agents and runs are opened by drag and drop, by the dialog, and from the command line."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSettings, Qt, QUrl, SignalInstance
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog
from pytestqt.qtbot import QtBot

import studio.app
from studio import __main__
from studio.session.history import read_history
from studio.window import opener
from studio.window.main_window import MainWindow
from tests.studio.fake_runs import make_run
from tests.td3core.helpers import finish
from tests.td3core.importers.foreign_files import monitor

WAIT_MS = 60_000


def places(window: MainWindow) -> tuple[SignalInstance, ...]:
    """Return the signals by which the parts of the window ask for a run."""
    return (
        window.runs.run_actions.open_requested,
        window.start.open_requested,
        window.opener.run_wanted,
        window.panels.named("many").run_wanted,
        window.late.sweeps.run_wanted,
    )


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_window_says_how_many_files_it_has_not_opened(
    qtbot: QtBot, window: MainWindow, run: Path, tmp_path: Path
) -> None:
    agents = [run / "checkpoints" / "last.safetensors"]
    agents += [Path(shutil.copy(agents[0], tmp_path / f"{n}.safetensors")) for n in range(2)]
    with qtbot.waitSignal(window.opener.left_out, timeout=WAIT_MS):
        drop(window, *agents)
    assert window.replay.player.path == agents[0]
    words = "last.safetensors was opened; 2 more files were left out: open one at a time."
    assert words in window.banner.text
    curves = [tmp_path / f"{n}.monitor.csv" for n in range(2)]
    for file in curves:
        file.write_text(monitor([(-1000.0, 200, 1.5)]))
    with qtbot.waitSignals([window.opener.import_wanted, window.opener.left_out], timeout=WAIT_MS):
        drop(window, *curves)
    assert "1 more file was left out" in window.banner.text


@pytest.mark.slow
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


@pytest.mark.parametrize("does", ["compares", "chooses and enters"])
@pytest.mark.slow
def test_the_run_of_the_last_session_leaves_what_the_user_did_before_it_was_read(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str
) -> None:
    last, others = make_run(tmp_path / "runs"), [make_run(tmp_path, seed=n) for n in (1, 2)]
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.setValue("open_run", str(last.path))
    settings.sync()
    wanted, done = threading.Event(), threading.Event()

    def slow(path: Path, stopped: Callable[[], bool], **more: Any) -> object:
        wanted.wait(WAIT_MS / 1000)
        found = read_history(path, stopped, **more)
        done.set()
        return found

    monkeypatch.setattr("studio.window.run_presenter.read_history", slow)
    window = studio.app.build_window(tmp_path / "runs")
    window.show()
    if does == "compares":
        with qtbot.waitSignal(window.comparison.session.opened, timeout=WAIT_MS):
            window.opener.open([each.path for each in others])
        wanted.set()
        qtbot.waitUntil(done.is_set, timeout=WAIT_MS)
        # What the read reports would be handled by now.
        QApplication.processEvents()
        assert window.comparison.session.active
    else:
        first = window.replay.checkpoints.model.first()
        assert first is not None
        window.replay.choose(first)
        window.setup.environment.picker.setCurrentText("MountainCarContinuous-v0")
        window.setup.seeds.setText("3")
        wanted.set()
        qtbot.waitUntil(lambda: window.model.record.run == last.path, timeout=WAIT_MS)
        assert window.replay.player.path == first
        assert window.replay.checkpoints.current_run == last.path
        assert window.setup.environment.env_id == "MountainCarContinuous-v0"
        assert window.setup.seeds.text() == "3"
    window.close()
    window.deleteLater()


def test_the_run_asked_for_last_is_shown_wherever_each_was_asked_for(
    qtbot: QtBot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, last = (make_run(runs_dir, seed=n).path for n in (1, 2))
    may_go_on, read, shown = threading.Event(), list[Path](), list[Path | None]()

    def slowly(path: Path, stopped: Callable[[], bool], **more: Any) -> object:
        if path == slow:
            may_go_on.wait(WAIT_MS / 1000)
        found = read_history(path, stopped, **more)
        read.append(path)
        return found

    monkeypatch.setattr("studio.window.run_presenter.read_history", slowly)
    window.model.run_opened.connect(lambda history: shown.append(history.record.run))
    for place in places(window):
        place.emit(slow)
    window.start.open_requested.emit(last)
    qtbot.waitUntil(lambda: bool(shown), timeout=WAIT_MS)
    may_go_on.set()
    qtbot.waitUntil(lambda: len(read) == 1 + len(places(window)), timeout=WAIT_MS)
    # What the reads report would be handled by now.
    QApplication.processEvents()
    assert shown == [last]


def test_a_run_asked_for_while_a_dropped_one_is_examined_stays(
    qtbot: QtBot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dropped, last = (make_run(runs_dir, seed=n).path for n in (1, 2))
    may_go_on = threading.Event()

    def slowly(*words: Any) -> object:
        may_go_on.wait(WAIT_MS / 1000)
        return examine(*words)

    examine = opener._examine
    monkeypatch.setattr(opener, "_examine", slowly)
    window.opener.open([dropped])
    with qtbot.waitSignal(window.model.run_opened, timeout=WAIT_MS):
        window.start.open_requested.emit(last)
    with qtbot.waitSignal(window.opener._reader.finished, timeout=WAIT_MS):
        may_go_on.set()
    assert not window.presenter._reader.busy
    assert window.model.record.run == last


@pytest.mark.slow
def test_a_run_asked_for_while_another_trains_or_starts_is_refused_in_the_same_words(
    qtbot: QtBot, window: MainWindow, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, busy = make_run(runs_dir).path, [False]
    monkeypatch.setattr(type(window.controller), "busy", property(lambda _: busy[0]))
    for trains in (True, False):
        for place in places(window):
            busy[0] = trains
            with qtbot.waitSignal(window.presenter.refused, timeout=WAIT_MS):
                place.emit(path)
                busy[0] = True
            assert window.banner.text == ("A run is training. Wait for its end, or stop it first.")
            window.banner.hide()
    assert window.model.record.run is None
    busy[0] = False


@pytest.mark.slow
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
