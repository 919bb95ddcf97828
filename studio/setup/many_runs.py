"""The widgets of Setup for several runs, and for the process that trains a run."""

from PySide6.QtCore import QSettings, Slot
from PySide6.QtWidgets import QCheckBox, QLineEdit, QPushButton, QWidget

from studio.formatting import plain_minus
from studio.widgets.controls import describe
from studio.widgets.number_box import mark_problem
from studio.widgets.setting_names import in_labels
from td3core.config import label_of
from td3core.errors import RequestError
from td3core.experiments.groups.seeds import parse_seeds
from td3core.text import Text, tr

_KEY = "own_process"
_SEEDS_TIP = Text(
    "Empty for a single run. A number such as 5 trains a run for each of the seeds 0 to 4, a list"
    " such as 0-4,7 for these; several at once, each in a process of its own."
)
_PROCESS_TIP = Text(
    "Train in a process of its own instead of a thread of the window. The run then uses another"
    " core, and can continue after the window has been closed. Results are the same."
)
_NEXT_TIP = Text("Unlock the form: change it for the next run, then press Train next")


class SeedsField(QLineEdit):
    """The seeds of a group; empty for a single run."""

    def __init__(self) -> None:
        super().__init__()
        describe(self, "seeds_edit", label_of("seeds"), str(_SEEDS_TIP))
        self.setPlaceholderText(tr("one run"))
        self.editingFinished.connect(self._mark)
        self.textChanged.connect(self._remove_mark)

    def read(self) -> tuple[int, ...]:
        """Return the seeds of a group; none for a single run.

        Raises:
            RequestError: the text names no seeds.
        """
        text = plain_minus(self.text()).strip()
        return parse_seeds(text) if text else ()

    def _problem(self) -> str:
        try:
            self.read()
        except RequestError as problem:
            return in_labels(problem.message)
        return ""

    @Slot()
    def _mark(self) -> None:
        mark_problem(self, self._problem())

    @Slot()
    def _remove_mark(self) -> None:
        """Remove the mark once the text is valid, for instance after a run was opened."""
        if self.property("invalid") and not self._problem():
            self._mark()


class OwnProcessBox(QCheckBox):
    """Whether runs train in a process of their own; remembered."""

    def __init__(self, settings: QSettings) -> None:
        super().__init__(tr("Train in a process of its own"))
        describe(self, "own_process_check", self.text(), str(_PROCESS_TIP))
        self._settings = settings
        self.setChecked(settings.value(_KEY, False, bool))  # type: ignore[arg-type]
        self.toggled.connect(self._remember)

    @Slot(bool)
    def _remember(self, on: bool) -> None:
        self._settings.setValue(_KEY, on)


class NextRunButton(QPushButton):
    """Unlocks the form while a run trains, to prepare the next run."""

    def __init__(self, form: QWidget) -> None:
        super().__init__(tr("Prepare the next run"))
        describe(self, "prepare_next_button", self.text(), str(_NEXT_TIP))
        self._form = form
        self.clicked.connect(self._unlock)
        self.hide()

    @Slot()
    def _unlock(self) -> None:
        self._form.setEnabled(True)
        self.hide()
