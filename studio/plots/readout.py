"""The crosshair of a plot, and the values at it."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QLabel

from studio.plots.canvas import PlotCanvas
from studio.plots.layers.layer import Entry
from studio.theme.theme import Theme

_GAP_PX = 8
"""Pixels from the crosshair."""
_TOP_PX = 6
"""Pixels from the top of the plot."""
_MARGIN_PX = 4
"""Pixels from the sides of the plot."""


class Readout(QLabel):
    """A small card next to the crosshair, inside the plot. Initially hidden."""

    def __init__(self, plot: PlotCanvas, theme: Theme) -> None:
        super().__init__(plot)
        self._plot = plot
        self._hair = pg.InfiniteLine(angle=90, movable=False)
        plot.addItem(self._hair, ignoreBounds=True)
        self.setProperty("role", "readout")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.set_theme(theme)
        self.clear_all()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme; the text changes when it is next shown."""
        self._theme = theme
        self._hair.setPen(pg.mkPen(theme.muted, width=1))

    def show_at(self, x: float, heading: str, entries: Sequence[Entry]) -> None:
        """Show the crosshair at ``x``, and a heading with the entries below it.

        Show nothing without entries: a crosshair there would suggest values.
        """
        if not entries:
            self.clear_all()
            return
        self._hair.setPos(x)
        self._hair.show()
        lines = [f"<b>{heading}</b>"]
        lines += [entry.rich_text(self._theme) for entry in entries]
        self.setText("<br>".join(lines))
        self.adjustSize()
        self.move(self._beside_the_hair())
        self.show()

    def clear_all(self) -> None:
        """Hide the crosshair and the text."""
        self._hair.hide()
        self.hide()

    @property
    def plain(self) -> str:
        """The text shown, without markup; empty while hidden."""
        if self.isHidden():
            return ""
        return QTextDocumentFragment.fromHtml(self.text()).toPlainText()

    def _beside_the_hair(self) -> QPoint:
        """Return the card's position next to the crosshair: right of it, or left near the edge."""
        hair = int(self._plot.getViewBox().mapViewToDevice(QPointF(self._hair.x(), 0)).x())
        left = hair + _GAP_PX
        if left + self.width() > self._plot.width() - _MARGIN_PX:
            left = hair - _GAP_PX - self.width()
        return QPoint(max(left, _MARGIN_PX), _TOP_PX)
