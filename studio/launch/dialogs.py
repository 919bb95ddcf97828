"""Questions before a run is resumed, or its live changes are repeated."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QSpinBox,
    QWidget,
)

from studio.formatting import format_count, format_value
from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import breakable, plain_label
from studio.widgets.setting_fields import make_field
from td3core.config import RunConfig, Tunables, changes, spec
from td3core.protocol.events import Progress
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.runs.listing import RunSummary
from td3core.system.numerics import current, shown

_WIDTH = 420


class _Question(QDialog):
    """A sentence, one number, and a button that names what will be done."""

    def __init__(self, name: str, title: str, sentence: str, action: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setWindowTitle(title)
        about = plain_label(breakable(sentence))
        self._form = QFormLayout()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        button = self.buttons.addButton(action, QDialogButtonBox.ButtonRole.AcceptRole)
        button.setObjectName(f"{name}_button")
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self, _WIDTH)
        layout.addWidget(about)
        layout.addLayout(self._form)
        layout.addWidget(self.buttons)
        # Only now does it belong to this dialog; before, Enter would press Cancel.
        button.setDefault(True)

    def _add(self, name: str, value: int) -> QSpinBox:
        field = make_field(name, spec(RunConfig, name), value)
        assert isinstance(field.widget, QSpinBox)
        self._form.addRow(spec(RunConfig, name).label, field.widget)
        # The buttons were made before it, and would have the focus.
        field.widget.setFocus()
        field.widget.selectAll()
        return field.widget


class MoreStepsDialog(_Question):
    """Asks for the new length of a finished run."""

    def __init__(self, run: RunSummary, parent: QWidget) -> None:
        reached = max(run.env_steps, run.steps)
        sentence = (
            f"{run.full_title} finished at step {format_count(run.env_steps)}."
            " To resume it, choose a later last step."
        )
        super().__init__("more_steps", "Resume a finished run", sentence, "Resume", parent)
        self._spin = self._add("steps", 2 * reached)
        self._spin.setMinimum(reached + 1)
        self._spin.setObjectName("more_steps_spin")

    @property
    def steps(self) -> int:
        """The new length of the whole run."""
        return self._spin.value()


class OtherClassDialog(_Question):
    """Says that a run cannot be continued exactly on this processor, and asks whether to go on."""

    def __init__(self, run: RunSummary, numerics: str, parent: QWidget) -> None:
        sentence = (
            f"{run.full_title} was trained with {shown(numerics)} kernels, which this"
            f" processor does not have. Here it continues with {shown(current())} kernels: it"
            " learns just as well, but will not be the same bit for bit as if it had never been"
            " interrupted."
        )
        title = "This run cannot be resumed exactly"
        super().__init__("other_class", title, sentence, "Resume anyway", parent)


class ChangesDialog(_Question):
    """Names what was changed among the live settings of a run after its end; offers to keep it."""

    def __init__(self, title: str, at: Progress, wanted: Tunables, parent: QWidget) -> None:
        names = [
            f"{spec(Tunables, name).label} from {format_value(old)} to {format_value(new)}"
            for name, old, new in changes(at.tunables, wanted)
        ]
        sentence = f"Since {title} ended, you have changed {_enumerated(names)}."
        super().__init__("resume_changes", "Resume a run", sentence, "Resume", parent)
        step = format_count(at.env_steps)
        one = len(names) == 1
        self._make = QCheckBox(
            f"Make {'this live change' if one else 'these changes'} at step {step}"
        )
        self._make.setObjectName("resume_changes_check")
        self._make.setToolTip("Recorded in the journal. Otherwise the run goes on as it was")
        self._make.setChecked(True)
        self._form.addRow(self._make)
        self._make.setFocus()

    @property
    def make_changes(self) -> bool:
        """Whether the run is to go on with the changes."""
        return self._make.isChecked()


def with_visible_changes(last: Tunables, shown: Tunables) -> Tunables | None:
    """Return a run's last live settings with the changes that can be seen; None without any.

    A box may round what it shows.
    """
    seen = {
        name: new
        for name, old, new in changes(last, shown)
        if format_value(old) != format_value(new)
    }
    return replace(last, **seen) if seen else None


def _enumerated(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


class RepeatDialog(_Question):
    """Names the live changes that will be repeated, and asks for the seed of the new run."""

    def __init__(
        self, run: RunDirectory, changes: Sequence[Change], run_title: str, parent: QWidget
    ) -> None:
        first, last = changes[0].env_steps, changes[-1].env_steps
        where = (
            f"at step {format_count(first)}"
            if first == last
            else f"from step {format_count(first)} to {format_count(last)}"
        )
        what = "live change" if len(changes) == 1 else f"{len(changes)} live changes"
        sentence = (
            f"This starts a new run of {run.config.env} ({format_count(run.config.steps)} steps)"
            f" with the settings of {run_title}, and repeats its {what} {where}."
        )
        title = "Train with a run's live changes"
        super().__init__("repeat_changes", title, sentence, "Train", parent)
        self._spin = self._add("seed", run.config.seed)
        self._spin.setObjectName("repeat_seed_spin")

    @property
    def seed(self) -> int:
        """The seed of the new run."""
        return self._spin.value()
