"""Controls for live settings: slider and number, check box, or list of choices."""

from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal, SignalInstance, Slot
from PySide6.QtWidgets import QSlider, QWidget

from studio.widgets.number_box import LONGEST, NumberBox
from studio.widgets.setting_fields import make_editor
from studio.widgets.slider_scale import from_slider, to_slider
from td3core.config.spec import Spec
from td3core.text import tr

LiveValue = bool | int | float | str

_TICKS = 1000
_AROUND = 17
"""Pixels that a number box needs besides its number."""


class SettingControl(Protocol):
    """Shows a value and lets the user change it."""

    edited: SignalInstance
    """The user changed the value, and may still be dragging."""
    settled: SignalInstance
    """The user has finished changing the value."""

    @property
    def editor(self) -> QWidget:
        """The widget next to the setting's name."""

    @property
    def slider(self) -> QSlider | None:
        """The widget below, if any."""

    def value(self) -> LiveValue:
        """Return the current value."""

    def entered(self) -> LiveValue:
        """Return the current value.

        Raises:
            RequestError: the displayed text is not an allowed value.
        """

    def fit_width(self) -> None:
        """Make the editor as wide as its font needs."""

    def set_value(self, value: LiveValue) -> None:
        """Show a value without a signal."""

    def follow(self, value: LiveValue) -> None:
        """Show a value of a schedule without a signal; text being typed stays."""


def make_control(name: str, spec: Spec, default: LiveValue) -> SettingControl:
    """Return the control for a setting; its type is that of the default."""
    if isinstance(default, bool | str):
        return FieldControl(name, spec, default)
    return NumberControl(name, spec, whole=isinstance(default, int))


class NumberControl(QObject):
    """A slider for the usual range and a number box for every allowed value."""

    edited = Signal()
    settled = Signal()

    def __init__(self, name: str, spec: Spec, *, whole: bool) -> None:
        super().__init__()
        self._spec, self._whole = spec, whole
        positions = int(spec.slider_range[1] - spec.slider_range[0])
        self._ticks = positions if whole and spec.scale == "linear" else _TICKS
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, self._ticks)
        self.slider.setPageStep(max(1, self._ticks // 20))
        self.editor = NumberBox(spec, whole=whole)
        self.editor.setting = name
        self.editor.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.slider.setObjectName(f"slider_{name}")
        self.slider.setAccessibleName(tr("{setting} slider", setting=spec.label))
        self.editor.setObjectName(f"spin_{name}")
        self.editor.setAccessibleName(str(spec.label))
        self.slider.valueChanged.connect(self._on_slider)
        self.slider.sliderReleased.connect(self.settled)
        self.editor.valueChanged.connect(self._on_number)

    def entered(self) -> LiveValue:
        """Return the current value.

        Raises:
            RequestError: the displayed text is not an allowed value.
        """
        self.editor.entered()
        return self.value()

    def fit_width(self) -> None:
        """Make room for the longest number: all boxes have the same width."""
        longest = max(map(self.editor.fontMetrics().horizontalAdvance, LONGEST))
        self.editor.setFixedWidth(longest + _AROUND)

    def value(self) -> LiveValue:
        """Return the value in use, even if invalid text is shown."""
        return int(self.editor.value()) if self._whole else self.editor.value()

    def set_value(self, value: LiveValue) -> None:
        """Show a number without a signal."""
        self._show(float(value), self.editor.setValue)

    def follow(self, value: LiveValue) -> None:
        """Show a number of a schedule without a signal; text being typed stays."""
        self._show(float(value), self.editor.follow)

    def _show(self, number: float, in_editor: Callable[[float], None]) -> None:
        with QSignalBlocker(self.editor), QSignalBlocker(self.slider):
            in_editor(number)
            self.slider.setValue(to_slider(self._spec, number, self._ticks))

    @Slot(int)
    def _on_slider(self, position: int) -> None:
        value = from_slider(self._spec, position, self._ticks)
        with QSignalBlocker(self.editor):
            self.editor.setValue(round(value) if self._whole else value)
        self.edited.emit()

    @Slot(float)
    def _on_number(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(to_slider(self._spec, value, self._ticks))
        self.edited.emit()
        self.settled.emit()


class FieldControl(QObject):
    """A check box or a list of choices."""

    edited = Signal()
    settled = Signal()
    slider = None

    def __init__(self, name: str, spec: Spec, default: LiveValue) -> None:
        super().__init__()
        self._field = make_editor(name, spec, default)
        self.editor = self._field.widget
        self.editor.setObjectName(f"field_{name}")
        self.editor.setAccessibleName(str(spec.label))
        self._field.changed.connect(self._on_changed)

    def entered(self) -> LiveValue:
        """Return the current value."""
        return self.value()

    def fit_width(self) -> None:
        """Leave the width to the layout: it suits any choice."""

    def value(self) -> LiveValue:
        """Return the current value."""
        value: LiveValue = self._field.read()
        return value

    def set_value(self, value: LiveValue) -> None:
        """Show a value without a signal."""
        with QSignalBlocker(self.editor):
            self._field.write(value)

    def follow(self, value: LiveValue) -> None:
        """Show a value of a schedule without a signal."""
        self.set_value(value)

    @Slot()
    def _on_changed(self) -> None:
        self.edited.emit()
        self.settled.emit()
