"""Widgets for settings, built from the metadata of the settings."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, SignalInstance
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QWidget,
)

from studio.formatting import plain_minus, typographic
from studio.widgets.number_box import NumberBox, WholeNumberBox, mark_problem
from studio.widgets.setting_names import in_labels
from td3core.config import parse_value, type_words
from td3core.config.spec import Spec
from td3core.errors import RequestError


class WheelGuard(QObject):
    """Keeps the mouse wheel from changing settings when the user scrolls a panel."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Let only a focused widget react to the wheel."""
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget):
            # Also ignored, so that the panel around the widget scrolls.
            event.ignore()
            return not watched.hasFocus()
        return super().eventFilter(watched, event)


def guard_wheel(page: QWidget) -> None:
    """Guard every slider, number box and combo box on a page."""
    guard = WheelGuard(page)
    for kind in (QAbstractSpinBox, QComboBox, QSlider):
        for widget in page.findChildren(kind):
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(guard)


class Field:
    """The widget of one setting of any type."""

    def __init__(
        self,
        widget: QWidget,
        read: Callable[[], Any],
        write: Callable[[Any], None],
        changed: SignalInstance,
    ) -> None:
        self.widget = widget
        self.read = read
        self.write = write
        self.changed = changed


def make_field(name: str, spec: Spec, default: Any) -> Field:
    """Return the field of a setting, with name and tooltip; its type is that of the default."""
    field = make_editor(name, spec, default)
    widget = field.widget
    widget.setObjectName(f"field_{name}")
    widget.setAccessibleName(str(spec.label))
    widget.setToolTip(setting_tip(name, spec))
    # The panel determines the width, not the longest number that fits.
    widget.setMinimumWidth(60)
    widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    field.write(default)
    return field


def setting_tip(name: str, spec: Spec) -> str:
    """Return the tooltip of a setting: its name, its meaning and the values it takes."""
    symbol = f" {spec.symbol}" if spec.symbol else ""
    unit = f" ({spec.unit})" if spec.unit else ""
    words = typographic(str(type_words(name)))
    return f"<b>{spec.label}</b>{symbol}{unit}<br>{spec.help}<br><i>{words}</i>"


def make_editor(name: str, spec: Spec, default: Any) -> Field:
    """Return a plain widget for a value of the default's type."""
    if isinstance(default, bool):
        check = QCheckBox()
        return Field(check, check.isChecked, check.setChecked, check.toggled)
    if spec.choices:
        combo = QComboBox()
        combo.addItems(list(spec.choices))
        return Field(combo, combo.currentText, combo.setCurrentText, combo.currentTextChanged)
    if isinstance(default, int):
        spin = WholeNumberBox(spec.low, spec.high, spec.zero)
        spin.setting = name
        return Field(spin, spin.entered, spin.setValue, spin.valueChanged)
    if isinstance(default, float):
        box = NumberBox(spec, whole=False)
        box.setting = name
        return Field(box, box.entered, box.setValue, box.valueChanged)
    edit = QLineEdit()
    if isinstance(default, str):
        return Field(edit, edit.text, edit.setText, edit.textChanged)

    def mark() -> None:
        try:
            parse_value(name, plain_minus(edit.text()))
        except RequestError as problem:
            mark_problem(edit, in_labels(problem.message))
        else:
            mark_problem(edit, "")

    def write(value: Any) -> None:
        edit.setText(", ".join(map(str, value)))
        # When a preset replaces invalid text, ``editingFinished`` is not emitted.
        mark()

    edit.editingFinished.connect(mark)
    return Field(edit, lambda: parse_value(name, plain_minus(edit.text())), write, edit.textChanged)
