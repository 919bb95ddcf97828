"""The histogram of the returns of an evaluation."""

from pathlib import Path

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.plots.axis import ShortAxis
from studio.theme.theme import theme_of
from studio.widgets.figure_export import (
    FigureHeading,
    choose_file,
    large_enough,
    make_export_button,
    write_picture,
)
from td3core.arrays import Doubles
from td3core.errors import unwritable
from td3core.system.files import write_csv
from td3core.text import Text, tr

_MOST_BARS = 20
_HEIGHT = 150
_LARGEST = 10_000


class ReturnHistogram(QWidget):
    """Shows the distribution of returns; exported like any plot."""

    failed = Signal(object)
    """Why the histogram could not be written."""

    def __init__(self, title: str) -> None:
        """Make an empty histogram; ``title`` is above an exported picture."""
        super().__init__()
        self._title = title
        self._returns: Doubles = np.empty(0)
        axes = {side: ShortAxis(side) for side in ("bottom", "left")}
        self.plot = pg.PlotWidget(axisItems=axes)
        self.plot.setObjectName("evaluate_histogram")
        self.plot.setAccessibleName(tr("Histogram of the returns"))
        self.plot.setFixedHeight(_HEIGHT)
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.hideButtons()
        self.plot.setMenuEnabled(False)
        self.plot.setLabel("bottom", tr("Return"))
        self.plot.setLabel("left", tr("Episodes"))
        self.export_button = make_export_button(
            "evaluate_histogram_export", tr("histogram"), self._ask_export
        )
        self.export_button.setProperty("role", "menu")
        self.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.plot.customContextMenuRequested.connect(self._show_menu)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.plot)
        layout.addWidget(self.export_button, 0, Qt.AlignmentFlag.AlignRight)
        self._follow_theme()

    def show_returns(self, returns: Doubles) -> None:
        """Draw the returns of all episodes."""
        self._returns = returns
        self._draw()

    def export(self, path: Path) -> None:
        """Write the histogram as .png or .svg, or every return as .csv."""
        try:
            if path.suffix.lower() == ".csv":
                rows = enumerate(map(float, self._returns), start=1)
                write_csv(path, ("episode", "return"), rows)
            else:
                self._write_picture(path)
        except OSError as problem:
            self.failed.emit(unwritable(path, problem).message)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Follow the theme of the window."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.StyleChange):
            self._follow_theme()

    def _follow_theme(self) -> None:
        theme = self._theme = theme_of(self)
        self.plot.setBackground(theme.panel)
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.setPen(theme.border)
            axis.setTextPen(theme.muted)
        self._draw()

    def _draw(self) -> None:
        self.plot.clear()
        if not len(self._returns):
            return
        count = int(min(_MOST_BARS, max(5, round(len(self._returns) ** 0.5) * 2)))
        counts, edges = np.histogram(self._returns, bins=count)
        bars = pg.BarGraphItem(
            x0=edges[:-1], x1=edges[1:], height=counts, y0=0, brush=self._theme.curve_1, pen=None
        )
        self.plot.addItem(bars)

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        self.export_button.menu().popup(self.plot.mapToGlobal(at))

    def _ask_export(self, kind: str) -> None:
        path = choose_file(self, tr("Export histogram"), "returns", kind, self.failed.emit)
        if path is not None:
            self.export(path)

    def _write_picture(self, path: Path) -> None:
        self.plot.setMaximumHeight(_LARGEST)
        try:
            with large_enough(self.plot):
                self.plot.getPlotItem().layout.activate()
                count = Text.counted("{n} episode", "{n} episodes", n=len(self._returns))
                title = f"{self._title} · {count}"
                write_picture(
                    self.plot, path, FigureHeading(title=title, legend=(), theme=self._theme)
                )
        finally:
            self.plot.setFixedHeight(_HEIGHT)
