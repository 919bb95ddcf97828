"""The plots of a comparison."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtWidgets import QComboBox

from studio.plots.card import PlotCard
from studio.plots.catalogue import PLOTS, PlotSpec
from studio.plots.compare.layer import ComparedLayer
from studio.plots.compare.run_set import ACTOR_LOSS, CHOICES, CRITIC_LOSS, RETURN, ComparedLine, Q
from studio.plots.compare.session import CompareSession
from studio.plots.explanation import Explanation
from studio.plots.grid import CurveGrid
from studio.plots.x_axis import BY_STEPS, UNPLACED, StepToX, heading_at
from studio.theme.theme import Theme
from studio.widgets.controls import make_narrow_combo
from td3core.analysis.comparison import unplaced
from td3core.analysis.figure_data import BAND_ABOUT
from td3core.analysis.results import Metric, is_info
from td3core.config.info_columns import PREFIX
from td3core.text import Text, tr

_ABOUT = {plot.name.removeprefix("plot_"): plot.about for plot in PLOTS}
COMPARED = {
    RETURN: PlotSpec(
        name="compare_return",
        title=Text("Return"),
        help=Text("{band}", band=BAND_ABOUT),
        curves=(),
        about=_ABOUT[RETURN],
        empty=Text("No evaluations and no episodes yet."),
    ),
    Q: PlotSpec(
        name="compare_q",
        title=Text("Q values"),
        help=Text(
            "Mean value of the sampled actions by a critic, or the target that both learn. {band}",
            band=BAND_ABOUT,
        ),
        curves=(),
    ),
    CRITIC_LOSS: PlotSpec(
        name="compare_critic_loss",
        title=Text("Critic loss"),
        help=Text(
            "Mean squared distance of a critic to the target, (Q − y)². {band}", band=BAND_ABOUT
        ),
        curves=(),
        log_button=True,
    ),
    ACTOR_LOSS: PlotSpec(
        name="compare_actor_loss",
        title=Text("Actor loss"),
        help=Text("−mean Q₁(s, π(s)). {band}", band=BAND_ABOUT),
        curves=(),
        about=_ABOUT[ACTOR_LOSS],
    ),
}
_BIAS_TITLE = Text("Bias of the critics")
_BIAS_ABOUT = Explanation(
    shows=Text(
        "How much more the smaller critic expects at the states of the evaluations than is then"
        " obtained, divided by the larger of its absolute mean and 1."
    ),
    healthy=Text(
        "It approaches 0 or stays slightly below, as TD3's does on Pendulum-v1 and Hopper-v5; a"
        " shrinking standard deviation over states matters more than the mean."
    ),
    wrong=Text(
        "It stays far above 0, as DDPG's does on Hopper-v5: the obtained return stays below the"
        " estimate; a dip of the return makes it large for a moment, too."
    ),
)


def _title(metric: Metric) -> str:
    """Return the title of the first plot."""
    if is_info(metric):
        return metric
    return str(_BIAS_TITLE if metric == "bias" else COMPARED[RETURN].title)


def _about(metric: Metric) -> Explanation | None:
    """Return the explanation of the first plot; None for returns."""
    if metric == "bias":
        return _BIAS_ABOUT
    if not is_info(metric):
        return None
    return Explanation(
        shows=Text(
            "The value {name} in the environment's info: the mean over the steps of each"
            " training episode, played with exploration noise.",
            name=metric.removeprefix(PREFIX),
        ),
        healthy=Text(
            "Only the environment's documentation says what it means and which way is better."
        ),
        wrong=Text(
            "A term of the reward that grows while the task is not solved shows what the agent"
            " has found to maximise instead."
        ),
    )


_LEGEND_LINES = 3
"""Legend lines for the names of groups, which are long; the table has all of them."""


class CompareGrid(CurveGrid):
    """The plots of a single run, each with the lines of all groups."""

    def __init__(self, session: CompareSession, theme: Theme) -> None:
        self._session = session
        self._choices: dict[str, QComboBox] = {}
        self._refit: set[str] = set()
        """Plots that now show something else: their y axes must be fitted again."""
        cards = {}
        for plotted, spec in COMPARED.items():
            layer = ComparedLayer(partial(self._lines, plotted))
            cards[spec.name] = card = PlotCard(
                spec,
                [layer],
                theme,
                heading=self._heading,
                export=partial(session.export, plotted),
            )
            card.set_legend_lines(_LEGEND_LINES)
            card.chosen.connect(partial(self._explain, card))
            if plotted in CHOICES:
                self._choices[plotted] = self._choice(plotted, spec)
                card.replace_title(self._choices[plotted])
        super().__init__(cards, theme)
        self._axis = session.view.x
        self._metric = "eval"
        session.shown_changed.connect(self._on_shown)
        session.opened.connect(self.start_over)

    def _explain(self, card: PlotCard) -> None:
        first = card is self.card(COMPARED[RETURN].name)
        card.explain(_about(self._metric) if first else None)

    def _choice(self, plotted: str, spec: PlotSpec) -> QComboBox:
        """Return the combo box with a plot's choices."""
        name = tr("Shown as {plot}", plot=spec.title)
        combo = make_narrow_combo(f"{spec.name}_combo", name, str(spec.help))
        for column, text in CHOICES[plotted].items():
            combo.addItem(str(text), column)

        def choose(_: int) -> None:
            self._session.change(**{plotted: combo.currentData()})
            self._refit.add(spec.name)

        combo.activated.connect(choose)
        return combo

    def _on_shown(self) -> None:
        for plotted, combo in self._choices.items():
            combo.setCurrentIndex(combo.findData(self._session.view.column(plotted)))
        shown = self._session.shown
        if shown is not None and shown.comparison.metric != self._metric:
            self._metric = shown.comparison.metric
            self.card(COMPARED[RETURN].name).rename(_title(self._metric))
            self._refit.add(COMPARED[RETURN].name)
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

    def step_map(self) -> StepToX:
        """Return the identity map, or one that says why nothing can be placed on this axis."""
        shown, x = self._session.shown, self._session.view.x
        if shown is None:
            return BY_STEPS
        runs = [run for each in shown.comparison.groups for run in each.group.runs]
        missing = unplaced(runs, x)
        return StepToX(missing=UNPLACED[x]) if missing and len(missing) == len(runs) else BY_STEPS

    def _heading(self, x: float) -> str:
        return heading_at(self._session.view.x, x)
