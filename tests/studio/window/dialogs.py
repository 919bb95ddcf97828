"""The dialogs of the window, opened directly."""

from importlib.resources import as_file, files
from pathlib import Path

from PySide6.QtWidgets import QDialog

from studio.help.shortcuts import ShortcutsDialog
from studio.launch.branch_dialog import BranchDialog
from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.launch.verify_dialog import VerifyDialog
from studio.run_browser.dialogs import NoteDialog, SettingsDialog
from studio.share.evaluate_dialog import EvaluateDialog
from studio.share.export_dialog import ExportDialog
from studio.share.film_dialogs import AgentFilmDialog, GrowthFilmDialog
from studio.window.main_window import MainWindow
from studio.window.preferences.dialog import PreferencesDialog
from td3core.checkpoint import read_header
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from tests.studio.fake_runs import make_run


def preferences(window: MainWindow) -> QDialog:
    window.toolbar.action("settings").trigger()
    (dialog,) = window.findChildren(PreferencesDialog)
    return dialog


def dialogs(window: MainWindow, runs: Path) -> dict[str, QDialog]:
    """Return dialogs by the name of the widget that the user wants in each."""
    run = make_run(runs)
    with as_file(files("resources") / "agents" / "Pendulum-v1.safetensors") as agent:
        change = Change(env_steps=100, name="tau", new=0.01)
        return {
            "QDoubleSpinBox": MoreStepsDialog(summarise(run), window),
            "QDoubleSpinBox ": RepeatDialog(run, [change], "my run", window),
            "QPlainTextEdit": NoteDialog("name", "note", window),
            "QTreeWidget": SettingsDialog(run, "my run", window),
            "QTreeWidget ": ShortcutsDialog([("Ctrl+T", "Train")], window),
            "QDoubleSpinBox  ": EvaluateDialog(agent, "", 0, window),
            "any": ExportDialog(agent, window),
            "any ": AgentFilmDialog(agent, 0, 1.0, window),
            "any  ": GrowthFilmDialog(run.path, "my run", 0, window),
            "any   ": BranchDialog(agent, read_header(agent), window),
            "any    ": BranchDialog(agent, read_header(agent), window, occupied=True),
            "QComboBox": preferences(window),
            "button": VerifyDialog(window),
        }
