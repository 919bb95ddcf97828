"""Choice between an opened run's first and last live settings."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QRadioButton, QWidget

from studio.widgets.controls import describe
from td3core.config import Tunables, changes
from td3core.text import tr


class ValuesChoice(QWidget):
    """Hidden unless a run was opened whose live settings were changed while it learned."""

    chosen = Signal(object)
    """The :class:`Tunables` to show."""
    shown = Signal(bool)
    """Whether the choice is offered."""

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, Tunables] = {}
        self._buttons: dict[str, QRadioButton] = {}
        self._group, layout = QButtonGroup(self), QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        for name, text, tip in (
            ("first", tr("First values"), tr("The live settings that the run was started with")),
            (
                "last",
                tr("Last values"),
                tr("The live settings after all changes made while it learned"),
            ),
        ):
            button = QRadioButton(text)
            describe(button, f"live_{name}_values", text, tip)
            button.clicked.connect(lambda _=False, name=name: self.chosen.emit(self._values[name]))
            self._group.addButton(button)
            layout.addWidget(button)
            self._buttons[name] = button
        layout.addStretch(1)
        self.hide()

    def offer(self, first: Tunables | None, last: Tunables) -> None:
        """Offer both, or nothing if they are equal."""
        self._values = {"first": first or last, "last": last}
        self._show(first is not None and bool(changes(first, last)))

    def mark(self, shown: Tunables) -> None:
        """Check the values that are shown; neither if the user has changed them."""
        self._group.setExclusive(False)
        for name, values in self._values.items():
            self._buttons[name].setChecked(not changes(values, shown))
        self._group.setExclusive(True)

    def withdraw(self) -> None:
        """Offer nothing."""
        self._show(False)

    def _show(self, offered: bool, /) -> None:
        self.setVisible(offered)
        self.shown.emit(offered)
