"""Asks for the schedule of a live setting."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QWidget

from studio.formatting import typed
from studio.live.schedule_curve import ScheduleCurve
from studio.widgets.controls import MANUAL
from studio.widgets.forms import make_dialog_column
from studio.widgets.labels import plain_label
from studio.widgets.setting_names import in_labels
from td3core.config import Spec, Tunables, given, schedule_of, with_values
from td3core.errors import RequestError
from td3core.text import tr

_WIDTH = 420


class ScheduleDialog(QDialog):
    """One line of points, their curve, and the error in them, if any."""

    def __init__(
        self, name: str, spec: Spec, tunables: Tunables, step: int, steps: int, parent: QWidget
    ) -> None:
        """``tunables`` are the current settings; the run of ``steps`` steps is at ``step``."""
        super().__init__(parent)
        self._name, self._kind = name, type(tunables)
        self._step, self._steps = step, steps
        self.setObjectName("schedule_dialog")
        self.setWindowTitle(tr("Schedule of {setting}", setting=spec.label))
        self.setProperty(MANUAL, "live-settings.md#schedules")
        about = tr(
            "Values at steps: {example} holds the first value until step 20,000, reaches the"
            " second at step 40,000 and keeps it. 100% is the last step, x0.1 a tenth of the value"
            " before.",
            example="0.02@20000, 0.005@40000",
        )
        self.text = QLineEdit()
        self.text.setObjectName("schedule_text")
        self.text.setAccessibleName(tr("Points of the schedule"))
        followed = given(tunables, name)
        self.text.setText(followed if isinstance(followed, str) else _constant(spec, followed))
        self._curve = ScheduleCurve(spec)
        self._problem = plain_label("")
        self._problem.setObjectName("schedule_problem")
        self._problem.setProperty("role", "muted")
        kinds = QDialogButtonBox.StandardButton
        self._buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        self._buttons.accepted.connect(self.accept)
        self._buttons.rejected.connect(self.reject)
        layout = make_dialog_column(self, _WIDTH)
        for part in (plain_label(about), self.text, self._curve, self._problem, self._buttons):
            layout.addWidget(part)
        self.text.textChanged.connect(self._on_text)
        self._on_text()

    @property
    def schedule(self) -> str:
        """The schedule as entered."""
        return self.text.text().strip()

    @Slot()
    def _on_text(self) -> None:
        problem, schedule = "", None
        try:
            wanted = with_values(self._kind(), {self._name: self.schedule})
            schedule = schedule_of(wanted, self._name)
        except RequestError as refusal:
            problem = in_labels(refusal.message)
        self._problem.setText(problem)
        self._curve.show_schedule(schedule, self._step, self._steps)
        ok = self._buttons.button(QDialogButtonBox.StandardButton.Ok)
        ok.setEnabled(schedule is not None)


def _constant(spec: Spec, value: float) -> str:
    """Return the schedule of one value, as it is typed: without separators or translated words."""
    unlimited = spec.lowest and value <= spec.low
    return f"{spec.lowest.english if unlimited else typed(value)}@0"
