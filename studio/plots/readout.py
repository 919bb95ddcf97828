"""The crosshair of a plot, and beside it what is read there."""

import math
from collections.abc import Sequence
from html import escape

import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QTextDocumentFragment
from PySide6.QtWidgets import QLabel

from studio.theme.theme import Theme

_BESIDE = 8
_TOP = 6
_MARGIN = 4
"""Pixels: from the crosshair, from the top of the plot, from its sides."""


class Readout(QLabel):
    """A card that covers neither the crosshair nor leaves the plot. Hidden until shown."""

    def __init__(self, plot: pg.PlotWidget) -> None:
        super().__init__(plot)
        self._plot = plot
        self._hair = pg.InfiniteLine(angle=90, movable=False)
        plot.addItem(self._hair, ignoreBounds=True)
        self.setProperty("role", "readout")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.clear_all()

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._hair.setPen(pg.mkPen(theme.muted, width=1))

    def show_at(
        self,
        x: float,
        values: Sequence[tuple[str, str, float]],
        remarks: Sequence[str],
        change: tuple[str, str] | None,
    ) -> None:
        """Show the crosshair at a step.

        Args:
            x: the step.
            values: name, colour (#rrggbb) and value of each curve; what is not finite is left out.
            remarks: what else is to be said, a line each.
            change: the live change made there, and the colour of its line.
        """
        self._hair.setPos(x)
        self._hair.show()
        lines = [f"<b>step {max(x, 0):,.0f}</b>"]
        lines += [
            f'<span style="color:{colour}">●</span> {name} {value:.4g}'
            for name, colour, value in values
            if math.isfinite(value)
        ]
        lines += map(escape, remarks)
        if change is not None:
            text, colour = change
            lines.append(f'<span style="color:{colour}">┊</span> {escape(text)}')
        self.setText("<br>".join(lines))
        self.adjustSize()
        self.move(self._beside_the_hair())
        self.show()

    def clear_all(self) -> None:
        """Hide the crosshair and what was read there."""
        self._hair.hide()
        self.hide()

    @property
    def plain(self) -> str:
        """What is read, as plain text; empty while nothing is."""
        if self.isHidden():
            return ""
        return QTextDocumentFragment.fromHtml(self.text()).toPlainText()

    def _beside_the_hair(self) -> QPoint:
        hair = int(self._plot.getViewBox().mapViewToDevice(QPointF(self._hair.x(), 0)).x())
        left = hair + _BESIDE
        if left + self.width() > self._plot.width() - _MARGIN:
            left = hair - _BESIDE - self.width()
        return QPoint(max(left, _MARGIN), _TOP)
