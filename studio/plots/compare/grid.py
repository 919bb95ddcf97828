"""The plots of a comparison."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QComboBox, QWidget

from studio.plots.card import PlotCard
from studio.plots.catalogue import PlotSpec
from studio.plots.compare.layer import ComparedLayer
from studio.plots.compare.run_set import ACTOR_LOSS, CHOICES, CRITIC_LOSS, RETURN, ComparedLine, Q
from studio.plots.compare.session import CompareSession
from studio.plots.grid import CurveGrid
from studio.plots.x_axis import heading_at
from studio.theme.theme import Theme
from studio.widgets.controls import describe
from td3core.analysis.figure_data import BAND_ABOUT

COMPARED = {
    RETURN: PlotSpec(
        name="compare_return",
        title="Return",
        help=BAND_ABOUT,
        curves=(),
        empty="No evaluations and no episodes yet",
    ),
    Q: PlotSpec(
        name="compare_q",
        title="Q values",
        help=f"Mean value of the sampled actions by a critic, or the target that both learn."
        f" {BAND_ABOUT}",
        curves=(),
    ),
    CRITIC_LOSS: PlotSpec(
        name="compare_critic_loss",
        title="Critic loss",
        help=f"Mean squared distance of a critic to the target, (Q − y)². {BAND_ABOUT}",
        curves=(),
        log_button=True,
    ),
    ACTOR_LOSS: PlotSpec(
        name="compare_actor_loss",
        title="Actor loss",
        help=f"−mean Q₁(s, π(s)). {BAND_ABOUT}",
        curves=(),
    ),
}
_LEGEND_LINES = 3
"""For the names of groups, which are long; the table has all of them."""


class CompareGrid(CurveGrid):
    """The same plots as of one run, each with the lines of all groups."""

    def __init__(
        self, session: CompareSession, theme: Theme, parent: QWidget | None = None
    ) -> None:
        self._session = session
        self._choices: dict[str, QComboBox] = {}
        self._refit: set[str] = set()
        """Plots that show something else now: their y axes are to fit it."""
        cards = {}
        for plotted, spec in COMPARED.items():
            layer = ComparedLayer(partial(self._lines, plotted))
            cards[spec.name] = card = PlotCard(
                spec,
                [layer],
                theme,
                heading=self._heading,
                writer=partial(session.export, plotted),
            )
            card.set_legend_lines(_LEGEND_LINES)
            if plotted in CHOICES:
                self._choices[plotted] = self._choice(plotted, spec)
                card.replace_title(self._choices[plotted])
        super().__init__(cards, theme, parent)
        self._axis = session.view.x
        session.shown_changed.connect(self._on_shown)
        session.opened.connect(self.start_over)

    def _choice(self, plotted: str, spec: PlotSpec) -> QComboBox:
        """Return the list of what a plot can show."""
        combo = QComboBox()
        describe(combo, f"{spec.name}_combo", f"Shown as {spec.title}", "What this plot shows")
        combo.setToolTip(spec.help)
        # A narrow plot has little room above it.
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(6)
        for column, text in CHOICES[plotted].items():
            combo.addItem(text, column)

        def choose(_: int) -> None:
            self._session.change(**{plotted: combo.currentData()})
            self._refit.add(spec.name)

        combo.activated.connect(choose)
        return combo

    def _on_shown(self) -> None:
        for plotted, combo in self._choices.items():
            combo.setCurrentIndex(combo.findData(self._session.view.column(plotted)))
        for name in self._refit:
            self.card(name).reset_heights()
        self._refit.clear()
        if self._session.view.x != self._axis:
            self._axis = self._session.view.x
            self.start_over()
        self.redraw_later()

    def _lines(self, plotted: str) -> Sequence[ComparedLine]:
        shown = self._session.shown
        return () if shown is None else shown.lines[plotted]

    def _heading(self, x: float) -> str:
        return heading_at(self._session.view.x, x)
