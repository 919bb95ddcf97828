"""One plot on a card: title, legend, read-out, export."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.plots.catalogue import Curve
from studio.plots.export import KINDS, with_suffix, write_numbers, write_picture
from studio.plots.items import Level, ShortAxis, stripes
from studio.plots.legend import Legend
from studio.plots.parent_curves import ParentCurves, dress
from studio.plots.readout import Readout
from studio.plots.view_range import Range, heights_shown
from studio.session.markers import Marker
from studio.session.series import Numbers, Series
from studio.theme.theme import Theme

# Wider pens and smooth lines leave Qt's fast path: a redraw costs a hundred times as much.
pg.setConfigOptions(antialias=False, useOpenGL=False)

_STRIPES = 24
"""Stripes across a plot in which curves that lie on one another take turns."""

_PAST = "faint: parent"

_NOTE_HEIGHT = 0.05
"""Share of a plot's height that a mark for a pause or the like takes, at the bottom."""


class PlotCard(QWidget):
    """A plot with its heading. Draws what it is handed; holds no data of its own."""

    hovered = Signal(object)
    view_changed = Signal()
    view_taken = Signal()
    """A person has moved or zoomed the plot."""
    everything_wanted = Signal()
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
        self._drawn: list[Curve] = []
        self._heights: list[Numbers] = []
        self._fitted: Range | None = None
        self._logarithmic = False
        self._axes_shown: bool | None = None
        self._tools: dict[QToolButton, str] = {}
        self.plot = self._make_plot(name, title)
        # The last curve named lies on top.
        self._items = {curve: self._make_item(curve) for curve in curves}
        self._past = ParentCurves(self.plot, curves)
        self._hint = QLabel(empty, self.plot)
        self._hint.setProperty("role", "muted")
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.level = Level()
        self.marks = pg.VTickGroup(yrange=(0.0, 1.0))
        self.notes = pg.VTickGroup(yrange=(0.0, _NOTE_HEIGHT))
        # A goal far above what is reached must not squeeze the curves to the bottom.
        self.plot.addItem(self.level, ignoreBounds=True)
        self.plot.addItem(self.marks, ignoreBounds=True)
        self.plot.addItem(self.notes, ignoreBounds=True)
        self._legend = Legend(about)
        self._readout = Readout(self.plot)
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
            # Its grid lies below the curves.
            axis.setZValue(-1)
            (axis.setWidth if side == "left" else axis.setHeight)(size)
        plot.scene().sigMouseMoved.connect(self._on_mouse)
        # The plot's own fitting would lay out the axes anew with every point.
        plot.getViewBox().disableAutoRange()
        plot.getViewBox().sigXRangeChanged.connect(self.view_changed)
        plot.getViewBox().sigRangeChangedManually.connect(self.view_taken)
        plot.viewport().installEventFilter(self)
        return plot

    def _make_item(self, curve: Curve) -> pg.PlotDataItem:
        item = pg.PlotDataItem(name=curve.label, connect="all", skipFiniteCheck=True)
        self.plot.addItem(item)
        return item

    def _build(self, title: str, about: str, log_button: bool) -> None:
        heading = QLabel(title)
        heading.setProperty("role", "title")
        heading.setToolTip(about)
        bar = QHBoxLayout()
        bar.setContentsMargins(10, 6, 4, 0)
        bar.setSpacing(4)
        bar.addWidget(heading)
        bar.addStretch(1)
        if log_button:
            log = self._tool("math-log", "Logarithmic scale", checkable=True)
            log.toggled.connect(self._set_log)
            # Losses span orders of magnitude; on a linear scale the first spike hides the rest.
            log.setChecked(True)
            bar.addWidget(log)
        everything = self._tool("arrow-expand-all", "Show everything again")
        everything.clicked.connect(self.everything_wanted)
        bar.addWidget(everything)
        bar.addWidget(self._export_button())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 6, 4)
        layout.setSpacing(0)
        layout.addLayout(bar)
        # A line of its own: beside the heading there is no room for the names of three curves.
        self._legend.setContentsMargins(10, 0, 0, 2)
        layout.addWidget(self._legend)
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
        for kind in KINDS:
            menu.addAction(f"Export {kind.upper()}…", partial(self._ask_export, kind))
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    # Drawing ------------------------------------------------------------------------------------

    def draw(
        self,
        curves: Sequence[tuple[Curve, Series]],
        marks: Sequence[float],
        past: Sequence[Series] = (),
        notes: Sequence[float] = (),
        *,
        follow: bool = True,
    ) -> None:
        """Draw what is in view of each curve, and a mark at each of these steps.

        ``past`` holds what came before the run, a series for each curve, and is drawn dimmed.
        ``notes`` are steps that get a small mark at the bottom. With ``follow`` the y axis is to
        fit the curves.
        """
        self._shown = list(curves)
        low, high = self.plot.getViewBox().viewRange()[0]
        points = 2 * max(self.plot.width(), 200)
        self._heights = self._past.draw(past, low, high, points)
        drawn: list[Curve] = []
        for depth, (curve, series) in enumerate(curves):
            x, y = series.curve(curve.column, low, high, points)
            striped = curve.style == "stripes" and len(x) > 2 * _STRIPES
            joined = stripes(x, (high - low) / _STRIPES, depth) if striped else "all"
            self._items[curve].setData(x, y, connect=joined)
            self._heights.append(y)
            if len(x):
                drawn.append(curve)
        if follow:
            self._fit_heights()
        self._show_axes(bool(drawn))
        for ticks, steps_marked in ((self.marks, marks), (self.notes, notes)):
            if ticks.xvals != steps_marked:
                ticks.setXVals(list(steps_marked))
        self._drawn = drawn
        self._show_legend()

    def _show_axes(self, shown: bool) -> None:
        """Numbers on the axes of an empty plot would mean nothing."""
        # Said again, each of these would have the axes laid out anew.
        if shown == self._axes_shown:
            return
        self._axes_shown = shown
        self._hint.setVisible(not shown)
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setOpacity(1.0 if shown else 0.0)
        self.plot.showGrid(x=shown, y=shown, alpha=0.35)

    def limit_steps(self, steps: int) -> None:
        """Let nobody move beyond a run of so many steps; 0 if its length is not known."""
        if steps:
            self.plot.getViewBox().setLimits(xMin=-0.02 * steps, xMax=1.05 * steps)

    def show_steps_to(self, end: float) -> None:
        """Show the x axis, and that of every plot linked to it, from 0 to this step."""
        self.plot.getViewBox().setXRange(-0.02 * end, end, padding=0.0)

    def fit_anew(self) -> None:
        """Let the next drawing that follows the curves fit the y axis to them closely."""
        self._fitted = None

    def _fit_heights(self) -> None:
        """Let the y axis show all that is drawn."""
        box = self.plot.getViewBox()
        # The axis of a logarithmic plot counts in powers of ten.
        heights = [np.log10(y[y > 0]) if self._logarithmic else y for y in self._heights]
        heights = [y for y in heights if len(y)]
        if not heights:
            return
        low, high = min(y.min() for y in heights), max(y.max() for y in heights)
        self._fitted = heights_shown(float(low), float(high), self._fitted)
        if box.viewRange()[1] != list(self._fitted):
            box.setYRange(*self._fitted, padding=0.0)

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._theme = theme
        self.plot.setBackground(theme.panel)
        for side in ("left", "bottom"):
            self.plot.getAxis(side).set_theme(theme)
        for curve, item in self._items.items():
            dress(item, curve.style, QColor(getattr(theme, curve.colour)))
        self._past.set_theme(theme)
        self.marks.setPen(pg.mkPen(theme.marker, width=1, style=Qt.PenStyle.DashLine))
        self.notes.setPen(pg.mkPen(theme.muted, width=1))
        self._readout.set_theme(theme)
        self.level.set_colour(theme.muted)
        for button, icon in self._tools.items():
            button.setIcon(theme.icon(icon, theme.muted))
        self._show_legend()

    def _show_legend(self) -> None:
        entries = [(curve.label, getattr(self._theme, curve.colour)) for curve in self._drawn]
        if self._past.shown:
            entries.append((_PAST, ""))
        self._legend.show_entries(entries)

    @Slot(bool)
    def _set_log(self, on: bool) -> None:
        self._logarithmic, self._fitted = on, None
        self.plot.setLogMode(y=on)
        self._fit_heights()

    # Reading ------------------------------------------------------------------------------------

    def show_readout(
        self,
        x: float,
        values: Sequence[tuple[Curve, float]],
        marker: Marker | None,
        remarks: Sequence[str] = (),
    ) -> None:
        """Show the crosshair at ``x``, and beside it the values there."""
        theme = self._theme
        read = [(curve.label, getattr(theme, curve.colour), value) for curve, value in values]
        change = None if marker is None else (marker.text, theme.marker)
        self._readout.show_at(x, read, remarks, change)

    @property
    def readout(self) -> str:
        """What is read at the crosshair, as plain text; empty without one."""
        return self._readout.plain

    def clear_readout(self) -> None:
        """Hide the crosshair and what was read there."""
        self._readout.clear_all()

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
        if not path:
            return
        chosen = with_suffix(Path(path), kind)
        if chosen != Path(path) and chosen.exists():
            # The dialog asked about another name than the one that would be overwritten.
            self.export_failed.emit(f"{chosen.name} exists already; nothing was written.")
            return
        self.export(chosen)

    def export(self, path: Path) -> None:
        """Write the plot as .png or .svg, or everything behind it as .csv."""
        try:
            if path.suffix.lower() == ".csv":
                shown = [(curve.label, curve.column, series) for curve, series in self._shown]
                write_numbers(shown, path)
            else:
                write_picture(self.plot, path, self._title)
        except OSError as problem:
            self.export_failed.emit(f"{path} cannot be written: {problem.strerror}.")
