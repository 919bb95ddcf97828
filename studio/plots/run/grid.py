"""The plots of a run: one large, the others small below it."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.plots.card import PlotCard
from studio.plots.card_menu import NearestCheckpoint
from studio.plots.catalogue import PLOTS, layers_of
from studio.plots.grid import CurveGrid
from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.run.headline import Headline
from studio.plots.view_controls import SmoothingSlider, make_axis_combo
from studio.plots.x_axis import StepToX, map_of
from studio.session.model import RunModel
from studio.theme.theme import Theme
from td3core.analysis.results import XAxis
from td3core.config.algorithms import TD3

_LARGE, _SMALL = 62, 38
"""Shares of the height."""
_LEGEND_LINES = 2
"""Legend lines if the names of the curves do not fit in one."""


class PlotGrid(CurveGrid):
    """The plots of :data:`PLOTS`, of the current run.

    A click on the title of a small plot enlarges it, on that of the large one explains it.
    """

    def __init__(self, model: RunModel, theme: Theme) -> None:
        cards = {
            plot.name: PlotCard(plot, layers_of(plot, model), theme, subject=self._subject)
            for plot in PLOTS
        }
        self._model = model
        self._large = PLOTS[0].name
        self._axis: XAxis = "steps"
        self._bar = self._make_bar(model)
        self._strip = False
        super().__init__(cards, theme)
        for name, card in cards.items():
            card.set_legend_lines(_LEGEND_LINES)
            card.chosen.connect(lambda name=name: self._on_title(name))
        model.curves_changed.connect(self.redraw_later)
        model.run_started.connect(self.start_over)
        model.run_opened.connect(self.start_over)
        model.run_ended.connect(self.fit_closely)
        self._show_smoothing()

    def offer_checkpoints(
        self,
        nearest: NearestCheckpoint,
        inspect: Callable[[Path], object],
    ) -> None:
        """Offer in the menu of each plot to inspect the saved agent nearest to a point.

        Args:
            nearest: returns its step and file, None without an agent.
            inspect: called with the file.
        """
        for card in self._cards.values():
            card.menu.offer_checkpoints(nearest)
            card.menu.inspect_requested.connect(inspect)

    def _make_bar(self, model: RunModel) -> QWidget:
        bar = QWidget()
        bar.setObjectName("card")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._combo = make_axis_combo("plots_x_combo")
        self._combo.activated.connect(self._on_axis)
        self._smoothing = SmoothingSlider("plots_smoothing")
        self._smoothing.changed.connect(self._on_smoothing)
        text = QLabel("x")
        text.setProperty("role", "muted")
        text.setBuddy(self._combo)
        row = QHBoxLayout()
        row.setContentsMargins(10, 0, 10, 6)
        row.setSpacing(6)
        row.addWidget(text)
        row.addWidget(self._combo)
        row.addSpacing(8)
        row.addWidget(self._smoothing, 1)
        row.addStretch(1)
        layout = QVBoxLayout(bar)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(Headline(model))
        layout.addLayout(row)
        return bar

    # The large plot -----------------------------------------------------------------------------

    @property
    def large(self) -> str:
        """Name of the large plot."""
        return self._large

    def _on_title(self, name: str) -> None:
        """Enlarge a small plot; explain the large one."""
        if self._strip or name in (self._large, self.maximised):
            config = self._model.record.config
            env, algorithm = ("", TD3) if config is None else (config.env, config.algorithm)
            self._cards[name].explain(env=env, algorithm=algorithm)
        else:
            self.show_large(name)

    def show_large(self, name: str) -> None:
        """Show this plot large, and the previously large one in its place."""
        if name == self._large or name not in self._cards:
            return
        self._large = name
        self.arrange()
        self._show_smoothing()
        self.redraw_later()

    def set_columns(self, columns: int) -> None:
        """With one column, show all plots small, one below the other; else one of them large."""
        self._strip = columns == 1
        self._bar.setHidden(self._strip)
        self.arrange()
        if self.maximised:
            self.show_only(self.maximised)
        self.redraw_later()

    def arrange(self) -> None:
        """Place the large plot above the others."""
        if self._strip:
            # Even hidden, the bar would keep the space between the columns that it spans.
            self._layout.removeWidget(self._bar)
            super().set_columns(1)
            for card in self._cards.values():
                card.set_small(True)
            return
        small = [name for name in self._cards if name != self._large]
        self._layout.addWidget(self._bar, 0, 0, 1, len(small))
        self._layout.addWidget(self._cards[self._large], 1, 0, 1, len(small))
        for column, name in enumerate(small):
            self._layout.addWidget(self._cards[name], 2, column)
            self._layout.setColumnStretch(column, 1)
        self._layout.setColumnStretch(len(small), 0)
        for row, stretch in enumerate((0, _LARGE, _SMALL, 0)):
            self._layout.setRowStretch(row, stretch)
        for name, card in self._cards.items():
            card.set_small(name != self._large and name != self.maximised)

    def show_only(self, name: str) -> None:
        """Leave the bar in place, and give the row of one plot the whole height."""
        if self._strip:
            super().show_only(name)
            return
        small = bool(name) and name != self._large
        # Qt gives a row its share even if everything in it is hidden.
        self._layout.setRowStretch(1, 0 if small else _LARGE)
        self._layout.setRowStretch(2, 0 if name and not small else _SMALL)
        for column in range(len(self._cards) - 1):
            self._layout.setColumnStretch(column, 1)
        if small:
            self._layout.addWidget(self._cards[name], 2, 0, 1, len(self._cards) - 1)
            self._cards[name].set_small(False)
        elif not name:
            self.arrange()

    # View options -------------------------------------------------------------------------------

    def step_map(self) -> StepToX:
        """Return the map from steps to the x axis chosen by the user."""
        return map_of(self._model.record.curves, self._axis)

    def length(self) -> float:
        """Return the length of the run; 0 without one."""
        config = self._model.record.config
        # The number of episodes or seconds of a run is not known before its end.
        return config.steps if config and self._axis == "steps" else 0

    @Slot(int)
    def _on_axis(self, _: int) -> None:
        if self._combo.currentData() != self._axis:
            self._axis = self._combo.currentData()
            self.start_over()

    @Slot(int)
    def _on_smoothing(self, count: int) -> None:
        layer = self._curves()
        if self._of_episodes():
            layer.smooth_over(episodes=count)
        else:
            layer.smooth_over(values=count)
        self._cards[self._large].reset_heights()
        self.redraw_later()

    def _show_smoothing(self) -> None:
        layer = self._curves()
        self._smoothing.show_value(layer.episodes if self._of_episodes() else layer.smoothing)

    def _of_episodes(self) -> bool:
        return self._large == PLOTS[0].name

    def _curves(self) -> CurveLayer:
        return next(
            layer for layer in self._cards[self._large].layers if isinstance(layer, CurveLayer)
        )

    def _subject(self) -> str:
        return self._model.record.title
