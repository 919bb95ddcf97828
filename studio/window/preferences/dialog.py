"""The dialog of the window's own settings; each takes effect at once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from studio.widgets.controls import describe
from studio.widgets.labels import breakable, plain_label

_WIDTH = 440
_THEMES = (("Light", "light"), ("Dark", "dark"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """A setting that is on or off."""

    name: str
    group: str
    text: str
    tip: str
    read: Callable[[], bool]
    write: Callable[[bool], object]


class PreferencesDialog(QDialog):
    """Shows every setting of the window, and the folder of the runs."""

    def __init__(
        self,
        switches: tuple[Switch, ...],
        theme: str,
        choose_theme: Callable[[str], object],
        runs_dir: Path,
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("preferences_dialog")
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(_WIDTH)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 12)
        layout.setSpacing(10)
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
        describe(self.themes, "preferences_theme", "Theme", "Colours of the window")
        for text, name in _THEMES:
            self.themes.addItem(text, name)
        self.themes.setCurrentIndex(self.themes.findData(theme))
        self.themes.currentIndexChanged.connect(lambda _: choose_theme(self.themes.currentData()))
        folder = plain_label(breakable(str(runs_dir.absolute())))
        folder.setObjectName("preferences_runs_dir")
        folder.setAccessibleName("Runs folder")
        tip = "Where runs are saved. --runs-dir or TD3_STUDIO_RUNS chooses another folder"
        folder.setToolTip(tip)
        folder.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        folder.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        form = QFormLayout()
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        form.addRow("Theme", self.themes)
        form.addRow("Runs folder", folder)
        return form


def _make_group(title: str, switches: list[Switch]) -> QVBoxLayout:
    layout = QVBoxLayout()
    layout.setSpacing(6)
    layout.addWidget(QLabel(f"<b>{title}</b>"))
    for switch in switches:
        check = QCheckBox(switch.text)
        describe(check, f"preferences_{switch.name}", switch.text, switch.tip)
        check.setChecked(switch.read())
        check.toggled.connect(switch.write)
        layout.addWidget(check)
    return layout
