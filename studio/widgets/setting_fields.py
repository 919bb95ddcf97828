"""Widgets for settings, made from the metadata the settings carry."""

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
_BESIDE = 4
"""Pixels."""


class NumberBox(QDoubleSpinBox):
    """A box for numbers of any size that shows as few digits as it can and takes 3e-4 as well."""

    def __init__(self, spec: Spec, *, whole: bool) -> None:
        super().__init__()
        self._whole, self._spec = whole, spec
        # Qt rounds to so many decimals on every change; a rate of 1e-6 has to survive that.
        self.setDecimals(0 if whole else 10)
        self.setRange(max(spec.low, -1e12), min(spec.high, 1e12))
        self.setKeyboardTracking(False)
        self.setLocale(QLocale.c())
        keep_off_the_edge(self)

    def event(self, event: QEvent) -> bool:
        """Leave Ctrl+Z to the window, unless something is being typed."""
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
        """Show a number in as few digits as it needs."""
        return f"{value:.0f}" if self._whole else f"{value:.6g}"

    def valueFromText(self, text: str) -> float:  # noqa: N802
        """Read a number in any usual notation, also with a decimal comma."""
        try:
            return _read(text)
        except ValueError:
            return self.value()

    def fixup(self, text: str) -> str:  # noqa: ARG002
        """Put the old value back; Qt's own way of mending would turn 0,01 into 1."""
        return self.textFromValue(self.value())

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        """Accept what is a number in range; let anything that may become one be typed on."""
        try:
            inside = self.minimum() <= _read(text) <= self.maximum()
        except ValueError:
            inside = False
        state = QValidator.State.Acceptable if inside else QValidator.State.Intermediate
        return state, text, position

    def stepBy(self, steps: int) -> None:  # noqa: N802
        """Step by one for whole numbers, else by a hundredth of the way along the slider."""
        if self._whole:
            self.setValue(self.value() + steps)
            return
        position = to_slider(self._spec, self.value(), 100)
        at = min(max(position + steps, 0), 100)
        self.setValue(from_slider(self._spec, at, 100))


def keep_off_the_edge(box: QAbstractSpinBox) -> None:
    """Leave the room beside a number that other fields leave; a style sheet cannot say it."""
    box.lineEdit().setTextMargins(_BESIDE, 0, _BESIDE, 0)


class WheelGuard(QObject):
    """Keeps the wheel, turned to scroll a panel, from changing settings under the mouse."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Let only a widget that was chosen by click or key hear the wheel."""
        if event.type() == QEvent.Type.Wheel and isinstance(watched, QWidget):
            # Ignored as well as filtered, so that the panel around it gets the wheel.
            event.ignore()
            return not watched.hasFocus()
        return super().eventFilter(watched, event)


def guard_wheel(page: QWidget) -> None:
    """Guard every slider, number box and list of choices on a page."""
    guard = WheelGuard(page)
    for kind in (QAbstractSpinBox, QComboBox, QSlider):
        for widget in page.findChildren(kind):
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            widget.installEventFilter(guard)


def _read(text: str) -> float:
    """Read a number; a single comma can only be meant as the decimal point."""
    return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)


class Field:
    """A widget that holds one setting, whatever its kind."""

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
    """Make the widget for a fixed setting; its type is that of the default."""
    field = _field_for(name, spec, default)
    widget = field.widget
    widget.setObjectName(f"field_{name}")
    widget.setAccessibleName(spec.label)
    unit = f" ({spec.unit})" if spec.unit else ""
    widget.setToolTip(f"<b>{spec.label}</b>{unit}<br>{spec.help}<br><i>{type_words(name)}</i>")
    # Let the panel's width decide, not the longest number that would fit.
    widget.setMinimumWidth(60)
    widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
    field.write(default)
    return field


def _field_for(name: str, spec: Spec, default: Any) -> Field:
    if isinstance(default, bool):
        check = QCheckBox()
        return Field(check, check.isChecked, check.setChecked, check.toggled)
    if spec.choices:
        combo = QComboBox()
        combo.addItems(list(spec.choices))
        return Field(combo, combo.currentText, combo.setCurrentText, combo.currentTextChanged)
    if isinstance(default, int):
        spin = QSpinBox()
        keep_off_the_edge(spin)
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
    """Return the slider position (0 to ``ticks``) of a value."""
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
    """Map a value to the scale on which the slider is even."""
    if spec.scale == "log":
        return math.log10(max(value, spec.slider_range[0]))
    if spec.scale == "complement":
        return -math.log10(max(1.0 - value, 1.0 - spec.slider_range[1]))
    return value
