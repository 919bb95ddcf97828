"""Plots of a sweep: best so far, parallel coordinates, slices, importance."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QMargins, QPoint, Qt, Signal, Slot
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from studio.experiments.axis_labels import AxisLabels, in_lines
from studio.experiments.sweep_export import (
    BEST_LEGEND,
    PARALLEL_LEGEND,
    SLICE_LEGEND,
    TrialMark,
    write_importance,
    write_trials,
)
from studio.formatting import format_count, format_number, format_value, plain_return, typographic
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import make_label
from studio.widgets.figure_export import (
    FigureHeading,
    choose_file,
    export_figure,
    fill_export_menu,
    large_enough,
    write_picture,
)
from td3core.config import label_of
from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.protocol.importance import about_importance, too_few_trials
from td3core.protocol.trial_status import TrialStatus
from td3core.text import Text, tr


class View(StrEnum):
    """Plots of a sweep; the value is part of the proposed file name."""

    BEST = "best_so_far"
    PARALLEL = "parallel_coordinates"
    SLICES = "slices"
    IMPORTANCE = "importance"


VIEWS = {
    View.BEST: Text("Best so far"),
    View.PARALLEL: Text("Parallel coordinates"),
    View.SLICES: Text("Slices"),
    View.IMPORTANCE: Text("Importance"),
}
"""Titles of the views."""
_DRAWN = (TrialStatus.DONE, TrialStatus.PRUNED)
_MOST_LINES = 500
_SHADES = 8
"""All lines of one shade are drawn as one item: a thousand items would be slow."""
_SLICE = 150
"""Smallest width of a slice in pixels, with the usual font: its tick labels need as much."""
_MOST_COLUMNS = 3
_FRAME = 10
"""Pixels around a plot without axes."""
_BEYOND = 20
"""Pixels by which a tick label may extend beyond the ends of its axis."""
_SYMBOL = {"symbol": "o", "symbolSize": 6, "symbolPen": None, "pen": None}


class _Axis(pg.AxisItem):  # type: ignore[misc]
    """An axis whose numbers are written as elsewhere, and with every name set as its tick."""

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float
    ) -> list[str]:
        """Return the labels of these ticks."""
        decimals = max(0, math.ceil(-math.log10(spacing * scale)))
        return [typographic(plain_return(value * scale, decimals)) for value in values]


class SweepPlots(QWidget):
    """Draws one view of a sweep at a time."""

    exported = Signal()
    export_failed = Signal(object)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.drawn = False
        """Whether a plot is shown that can be exported."""
        self._legend: tuple[TrialMark, ...] = ()
        self._theme, self._view = theme, View.BEST
        self._state: SweepState | None = None
        self._importance: Mapping[str, float] | None = None
        self._no_importance, self._measured_trials, self._columns = "", 0, 1
        self._subject: tuple[Any, ...] = ()
        """What the axes depend on: a zoom is kept while it is the same."""
        self._boxes: list[pg.ViewBox] = []
        self._zoomed: set[tuple[int, int]] = set()
        """The box and the axis, x or y, that the user has moved or zoomed."""
        self.area = pg.GraphicsLayoutWidget()
        self.area.setObjectName("sweep_plots")
        self.area.setAccessibleName(tr("Plots of the sweep"))
        for part in (self.area, self.area.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.area.customContextMenuRequested.connect(self._show_menu)
        self.area.scene().sigMouseClicked.connect(self._on_click)
        # A pyqtgraph label does not wrap, and plots shown after it keep its width.
        self._note = make_label("sweep_note", muted=True)
        self._note.setWordWrap(True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        QVBoxLayout(self.area).addWidget(self._note)
        self._menu = QMenu(self)
        self._menu.setObjectName("sweep_export_menu")
        fill_export_menu(self._menu, self.ask_export)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.area, stretch=1)
        # Below the plot: a label of its axis does not wrap.
        self._about = make_label("sweep_about", muted=True)
        self._about.setWordWrap(True)
        layout.addWidget(self._about)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self.area.setBackground(theme.panel)
        self.draw()

    def show_view(self, view: View) -> None:
        """Switch to another view."""
        self._view = view
        self.draw()

    def show_state(self, state: SweepState | None) -> None:
        """Draw the trials of a sweep."""
        before, self._state = self._state, state
        if _drawn_of(before) != _drawn_of(state):
            self.draw()

    def show_importance(
        self, importance: Mapping[str, float] | None, trials: int = 0, missing: str = ""
    ) -> None:
        """Draw the importance of the settings.

        Args:
            importance: None if that is not computed yet.
            trials: number of completed trials that it rests on.
            missing: why there is none; empty if there are too few trials.
        """
        self._importance, self._no_importance = importance, missing
        self._measured_trials = trials
        if self._view is View.IMPORTANCE:
            self.draw()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Redraw the slices if another number of them fits, and the names of parallel axes."""
        super().resizeEvent(event)
        refit = self._view is View.SLICES and self._fitting_columns() != self._columns
        if refit or self._view is View.PARALLEL:
            self.draw()

    def draw(self) -> None:
        """Redraw the view; what the user has zoomed keeps its range."""
        state = self._state
        subject = (self._view, state and (state.name, state.objective, state.space))
        if subject != self._subject:
            self._zoomed.clear()
        self._subject = subject
        kept = {(box, axis): self._boxes[box].viewRange()[axis] for box, axis in self._zoomed}
        self._boxes.clear()
        self.area.clear()
        self._note.clear()
        self._about.hide()
        self._legend = ()
        self._draw_view()
        self.drawn = bool(self._legend)
        self._zoomed &= {(box, axis) for box in range(len(self._boxes)) for axis in (0, 1)}
        for box, axis in self._zoomed:
            name = ("xRange", "yRange")[axis]
            self._boxes[box].setRange(**{name: kept[box, axis]}, padding=0)

    def _draw_view(self) -> None:
        drawn = _drawn(self._trials())
        if self._state is None or not drawn:
            self._say(tr("Shown after the first trial."))
        elif self._view is View.BEST:
            self._draw_best([each for each in drawn if each.state is TrialStatus.DONE])
        elif self._view is View.PARALLEL:
            self._draw_parallel(drawn[-_MOST_LINES:])
        elif self._view is View.SLICES:
            self._draw_slices(drawn)
        else:
            self._draw_importance()

    def _trials(self) -> tuple[TrialState, ...]:
        return self._state.trials if self._state else ()

    def _say(self, text: str) -> None:
        self._note.setText(text)

    def _plot(self, **place: Any) -> pg.PlotItem:
        axes = {side: _Axis(side) for side in ("left", "bottom")}
        plot = self.area.addPlot(**place, axisItems=axes)
        plot.hideButtons()
        plot.setMenuEnabled(False)
        for axis in axes.values():
            axis.setPen(self._theme.border)
            axis.setTextPen(self._theme.muted)
            axis.enableAutoSIPrefix(False)
        box = plot.getViewBox()
        box.sigRangeChangedManually.connect(partial(self._on_zoom, len(self._boxes)))
        self._boxes.append(box)
        return plot

    def _on_zoom(self, box: int, moved: Sequence[bool]) -> None:
        self._zoomed |= {(box, axis) for axis in (0, 1) if moved[axis]}

    @Slot(object)
    def _on_click(self, event: Any) -> None:
        """Show everything again after a double click."""
        if event.double() and event.button() is Qt.MouseButton.LeftButton and self._zoomed:
            self._zoomed.clear()
            self.draw()

    # Exporting ----------------------------------------------------------------------------------

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        if self.drawn:
            self._menu.popup(self.area.mapToGlobal(at))

    @Slot(str)
    def ask_export(self, kind: str) -> None:
        """Ask for a file and write the displayed view, as a picture or as a table."""
        view = self._view.value
        proposed = f"{self._state.name}_{view}".lower() if self._state else view
        title = tr("Export {what}", what=VIEWS[self._view])
        path = choose_file(self, title, proposed, kind, self.export_failed.emit)
        if path is not None:
            self.export(path)

    def export(self, path: Path) -> None:
        """Write the displayed view as .png or .svg, or the numbers of the trials as .csv."""
        state = self._state
        # The view may have changed while the name was asked for.
        if state is None or not self.drawn:
            self.export_failed.emit(Text("There is nothing to export."))
            return
        picture = partial(self._write_picture, state)
        table = partial(write_trials, state)
        if self._view is View.IMPORTANCE:
            table = partial(write_importance, self._importance or {})
        if export_figure(path, picture, table, self.export_failed.emit):
            self.exported.emit()

    def _write_picture(self, state: SweepState, path: Path) -> None:
        name = tr("sweep {name}", name=state.name)
        title = f"{VIEWS[self._view]} · {state.environment} · {name}"
        caption = FigureHeading(title=title, legend=self._legend, theme=self._theme)
        with large_enough(self.area):
            write_picture(self.area, path, caption)

    # Views --------------------------------------------------------------------------------------

    def _draw_best(self, trials: Sequence[TrialState]) -> None:
        if not trials:
            self._say(tr("Shown after the first completed trial."))
            return
        self._legend = BEST_LEGEND
        plot = self._plot()
        numbers = np.array([each.number for each in trials], dtype=float)
        values = np.array([each.value for each in trials], dtype=float)
        plot.plot(numbers, values, symbolBrush=self._theme.curve_raw, **_SYMBOL)
        best = np.maximum.accumulate(values)
        edges = np.append(numbers, numbers[-1] + 1)
        plot.plot(edges, best, stepMode="center", pen=self._theme.curve_1)
        plot.setLabel("bottom", tr("trial"), color=self._theme.muted)
        # Integer ticks only, and none at the end of the line, which is beyond the last trial.
        count = len(self._trials())
        ticks = [(n, format_count(n)) for n in range(0, count, max(1, count // 6))]
        plot.getAxis("bottom").setTicks([ticks])
        assert self._state is not None
        plot.setLabel("left", self._state.objective, color=self._theme.muted)

    def _draw_parallel(self, trials: Sequence[TrialState]) -> None:
        assert self._state is not None
        self._legend = PARALLEL_LEGEND
        space, plot = self._state.space, self._plot()
        names = list(space)
        values = np.array([each.value for each in trials], dtype=float)
        heights = np.array([[_place(space[n], t.settings.get(n)) for n in names] for t in trials])
        ranks = _scaled(values)
        heights = np.column_stack([heights, ranks])
        shades = np.minimum((ranks * _SHADES).astype(int), _SHADES - 1)
        columns = np.arange(heights.shape[1], dtype=float)
        for shade in range(_SHADES):
            rows = heights[shades == shade]
            if len(rows):
                x = np.tile(np.append(columns, np.nan), len(rows))
                y = np.column_stack([rows, np.full(len(rows), np.nan)]).ravel()
                part = 0.15 + 0.85 * shade / (_SHADES - 1)
                colour = self._theme.on_panel(QColor(self._theme.curve_1), part)
                plot.plot(x, y, pen=colour, connect="finite")
        plot.hideAxis("bottom")
        plot.hideAxis("left")
        last = (format_number(values.min()), format_number(values.max()))
        ends = [*(_ends(space[name]) for name in names), last]
        for column in range(len(ends)):
            plot.plot([column, column], [0.0, 1.0], pen=self._theme.border)
        self._label_axes(plot, [*map(label_of, names), self._state.objective], ends)
        plot.setXRange(-0.5, len(names) + 0.5, padding=0)

    def _label_axes(
        self, plot: pg.PlotItem, names: Sequence[str], ends: Sequence[tuple[str, str]]
    ) -> None:
        """Write names and ends at the axes, upright if they would overlap, with room for both."""
        size = self.size().shrunkBy(QMargins(*[_FRAME] * 4))
        labels = AxisLabels(names, ends, self._theme, size.width() / len(names))
        if labels.overlap:
            labels.turn(size.height() // 3)
        below, above, top = labels.heights
        inside = max(size.height() - below - above - top, 1.0)
        for column, (name, low, high) in enumerate(labels.columns):
            raised = (above + labels.lifts[column]) / inside
            for item, y in ((name, 1.0 + raised), (low, 0.0), (high, 1.0)):
                item.setPos(column, y)
                plot.addItem(item)
        plot.setYRange(-below / inside, 1.0 + (above + top) / inside, padding=0)

    def _draw_slices(self, trials: Sequence[TrialState]) -> None:
        assert self._state is not None
        self._legend = SLICE_LEGEND
        names = list(self._state.space)
        columns = self._columns = self._fitting_columns()
        values = [each.value for each in trials]
        for index, name in enumerate(names):
            plot = self._plot(row=index // columns, col=index % columns)
            about = self._state.space[name]
            found = [each.settings.get(name) for each in trials]
            x = [_place(about, each) for each in found]
            plot.plot(x, values, symbolBrush=self._theme.curve_1, **_SYMBOL)
            plot.setLabel("bottom", label_of(name), color=self._theme.muted)
            plot.getAxis("bottom").setTicks([_marks(about)])
            plot.getAxis("bottom").setStyle(hideOverlappingLabels=_BEYOND)
            plot.setXRange(-0.15, 1.15)
            plot.getAxis("left").setStyle(showValues=index % columns == 0)

    def _fitting_columns(self) -> int:
        count = len(self._state.space) if self._state else 1
        return max(1, min(count, _MOST_COLUMNS, self.width() // scaled(_SLICE)))

    def _draw_importance(self) -> None:
        if self._importance is None:
            self._say(tr("Computing…"))
            return
        if not self._importance:
            done = self._state.count(TrialStatus.DONE) if self._state else 0
            self._say(self._no_importance or str(too_few_trials(done)))
            return
        about = about_importance(self._measured_trials)
        self._legend = (TrialMark(about=about, colour="curve_1"),)
        self._about.setText(str(about))
        self._about.show()
        plot = self._plot()
        names = list(self._importance)[::-1]
        shares = [self._importance[name] for name in names]
        bars = pg.BarGraphItem(
            x0=0, y=range(len(names)), height=0.6, width=shares, brush=self._theme.curve_1, pen=None
        )
        plot.addItem(bars)
        plot.setYRange(-0.5, len(names) - 0.5, padding=0)
        plot.setLabel("bottom", tr("importance"), color=self._theme.muted)
        plot.getViewBox().sigResized.connect(partial(self._name_bars, plot.getAxis("left"), names))

    def _name_bars(self, axis: pg.AxisItem, names: Sequence[str], box: pg.ViewBox) -> None:
        """Write the names of bars in lines, if these fit between two bars; else as many as fit."""
        spacing, line = box.height() / len(names), self.fontMetrics().height()
        written = [in_lines(label_of(name)) for name in names]
        if spacing < line * max(each.count("\n") + 1 for each in written):
            written = [label_of(name) for name in names]
        ticks = list(enumerate(written))
        # The most important one is the last.
        every = math.ceil(line / max(spacing, 1.0))
        axis.setTicks([ticks[::-1][::every]])


def _drawn(trials: Sequence[TrialState]) -> list[TrialState]:
    return [each for each in trials if each.value is not None and each.state in _DRAWN]


def _drawn_of(state: SweepState | None) -> tuple[Any, ...] | None:
    """Return what the plots show of a sweep; its times and its running trials change all along."""
    if state is None:
        return None
    trials = state.trials
    return state.name, state.objective, state.space, len(trials), _drawn(trials)


def _number(about: Mapping[str, Any], value: Any) -> float:
    """Return the position of a value on the axis of its setting; for a choice its index."""
    if "choices" in about:
        return float(about["choices"].index(value)) if value in about["choices"] else math.nan
    return float(value) if isinstance(value, int | float) else math.nan


def _place(about: Mapping[str, Any], value: Any) -> float:
    """Return the position of a value between the ends of its range, from 0 to 1."""
    number = _number(about, value)
    if "choices" in about:
        return number / max(len(about["choices"]) - 1, 1)
    low, high = float(about["low"]), float(about["high"])
    if about["log"]:
        # A damaged state may hold a value beyond the range.
        number = math.log(number) if number > 0 else math.nan
        low, high = math.log(low), math.log(high)
    return (number - low) / (high - low)


def _ends(about: Mapping[str, Any]) -> tuple[str, str]:
    if "choices" in about:
        return format_value(about["choices"][0]), format_value(about["choices"][-1])
    return format_value(about["low"]), format_value(about["high"])


def _marks(about: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return (position, text) of the ticks of a setting: the ends of its range, or its choices."""
    if "choices" in about:
        return [(_place(about, each), format_value(each)) for each in about["choices"]]
    return list(zip((0.0, 1.0), _ends(about), strict=True))


def _scaled(values: Any) -> Any:
    width = values.max() - values.min()
    return (values - values.min()) / width if width else np.ones_like(values)
