"""A plot in a dialog, with labelled axes; the user cannot move it."""

import pyqtgraph as pg
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.plots.axis import ShortAxis
from studio.theme.theme import theme_of


class SmallPlot(QWidget):
    """A widget with a plot in the theme of its window."""

    def __init__(self, name: str, about: str) -> None:
        """Make an empty plot, with an object name and an accessible name."""
        super().__init__()
        self._axes = {side: ShortAxis(side) for side in ("bottom", "left")}
        self.plot = pg.PlotWidget(axisItems=self._axes)
        self.plot.setObjectName(name)
        self.plot.setAccessibleName(about)
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.addWidget(self.plot)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Follow the theme of the window."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self.follow_theme()

    def follow_theme(self) -> None:
        """Apply the colours of the window's theme; a subclass colours its own items, too."""
        self.theme = theme_of(self)
        self.plot.setBackground(self.theme.panel)
        for axis in self._axes.values():
            axis.set_theme(self.theme)
