"""Says in the form whose settings it shows, once a run was opened, and that they were changed."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy

from studio.widgets.labels import breakable, shortened

_NEW = "Train starts a new run with them."


class OriginLabel(QLabel):
    """Hidden while the settings are nobody's; ``values`` are all that the form says."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._values: object = None
        self._changed = False
        self.setObjectName("setup_origin")
        self.setProperty("role", "muted")
        self.setWordWrap(True)
        # A run is called what a person called it.
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.hide()

    @property
    def shown(self) -> bool:
        """True if the settings are those of a run."""
        return bool(self._name)

    def show_run(self, name: str, values: object) -> None:
        """Say that these are the settings of a run."""
        self._name, self._values, self._changed = name, values, False
        self._say()

    def rename(self, name: str) -> None:
        """Call the run something else."""
        if self.shown:
            self._name = name
            self._say()

    def compare(self, values: object) -> None:
        """Say whether what is on show now is still what the run had."""
        if self.shown and self._changed != (values != self._values):
            self._changed = not self._changed
            self._say()

    def forget(self) -> None:
        """Say nothing more: the settings are no longer that run's."""
        self._name, self._values = "", None
        self.hide()

    def _say(self) -> None:
        changed = ", with changes" if self._changed else ""
        self.setText(f"Settings of {breakable(shortened(self._name))}{changed}. {_NEW}")
        self.show()
