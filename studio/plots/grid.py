"""The four plots of a run: what is drawn, and the grid that keeps them in step."""

import math

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.plots.card import PlotCard
from studio.plots.catalogue import PLOTS, Curve, PlotSpec, series_of
from studio.plots.view_range import steps_shown
from studio.session.markers import Marker
from studio.session.model import RunModel
from studio.session.series import Series
from studio.theme.theme import Theme

REDRAW_MS = 100
"""At most one redraw in this time: ten a second look alive and leave the run its processor."""


_NOTES = 4
"""Remarks of the journal in one read-out; a crowd of them would hide the curves."""


class PlotGrid(QWidget):
    """Two by two plots with one x axis, one crosshair and the marks of every live change."""

    message = Signal(str)

    def __init__(self, model: RunModel, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._cards: dict[str, PlotCard] = {}
        self._theme: Theme | None = None
        self._following = True
        self._end: float | None = None
        """Where the x axis ends; None lets it fit the curves closely."""
        self._hovered: QPointF | None = None
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        for index, plot in enumerate(PLOTS):
            card = PlotCard(
                plot.name,
                plot.title,
                plot.help,
                plot.curves,
                log_button=plot.log_button,
                empty=plot.empty,
            )
            card.export_failed.connect(self.message)
            card.hovered.connect(self._show_values_at)
            card.view_changed.connect(self._redraw_later)
            card.view_taken.connect(self._let_go)
            card.everything_wanted.connect(self._start_over)
            self._cards[plot.name] = card
            layout.addWidget(card, index // 2, index % 2)
            layout.setColumnStretch(index % 2, 1)
            layout.setRowStretch(index // 2, 1)
        first, *others = (card.plot for card in self._cards.values())
        for plot_widget in others:
            plot_widget.setXLink(first)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REDRAW_MS)
        self._timer.timeout.connect(self._redraw)
        model.curves_changed.connect(self._redraw_later)
        model.run_started.connect(self._start_over)
        model.run_opened.connect(self._start_over)
        model.run_ended.connect(self._fit_anew)
        self.set_theme(theme)

    @property
    def redraw_pending(self) -> bool:
        """True while something new has still to be drawn."""
        return self._timer.isActive()

    def card(self, name: str) -> PlotCard:
        """Return the plot called ``plot_return``, ``plot_q``, ..."""
        return self._cards[name]

    def set_theme(self, theme: Theme) -> None:
        """Draw in the colours of a theme."""
        if theme == self._theme:
            return
        self._theme = theme
        for card in self._cards.values():
            card.set_theme(theme)
        self._redraw_later()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Catch up with what came while the plots were hidden."""
        super().showEvent(event)
        self._redraw_later()

    @Slot()
    def _redraw_later(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _start_over(self) -> None:
        self._following = True
        self._fit_anew()

    @Slot()
    def _fit_anew(self) -> None:
        self._end = None
        for card in self._cards.values():
            card.fit_anew()
        self._redraw_later()

    @Slot()
    def _let_go(self) -> None:
        """A person looks at a part: stay there while new data comes in."""
        self._following = False

    @Slot()
    def _redraw(self) -> None:
        """Draw what is new, thinned to what the pixels can show; hidden plots cost nothing."""
        if not self.isVisible():
            return
        steps = [float(marker.env_steps) for marker in self._model.markers]
        noted = [float(note.env_steps) for note in self._model.journal_entries]
        config = self._model.config
        for card in self._cards.values():
            # Before anything is shown: what lies beyond the limits is cut off.
            card.limit_steps(config.steps if config else 0)
        if self._following:
            self._follow_steps(config.steps if config else math.inf)
        self._cards["plot_return"].level.show_at(self._model.reward_threshold, "solved at")
        for plot in PLOTS:
            card = self._cards[plot.name]
            sources = [(curve, self._source(plot, curve)) for curve in plot.curves]
            past = self._model.parent_curves
            before = [series_of(past, plot, curve) for curve in plot.curves]
            card.draw(sources, steps, before, noted, follow=self._following)
        self._show_values_at(self._hovered)

    def _follow_steps(self, length: float) -> None:
        """Let all that was learnt so far be in view."""
        end = steps_shown(self._last_step(), self._end, length)
        if end != self._end:
            self._end = end
            next(iter(self._cards.values())).show_steps_to(end)

    def _last_step(self) -> float:
        """Return the last step that any curve has come to."""
        model = self._model
        shown = [model.episodes, model.training, model.evaluations]
        past = model.parent_curves
        shown += [past.episodes, past.training, past.evaluations]
        return max((series.column("env_steps")[-1] for series in shown if len(series)), default=0.0)

    def _source(self, plot: PlotSpec, curve: Curve) -> Series:
        return series_of(self._model, plot, curve)

    @Slot(object)
    def _show_values_at(self, point: QPointF | None) -> None:
        """Move the crosshair of all plots to the mouse and read the curves there."""
        self._hovered = point
        x = None if point is None else point.x()
        for plot in PLOTS:
            card = self._cards[plot.name]
            if x is None:
                card.clear_readout()
                continue
            values = []
            for curve in plot.curves:
                source = self._source(plot, curve)
                row = source.nearest(x)
                if row is not None:
                    values.append((curve, float(source.column(curve.column)[row])))
            remarks = self._success_near(x) if plot.name == "plot_return" else []
            remarks += self._notes_near(card.plot, x)
            card.show_readout(x, values, self._marker_near(card.plot, x), remarks)

    def _success_near(self, x: float) -> list[str]:
        """Say how many episodes of the evaluation at ``x`` reached the environment's threshold."""
        row = self._model.evaluations.nearest(x)
        success = math.nan if row is None else self._model.evaluations.column("success")[row]
        if math.isnan(success) or self._model.reward_threshold is None:
            return []
        return [f"{success:.0%} of its episodes reach {self._model.reward_threshold:g}"]

    def _notes_near(self, plot: pg.PlotWidget, x: float) -> list[str]:
        """Return what was done to the run within a few pixels of ``x``, the last few things."""
        reach = 6 * plot.getViewBox().viewPixelSize()[0]
        near = [note for note in self._model.journal_entries if abs(note.env_steps - x) <= reach]
        return [note.text for note in near[-_NOTES:]]

    def _marker_near(self, plot: pg.PlotWidget, x: float) -> Marker | None:
        """Return the live change within a few pixels of ``x``."""
        reach = 6 * plot.getViewBox().viewPixelSize()[0]
        near = [m for m in self._model.markers if abs(m.env_steps - x) <= reach]
        return min(near, key=lambda m: abs(m.env_steps - x), default=None)
