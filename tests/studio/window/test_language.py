"""Nothing on screen escapes a language: neither its translation nor its length."""

import locale
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDockWidget,
    QHeaderView,
    QLabel,
    QLineEdit,
    QListView,
    QTabBar,
    QTextBrowser,
    QWidget,
)
from pytestqt.qtbot import QtBot

from studio.app import build_window, translate_qt
from studio.consent.dialog import ConsentDialog
from studio.plots.axis import ShortAxis
from studio.window.crash_reporter import CrashDialog
from studio.window.main_window import MainWindow
from studio.window.panels import PANELS
from td3core.analysis import wording
from td3core.analysis.advice import load_rules
from td3core.analysis.comparison import improvement
from td3core.analysis.figure_data import BAND_ABOUT
from td3core.config import RunConfig, Tunables, specs, type_words
from td3core.config.presets import load_presets
from td3core.envs.catalogue import KNOWN
from td3core.errors import RequestError
from td3core.exporters.registry import EXPORTERS
from td3core.system.allowed_code import LocatedModule
from tests.studio.fake_runs import make_run
from tests.studio.window.dialogs import dialogs
from tests.support.stretched import INSIDE, OPEN

_WORD = re.compile(r"[^\W\d_]{2,}")
_SPLIT = re.compile(r"<[^>]*>|&\w+;|\n|  +| · |[()]")
_CUT = re.compile(r"\w*…\w*")
_PATH = re.compile(r"(?:/[^\s/<>]+){2,}")
DATA = {
    # The program, its algorithms, and kinds of files.
    *("TD", "Studio", "DDPG", "SVG", "PNG", "PDF", "CSV", "EGL", "Mesa"),
    *("xml", "file", "path", "to", "ant", "toml", "safetensors", "mp", "gif", "png", "pip"),
    # Keys.
    *("Ctrl", "Shift", "Alt", "Esc", "Tab", "Del", "Enter", "Return", "Space"),
    *("Home", "Left", "Right"),
    # What the tests call their runs and modules.
    *("my", "run", "walker", "note", "name", "seed", "theirs", "py", "td", "cpu", "details"),
}
"""Words that stay as they are in every language."""
QT_OWN = ("qt_", "ScrollLeftButton", "ScrollRightButton")
"""Names of widgets that Qt makes and translates itself."""


def described_by_core(window: MainWindow) -> set[str]:
    """Return texts that are not the window's own: names, settings, presets, descriptions."""
    found: list[object] = [getattr(each, part) for each in KNOWN for part in ("env_id", "group")]
    for kind in (RunConfig, Tunables):
        for name, spec in specs(kind):
            found += [name, spec.label, spec.help, spec.unit, spec.symbol]
            found += [*spec.help.values.values(), *spec.choices]
            found += [", ".join(spec.choices), type_words(name)]
    for preset in load_presets().values():
        found += [preset.name, preset.about, preset.env]
    for rule in load_rules():
        remedies = (rule.remedy, *rule.of_algorithm.values())
        found += [rule.title, rule.reason, *(each.advice for each in remedies)]
    found += [path.name.partition(".")[0] for path in (files("resources") / "agents").iterdir()]
    for each in EXPORTERS:
        found += [each.about, ", ".join(each.suffixes).lstrip(".")]
    found += [wording.FINAL_ABOUT, wording.BEST_ABOUT, wording.INTERVAL_ABOUT]
    found.append(wording.DEVIATION_ABOUT)
    found += [wording.IMPROVEMENT_ABOUT, BAND_ABOUT]
    for row in window.runs.model.rows.values():
        assert row.summary is not None
        found += [row.path.name, row.title, row.summary.title, row.summary.description]
        # Part of a run's name, which is English.
        found.append(row.summary.changed.english)
    shown = window.comparison.session.shown
    if shown is not None:
        found += [*shown.notes, *shown.comparison.differing]
        for result in shown.comparison.groups:
            found += [result.name, *map(result.group.values, shown.comparison.differing)]
            found += map(result.group.member_name, result.group.runs)
        try:
            improvement(*shown.comparison.groups[:2])
        except RequestError as problem:
            found.append(problem)
    return {str(each) for each in found} - {""}


def is_qts_own(button: QAbstractButton) -> bool:
    box = button.parentWidget()
    kinds = QDialogButtonBox.StandardButton
    return isinstance(box, QDialogButtonBox) and box.standardButton(button) is not kinds.NoButton


def shown_by(widget: QWidget) -> Iterator[str]:
    """Yield everything that a widget shows or says, except user input and run data."""
    if isinstance(widget, QAbstractButton) and is_qts_own(widget):
        return
    yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    if isinstance(widget, QDialog | QDockWidget):
        yield widget.windowTitle()
    if isinstance(widget, QLineEdit):
        yield widget.placeholderText()
    if isinstance(widget, QAbstractSpinBox):
        yield str(widget.property("specialValueText") or "")
        yield getattr(widget, "word", "")
        yield str(widget.property("prefix") or "")
    if isinstance(widget, QAbstractItemView | QComboBox | QTabBar):
        yield from entries_of(widget)
    if hasattr(widget, "getAxis"):
        axes = [widget.getAxis(side) for side in ("left", "bottom")]
        yield from (axis.labelText for axis in axes if isinstance(axis, ShortAxis))


def entries_of(widget: QAbstractItemView | QComboBox | QTabBar) -> Iterator[str]:
    if isinstance(widget, QComboBox):
        yield from (widget.itemText(at) for at in range(widget.count()))
    elif isinstance(widget, QTabBar):
        yield from (widget.tabText(at) for at in range(widget.count()))
    elif not isinstance(widget, QHeaderView):
        yield from cells_of(widget)
    elif widget.orientation() is Qt.Orientation.Horizontal:
        for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            for at in range(widget.count()):
                yield str(widget.model().headerData(at, widget.orientation(), role) or "")


def cells_of(view: QAbstractItemView) -> Iterator[str]:
    model = view.model()
    # The manual is English, and so are its headings.
    if model is None or view.objectName() == "help_list":
        return
    roles = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole)
    # A list has one column, whatever it says of itself.
    columns = 1 if isinstance(view, QListView) else model.columnCount()
    for row in range(model.rowCount()):
        for column in range(columns):
            for role in roles:
                yield str(model.data(model.index(row, column), role) or "")


def words_left(shown: str, known: list[str]) -> set[str]:
    """Return the words of a text that are in no brackets and no known text, nor data."""
    plain = INSIDE.sub("\n", shown.replace("\u200b", ""))
    for each in known:
        # Short ones only as a whole: "Steps" is a setting, but many a text has this word.
        if " " in each or "-" in each:
            plain = plain.replace(each, "\n").replace(escape(each), "\n")
    for part in _SPLIT.split(plain):
        # Elided at its end.
        if part.endswith("…") and any(each.startswith(part[:-1]) for each in known):
            plain = plain.replace(part, "\n")
    plain = _PATH.sub("\n", _CUT.sub("\n", plain))
    parts = (part.strip(" ,.:;()·") for part in _SPLIT.split(plain))
    return {word for part in parts if part not in known for word in _WORD.findall(part)} - DATA


def escaped(parent: QWidget, window: MainWindow) -> set[tuple[str, str, str]]:
    """Return what escapes in a window or dialog: kind and name of the widget, and the text."""
    shown = {
        (type(widget).__name__, widget.objectName(), each)
        for widget in (parent, *parent.findChildren(QWidget))
        if not (isinstance(widget, QTextBrowser) or widget.objectName().startswith(QT_OWN))
        for each in shown_by(widget)
    }
    shown |= {
        ("QAction", action.objectName(), each)
        for action in parent.findChildren(QAction)
        if action.objectName()
        for each in (action.text(), action.toolTip())
    }
    known = sorted(described_by_core(window), key=len, reverse=True)
    left = {text for text in {each[-1] for each in shown} if words_left(text, known)}
    return {each for each in shown if each[-1] in left}


@pytest.fixture
def translated(
    qtbot: QtBot, stretched: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    """The whole window in the stretched language, over a few runs, with every panel open."""
    # Other tests leave their choice behind, and the settings name it.
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    runs_dir = tmp_path / "runs"
    first = make_run(runs_dir, name="walker", note="my note", seed=0)
    make_run(runs_dir, seed=1, stopped="user", reached=500)
    make_run(runs_dir, seed=2, parent=(first.path.name, 500), stopped=None)
    window = build_window(runs_dir)
    window.resize(1280, 800)
    window.show()
    for spec in PANELS:
        window.docks.open(spec.name)
    qtbot.waitUntil(lambda: len(window.runs.model.rows) == 3, timeout=20_000)
    with qtbot.waitSignal(window.model.run_opened, timeout=20_000):
        window.opener.open([first.path])
    yield window
    window.close()
    window.deleteLater()


@pytest.mark.slow
def test_every_text_of_the_window_is_in_its_language(qtbot: QtBot, translated: MainWindow) -> None:
    window = translated
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=20_000)
    assert escaped(window, window) == set()
    assert OPEN in window.log.toPlainText()


@pytest.mark.slow
def test_every_text_of_a_comparison_is_in_the_windows_language(
    qtbot: QtBot, translated: MainWindow
) -> None:
    window = translated
    with qtbot.waitSignal(window.comparison.session.opened, timeout=20_000):
        window.comparison.session.compare(list(window.runs.model.rows))
    qtbot.waitUntil(lambda: not window.comparison.session.busy, timeout=20_000)
    assert escaped(window, window) == set()


@pytest.mark.slow
def test_every_text_of_a_dialog_is_in_the_windows_language(
    qtbot: QtBot, translated: MainWindow, tmp_path: Path
) -> None:
    theirs = LocatedModule(name="theirs", path="/somewhere/theirs.py")
    shown = [
        *dialogs(translated, tmp_path / "others").values(),
        ConsentDialog(theirs, translated),
        CrashDialog("details", "details", translated, running=True),
    ]
    for dialog in shown:
        qtbot.addWidget(dialog)
        dialog.show()
    assert {
        type(each).__name__: found for each in shown if (found := escaped(each, translated))
    } == {}


def test_qt_speaks_the_language_of_the_window(qapp: QApplication) -> None:
    def cancel() -> str:
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        return box.button(QDialogButtonBox.StandardButton.Cancel).text().replace("&", "")

    english = cancel()
    translator = translate_qt(qapp, "de")
    assert translator is not None
    assert (english, cancel()) == ("Cancel", "Abbrechen")
    qapp.removeTranslator(translator)
    assert translate_qt(qapp, "en") is None
    assert translate_qt(qapp, "xx") is None
    assert cancel() == "Cancel"


def test_the_c_library_does_not_speak_the_language_of_the_system(
    qapp: QApplication, tmp_path: Path
) -> None:
    kept = (locale.LC_NUMERIC, locale.LC_TIME, locale.LC_MESSAGES)
    # As a QApplication does.
    locale.setlocale(locale.LC_ALL, "")
    window = build_window(tmp_path / "runs")
    assert [locale.setlocale(each) for each in kept] == ["C", "C", "C"]
    window.close()
    window.deleteLater()
