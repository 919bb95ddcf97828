"""The drawing of a plot: curves in a box between two axes.

The wheel zooms x, with Ctrl y; dragging pans; a double click fits.
"""

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGraphicsGridLayout, QGraphicsItem, QSizePolicy

_X, _Y = 0, 1
_LEFT, _BOTTOM, _BOX = (0, 0), (1, 1), (0, 1)
"""Row and column in the layout."""
_TOP_GRID = 255
"""Grid opacity at which pyqtgraph draws the grid above everything."""


class PlotViewBox(pg.ViewBox):  # type: ignore[misc]
    """The area of a plot inside its axes."""

    fit_requested = Signal()

    def __init__(self) -> None:
        # Its menu would never be shown, and is slow to make.
        super().__init__(enableMenu=False)
        self.sigRangeChanged.connect(self._place)

    def _place(self, *_: object) -> None:
        """Place the curves as soon as the range changes.

        pyqtgraph would do this while painting, which makes Qt paint everything twice.
        """
        self.updateMatrix()

    def wheelEvent(self, ev: Any, axis: int | None = None) -> None:  # noqa: N802
        """Zoom one axis; pyqtgraph names it if the wheel turns on that axis itself."""
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


class PlotCanvas(pg.GraphicsView):  # type: ignore[misc]
    """pyqtgraph's PlotWidget without menus, title, and top and right axes.

    These would not be visible, and creating them takes most of the time for a plot.
    """

    def __init__(self, box: pg.ViewBox, left: pg.AxisItem, bottom: pg.AxisItem) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.enableMouse(False)
        self._box, self._axes = box, {"left": left, "bottom": bottom}
        self._items: list[Any] = []
        self._logarithmic = (False, False)
        area = pg.GraphicsWidget()
        self._layout = layout = QGraphicsGridLayout()
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        area.setLayout(layout)
        layout.addItem(box, *_BOX)
        for axis, place in ((bottom, _BOTTOM), (left, _LEFT)):
            axis.linkToView(box)
            # The axis draws the grid, which belongs below the curves.
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            axis.setZValue(-1)
            layout.addItem(axis, *place)
        layout.setRowStretchFactor(_BOX[0], 100)
        layout.setColumnStretchFactor(_BOX[1], 100)
        self.setCentralItem(area)

    def getViewBox(self) -> Any:  # noqa: N802
        """Return the box of the curves."""
        return self._box

    def getAxis(self, side: str) -> Any:  # noqa: N802
        """Return the ``left`` or the ``bottom`` axis."""
        return self._axes[side]

    def addItem(self, item: Any, *, ignoreBounds: bool = False) -> None:  # noqa: N802, N803
        """Draw an item; with ``ignoreBounds`` the box is never fitted to it."""
        self._items.append(item)
        self._box.addItem(item, ignoreBounds=ignoreBounds)
        self._tell(item)

    def removeItem(self, item: Any) -> None:  # noqa: N802
        """Remove an item."""
        if item in self._items:
            self._items.remove(item)
            self._box.removeItem(item)

    def set_logarithmic(self, on: bool) -> None:
        """Make the y axis logarithmic, or linear."""
        self._logarithmic = (False, on)
        for part in (*self._axes.values(), *self._items):
            self._tell(part)

    def _tell(self, part: Any) -> None:
        if hasattr(part, "setLogMode"):
            part.setLogMode(*self._logarithmic)

    def show_grid(self, shown: bool, opacity: float) -> None:
        """Show or hide lines at the ticks of both axes."""
        for axis in self._axes.values():
            axis.setGrid(int(opacity * _TOP_GRID) if shown else False)

    def lay_out_now(self) -> None:
        """Lay out axes and box now, instead of waiting for Qt."""
        self._layout.activate()
