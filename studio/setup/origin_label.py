"""Names the run whose settings the form shows, and whether they were changed since."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QSizePolicy

from studio.widgets.labels import breakable, shortened
from td3core.text import Text


class OriginLabel(QLabel):
    """Hidden unless the form shows a run's settings; ``values`` are all values of the form."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._values: object = None
        self._changed = False
        self.setObjectName("setup_origin")
        self.setProperty("role", "muted")
        self.setWordWrap(True)
        # Run names can be anything.
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.hide()

    @property
    def shown(self) -> bool:
        """True if the settings come from a run."""
        return bool(self._name)

    def show_run(self, name: str, values: object) -> None:
        """Note that these are the settings of a run."""
        self._name, self._values, self._changed = name, values, False
        self._refresh()

    def rename(self, name: str) -> None:
        """Show a new name of the run."""
        if self.shown:
            self._name = name
            self._refresh()

    def compare(self, values: object) -> None:
        """Show whether the form still holds the run's settings."""
        if self.shown and self._changed != (values != self._values):
            self._changed = not self._changed
            self._refresh()

    def forget(self) -> None:
        """Hide: the settings no longer belong to that run."""
        self._name, self._values = "", None
        self.hide()

    def _refresh(self) -> None:
        name = breakable(shortened(self._name))
        if self._changed:
            text = Text(
                "Settings of {run}, with changes. Train starts a new run with them.", run=name
            )
        else:
            text = Text("Settings of {run}. Train starts a new run with them.", run=name)
        self.setText(str(text))
        self.show()
