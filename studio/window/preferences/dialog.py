"""The dialog of the window's own settings; each takes effect at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.widgets.controls import describe, make_button, make_row
from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import breakable, plain_label
from td3core.text import Text, tr

_WIDTH = 440
_THEMES = ((Text("Light"), "light"), (Text("Dark"), "dark"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A setting that is on or off."""

    name: str
    group: str
    text: str
    tip: str
    read: Callable[[], bool]
    write: Callable[[bool], object]
    fixed: str = ""
    """Why it cannot be switched; empty if it can."""
    needs: str = ""
    """Name of the switch above that must be on for this one to have an effect; empty if none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A setting with several values."""

    name: str
    group: str
    text: str
    tip: str
    choices: Sequence[tuple[Text, str]]
    """Text and value of each choice."""
    fixed: str
    """Why it cannot be changed; empty if it can."""
    read: Callable[[], str]
    write: Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencesPage:
    """Settings with a dialog of their own."""

    name: str
    group: str
    text: str
    tip: str
    open: Callable[[], object]


class PreferencesDialog(QDialog):
    """Shows every setting of the window, and the folder of the runs."""

    def __init__(
        self,
        switches: tuple[Switch | Selection | PreferencesPage, ...],
        theme: str,
        choose_theme: Callable[[str], object],
        runs_dir: Path,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("preferences_dialog")
        self.setWindowTitle(tr("Settings"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        layout = make_dialog_column(self, _WIDTH)
        layout.addLayout(self._make_form(theme, choose_theme, runs_dir))
        for group in dict.fromkeys(switch.group for switch in switches):
            layout.addLayout(_make_group(group, [s for s in switches if s.group == group]))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        self.themes.setFocus()

    def _make_form(
        self, theme: str, choose_theme: Callable[[str], object], runs_dir: Path
    ) -> QFormLayout:
        self.themes = QComboBox()
        describe(self.themes, "preferences_theme", tr("Theme"), tr("Colours of the window"))
        for text, name in _THEMES:
            self.themes.addItem(str(text), name)
        self.themes.setCurrentIndex(self.themes.findData(theme))
        self.themes.currentIndexChanged.connect(lambda _: choose_theme(self.themes.currentData()))
        folder = plain_label(breakable(str(runs_dir.absolute())))
        folder.setObjectName("preferences_runs_dir")
        folder.setAccessibleName(tr("Runs folder"))
        tip = tr("Where runs are saved. --runs-dir or TD3_STUDIO_RUNS chooses another folder")
        folder.setToolTip(tip)
        folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        folder.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow(tr("Theme"), self.themes)
        form.addRow(tr("Runs folder"), folder)
        return form


def _make_group(title: str, switches: list[Switch | Selection | PreferencesPage]) -> QVBoxLayout:
    layout = QVBoxLayout()
    layout.setSpacing(6)
    layout.addWidget(QLabel(f"<b>{title}</b>"))
    checks = dict[str, QCheckBox]()
    for switch in switches:
        if isinstance(switch, Selection):
            layout.addLayout(_make_selection(switch))
            continue
        if isinstance(switch, PreferencesPage):
            button = make_button(f"preferences_{switch.name}", switch.text, switch.tip)
            button.clicked.connect(switch.open)
            row = make_row(button)
            row.addStretch(1)
            layout.addLayout(row)
            continue
        check = QCheckBox(switch.text)
        tip = switch.fixed or switch.tip
        describe(check, f"preferences_{switch.name}", switch.text, tip)
        check.setEnabled(not switch.fixed)
        check.setChecked(switch.read())
        check.toggled.connect(switch.write)
        if switch.needs:
            _depend(check, checks[switch.needs])
        checks[switch.name] = check
        layout.addWidget(check)
    return layout


def _depend(check: QCheckBox, on: QCheckBox) -> None:
    """Enable a switch only while another one is on."""
    if check.isEnabled():
        check.setEnabled(on.isChecked())
        on.toggled.connect(check.setEnabled)


def _make_selection(selection: Selection) -> QHBoxLayout:
    box = QComboBox()
    tip = selection.fixed or selection.tip
    describe(box, f"preferences_{selection.name}", selection.text, tip)
    for text, value in selection.choices:
        box.addItem(str(text), value)
    box.setCurrentIndex(box.findData(selection.read()))
    box.setEnabled(not selection.fixed)
    box.currentIndexChanged.connect(lambda _: selection.write(box.currentData()))
    row = make_row(QLabel(selection.text), box)
    row.addStretch(1)
    return row
