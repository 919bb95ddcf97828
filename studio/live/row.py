"""One live setting: its name, a number, a slider and the way back to where it started."""

from PySide6.QtCore import QSignalBlocker, Qt, Signal, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QSlider, QToolButton, QWidget

from studio.widgets.setting_fields import NumberBox, from_slider, to_slider
from td3core.config.spec import Spec

_TICKS = 1000


class LiveRow(QWidget):
    """One live setting."""

    edited = Signal()
    settled = Signal()

    def __init__(self, name: str, spec: Spec, default: float | int) -> None:
        super().__init__()
        self.name, self._spec, self._default = name, spec, default
        self._whole = isinstance(default, int)
        ticks = int(spec.slider_range[1] - spec.slider_range[0])
        self._ticks = ticks if self._whole and spec.scale == "linear" else _TICKS
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, self._ticks)
        self.slider.setPageStep(max(1, self._ticks // 20))
        self.spin = NumberBox(spec, whole=self._whole)
        self._label = QLabel()
        self._label.setTextFormat(Qt.TextFormat.RichText)
        self._reset = QToolButton()
        self._build()
        self.set_value(default)
        self.slider.valueChanged.connect(self._on_slider)
        self.slider.sliderReleased.connect(self.settled)
        self.spin.valueChanged.connect(self._on_spin)
        self._reset.clicked.connect(lambda: self.spin.setValue(self._default))

    def _build(self) -> None:
        spec = self._spec
        unit = f" <i>({spec.unit})</i>" if spec.unit else ""
        tip = f"<b>{spec.label}</b> {spec.symbol}{unit}<br>{spec.help}"
        for widget, kind in ((self.slider, "slider"), (self.spin, "spin"), (self._reset, "reset")):
            widget.setObjectName(f"{kind}_{self.name}")
            widget.setAccessibleName(f"{spec.label} {kind}")
            widget.setToolTip(tip)
        self._reset.setText("↺")
        self._reset.setStyleSheet("padding: 0 4px;")
        self.setToolTip(tip)
        self.spin.setFixedWidth(74)
        self.spin.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.show_pending(False)
        self._label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.make_room()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setVerticalSpacing(1)
        grid.addWidget(self._label, 0, 0)
        grid.addWidget(self.spin, 0, 1)
        grid.addWidget(self._reset, 0, 2)
        grid.addWidget(self.slider, 1, 0, 1, 3)
        grid.setColumnStretch(0, 1)

    def make_room(self) -> None:
        """Keep room for the whole name, also while it waits for the run."""
        shown = self._label.text()
        self._label.setText(f"<b>{self._spec.symbol}&nbsp; {self._spec.label} …</b>")
        self._label.setMinimumWidth(self._label.sizeHint().width())
        self._label.setText(shown)

    def value(self) -> float | int:
        """The value as shown."""
        return int(self.spin.value()) if self._whole else self.spin.value()

    def set_value(self, value: float) -> None:
        """Show a value without announcing it."""
        with QSignalBlocker(self.spin), QSignalBlocker(self.slider):
            self.spin.setValue(value)
            self.slider.setValue(to_slider(self._spec, value, self._ticks))
        self._show_default(value)

    def show_pending(self, pending: bool) -> None:
        """Mark the row while the run has not yet taken the value over."""
        spec = self._spec
        name = f"<b>{spec.symbol}</b>&nbsp; {spec.label}" if spec.symbol else spec.label
        self._label.setText(f"{name} …" if pending else name)
        self._label.setProperty("role", "pending" if pending else "")
        self._label.style().unpolish(self._label)
        self._label.style().polish(self._label)

    def set_default(self, default: float) -> None:
        """Change what the reset button goes back to."""
        self._default = default
        shown = f"{default:g}"
        self._reset.setToolTip(f"Back to {shown}")
        self._show_default(self.value())

    def _show_default(self, value: float) -> None:
        self._reset.setEnabled(value != self._default)

    @Slot(int)
    def _on_slider(self, position: int) -> None:
        value = from_slider(self._spec, position, self._ticks)
        with QSignalBlocker(self.spin):
            self.spin.setValue(round(value) if self._whole else value)
        self._show_default(self.value())
        self.edited.emit()

    @Slot(float)
    def _on_spin(self, value: float) -> None:
        with QSignalBlocker(self.slider):
            self.slider.setValue(to_slider(self._spec, value, self._ticks))
        self._show_default(value)
        self.edited.emit()
        self.settled.emit()
