"""The histogram of the returns of an evaluation."""

from pathlib import Path

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, Qt, Signal, Slot

from studio.plots.small_plot import SmallPlot
from studio.widgets.figure_export import (
    FigureHeading,
    choose_file,
    export_figure,
    large_enough,
    make_export_button,
    write_picture,
)
from td3core.arrays import Doubles
from td3core.system.files import write_csv
from td3core.text import Text, tr

_MOST_BARS = 20
_HEIGHT = 150
_LARGEST = 10_000


class ReturnHistogram(SmallPlot):
    """Shows the distribution of returns; exported like any plot."""

    failed = Signal(object)
    """Why the histogram could not be written."""

    def __init__(self, title: str) -> None:
        """Make an empty histogram; ``title`` is above an exported picture."""
        super().__init__("evaluate_histogram", tr("Histogram of the returns"))
        self._title = title
        self._returns: Doubles = np.empty(0)
        self.plot.setFixedHeight(_HEIGHT)
        self.plot.setLabel("bottom", tr("Return"))
        self.plot.setLabel("left", tr("Episodes"))
        self.export_button = make_export_button(
            "evaluate_histogram_export", tr("histogram"), self._ask_export
        )
        self.export_button.setProperty("role", "menu")
        self.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.plot.customContextMenuRequested.connect(self._show_menu)
        self.column.setSpacing(4)
        self.column.addWidget(self.export_button, 0, Qt.AlignmentFlag.AlignRight)
        self.follow_theme()

    def show_returns(self, returns: Doubles) -> None:
        """Draw the returns of all episodes."""
        self._returns = returns
        self._draw()

    def export(self, path: Path) -> None:
        """Write the histogram as .png or .svg, or every return as .csv."""
        export_figure(path, self._write_picture, self._write_returns, self.failed.emit)

    def follow_theme(self) -> None:
        """Apply the colours of the window's theme, also to the bars."""
        super().follow_theme()
        self._draw()

    def _draw(self) -> None:
        self.plot.clear()
        if not len(self._returns):
            return
        count = int(min(_MOST_BARS, max(5, round(len(self._returns) ** 0.5) * 2)))
        counts, edges = np.histogram(self._returns, bins=count)
        brush = self.theme.curve_1
        bars = pg.BarGraphItem(
            x0=edges[:-1], x1=edges[1:], height=counts, y0=0, brush=brush, pen=None
        )
        self.plot.addItem(bars)

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        self.export_button.menu().popup(self.plot.mapToGlobal(at))

    def _ask_export(self, kind: str) -> None:
        path = choose_file(self, tr("Export histogram"), "returns", kind, self.failed.emit)
        if path is not None:
            self.export(path)

    def _write_returns(self, path: Path) -> None:
        rows = enumerate(map(float, self._returns), start=1)
        write_csv(path, ("episode", "return"), rows)

    def _write_picture(self, path: Path) -> None:
        self.plot.setMaximumHeight(_LARGEST)
        try:
            with large_enough(self.plot):
                self.plot.getPlotItem().layout.activate()
                count = Text.counted("{n} episode", "{n} episodes", n=len(self._returns))
                title = f"{self._title} · {count}"
                caption = FigureHeading(title=title, legend=(), theme=self.theme)
                write_picture(self.plot, path, caption)
        finally:
            self.plot.setFixedHeight(_HEIGHT)
