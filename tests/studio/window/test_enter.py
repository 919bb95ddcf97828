"""Enter in a dialog does what its title says; where that could do harm, the harmless thing."""

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, QSize, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QDialog, QPushButton
from pytestqt.qtbot import QtBot

import studio
from studio.consent.dialog import ConsentDialog
from studio.experiments.lessons_dialog import LessonsDialog
from studio.health.board import AdviceBoard
from studio.health.paired_test_dialog import PairedTestDialog
from studio.health.thresholds_dialog import ThresholdsDialog
from studio.help.shortcuts import ShortcutsDialog
from studio.inspection.dialog import InspectionDialog
from studio.launch.branch_dialog import BranchDialog
from studio.launch.dialogs import (
    ChangesDialog,
    MoreStepsDialog,
    OtherClassDialog,
    RepeatDialog,
)
from studio.launch.verify_dialog import VerifyDialog
from studio.live.schedule_dialog import ScheduleDialog
from studio.plots.limits_dialog import LimitsDialog
from studio.replay.checkpoint_model import CheckpointModel
from studio.replay.compare.dialog import CompareDialog
from studio.run_browser.dialogs import NoteDialog, SettingsDialog
from studio.session.history import read_history
from studio.setup.env_check_dialog import EnvCheckDialog
from studio.setup.info_dialog import InfoDialog
from studio.share.evaluate_dialog import EvaluateDialog
from studio.share.export_dialog import ExportDialog
from studio.share.film_dialogs import (
    AgentFilmDialog,
    ComparisonFilmDialog,
    GrowthFilmDialog,
)
from studio.share.import_dialog import ImportDialog
from studio.share.picture_dialog import PictureDialog
from studio.share.report_dialog import ReportDialog, ReportSubject
from studio.share.screenshot import Screenshot
from studio.window.crash_reporter import CrashDialog
from studio.window.main_window import MainWindow
from studio.window.preferences.dialog import PreferencesDialog
from td3core.analysis.advice import SettingChange
from td3core.checkpoint import read_header
from td3core.config import Tunables, spec
from td3core.experiments.lessons import load_lessons
from td3core.playing.compared import ComparedAgent
from td3core.playing.step import BEGINNING
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from td3core.system.allowed_code import LocatedModule
from tests.studio.fake_runs import make_run

INI = QSettings.Format.IniFormat


def dialogs(window: MainWindow, runs_dir: Path) -> Iterator[tuple[str, QDialog]]:
    """Yield every dialog, with the text of the button that Enter should press in it."""
    run = make_run(runs_dir)
    change = Change(env_steps=100, name="tau", new=0.01)
    image = QImage(QSize(8, 8), QImage.Format.Format_RGB32)
    screenshot = Screenshot(image=image, names=("one",), steps=(BEGINNING,))
    end = read_history(run.path, lambda: False).record.progress
    assert end is not None
    model = window.findChild(CheckpointModel)
    assert model is not None
    with as_file(files("resources") / "agents" / "Pendulum-v1.safetensors") as agent:
        other = runs_dir / "other.safetensors"
        other.write_bytes(agent.read_bytes())
        pair = [ComparedAgent(agent), ComparedAgent(other)]
        yield "Resume", MoreStepsDialog(summarise(run), window)
        yield "Resume anyway", OtherClassDialog(summarise(run), "neon", window)
        yield "Resume", ChangesDialog("my run", end, replace(end.tunables, tau=0.5), window)
        yield "Train", RepeatDialog(run, [change], "my run", window)
        yield "Train", BranchDialog(agent, read_header(agent), window)
        yield "Compare", CompareDialog(model, (), "Pendulum-v1", pair, window)
        yield "Save…", PictureDialog(screenshot, "name", window)
        yield "Evaluate", EvaluateDialog(agent, "my run", 0, window)
        yield "Export…", ExportDialog(agent, window)
        yield "Record…", AgentFilmDialog(agent, 0, 1.0, window)
        yield "Record…", GrowthFilmDialog(run.path, "my run", 0, window)
        yield "Record…", ComparisonFilmDialog(pair, 0, 1.0, (), 2, window)
        yield "Train this lesson", LessonsDialog(load_lessons(), window)
        yield "OK", ScheduleDialog("tau", spec(Tunables, "tau"), Tunables(), 0, 1000, window)
        # An agent of this program needs no import.
        yield "Close", ImportDialog(agent, runs_dir, window.consent, window)
        limits = LimitsDialog("plot_return", "Return", (None, None), print, window)
        yield "OK", limits
        subject = ReportSubject(name="my run", sources=(str(run.path),))
        yield "Write…", ReportDialog(subject, lambda begin: begin(), window)
        tried = SettingChange(setting="tau", old=1.0, new=0.005)
        yield "Try it", PairedTestDialog(tried, 500, 1000, window, steps_per_s=100.0, free_cores=0)
        board = AdviceBoard(window.model, QSettings(str(runs_dir / "a.ini"), INI), window)
        yield "Close", ThresholdsDialog(board, window)
        # For reading. The check continues until it has an answer.
        yield "", VerifyDialog(window)
        yield "Close", EnvCheckDialog(window)
        yield "OK", InfoDialog(window)
        yield "Close", InspectionDialog(run.last, "my run", window)
        yield "Close", SettingsDialog(run, "my run", window)
        yield "Close", ShortcutsDialog([("Ctrl+T", "Train")], window)
        yield "Close", PreferencesDialog((), "dark", print, runs_dir, window)
        yield "Close", CrashDialog("ValueError: odd", "details", window)
        # A new line of the text.
        yield "", NoteDialog("name", "note", window)
        yield "Do not run", ConsentDialog(LocatedModule("theirs", "/theirs.py"), window)


def pressed_by_enter(qtbot: QtBot, dialog: QDialog) -> str:
    """Return the text of the button that Enter presses, without its effect."""
    pressed: list[str] = []
    for button in dialog.findChildren(QPushButton):
        button.clicked.connect(pressed.append)
        button.clicked.disconnect()
        button.clicked.connect(lambda _=False, button=button: pressed.append(button.text()))
    dialog.show()
    dialog.activateWindow()
    qtbot.waitUntil(lambda: dialog.focusWidget() is not None, timeout=5_000)
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    dialog.close()
    return "".join(pressed).replace("&", "")


@pytest.mark.slow
def test_enter_does_what_the_title_says(qtbot: QtBot, window: MainWindow, runs_dir: Path) -> None:
    wrong, tried = {}, set[type]()
    for wanted, dialog in dialogs(window, runs_dir):
        title = f"{type(dialog).__name__}: {dialog.windowTitle()}"
        tried.add(type(dialog))
        if isinstance(dialog, CompareDialog):
            # Its files are being read.
            qtbot.waitUntil(dialog.compare_button.isEnabled, timeout=20_000)
        found = pressed_by_enter(qtbot, dialog)
        if found != wanted:
            wrong[title] = found
    assert wrong == {}
    assert tried == every_dialog()


def every_dialog() -> set[type]:
    """Return the dialogs that the window can show."""
    for module in pkgutil.walk_packages(studio.__path__, "studio."):
        if "dialog" in module.name:
            import_module(module.name)
    found, remaining = set[type](), [QDialog]
    while remaining:
        below = remaining.pop().__subclasses__()
        remaining += below
        found |= {each for each in below if each.__module__.startswith("studio.")}
    return {each for each in found if not each.__subclasses__()}
