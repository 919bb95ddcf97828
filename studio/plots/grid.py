"""Plots in a grid, with one x axis and one crosshair."""

import math
import time
from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QEvent, QPointF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QWidget

from studio.plots.card import PlotCard
from studio.plots.view_range import steps_shown
from studio.plots.x_axis import BY_STEPS, StepToX
from studio.theme.sizes import scale
from studio.theme.theme import Theme
from studio.widgets.sight import Sight

_COLUMNS = 2
REDRAW_MS, _LONGEST_MS = 100, 500
"""Shortest and longest time between redraws: ten per second look smooth."""
_SHARE = 0.02
"""Share of the window thread's time spent on drawing new data, most of which delays a run."""


class CurveGrid(QWidget):
    """Plots two in a row. Redraws on request: the longer a redraw takes, the less often."""

    message = Signal(object)
    """Why something failed."""
    exported = Signal()

    def __init__(self, cards: Mapping[str, PlotCard], theme: Theme) -> None:
        super().__init__()
        self._look = theme, scale()
        """Colours, and size of the font."""
        self._following = True
        self._end: float | None = None
        """End of the x axis; None fits it closely to the curves at the next redraw."""
        self._hovered: QPointF | None = None
        self._cards = dict(cards)
        self._maximised = ""
        self._lay_out()
        for name, card in self._cards.items():
            card.exporter.failed.connect(self.message)
            card.exporter.exported.connect(self.exported)
            card.maximise_toggled.connect(partial(self._on_maximise, name))
            card.hovered.connect(self._show_values_at)
            card.view_changed.connect(self._redraw_soon)
            card.view_moved_by_user.connect(self._stop_following)
            card.reset_requested.connect(self.start_over)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._reveal_buttons)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REDRAW_MS)
        self._timer.timeout.connect(self._redraw)
        self._timer.setObjectName("redraw_timer")
        self._sight = Sight(self)
        self._owed = False
        """Whether data that arrived while the plots were hidden is not drawn yet."""
        self._sight.changed.connect(self.redraw_later)
        self._painted = QTimer(self)
        self._painted.setSingleShot(True)
        self._painted.timeout.connect(self._on_painted)
        self._drawing_since = 0.0
        """CPU time of the thread when the last redraw began, in seconds."""

    def set_columns(self, columns: int) -> None:
        """Lay out the plots with this many in a row."""
        self._columns = columns
        for index, card in enumerate(self._cards.values()):
            self._layout.addWidget(card, *divmod(index, columns))
        self._share_room(self._maximised)

    def _share_room(self, name: str) -> None:
        """Give all rows and columns the same space, or all of it to those of one plot."""
        places = [
            divmod(index, self._columns)
            for index, each in enumerate(self._cards)
            if name in ("", each)
        ]
        rows, columns = {row for row, _ in places}, {column for _, column in places}
        for index in range(len(self._cards)):
            # Qt gives a row its share even if everything in it is hidden.
            self._layout.setRowStretch(index, int(index in rows))
            self._layout.setColumnStretch(index, int(index in columns))

    def _lay_out(self) -> None:
        self._layout = QGridLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(6)
        self.arrange()
        for card in self._cards.values():
            # Not linked by pyqtgraph, which aligns plots one below the other pixel by pixel.
            card.x_range_changed.connect(self._share_x_range)

    def arrange(self) -> None:
        """Place the plots: two in a row."""
        self.set_columns(_COLUMNS)

    def length(self) -> float:
        """Return the latest end of the x axis; 0 if unknown."""
        return 0

    def step_map(self) -> StepToX:
        """Return the map from steps to the x axis."""
        return BY_STEPS

    # One plot alone -----------------------------------------------------------------------------

    @property
    def maximised(self) -> str:
        """Name of the plot that fills the grid; empty while all are shown."""
        return self._maximised

    def maximise(self, name: str) -> None:
        """Let one plot fill the grid; an empty name shows all of them again."""
        self._maximised = name
        for each, card in self._cards.items():
            card.setHidden(bool(name) and each != name)
            card.show_maximised(each == name)
        self.show_only(name)
        if name:
            self._cards[name].plot.setFocus()
        self.redraw_later()

    def show_only(self, name: str) -> None:
        """Give the space to one plot, or share it among all."""
        self._share_room(name)

    def _on_maximise(self, name: str, on: bool) -> None:
        self.maximise(name if on else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Show all plots again on Escape."""
        if event.key() == Qt.Key.Key_Escape and self._maximised:
            self.maximise("")
        else:
            super().keyPressEvent(event)

    @Slot()
    def _reveal_buttons(self) -> None:
        for card in self._cards.values():
            card.reveal_buttons()

    @property
    def redraw_pending(self) -> bool:
        """True while new data has not been drawn yet, unless the plots are hidden."""
        return self._timer.isActive() or (self._owed and self.isVisible())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the plots."""
        return tuple(self._cards)

    def card(self, name: str) -> PlotCard:
        """Return the plot named ``plot_return``, ``plot_q``, ..."""
        return self._cards[name]

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        look = theme, scale()
        if look == self._look:
            return
        self._look = look
        for card in self._cards.values():
            card.set_theme(theme)
        # Curves in the previous colours are hardly visible.
        self._redraw_soon()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        """Hide the crosshair: the mouse cannot leave a hidden plot."""
        super().hideEvent(event)
        self._show_values_at(None)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Hide the crosshair when another window is in front."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self._show_values_at(None)

    @Slot()
    def redraw_later(self) -> None:
        """Redraw all plots soon."""
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _redraw_soon(self) -> None:
        """Draw the user's new view without the pause between redraws of new data."""
        if self._timer.remainingTime() > REDRAW_MS or not self._timer.isActive():
            self._timer.start(REDRAW_MS)

    @Slot()
    def start_over(self) -> None:
        """Show everything, whatever part the user was viewing."""
        self._following = True
        self.fit_closely()
        # The curves of another run must not stay in view.
        self._redraw_soon()

    @Slot()
    def fit_closely(self) -> None:
        """Fit the axes closely to the curves."""
        self._end = None
        for card in self._cards.values():
            card.reset_heights()
        self.redraw_later()

    @Slot()
    def _stop_following(self) -> None:
        """Keep the user's view while new data arrives."""
        self._following = False

    @Slot()
    def _redraw(self) -> None:
        """Draw all plots; hidden ones cost nothing."""
        self._owed = not self._sight.seen
        if self._owed:
            return
        self._drawing_since = time.thread_time()
        self._painted.start(0)
        steps, step_map = self.length(), self.step_map()
        for card in self._cards.values():
            card.set_step_map(step_map)
            # Before any range is set: a range beyond the limits would be cut off.
            card.limit_steps(steps)
        if self._following:
            self._follow_steps(steps or math.inf)
        for card in self._cards.values():
            if not card.isHidden():
                card.draw(follow=self._following)
        self._show_values_at(self._hovered)

    @Slot()
    def _on_painted(self) -> None:
        """Space the redraws by the cost of this one."""
        cost_ms = 1000 * (time.thread_time() - self._drawing_since)
        self._timer.setInterval(min(max(REDRAW_MS, round(cost_ms / _SHARE)), _LONGEST_MS))

    def _follow_steps(self, length: float) -> None:
        """Extend the x axis to the last step, for a run of this many steps."""
        last = max(card.last_step() for card in self._cards.values())
        end = steps_shown(last, self._end, length)
        if end != self._end:
            self._end = end
            next(iter(self._cards.values())).show_steps_to(end)

    @Slot(float, float)
    def _share_x_range(self, low: float, high: float) -> None:
        for card in self._cards.values():
            card.show_x_range(low, high)

    @Slot(object)
    def _show_values_at(self, point: QPointF | None) -> None:
        """Move the crosshair of all plots to the mouse, or hide it for None."""
        self._hovered = point
        for card in self._cards.values():
            if point is None:
                card.clear_readout()
            else:
                card.show_readout(point.x())
