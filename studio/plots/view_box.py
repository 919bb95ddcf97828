"""The mouse in a plot: the wheel zooms x, with Ctrl y; dragging pans; a double click fits."""

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal

_X, _Y = 0, 1


class PlotViewBox(pg.ViewBox):  # type: ignore[misc]
    """The area of a plot inside its axes."""

    fit_requested = Signal()

    def __init__(self) -> None:
        # Its menu would never be shown, and takes long to make.
        super().__init__(enableMenu=False)
        self.sigRangeChanged.connect(self._place)

    def _place(self, *_: object) -> None:
        """Place the curves as soon as the range changes.

        pyqtgraph would do so when it paints, which makes Qt paint everything a second time.
        """
        self.updateMatrix()

    def wheelEvent(self, ev: Any, axis: int | None = None) -> None:  # noqa: N802
        """Zoom one axis; pyqtgraph names it where the wheel turns on that axis itself."""
        if axis is None:
            axis = _Y if ev.modifiers() & Qt.KeyboardModifier.ControlModifier else _X
        super().wheelEvent(ev, axis)

    def mouseClickEvent(self, ev: Any) -> None:  # noqa: N802
        """Fit on a double click."""
        if ev.double() and ev.button() is Qt.MouseButton.LeftButton:
            ev.accept()
            self.fit_requested.emit()
        else:
            super().mouseClickEvent(ev)
