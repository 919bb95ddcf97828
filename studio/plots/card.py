"""One plot on a card: heading, legend, layers, readout."""

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal, Slot
from PySide6.QtGui import QEnterEvent, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from studio.plots.axis import ShortAxis
from studio.plots.canvas import PlotCanvas, PlotViewBox
from studio.plots.card_export import CardExport
from studio.plots.card_menu import CardMenu
from studio.plots.catalogue import PlotSpec
from studio.plots.course_picture import CoursePicture, caption
from studio.plots.explanation import Explanation, ExplanationPopup
from studio.plots.header import PlotHeader
from studio.plots.keys import PlotKeys
from studio.plots.layers.layer import Layer, LayerView
from studio.plots.legend import Legend
from studio.plots.readout import Readout
from studio.plots.run.empty_hint import EmptyHint
from studio.plots.view_range import NO_LIMITS, Limits, Range, heights_shown, limited
from studio.plots.x_axis import BY_STEPS, LABELS, StepToX, heading_at
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from td3core.analysis.healthy import healthy_course
from td3core.arrays import Doubles
from td3core.config.algorithms import TD3
from td3core.text import tr

# Wider pens and smooth lines leave Qt's fast path: redraws would be a hundred times slower.
pg.setConfigOptions(antialias=False, useOpenGL=False)

_AXES = ("left", "bottom")
_LEFT, _BOTTOM, _LABEL = 46, 22, 16
"""Smallest sizes in pixels of the axes, and of an axis name."""
_NAME_SIZE = 8 / 9
"""Size of an axis name, as a share of the application's font."""
_LEAST_WIDTH, _LEAST_HEIGHT, _THREE_LINES = 86, 90, 64
"""Smallest size of a plot in pixels, and the height of three labels above an x axis, with the usual
font."""
_LONGEST, _TICKS = "−1,000", 6
"""The longest usual label of a tick, and pixels around it."""
_NAME_MARGIN = 5
"""Pixels by which pyqtgraph lets the name of an axis extend beyond it."""
_MOST_LINES = 8
"""Maximum number of legend lines of a maximised plot."""
_GRID = 0.35
"""Opacity of the grid."""
_REACH_PX = 6
"""An item this close to the crosshair counts as being under it."""


class PlotCard(QWidget):
    """A plot with its heading. Draws given layers; holds no data of its own."""

    hovered = Signal(object)
    """The point of the plot under the mouse, a QPointF; None once the mouse has left."""
    view_changed = Signal()
    x_range_changed = Signal(float, float)
    """The x axis now shows this range."""
    view_moved_by_user = Signal()
    """The user has moved or zoomed the plot."""
    reset_requested = Signal()
    chosen = Signal()
    """The user wants this plot large."""
    maximise_toggled = Signal(bool)

    def __init__(
        self,
        plot: PlotSpec,
        layers: Sequence[Layer],
        theme: Theme,
        *,
        subject: Callable[[], str] = str,
        heading: Callable[[float], str] | None = None,
        export: Callable[[Path], None] | None = None,
    ) -> None:
        """Draw ``layers``.

        Args:
            plot: the spec of the plot.
            layers: the layers, in the order of the legend.
            theme: the colours.
            subject: returns environment and run, for the titles of exported pictures.
            heading: returns the heading of the readout at a position on the x axis.
            export: writes the plot to a file, and reports how that ended.
        """
        super().__init__()
        self.setObjectName("card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.name, self.title, self._unit = plot.name, str(plot.title), str(plot.unit)
        self.theme, self._small = theme, False
        self.layers = tuple(layers)
        self._heights: list[Doubles] = []
        self._fitted: Range | None = None
        self.logarithmic = False
        self.limits = NO_LIMITS
        """The ends of the y axis fixed by the user; see :meth:`set_limits`."""
        self.step_map = BY_STEPS
        """Maps steps of the run to the x axis."""
        self.heading = heading or self._heading
        """Returns the heading of the readout at a position on the x axis."""
        self._axes_shown: tuple[bool, str] | None = None
        self.plot = self._make_plot()
        self._empty = (str(plot.empty), str(plot.expected))
        self._hint = EmptyHint(plot.example, theme, self.plot)
        for layer in self.layers:
            layer.attach(self.plot)
        self._header = PlotHeader(plot)
        self._about = plot.about
        self.legend = Legend(self.title, str(plot.help), theme)
        self._readout = Readout(self.plot, theme)
        self._keys = PlotKeys(self)
        self._keys.read.connect(self.hovered)
        self._keys.view_moved.connect(self.view_moved_by_user)
        self._keys.range_wanted.connect(self.show_x_range)
        self._keys.everything_wanted.connect(self.reset_requested)
        self._keys.maximise_wanted.connect(self._header.toggle_maximised)
        self._lay_out()
        self.set_legend_lines(1)
        self.menu = CardMenu(self, self._header)
        self.menu.quantities_changed.connect(self._refit)
        self.exporter = CardExport(self, subject, export)
        self._header.log_toggled.connect(self._set_log)
        self._header.reset_requested.connect(self.reset_requested)
        self._header.chosen.connect(self.chosen)
        self._header.maximise_toggled.connect(self.maximise_toggled)
        self.legend.switched.connect(self._switch_curve)
        self._header.export_requested.connect(self.exporter.ask)
        self._show_axes(False)
        # Losses span orders of magnitude; on a linear scale the first spike would hide the rest.
        self._set_log(plot.log_button)
        self.set_theme(theme)

    def _make_plot(self) -> PlotCanvas:
        box = PlotViewBox()
        box.fit_requested.connect(self.reset_requested)
        plot = PlotCanvas(box, *map(ShortAxis, _AXES))
        plot.setObjectName(self.name)
        plot.setAccessibleName(tr("{title} plot", title=self.title))
        # Without curves, the plot handles no keys; a click still ends the editing of a field.
        for part in (plot, plot.viewport()):
            part.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        for side in _AXES:
            axis = plot.getAxis(side)
            axis.setStyle(tickTextOffset=4, autoExpandTextSpace=False)
            axis.enableAutoSIPrefix(False)
        plot.scene().sigMouseMoved.connect(self._on_mouse)
        # pyqtgraph's auto range would lay out the axes again with every point.
        plot.getViewBox().disableAutoRange()
        plot.getViewBox().sigXRangeChanged.connect(self._on_x_range)
        plot.getViewBox().sigRangeChangedManually.connect(self.view_moved_by_user)
        plot.viewport().installEventFilter(self)
        return plot

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 6, 4)
        layout.setSpacing(0)
        layout.addWidget(self._header)
        # On a separate line: next to the title the names of three curves do not fit.
        self.legend.setContentsMargins(10, 0, 0, 2)
        layout.addWidget(self.legend)
        layout.addWidget(self.plot, 1)

    def replace_title(self, control: QWidget) -> None:
        """Replace the title by a control."""
        self._header.replace_title(control)
        stops: list[QWidget] = [*self._header.stops, self.legend, self.plot]
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)

    def rename(self, title: str) -> None:
        """Change the title: the plot shows another quantity."""
        self.title = title
        self._header.title.setText(title)
        self.plot.setAccessibleName(tr("{title} plot", title=title))

    def explain(
        self, about: Explanation | None = None, env: str = "", algorithm: str = TD3
    ) -> None:
        """Open the plot's explanation below its title, with a curve from a healthy run."""
        about = about or self._about
        if about is None:
            return
        course = healthy_course(env, about.column, algorithm)
        picture = None if course is None else CoursePicture(course, self.theme)
        told = "" if course is None else str(caption(course))
        popup = ExplanationPopup(self.name, self.title, about, self, picture, told)
        popup.open_below(self._header.title)

    def set_legend_lines(self, count: int) -> None:
        """Let the legend wrap into this many lines while the plot is one of several."""
        self.legend_lines = count
        self.legend.set_most_lines(count)

    def set_small(self, small: bool) -> None:
        """Hide the names of the axes and the rare buttons, or show them again."""
        self._small = small
        self._header.set_small(small)
        self._name_axes(shown=not small)

    def show_maximised(self, maximised: bool) -> None:
        """Show whether this plot has all the space."""
        self._header.show_maximised(maximised)
        self.legend.set_most_lines(_MOST_LINES if maximised else self.legend_lines)

    @contextmanager
    def axes_named(self) -> Iterator[None]:
        """Name the axes for a while, even those of a small plot."""
        self._name_axes(shown=True)
        try:
            yield
        finally:
            self._name_axes(shown=not self._small)

    def _name_axes(self, *, shown: bool) -> None:
        left, bottom = (self.plot.getAxis(side) for side in _AXES)
        named = shown and bool(self._unit)
        # In points, because font sizes may be fractional.
        name_size = _NAME_SIZE * QFontInfo(QApplication.font()).pointSizeF()
        style = {"color": self.theme.muted, "font-size": f"{name_size:.4g}pt"}
        left.setLabel(self._unit, **style)
        bottom.setLabel(str(LABELS[self.step_map.axis]), **style)
        left.showLabel(named)
        bottom.showLabel(named)
        ticks, name = QFontMetricsF(QApplication.font()), left.label.boundingRect().height()
        # With large fonts, the name would overlap the numbers.
        width = max(_LEFT, math.ceil(ticks.horizontalAdvance(_LONGEST)) + _TICKS)
        height = max(_BOTTOM, math.ceil(ticks.height()) + _TICKS)
        label = max(_LABEL, math.ceil(name) - _NAME_MARGIN) if named else 0
        left.setWidth(width + label)
        bottom.setHeight(height + label)

    @Slot(str, bool)
    def _switch_curve(self, name: str, shown: bool) -> None:
        for layer in self.layers:
            layer.show_curve(name, shown)
        self._refit()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self.theme = theme
        self.plot.setMinimumSize(scaled(_LEAST_WIDTH), max(_LEAST_HEIGHT, scaled(_THREE_LINES)))
        self._name_axes(shown=not self._small)
        self.plot.setBackground(theme.panel)
        axes = [self.plot.getAxis(side) for side in ("left", "bottom")]
        for part in (*axes, *self.layers, self._header, self.legend, self._readout, self._hint):
            part.set_theme(theme)
        self._keys.set_theme(theme)

    # Drawing ------------------------------------------------------------------------------------

    def draw(self, *, follow: bool) -> None:
        """Draw the part of each layer in view; with ``follow``, fit the y axis to it."""
        low, high = map(self.step_map.step_at, self.plot.getViewBox().viewRange()[0])
        points = 2 * max(self.plot.width(), 200)
        view = LayerView(
            low=low,
            high=high,
            points=points,
            step_map=self.step_map,
            logarithmic=self.logarithmic,
        )
        self._heights = [y for layer in self.layers for y in layer.draw(view) if len(y)]
        missing = str(self.step_map.missing)
        if missing:
            self._heights = []
        self._hint.say(*(self._empty if not missing else (missing,)))
        # Curves without a position would all be drawn at 0.
        self.plot.getViewBox().childGroup.setVisible(not missing)
        if follow:
            self._fit_heights()
        self._show_axes(bool(self._heights))
        layers = () if missing else self.layers
        self.legend.show_entries([entry for layer in layers for entry in layer.legend()])

    def _show_axes(self, shown: bool) -> None:
        """Show the axes or the hint: numbers on the axes of an empty plot would be meaningless.

        Before the first drawing there is no hint either: the curves of a run may be about to come.
        """
        # Setting any of these again would lay out the axes again.
        if (shown, self._hint.text) == self._axes_shown:
            return
        self._axes_shown = shown, self._hint.text
        self._hint.setVisible(not shown and bool(self._hint.text))
        policy = Qt.FocusPolicy
        self.plot.setFocusPolicy(policy.StrongFocus if shown else policy.ClickFocus)
        self.plot.setAccessibleDescription("" if shown else self._hint.text)
        for side in ("left", "bottom"):
            self.plot.getAxis(side).setOpacity(1.0 if shown else 0.0)
        self.plot.show_grid(shown, _GRID)

    def set_step_map(self, step_map: StepToX) -> None:
        """Use another map from steps to the x axis."""
        renamed = step_map.axis != self.step_map.axis
        self.step_map = step_map
        if renamed:
            self._keys.clear()
            self._name_axes(shown=not self._small)

    def limit_steps(self, steps: float) -> None:
        """Keep the view within a run of this many steps; 0 if its length is unknown."""
        low, high = (-0.02 * steps, 1.05 * steps) if steps else (None, None)
        self.plot.getViewBox().setLimits(xMin=low, xMax=high)

    def show_steps_to(self, end: float) -> None:
        """Show the x axis from 0 to this position, as in all plots of the grid."""
        self.show_x_range(-0.02 * end, end)

    def show_x_range(self, low: float, high: float) -> None:
        """Show this part of the x axis."""
        box = self.plot.getViewBox()
        if box.viewRange()[0] != [low, high]:
            box.setXRange(low, high, padding=0.0)

    @Slot(object, object)
    def _on_x_range(self, _: object, shown: Sequence[float]) -> None:
        self.x_range_changed.emit(*shown)
        self.view_changed.emit()

    def last_step(self) -> float:
        """Return the position of the last step of any layer on the x axis."""
        last = max((layer.last_step() for layer in self.layers), default=0.0)
        return float(self.step_map.places_of(last))

    def reset_heights(self) -> None:
        """Let the next draw with ``follow`` fit the y axis closely."""
        self._fitted = None

    def _fit_heights(self) -> None:
        """Fit the y axis to everything drawn."""
        box = self.plot.getViewBox()
        # The axis of a logarithmic plot is in powers of ten.
        heights = [np.log10(y[y > 0]) if self.logarithmic else y for y in self._heights]
        heights = [y for y in heights if len(y)]
        if not heights:
            return
        low, high = min(y.min() for y in heights), max(y.max() for y in heights)
        self._fitted = heights_shown(float(low), float(high), self._fitted)
        shown = limited(self._fitted, self.limits, self.logarithmic)
        if box.viewRange()[1] != list(shown):
            box.setYRange(*shown, padding=0.0)

    def set_limits(self, limits: Limits) -> None:
        """Fix the ends of the y axis, or let them follow the curves again."""
        self.limits, self._fitted = limits, None
        self._fit_heights()
        self.view_changed.emit()

    @Slot(bool)
    def _set_log(self, on: bool) -> None:
        self.logarithmic, self._fitted = on, None
        self.plot.set_logarithmic(on)
        self._fit_heights()
        # Values not above 0 appear or disappear.
        self.view_changed.emit()

    @property
    def has_positive(self) -> bool:
        """True if a logarithmic axis would show anything."""
        return any((y > 0).any() for y in self._heights)

    def height_of(self, value: float) -> float:
        """Return the position of a value on the y axis."""
        if not self.logarithmic:
            return value
        return float(np.log10(value)) if value > 0 else -np.inf

    # Reading ------------------------------------------------------------------------------------

    def show_readout(self, x: float) -> None:
        """Show the crosshair at a step, with the values of all layers there."""
        if self.step_map.missing:
            self.clear_readout()
            return
        step = self.step_map.step_at(x)
        beyond = x + _REACH_PX * self.plot.getViewBox().viewPixelSize()[0]
        reach = abs(self.step_map.step_at(beyond) - step)
        entries = [entry for layer in self.layers for entry in layer.read(step, reach)]
        self._readout.show_at(x, self.heading(max(x, 0.0)), entries)

    @property
    def readout(self) -> str:
        """The readout as plain text; empty without a crosshair."""
        return self._readout.plain

    def clear_readout(self) -> None:
        """Hide the crosshair and the readout."""
        self._readout.clear_all()

    @Slot(object)
    def _on_mouse(self, position: QPointF) -> None:
        box = self.plot.getViewBox()
        inside = box.sceneBoundingRect().contains(position)
        self.hovered.emit(box.mapSceneToView(position) if inside else None)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        """Show the buttons for which a narrow plot has little room."""
        super().enterEvent(event)
        self._header.reveal(True)

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        """Hide them again."""
        super().leaveEvent(event)
        self.reveal_buttons()

    def reveal_buttons(self) -> None:
        """Show the full-size button while mouse or focus is here, even if space is short."""
        focus = QApplication.focusWidget()
        focused = focus is not None and self.isAncestorOf(focus)
        self._header.reveal(focused or self.underMouse())

    def eventFilter(self, watched: Any, event: QEvent) -> bool:  # noqa: N802
        """Notice when the mouse leaves the plot, and keep the hint centred."""
        if event.type() == QEvent.Type.Leave:
            self.hovered.emit(None)
        elif event.type() == QEvent.Type.Resize:
            self._hint.setGeometry(self.plot.rect())
        return bool(super().eventFilter(watched, event))

    # Quantities ---------------------------------------------------------------------------------

    @property
    def added(self) -> list[str]:
        """Columns of the quantities added by the user, ordered by name."""
        return sorted(column for layer in self.layers for column in layer.added_columns)

    def add_quantities(self, columns: Collection[str]) -> None:
        """Show these quantities too, as far as they exist."""
        for layer in self.layers:
            layer.add(columns)
        self._refit()

    @Slot()
    def _refit(self) -> None:
        """Fit the y axis closely to other curves, and draw them."""
        self._fitted = None
        self.view_changed.emit()

    def _heading(self, x: float) -> str:
        return heading_at(self.step_map.axis, x)
