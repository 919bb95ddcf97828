"""Asks for the length and the number of pairs of a paired test, and shows its cost."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from studio.formatting import format_count, format_minutes
from studio.health.advice_card import in_words
from studio.widgets.controls import describe
from studio.widgets.forms import ProblemLabel, grow_with_texts, make_dialog_column, make_form
from studio.widgets.labels import plain_label
from studio.widgets.number_box import WholeNumberBox
from td3core.analysis.advice import SettingChange
from td3core.experiments.paired_tests import MOST_PAIRS, duration_s
from td3core.text import Text, tr

_WIDTH = 440
_PAIRS = 3
_LEAST_STEPS, _MOST_STEPS = 2_000, 20_000
_SHARE = 10
"""Divisor: by default, a paired test's runs are a tenth as long as the run."""


class PairedTestDialog(QDialog):
    """Steps of each run and number of pairs."""

    def __init__(
        self,
        change: SettingChange,
        env_steps: int,
        total: int,
        parent: QWidget | None = None,
        *,
        steps_per_s: float | None,
        free_cores: int,
    ) -> None:
        """Ask about a paired test from step ``env_steps`` of ``total`` on.

        ``steps_per_s``: the speed of one run, None if unknown; with no ``free_cores`` it waits.
        """
        super().__init__(parent)
        self.setObjectName("trial_dialog")
        self.setWindowTitle(tr("Try a change"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._steps_per_s, self._free_cores = steps_per_s, free_cores
        self._column = layout = make_dialog_column(self, _WIDTH)
        about = Text(
            "{change}, from step {step} on. Runs that branch off there are trained in pairs, one"
            " with the change and one without it. The run itself is not changed.",
            change=in_words(change),
            step=format_count(env_steps),
        )
        layout.addWidget(plain_label(str(about)))
        self.steps, self.pairs = WholeNumberBox(100, 10_000_000), WholeNumberBox(1, MOST_PAIRS)
        describe(self.steps, "trial_steps", tr("Steps of each run"), tr("Steps of each run"))
        self.steps.setValue(min(max(total // _SHARE, _LEAST_STEPS), _MOST_STEPS))
        tip = tr(
            "Each pair after the first draws from a seed of its own. A single pair proves nothing"
        )
        describe(self.pairs, "trial_pairs", tr("Pairs"), tip)
        self.pairs.setValue(_PAIRS)
        form = make_form()
        form.addRow(tr("Steps of each run"), self.steps)
        form.addRow(tr("Pairs"), self.pairs)
        layout.addLayout(form)
        self.cost = plain_label()
        self.cost.setObjectName("trial_cost")
        layout.addWidget(self.cost)
        if free_cores < 1:
            waiting = plain_label(tr("No core is free now: the paired test begins when one is."))
            waiting.setProperty("role", "muted")
            layout.addWidget(waiting)
        self.problem = ProblemLabel("trial_problem")
        layout.addWidget(self.problem)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        begin = buttons.addButton(tr("Try it"), QDialogButtonBox.ButtonRole.AcceptRole)
        begin.setObjectName("trial_begin")
        buttons.accepted.connect(self._check)
        buttons.rejected.connect(self.reject)
        layout.addWidget(buttons)
        # Only after it was added to the dialog: otherwise Enter would press Cancel.
        begin.setDefault(True)
        self.steps.valueChanged.connect(self._show_cost)
        self.pairs.valueChanged.connect(self._show_cost)
        self._show_cost()

    @Slot()
    def _check(self) -> None:
        """Accept only allowed numbers."""
        if self.problem.accepts(self):
            self.accept()
        else:
            grow_with_texts(self, self._column)

    @Slot()
    def _show_cost(self) -> None:
        steps, pairs = self.steps.value(), self.pairs.value()
        cost = Text.counted(
            "{n} run of {steps} steps",
            "{n} runs of {steps} steps",
            n=2 * pairs,
            steps=format_count(steps),
        )
        if self._steps_per_s is not None:
            duration = format_minutes(duration_s(steps, pairs, self._steps_per_s, self._free_cores))
            cost = Text("{cost}: {duration}", cost=cost, duration=duration)
        self.cost.setText(str(cost))
