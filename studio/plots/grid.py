"""The plots of a run in a grid, with one x axis and one crosshair."""

import math
from collections.abc import Mapping

from PySide6.QtCore import QPointF, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.plots.card import PlotCard
from studio.plots.catalogue import PLOTS, layers_of
from studio.plots.view_range import steps_shown
from studio.session.model import RunModel
from studio.theme.theme import Theme

_COLUMNS = 2
REDRAW_MS = 100
"""Shortest time between redraws: ten a second look alive and leave the run its processor."""


class CurveGrid(QWidget):
    """Plots two in a row. Redraws them when it is asked to, at most ten times a second."""

    message = Signal(str)

    def __init__(
        self, cards: Mapping[str, PlotCard], theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._following = True
        self._end: float | None = None
        """Where the x axis ends; None fits it closely to the curves at the next redraw."""
        self._hovered: QPointF | None = None
        self._cards = dict(cards)
        self._lay_out()
        for card in self._cards.values():
            card.export_failed.connect(self.message)
            card.hovered.connect(self._show_values_at)
            card.view_changed.connect(self.redraw_later)
            card.view_moved_by_user.connect(self._stop_following)
            card.reset_requested.connect(self.start_over)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REDRAW_MS)
        self._timer.timeout.connect(self._redraw)

    def set_columns(self, columns: int) -> None:
        """Lay the plots out with this many in a row."""
        layout, count = self._grid, len(self._cards)
        for index, card in enumerate(self._cards.values()):
            layout.addWidget(card, index // columns, index % columns)
        for index in range(count):
            layout.setColumnStretch(index, int(index < columns))
            layout.setRowStretch(index, int(index * columns < count))

    def _lay_out(self) -> None:
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(6)
        self.set_columns(_COLUMNS)
        first, *others = (card.plot for card in self._cards.values())
        for plot in others:
            plot.setXLink(first)

    def length(self) -> int:
        """Return where the x axis ends at the latest; 0 if that is unknown."""
        return 0

    @property
    def redraw_pending(self) -> bool:
        """True while new data has not been drawn yet."""
        return self._timer.isActive()

    def card(self, name: str) -> PlotCard:
        """Return the plot called ``plot_return``, ``plot_q``, ..."""
        return self._cards[name]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        if theme == self._theme:
            return
        self._theme = theme
        for card in self._cards.values():
            card.set_theme(theme)
        self.redraw_later()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Draw the data that came while the plots were hidden."""
        super().showEvent(event)
        self.redraw_later()

    @Slot()
    def redraw_later(self) -> None:
        """Draw all plots again in a moment."""
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def start_over(self) -> None:
        """Show everything, whatever part the user has looked at."""
        self._following = True
        self.fit_closely()

    @Slot()
    def fit_closely(self) -> None:
        """Fit the axes closely to the curves."""
        self._end = None
        for card in self._cards.values():
            card.reset_heights()
        self.redraw_later()

    @Slot()
    def _stop_following(self) -> None:
        """Keep the part that the user has chosen in view while new data comes in."""
        self._following = False

    @Slot()
    def _redraw(self) -> None:
        """Draw all plots; hidden ones cost nothing."""
        if not self.isVisible():
            return
        steps = self.length()
        for card in self._cards.values():
            # Before any range is set: one beyond the limits would be cut off.
            card.limit_steps(steps)
        if self._following:
            self._follow_steps(steps or math.inf)
        for card in self._cards.values():
            card.draw(follow=self._following)
        self._show_values_at(self._hovered)

    def _follow_steps(self, length: float) -> None:
        """Extend the x axis to the last step, for a run of this many steps."""
        last = max(card.last_step() for card in self._cards.values())
        end = steps_shown(last, self._end, length)
        if end != self._end:
            self._end = end
            next(iter(self._cards.values())).show_steps_to(end)

    @Slot(object)
    def _show_values_at(self, point: QPointF | None) -> None:
        """Move the crosshair of all plots to the mouse, or hide it for None."""
        self._hovered = point
        for card in self._cards.values():
            if point is None:
                card.clear_readout()
            else:
                card.show_readout(point.x())


class PlotGrid(CurveGrid):
    """The plots of :data:`PLOTS`, of the run on show."""

    def __init__(self, model: RunModel, theme: Theme, parent: QWidget | None = None) -> None:
        cards = {plot.name: PlotCard(plot, layers_of(plot, model), theme) for plot in PLOTS}
        super().__init__(cards, theme, parent)
        self._model = model
        model.curves_changed.connect(self.redraw_later)
        model.run_started.connect(self.start_over)
        model.run_opened.connect(self.start_over)
        model.run_ended.connect(self.fit_closely)

    def length(self) -> int:
        """Return the length of the run; 0 without one."""
        config = self._model.config
        return config.steps if config else 0
