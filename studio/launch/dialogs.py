"""Questions before a run is resumed, or its live changes are repeated."""

from collections.abc import Sequence

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QWidget,
)

from studio.formatting import format_count, format_value
from studio.widgets.forms import ProblemLabel, grow_with_texts, make_dialog_column
from studio.widgets.labels import breakable, plain_label
from studio.widgets.number_box import WholeNumberBox
from studio.widgets.setting_fields import make_field
from td3core.config import RunConfig, Tunables, changes, spec, with_values
from td3core.protocol.events import Progress
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.runs.listing import RunSummary
from td3core.system.numerics import current, shown
from td3core.text import Text, tr

_WIDTH = 420


class _Question(QDialog):
    """A sentence, a number, and a button that names the action."""

    def __init__(self, name: str, title: str, sentence: str, action: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        about = plain_label(breakable(sentence))
        self._form = QFormLayout()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        button = self.buttons.addButton(action, QDialogButtonBox.ButtonRole.AcceptRole)
        button.setObjectName(f"{name}_button")
        self.buttons.accepted.connect(self._check)
        self.buttons.rejected.connect(self.reject)
        self._column = layout = make_dialog_column(self, _WIDTH)
        layout.addWidget(about)
        layout.addLayout(self._form)
        self.problem = ProblemLabel(f"{name}_problem")
        layout.addWidget(self.problem)
        layout.addWidget(self.buttons)
        # Only after it was added to the dialog: otherwise Enter would press Cancel.
        button.setDefault(True)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Make room for the sentence."""
        super().showEvent(event)
        grow_with_texts(self, self._column)

    def _add(self, name: str, value: int) -> WholeNumberBox:
        field = make_field(name, spec(RunConfig, name), value)
        assert isinstance(field.widget, WholeNumberBox)
        self._form.addRow(str(spec(RunConfig, name).label), field.widget)
        # The buttons were made earlier, and would have the focus.
        field.widget.setFocus()
        field.widget.selectAll()
        return field.widget

    @Slot()
    def _check(self) -> None:
        """Accept only an allowed number."""
        if self.problem.accepts(self):
            self.accept()
        else:
            grow_with_texts(self, self._column)


class MoreStepsDialog(_Question):
    """Asks for the new length of a finished run."""

    def __init__(self, run: RunSummary, parent: QWidget) -> None:
        reached = max(run.env_steps, run.steps)
        sentence = tr(
            "{run} finished at step {step}. To resume it, choose a later last step.",
            run=run.full_title,
            step=format_count(run.env_steps),
        )
        title = tr("Resume a finished run")
        super().__init__("more_steps", title, sentence, tr("Resume"), parent)
        self._spin = self._add("steps", 2 * reached)
        self._spin.setMinimum(reached + 1)
        self._spin.setObjectName("more_steps_spin")

    @property
    def steps(self) -> int:
        """The new length of the whole run."""
        return self._spin.entered()


class OtherClassDialog(_Question):
    """Warns that a run cannot be continued exactly on this processor, and asks what to do."""

    def __init__(self, run: RunSummary, numerics: str, parent: QWidget) -> None:
        sentence = tr(
            "{run} was trained with {kernels} kernels, which this processor does not have. Here it"
            " continues with {present} kernels: it learns just as well, but will not be the same"
            " bit for bit as if it had never been interrupted.",
            run=run.full_title,
            kernels=shown(numerics),
            present=shown(current()),
        )
        title = tr("This run cannot be resumed exactly")
        super().__init__("other_class", title, sentence, tr("Resume anyway"), parent)


class ChangesDialog(_Question):
    """Names live settings changed after a run's end; offers to keep the changes."""

    def __init__(self, title: str, at: Progress, wanted: Tunables, parent: QWidget) -> None:
        names = [
            tr(
                "{setting} from {old} to {new}",
                setting=spec(Tunables, name).label,
                old=format_value(old),
                new=format_value(new),
            )
            for name, old, new in changes(at.tunables, wanted)
        ]
        sentence = tr(
            "Since {run} ended, you have changed {changes}.", run=title, changes=_enumerated(names)
        )
        super().__init__("resume_changes", tr("Resume a run"), sentence, tr("Resume"), parent)
        make = Text.counted(
            "Make this live change at step {step}",
            "Make these changes at step {step}",
            n=len(names),
            step=format_count(at.env_steps),
        )
        self._make = QCheckBox(str(make))
        self._make.setObjectName("resume_changes_check")
        tip = tr("Recorded in the journal. Otherwise the run continues with its previous settings")
        self._make.setToolTip(tip)
        self._make.setChecked(True)
        self._form.addRow(self._make)
        self._make.setFocus()

    @property
    def make_changes(self) -> bool:
        """Whether to continue the run with the changes."""
        return self._make.isChecked()


def with_visible_changes(last: Tunables, shown: Tunables) -> Tunables | None:
    """Return a run's last live settings with the visible changes; None without any.

    A box may round its value.
    """
    seen = {
        name: new
        for name, old, new in changes(last, shown)
        if format_value(old) != format_value(new)
    }
    return with_values(last, seen) if seen else None


def _enumerated(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return tr("{first} and {last}", first=", ".join(names[:-1]), last=names[-1])


class RepeatDialog(_Question):
    """Names the live changes that will be repeated, and asks for the seed of the new run."""

    def __init__(
        self, run: RunDirectory, changes: Sequence[Change], run_title: str, parent: QWidget
    ) -> None:
        first, last = changes[0].env_steps, changes[-1].env_steps
        repeated = Text.counted(
            "repeats its live change at step {first}",
            "repeats its {n} live changes at step {first}",
            n=len(changes),
            first=format_count(first),
        )
        if first != last:
            repeated = Text.counted(
                "repeats its live change from step {first} to {last}",
                "repeats its {n} live changes from step {first} to {last}",
                n=len(changes),
                first=format_count(first),
                last=format_count(last),
            )
        sentence = tr(
            "This starts a new run of {env} ({steps} steps) with the settings of {run}, and"
            " {repeated}.",
            env=run.config.env,
            steps=format_count(run.config.steps),
            run=run_title,
            repeated=repeated,
        )
        title = tr("Train with a run's live changes")
        super().__init__("repeat_changes", title, sentence, tr("Train"), parent)
        self._spin = self._add("seed", run.config.seed)
        self._spin.setObjectName("repeat_seed_spin")

    @property
    def seed(self) -> int:
        """The seed of the new run."""
        return self._spin.entered()
