"""Choice of x axis and smoothing, the same for one run and for a comparison."""

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QWidget

from studio.plots.x_axis import AXES
from studio.widgets.controls import describe
from td3core.text import Text, tr

_SETTLED_MS = 150
_MOST_SMOOTHED = 100
_SMOOTHING = Text("Length of the moving average; 1 turns smoothing off")


def make_axis_combo(name: str) -> QComboBox:
    """Return the combo box for the choice of the x axis."""
    combo = QComboBox()
    describe(combo, name, tr("x axis"), tr("Quantity on the x axis"))
    for text, value in AXES:
        combo.addItem(str(text), value)
    return combo


class SmoothingSlider(QWidget):
    """A slider that shows its value."""

    changed = Signal(int)
    """The slider rests at a new value."""

    def __init__(self, name: str) -> None:
        """Take ``name``, the start of the object names of the parts."""
        super().__init__()
        self.slider, self._count = QSlider(Qt.Orientation.Horizontal), QLabel()
        describe(self.slider, f"{name}_slider", tr("Smoothing"), str(_SMOOTHING))
        self.slider.setRange(1, _MOST_SMOOTHED)
        self.slider.setMinimumWidth(36)
        self.slider.setMaximumWidth(160)
        self._count.setObjectName(f"{name}_label")
        self._count.setMinimumWidth(self._count.fontMetrics().horizontalAdvance("000"))
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(_SETTLED_MS)
        self._settled.timeout.connect(lambda: self.changed.emit(self.slider.value()))
        self.slider.valueChanged.connect(self._on_moved)
        text = QLabel(tr("Smoothing"))
        text.setProperty("role", "muted")
        text.setBuddy(self.slider)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(text)
        layout.addWidget(self.slider, 100)
        layout.addWidget(self._count)
        # Takes the remaining width of a wide window; otherwise the label would.
        layout.addStretch(1)

    def show_value(self, count: int) -> None:
        """Show a value without a signal, unless the user is choosing one."""
        if not self._settled.isActive() and not self.slider.isSliderDown():
            with QSignalBlocker(self.slider):
                self.slider.setValue(count)
            self._count.setText(str(self.slider.value()))

    @Slot(int)
    def _on_moved(self, count: int) -> None:
        self._count.setText(str(count))
        self._settled.start()
