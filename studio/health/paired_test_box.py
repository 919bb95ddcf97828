"""A current or past paired test of a change: progress and outcome."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from studio.widgets.controls import make_button, make_row
from studio.widgets.labels import plain_label
from td3core.text import Text, tr


class PairedTestBox(QWidget):
    """Hidden while there is nothing to show.

    Object names say trial, the former word: they are a contract.
    """

    stop_wanted = Signal()
    accepted = Signal()
    continued = Signal()
    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("trial_box")
        self._title = plain_label()
        self._title.setProperty("role", "title")
        self.text = plain_label()
        self.text.setObjectName("trial_text")
        for label in (self._title, self.text):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._bar = QProgressBar()
        self._bar.setObjectName("trial_progress")
        self._bar.setAccessibleName(tr("Progress of the paired test"))
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self.stop_button = make_button(
            "trial_stop", tr("Stop"), tr("End the test without a verdict; its runs are saved")
        )
        self.accept_button = make_button("trial_accept", tr("Accept"), "")
        self.continue_button = make_button(
            "trial_continue", tr("Continue"), tr("Train the missing runs, and compare")
        )
        self.close_button = make_button("trial_close", tr("Close"), tr("Leave everything as it is"))
        self.stop_button.clicked.connect(self.stop_wanted)
        self.accept_button.clicked.connect(self.accepted)
        self.continue_button.clicked.connect(self.continued)
        self.close_button.clicked.connect(self.closed)
        self._buttons = (
            self.stop_button,
            self.accept_button,
            self.continue_button,
            self.close_button,
        )
        row = make_row(*self._buttons)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 4, 6, 10)
        layout.setSpacing(4)
        for part in (self._title, self.text, self._bar):
            layout.addWidget(part)
        layout.addLayout(row)
        self.hide()

    def show_progress(self, change: Text, text: Text, share: float) -> None:
        """Show a paired test in progress."""
        self._bar.setValue(round(1000 * share))
        self._bar.show()
        self._show(Text("Trying {change}", change=change), text, self.stop_button)

    def show_verdict(self, change: Text, text: Text, accepting: str) -> None:
        """Show the outcome of a paired test; ``accepting``: the effect of accepting the change."""
        self.accept_button.setToolTip(accepting)
        title = Text("Tried: {change}", change=change)
        self._show_over(title, text, self.accept_button, self.close_button)

    def show_ended(self, change: Text, text: Text) -> None:
        """Show a paired test that ended without a verdict."""
        title = Text("Unfinished paired test: {change}", change=change)
        self._show_over(title, text, self.continue_button, self.close_button)

    def _show_over(self, title: Text, text: Text, *buttons: QWidget) -> None:
        self._bar.hide()
        self._show(title, text, *buttons)

    def _show(self, title: Text, text: Text, *buttons: QWidget) -> None:
        self._title.setText(str(title))
        self.text.setText(str(text))
        for button in self._buttons:
            button.setVisible(button in buttons)
        self.show()
