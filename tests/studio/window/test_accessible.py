"""Every control of every panel and dialog has a name, and dialogs focus what one came to type."""

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.consent.dialog import ConsentDialog
from studio.help.shortcuts import ShortcutsDialog
from studio.launch.branch_dialog import BranchDialog
from studio.launch.dialogs import MoreStepsDialog, RepeatDialog
from studio.launch.verify_dialog import VerifyDialog
from studio.replay.share.evaluate_dialog import EvaluateDialog
from studio.replay.share.export_dialog import ExportDialog
from studio.replay.share.film_dialogs import AgentFilmDialog, GrowthFilmDialog
from studio.run_browser.dialogs import NoteDialog, SettingsDialog
from studio.window.main_window import MainWindow
from td3core.checkpoint import read_header
from td3core.config.consent import LocatedModule
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from tests.studio.fake_runs import make_run

CONTROLS = (
    *(QAbstractButton, QAbstractItemView, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit),
    QPlainTextEdit,
)


def controls(parent: QWidget) -> Iterator[QWidget]:
    """Yield what can be used with mouse or keyboard, but for parts of other controls."""
    for kind in CONTROLS:
        for found in parent.findChildren(kind):
            inside = found.parentWidget()
            part = isinstance(inside, QComboBox | QAbstractSpinBox | QAbstractItemView | QLineEdit)
            own = found.objectName().startswith("qt_") or isinstance(found, QScrollBar)
            if not part and not own and "ListView" not in type(found).__name__:
                yield found


def nameless(parent: QWidget) -> list[str]:
    return [
        f"{type(found).__name__} {found.objectName()} in {type(found.parentWidget()).__name__}"
        for found in controls(parent)
        if not found.accessibleName()
        and not (isinstance(found, QAbstractButton) and found.text().strip("✕↺… "))
    ]


def test_every_control_of_the_window_has_a_name_for_screen_readers(window: MainWindow) -> None:
    for name in ("log", "runs", "many", "sweeps", "instruments"):
        window.docks.open(name)
    assert nameless(window) == []


def dialogs(window: MainWindow, runs: Path) -> dict[str, QDialog]:
    """Return dialogs by the name of what one came to use in each."""
    run = make_run(runs)
    with as_file(files("resources") / "agents" / "Pendulum-v1.safetensors") as agent:
        change = Change(env_steps=100, name="tau", new=0.01)
        return {
            "QSpinBox": MoreStepsDialog(summarise(run), window),
            "QSpinBox ": RepeatDialog(run, [change], "my run", window),
            "QPlainTextEdit": NoteDialog("name", "note", window),
            "QTreeWidget": SettingsDialog(run, "my run", window),
            "QTreeWidget ": ShortcutsDialog([("Ctrl+T", "Train")], window),
            "QSpinBox  ": EvaluateDialog(agent, 0, window),
            "any": ExportDialog(agent, window),
            "any ": AgentFilmDialog(agent, 0, 1.0, window),
            "any  ": GrowthFilmDialog(run.path, 0, window),
            "any   ": BranchDialog(agent, read_header(agent), window),
            "button": VerifyDialog(window),
        }


def test_dialogs_name_their_controls_and_focus_what_one_came_for(
    qtbot: QtBot, window: MainWindow, runs_dir: Path
) -> None:
    wrong = {}
    for wanted, dialog in dialogs(window, runs_dir).items():
        qtbot.addWidget(dialog)
        dialog.show()
        dialog.activateWindow()
        qtbot.waitUntil(lambda dialog=dialog: dialog.focusWidget() is not None, timeout=5_000)
        focused = dialog.focusWidget()
        kinds = [each.__name__ for each in type(focused).__mro__]
        name = wanted.strip()
        right = name in kinds if name != "any" else not isinstance(focused, QAbstractButton)
        if not right and name != "button":
            wrong[type(dialog).__name__] = f"{kinds[0]} {focused.objectName()}"
        if nameless(dialog):
            wrong[f"{type(dialog).__name__} names"] = ", ".join(nameless(dialog))
        dialog.close()
    assert wrong == {}


def test_the_keys_at_hand_refuse_code(qtbot: QtBot) -> None:
    dialog = ConsentDialog(LocatedModule(name="theirs", path="/somewhere/theirs.py"))
    qtbot.addWidget(dialog)
    dialog.show()
    focused = dialog.focusWidget()
    assert focused is not None
    assert focused.objectName() == "consent_refuse_button"
