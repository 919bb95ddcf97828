"""Widgets for settings, built from the metadata of the settings."""

import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QLocale, QObject, Qt, SignalInstance
from PySide6.QtGui import QKeyEvent, QKeySequence, QValidator
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QWidget,
)

from td3core.config import parse_value, type_words
from td3core.config.spec import Spec

_LARGEST = 2**31 - 1
_TEXT_MARGIN = 4
"""Pixels."""


class NumberBox(QDoubleSpinBox):
    """A box for numbers of any size. It shows as few digits as needed and accepts 3e-4 as well."""

    def __init__(self, spec: Spec, *, whole: bool) -> None:
        super().__init__()
        self._whole, self._spec = whole, spec
        # Qt rounds to this many decimals on every change; a learning rate of 1e-6 must survive.
        self.setDecimals(0 if whole else 10)
        self.setRange(max(spec.low, -1e12), min(spec.high, 1e12))
        self.setKeyboardTracking(False)
        self.setLocale(QLocale.c())
        set_text_margins(self)

    def event(self, event: QEvent) -> bool:
        """Leave Ctrl+Z to the window, unless the user is typing."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.matches(QKeySequence.StandardKey.Undo)
            and self.lineEdit().text() == self.textFromValue(self.value())
        ):
            event.ignore()
            return False
        return bool(super().event(event))

    def textFromValue(self, value: float) -> str:  # noqa: N802
        """Format a number with as few digits as needed."""
        return f"{value:.0f}" if self._whole else f"{value:.6g}"

    def valueFromText(self, text: str) -> float:  # noqa: N802
        """Parse a number in any usual notation, including a decimal comma."""
        try:
            return _read(text)
        except ValueError:
            return self.value()

    def fixup(self, text: str) -> str:  # noqa: ARG002
        """Restore the old value; Qt's own correction would turn 0,01 into 1."""
        return self.textFromValue(self.value())

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept a number in range, and anything else as unfinished typing."""
        try:
            inside = self.minimum() <= _read(text) <= self.maximum()
        except ValueError:
            inside = False
        state = QValidator.State.Acceptable if inside else QValidator.State.Intermediate
        return state, text, position

    def stepBy(self, steps: int) -> None:  # noqa: N802
        """Step by one for whole numbers, else by a hundredth of the slider."""
        if self._whole:
            self.setValue(self.value() + steps)
            return
        position = to_slider(self._spec, self.value(), 100)
        at = min(max(position + steps, 0), 100)
        self.setValue(from_slider(self._spec, at, 100))


def set_text_margins(box: QAbstractSpinBox) -> None:
    """Give a number the left margin of other fields, which a style sheet cannot."""
    box.lineEdit().setTextMargins(_TEXT_MARGIN, 0, _TEXT_MARGIN, 0)


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


def _read(text: str) -> float:
    """Parse a number; a single comma can only be a decimal comma."""
    return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)


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
    widget.setAccessibleName(spec.label)
    unit = f" ({spec.unit})" if spec.unit else ""
    widget.setToolTip(f"<b>{spec.label}</b>{unit}<br>{spec.help}<br><i>{type_words(name)}</i>")
    # The panel decides the width, not the longest number that fits.
    widget.setMinimumWidth(60)
    widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    field.write(default)
    return field


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
        spin = QSpinBox()
        set_text_margins(spin)
        spin.setRange(int(spec.low), int(min(spec.high, _LARGEST)))
        spin.setGroupSeparatorShown(True)
        spin.setSpecialValueText(spec.zero)
        spin.setStepType(QSpinBox.StepType.AdaptiveDecimalStepType)
        return Field(
            spin,
            spin.value,
            lambda value: spin.setValue(min(int(value), _LARGEST)),
            spin.valueChanged,
        )
    if isinstance(default, float):
        box = NumberBox(spec, whole=False)
        return Field(box, box.value, box.setValue, box.valueChanged)
    edit = QLineEdit()
    if isinstance(default, str):
        return Field(edit, edit.text, edit.setText, edit.textChanged)
    return Field(
        edit,
        lambda: parse_value(name, edit.text()),
        lambda value: edit.setText(", ".join(map(str, value))),
        edit.textChanged,
    )


def to_slider(spec: Spec, value: float, ticks: int) -> int:
    """Return the slider position, 0 to ``ticks``, of a value."""
    low, high = _stretched(spec, spec.slider_range[0]), _stretched(spec, spec.slider_range[1])
    share = (_stretched(spec, value) - low) / (high - low)
    return round(min(max(share, 0.0), 1.0) * ticks)


def from_slider(spec: Spec, position: int, ticks: int) -> float:
    """Return the value at a slider position, rounded to about a thousandth of the range."""
    if position in (0, ticks):
        return float(spec.slider_range[bool(position)])
    low, high = _stretched(spec, spec.slider_range[0]), _stretched(spec, spec.slider_range[1])
    at = low + (high - low) * position / ticks
    if spec.scale == "log":
        return float(f"{10**at:.3g}")
    if spec.scale == "complement":
        return 1.0 - float(f"{10**-at:.3g}")
    return round(at, 3 - math.floor(math.log10(high - low)))


def _stretched(spec: Spec, value: float) -> float:
    """Map a value to the scale on which the slider is linear."""
    if spec.scale == "log":
        return math.log10(max(value, spec.slider_range[0]))
    if spec.scale == "complement":
        return -math.log10(max(1.0 - value, 1.0 - spec.slider_range[1]))
    return value
