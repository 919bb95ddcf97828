"""One plot on a card: title, legend, read-out, export."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.run_model import Marker
from studio.series import Series
from studio.theme import Theme

# Wider pens and smooth lines leave Qt's fast path: a redraw costs a hundred times as much.
pg.setConfigOptions(antialias=False, useOpenGL=False)

_PRINT_SCALE = 2
"""Pictures are exported at twice the size on screen."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot: a column of a series, its legend and its colour in the theme."""

    column: str
    label: str
    colour: str
    style: Literal["line", "dots", "line+dots"] = "line"


class PlotCard(QWidget):
    """A plot with its heading. Draws what it is handed; holds no data of its own."""

    hovered = Signal(object)
    view_changed = Signal()
    export_failed = Signal(str)

    def __init__(
        self,
        name: str,
        title: str,
        about: str,
        curves: Sequence[Curve],
        *,
        log_button: bool,
        empty: str,
    ) -> None:
        super().__init__()
        self.setObjectName("card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._name, self._title = name, title
        self._shown: list[tuple[Curve, Series]] = []
        self._tools: dict[QToolButton, str] = {}
        self.plot = self._make_plot(name, title)
        # The first curve named lies on top.
        self._items = {c: self._make_item(c, -depth) for depth, c in enumerate(curves)}
        self._hint = QLabel(empty, self.plot)
        self._hint.setProperty("role", "muted")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.marks = pg.VTickGroup(yrange=(0.0, 1.0))
        self._hair = pg.InfiniteLine(angle=90, movable=False)
        self._hair.hide()
        self.plot.addItem(self.marks, ignoreBounds=True)
        self.plot.addItem(self._hair, ignoreBounds=True)
        self._legend = QLabel()
        self._legend.setProperty("role", "legend")
        self._readout = QLabel()
        self._readout.setProperty("role", "legend")
        self._build(title, about, log_button)

    def _make_plot(self, name: str, title: str) -> pg.PlotWidget:
        plot = pg.PlotWidget(axisItems={side: ShortAxis(side) for side in ("left", "bottom")})
        plot.setObjectName(name)
        plot.setAccessibleName(f"{title} plot")
        plot.setMinimumSize(120, 90)
        plot.setMenuEnabled(False)
        plot.hideButtons()
        for side, size in (("left", 46), ("bottom", 22)):
            axis = plot.getAxis(side)
            axis.setStyle(tickTextOffset=4, autoExpandTextSpace=False)
            axis.enableAutoSIPrefix(False)
            (axis.setWidth if side == "left" else axis.setHeight)(size)
        plot.scene().sigMouseMoved.connect(self._on_mouse)
        plot.getViewBox().sigXRangeChanged.connect(self.view_changed)
        plot.viewport().installEventFilter(self)
        return plot

    def _make_item(self, curve: Curve, depth: int) -> pg.PlotDataItem:
        item = pg.PlotDataItem(name=curve.label, connect="all", skipFiniteCheck=True)
        item.setZValue(depth)
        self.plot.addItem(item)
        return item

    def _build(self, title: str, about: str, log_button: bool) -> None:
        heading = QLabel(title)
        heading.setProperty("role", "title")
        heading.setToolTip(about)
        self._legend.setToolTip(about)
        bar = QHBoxLayout()
        bar.setContentsMargins(10, 6, 4, 0)
        bar.setSpacing(4)
        # A long legend must not make one plot wider than its neighbour.
        self._legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        bar.addWidget(heading)
        bar.addWidget(self._legend, 1)
        bar.addWidget(self._readout)
        self._readout.hide()
        if log_button:
            log = self._tool("math-log", "Logarithmic scale", checkable=True)
            log.toggled.connect(self._set_log)
            # Losses span orders of magnitude; on a linear scale the first spike hides the rest.
            log.setChecked(True)
            bar.addWidget(log)
        everything = self._tool("arrow-expand-all", "Show everything again")
        everything.clicked.connect(self.start_over)
        bar.addWidget(everything)
        bar.addWidget(self._export_button())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 6, 4)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self.plot, 1)

    def _tool(self, icon: str, tip: str, *, checkable: bool = False) -> QToolButton:
        button = QToolButton()
        button.setProperty("role", "small")
        button.setIconSize(QSize(14, 14))
        button.setToolTip(tip)
        button.setAccessibleName(f"{self._title}: {tip.lower()}")
        button.setCheckable(checkable)
        self._tools[button] = icon
        return button

    def _export_button(self) -> QToolButton:
        button = self._tool("download-outline", "Export as PNG, SVG or CSV")
        button.setObjectName(f"{self._name}_export")
        menu = QMenu(button)
        for kind in ("PNG", "SVG", "CSV"):
            menu.addAction(f"Export {kind}…", partial(self._ask_export, kind.lower()))
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    # Drawing ------------------------------------------------------------------------------------

    def draw(
        self, curves: Sequence[tuple[Curve, Series]], marks: Sequence[float], steps: int
    ) -> None:
        """Draw each curve from its series, and a mark at each of these steps."""
        self._shown = list(curves)
        low, high = self.plot.getViewBox().viewRange()[0]
        if self.plot.getViewBox().autoRangeEnabled()[0]:
            low, high = -math.inf, math.inf
        points = 2 * max(self.plot.width(), 200)
        drawn = []
        for curve, series in curves:
            x, y = series.curve(curve.column, low, high, points)
            self._items[curve].setData(x, y)
            if len(x):
                drawn.append(curve)
        self._show_axes(bool(drawn))
        self.marks.setXVals(list(marks))
        self._legend.setText(self._legend_text(drawn))
        if steps:
            self.plot.getViewBox().setLimits(xMin=-0.02 * steps, xMax=1.05 * steps)

    def _show_axes(self, shown: bool) -> None:
        """Numbers on the axes of an empty plot would mean nothing."""
        self._hint.setVisible(not shown)
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setOpacity(1.0 if shown else 0.0)
        self.plot.showGrid(x=shown, y=shown, alpha=0.35)

    def start_over(self) -> None:
        """Let both axes follow the data again."""
        self.plot.enableAutoRange()

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._theme = theme
        self.plot.setBackground(theme.panel)
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setPen(pg.mkPen(theme.grid))
            self.plot.getAxis(side).setTextPen(pg.mkPen(theme.muted))
        for curve, item in self._items.items():
            colour = QColor(getattr(theme, curve.colour))
            line = curve.style != "dots"
            item.setPen(pg.mkPen(colour, width=1) if line else None)
            if curve.style != "line":
                item.setSymbol("o")
                item.setSymbolSize(3 if curve.style == "dots" else 6)
                item.setSymbolBrush(colour)
                item.setSymbolPen(None)
        self.marks.setPen(pg.mkPen(theme.marker, width=1, style=Qt.PenStyle.DashLine))
        self._hair.setPen(pg.mkPen(theme.muted, width=1))
        for button, icon in self._tools.items():
            button.setIcon(theme.icon(icon, theme.muted))
        self._legend.setText(self._legend_text([curve for curve, s in self._shown if len(s)]))

    def _legend_text(self, curves: Sequence[Curve]) -> str:
        parts = [
            f'<span style="color:{getattr(self._theme, c.colour)}">●</span> {c.label}'
            for c in curves
        ]
        return " ".join(parts)

    @Slot(bool)
    def _set_log(self, on: bool) -> None:
        self.plot.setLogMode(y=on)
        self.start_over()

    # Reading ------------------------------------------------------------------------------------

    def show_readout(
        self, x: float, values: Sequence[tuple[Curve, float]], marker: Marker | None
    ) -> None:
        """Show the crosshair at ``x``, and in place of the legend the values there."""
        self._hair.setPos(x)
        self._hair.show()
        parts = [
            f'<span style="color:{getattr(self._theme, curve.colour)}">●</span> {value:.4g}'
            for curve, value in values
            if math.isfinite(value)
        ]
        if marker is not None:
            parts = [f'<span style="color:{self._theme.marker}">┊</span> {marker.text}']
            x = marker.env_steps
        self._legend.setText("&nbsp; ".join(parts))
        self._readout.setText(f"step {max(x, 0):,.0f}")
        self._readout.show()

    def clear_readout(self) -> None:
        """Hide the crosshair and show the legend again."""
        self._hair.hide()
        self._readout.hide()
        self._legend.setText(self._legend_text([curve for curve, s in self._shown if len(s)]))

    @Slot(object)
    def _on_mouse(self, position: QPointF) -> None:
        box = self.plot.getViewBox()
        inside = box.sceneBoundingRect().contains(position)
        self.hovered.emit(box.mapSceneToView(position) if inside else None)

    def eventFilter(self, watched: Any, event: QEvent) -> bool:  # noqa: N802
        """Notice the mouse leaving the plot, and keep the hint in its middle."""
        if event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        elif event.type() == QEvent.Type.Resize:
            self._hint.setGeometry(self.plot.rect())
        return bool(super().eventFilter(watched, event))

    # Exporting ----------------------------------------------------------------------------------

    def _ask_export(self, kind: str) -> None:
        name = f"{self._name.removeprefix('plot_')}.{kind}"
        path, _ = QFileDialog.getSaveFileName(self, f"Export {self._title}", name, f"*.{kind}")
        if path:
            self.export(Path(path).with_suffix(f".{kind}"))

    def export(self, path: Path) -> None:
        """Write the plot as .png or .svg, or everything behind it as .csv."""
        try:
            if path.suffix == ".csv":
                self._write_csv(path)
                return
            # Qt's writers keep silent about a file that cannot be written.
            path.touch()
            self._paint_to(path)
        except OSError as problem:
            self.export_failed.emit(f"{path} cannot be written: {problem.strerror}.")

    def _paint_to(self, path: Path) -> None:
        size = self.plot.size()
        target: QSvgGenerator | QImage
        if path.suffix == ".svg":
            target = QSvgGenerator()
            target.setFileName(str(path))
            target.setSize(size)
            target.setViewBox(self.plot.rect())
            target.setTitle(self._title)
        else:
            target = QImage(_PRINT_SCALE * size, QImage.Format.Format_RGB32)
            target.setDevicePixelRatio(_PRINT_SCALE)
        painter = QPainter(target)
        self.plot.render(painter, QRectF(self.plot.rect()))
        painter.end()
        if isinstance(target, QImage):
            target.save(str(path))

    def _write_csv(self, path: Path) -> None:
        """Write every row of every series shown, not the thinned curves."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            done: list[Series] = []
            for _, series in self._shown:
                if not any(series is other for other in done):
                    done.append(series)
                    writer.writerow(series.columns)
                    writer.writerows(series.rows().tolist())


class ShortAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis labelled 500, 20k, 1.5M: short enough for plots side by side."""

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float | None
    ) -> list[str]:
        """Label these ticks; on a logarithmic axis the values are exponents."""
        if self.logMode or spacing is None:
            return [f"{10**value:.0e}".replace("e-0", "e-").replace("e+0", "e") for value in values]
        return [_short(value * scale, spacing * scale) for value in values]


def _short(value: float, spacing: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            decimals = max(0, math.ceil(-math.log10(spacing / limit) - 1e-9)) if spacing else 0
            return f"{value / limit:.{min(decimals, 3)}f}{unit}"
    return f"{value:.4g}" if spacing < 1 else f"{value:.0f}"
