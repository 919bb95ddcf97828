"""Choosing which numbers of an environment's info a run records."""

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from studio.setup.env_query import EnvQuery
from studio.setup.info_dialog import InfoDialog
from studio.widgets.controls import describe
from td3core.config.info_columns import parse_names
from td3core.errors import RequestError
from td3core.text import Text, tr

Ask = Callable[[EnvQuery, Callable[[Text], None]], None]
"""Examines the environment in the form with a query, or reports why it cannot."""


class InfoField(QWidget):
    """The field of the setting, with a button that offers the available names."""

    def __init__(
        self, field: QWidget, read: Callable[[], str], write: Callable[[str], None]
    ) -> None:
        """Take the field, and functions to read and to replace its text."""
        super().__init__()
        self._read, self._write = read, write
        self._ask: Ask | None = None
        self._query, self.dialog = EnvQuery(self), InfoDialog(self)
        self.button = QToolButton()
        tip = tr("Choose from the numbers that the environment returns in info")
        describe(self.button, "info_columns_button", tr("Choose info columns"), tip)
        self.button.setText(tr("Choose…"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(field, 1)
        row.addWidget(self.button)
        self.button.clicked.connect(self.choose)
        self._query.answered.connect(self._on_answer)
        self._query.refused.connect(self.dialog.show_refusal)
        self.dialog.dismissed.connect(self._query.cancel)
        self.dialog.accepted.connect(lambda: self._write(", ".join(self.dialog.chosen)))

    def use_query(self, ask: Ask) -> None:
        """Set the query that examines the environment in the form."""
        self._ask = ask

    @Slot()
    def choose(self) -> None:
        """Examine the environment, and offer its numbers."""
        try:
            chosen: Sequence[str] = parse_names(self._read())
        except RequestError:
            chosen = ()
        self.dialog.show_waiting(chosen)
        self.dialog.open()
        if self._ask is not None:
            self._ask(self._query, self.dialog.show_refusal)

    def shutdown(self) -> None:
        """End the process that still examines an environment."""
        self._query.cancel()

    @Slot(object)
    def _on_answer(self, answer: dict[str, Any]) -> None:
        self.dialog.show_names([str(name) for name in answer["info"]])
