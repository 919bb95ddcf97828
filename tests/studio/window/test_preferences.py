"""The settings of the window in one dialog, and notifications of the end of long work."""

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QMainWindow,
    QSystemTrayIcon,
)

from studio.consent.code_consent import CodeConsent
from studio.experiments.sweep_panel import SweepPanel
from studio.experiments.sweep_process import SweepProcess
from studio.session.history import read_history
from studio.tasks.cli_process import CliProcess
from studio.theme.theme import load_theme
from studio.window.preferences.event_files import EventFiles
from studio.window.preferences.notifications import notify_of_sweeps
from studio.window.preferences.notifier import LONG_S, Notifier
from td3core.config import make_settings
from td3core.exporters.live.registry import TENSORBOARD
from td3core.protocol import events
from td3core.text import Text
from tests.studio.fake_runs import make_run
from tests.support.events import started

pytestmark = pytest.mark.shared_window


def stored() -> QSettings:
    ini = QSettings.Format.IniFormat, QSettings.Scope.UserScope
    return QSettings(*ini, "td3-studio", "td3-studio")


@pytest.fixture
def blocked(tmp_path: Path) -> None:
    """Put a file where the folder of the settings would be."""
    (tmp_path / "blocked").write_text("")
    place = str(tmp_path / "blocked" / "settings")
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, place)


@pytest.mark.own_window
def test_settings_that_cannot_be_stored_are_told_with_their_file(blocked, window, find) -> None:
    told = f"cannot be stored in {stored().fileName()}"
    assert window.banner.isVisible()
    assert told in window.banner.text
    assert told in find("log_view").toPlainText()


@pytest.mark.slow
@pytest.mark.own_window
def test_settings_that_cannot_be_stored_any_more_are_told_once(qtbot, window, find) -> None:
    assert not window.banner.isVisible()
    folder = Path(stored().fileName()).parent
    if folder.exists():
        shutil.rmtree(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    window.switch_theme()
    told = f"cannot be stored in {stored().fileName()}"
    qtbot.waitUntil(lambda: window.banner.isVisible())
    assert told in window.banner.text
    window.banner.hide()
    window.switch_theme()
    find("own_process_check").toggle()
    QApplication.processEvents()
    assert not window.banner.isVisible()
    assert find("log_view").toPlainText().count(told) == 1


def test_what_the_start_says_stays_when_the_last_run_is_shown_again(window, runs_dir) -> None:
    history = read_history(make_run(runs_dir).path, lambda: False)
    window.banner.show_message("warning", "Settings cannot be stored.")
    window.presenter.open(replace(history, reopened=True))
    assert window.banner.isVisible()
    window.presenter.open(history)
    assert not window.banner.isVisible()


@pytest.mark.own_window
@pytest.mark.slow
def test_every_setting_takes_effect_at_once_and_is_remembered(window, find, tmp_path) -> None:
    window.toolbar.action("settings").trigger()
    dialog = find("preferences_dialog")
    assert dialog.focusWidget() is find("preferences_theme")
    before = window.theme.name
    themes = dialog.findChild(QComboBox)
    themes.setCurrentIndex(1 - themes.currentIndex())
    assert window.theme.name != before
    assert stored().value("theme") == window.theme.name
    follow = window.replay.controls.follow_check
    seen = {
        "play_at_start": window.replay.options.play_at_start_action.isChecked,
        "follow_latest": follow.isChecked,
        "notifications": lambda: stored().value("notifications", True, bool),
        "ask_too_short": lambda: stored().value("ask_too_short", True, bool),
    }
    for name, read in seen.items():
        box = dialog.findChild(QCheckBox, f"preferences_{name}")
        was = read()
        assert box.isChecked() == was
        box.click()
        assert read() != was, name
    # Which agent plays is promised beside the switch.
    tip = dialog.findChild(QCheckBox, "preferences_play_at_start").toolTip()
    assert "last time's run, or else a bundled one" in tip
    assert stored().value("replay/follow_latest", False, bool) == follow.isChecked()
    opengl = dialog.findChild(QComboBox, "preferences_opengl")
    assert opengl.isEnabled() == (sys.platform == "linux" and "MUJOCO_GL" not in os.environ)
    opengl.setCurrentIndex(opengl.findText("OSMesa"))
    assert stored().value("replay/opengl") == "osmesa"
    if opengl.isEnabled():
        assert window.replay.player.variables == {"MUJOCO_GL": "osmesa"}
    shown = dialog.findChild(QLabel, "preferences_runs_dir").text().replace("\u200b", "")
    assert shown == str(tmp_path / "runs")


@pytest.mark.own_window
def test_event_files_of_every_run_are_switched_for_this_process_and_remembered(
    window, find, tmp_path, monkeypatch
) -> None:
    pytest.importorskip("tensorboardX")
    # Restored at the end, whatever the window does to it.
    monkeypatch.setenv(TENSORBOARD.variable, "")
    window.toolbar.action("settings").trigger()
    box = find("preferences_dialog").findChild(QCheckBox, "preferences_tensorboard")
    assert not box.isChecked()
    box.click()
    folder = str(tmp_path / "runs" / "tensorboard")
    assert os.environ[TENSORBOARD.variable] == folder
    assert stored().value("tensorboard", False, bool)
    again, film = EventFiles(stored(), tmp_path / "runs", lambda: None).switches()
    assert (again.read(), again.fixed, film.read()) == (True, "", False)
    unwanted = []
    window.preferences.films_unwanted.connect(lambda: unwanted.append(1))
    films = find("preferences_tensorboard_film")
    assert films.isEnabled()
    assert window.preferences.film_folder is None
    films.click()
    assert window.preferences.film_folder == tmp_path / "runs" / "tensorboard"
    assert stored().value("tensorboard_film", False, bool)
    assert unwanted == []
    box.click()
    # Without event files there is nothing that would show a film.
    assert (films.isEnabled(), window.preferences.film_folder, unwanted) == (False, None, [1])
    assert TENSORBOARD.variable not in os.environ
    monkeypatch.setenv(TENSORBOARD.variable, "/mine")
    mine = EventFiles(stored(), tmp_path / "runs", lambda: None)
    elsewhere, film = mine.switches()
    assert (elsewhere.read(), "/mine" in elsewhere.fixed) == (True, True)
    assert (film.fixed, mine.film_folder) == ("", Path("/mine"))
    assert os.environ[TENSORBOARD.variable] == "/mine"


@pytest.mark.own_window
def test_a_run_too_short_to_learn_starts_at_once_where_nobody_wants_to_be_asked(
    window, find, monkeypatch
) -> None:
    monkeypatch.setattr("studio.window.start_request.choose", lambda *_args: "")
    started = []
    monkeypatch.setattr(window.many, "start", started.append)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(500)
    window.start_request.start()
    assert started == []
    window.toolbar.action("settings").trigger()
    find("preferences_ask_too_short").click()
    window.start_request.start()
    assert len(started) == 1


def test_the_end_of_long_work_is_notified_only_where_nobody_looks(
    qtbot, window, monkeypatch
) -> None:
    shown, now, wanted = [], [0.0], [True]
    notifier = Notifier(window, lambda: wanted[0], lambda: now[0])
    monkeypatch.setattr(notifier, "notify", lambda *words: shown.append(words))
    in_front = [None]
    monkeypatch.setattr(QApplication, "activeWindow", lambda: in_front[0])

    def work(seconds: float) -> int:
        notifier.begin("run")
        now[0] += seconds
        notifier.end("run", "It", "ended")
        return len(shown)

    assert work(LONG_S - 1) == 0
    assert work(LONG_S) == 1
    in_front[0] = window
    assert work(LONG_S) == 1
    in_front[0], wanted[0] = None, False
    assert work(LONG_S) == 1
    wanted[0] = True
    notifier.end("never begun", "It", "ended")
    assert shown == [("It", "ended")]


@pytest.fixture
def notified(monkeypatch) -> list[tuple[str, ...]]:
    """Return what is notified at the end of any work, however short."""
    shown: list[tuple[str, ...]] = []
    monkeypatch.setattr(Notifier, "end", lambda _, *words: shown.append((*map(str, words),)))
    return shown


def test_a_failed_run_is_notified_by_its_name_and_reason(window, notified) -> None:
    window.model.handle(started(*make_settings({"env": "Pendulum-v1"}), name="my run"))
    window.model.handle(events.Failed(message=Text("It broke."), details=""))
    assert notified == [("run", "Pendulum-v1 · my run failed", "It broke.")]


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_run_that_was_not_started_is_not_notified_by_the_name_of_the_run_before(
    window, notified, cancelled: bool
) -> None:
    window.model.rename("the run before")
    refused = events.Failed(message=Text("No such thing."), details="", cancelled=cancelled)
    window.model.handle(refused)
    assert notified == [("run", "The run was not started", "No such thing.")]


def test_a_sweep_is_notified_by_its_name_though_another_one_is_shown(
    qtbot, tmp_path, notified
) -> None:
    outer = QMainWindow()
    qtbot.addWidget(outer)
    panel = SweepPanel(tmp_path, CodeConsent(outer), load_theme("light"), outer)
    notify_of_sweeps(Notifier(outer, lambda: True), panel)
    panel.findChild(QComboBox, "sweep_combo").addItems(["shown", "mine"])
    process = panel.findChild(SweepProcess)
    process.name = "mine"
    process.findChild(CliProcess).answered.emit({})
    assert notified == [("sweep", "Sweep mine", "It has ended.")]
    panel.shutdown()


# The offscreen platform has no tray.
@pytest.mark.qt_log_ignore("systemTrayWindowChanged", extend=True)
def test_a_message_has_an_icon_only_as_long_as_it_is_shown(window, monkeypatch) -> None:
    told = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", lambda _, *words: told.append(words[:2]))
    monkeypatch.setattr(QApplication, "alert", lambda asked: told.append(asked))
    window.setWindowIcon(window.theme.icon("play"))
    notifier = Notifier(window, lambda: True)
    notifier.notify("my run has finished", "Best return 12.0")
    assert told == [window, ("my run has finished", "Best return 12.0")]
    icon = notifier.findChild(QSystemTrayIcon)
    assert icon.isVisible()
    icon.messageClicked.emit()
    assert not icon.isVisible()


def test_the_end_of_a_long_film_is_notified(window, monkeypatch) -> None:
    shown = []
    monkeypatch.setattr(Notifier, "notify", lambda _, *words: shown.append(words))
    monkeypatch.setattr(QApplication, "activeWindow", lambda: None)
    monkeypatch.setattr("studio.window.preferences.notifier.LONG_S", 0.0)
    tasks = window.share.tasks
    tasks.began.emit("film_dialog")
    tasks.ended.emit("film_dialog", "Record film is done", "Written to walk.mp4.")
    assert shown == [("Record film is done", "Written to walk.mp4.")]
