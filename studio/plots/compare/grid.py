"""The plots of a comparison."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QWidget

from studio.plots.along import heading_at
from studio.plots.card import PlotCard
from studio.plots.catalogue import PlotSpec
from studio.plots.compare.layer import ComparedLayer
from studio.plots.compare.session import CompareSession
from studio.plots.grid import CurveGrid
from studio.session.run_set import RETURN, Line
from studio.theme.theme import Theme
from td3core.analysis.figure_data import BAND_ABOUT

COMPARED = {
    RETURN: PlotSpec(
        name="compare_return",
        title="Return",
        help=BAND_ABOUT,
        curves=(),
        empty="No evaluations and no episodes yet",
    ),
    "q1": PlotSpec(
        name="compare_q",
        title="Q₁",
        help=f"Mean value of the sampled actions by the first critic. {BAND_ABOUT}",
        curves=(),
    ),
    "critic1_loss": PlotSpec(
        name="compare_critic_loss",
        title="Critic loss, Q₁",
        help=f"Mean squared distance of the first critic to the target. {BAND_ABOUT}",
        curves=(),
        log_button=True,
    ),
    "actor_loss": PlotSpec(
        name="compare_actor_loss",
        title="Actor loss",
        help=f"−mean Q₁(s, π(s)). {BAND_ABOUT}",
        curves=(),
    ),
}


class CompareGrid(CurveGrid):
    """The same plots as of one run, each with the lines of all groups."""

    def __init__(
        self, session: CompareSession, theme: Theme, parent: QWidget | None = None
    ) -> None:
        self._session = session
        cards = {}
        for plotted, spec in COMPARED.items():
            layer = ComparedLayer(partial(self._lines, plotted))
            cards[spec.name] = card = PlotCard(spec, [layer], theme)
            card.heading = self._heading
            card.writer = partial(session.export, plotted)
        super().__init__(cards, theme, parent)
        self._axis = session.view.x
        session.shown_changed.connect(self._on_shown)
        session.opened.connect(self.start_over)

    def _on_shown(self) -> None:
        if self._session.view.x != self._axis:
            self._axis = self._session.view.x
            self.start_over()
        self.redraw_later()

    def _lines(self, plotted: str) -> Sequence[Line]:
        shown = self._session.shown
        return () if shown is None else shown.lines[plotted]

    def _heading(self, x: float) -> str:
        return heading_at(self._session.view.x, x)
