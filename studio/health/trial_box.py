"""A change that is being tried, or was: how far it is, and what came of it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QSizePolicy, QVBoxLayout, QWidget

from studio.widgets.controls import make_button, make_row
from studio.widgets.labels import plain_label
from td3core.text import Text, tr


class TrialBox(QWidget):
    """Hidden while there is nothing to show."""

    stop_wanted = Signal()
    accepted = Signal()
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("trial_box")
        self._title = plain_label()
        self._title.setProperty("role", "title")
        self.text = plain_label()
        self.text.setObjectName("trial_text")
        for label in (self._title, self.text):
            label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._bar = QProgressBar()
        self._bar.setObjectName("trial_progress")
        self._bar.setAccessibleName(tr("Progress of the trial"))
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self.stop_button = make_button(
            "trial_stop", tr("Stop"), tr("End the trial without a verdict; its runs are saved")
        )
        self.accept_button = make_button("trial_accept", tr("Accept"), "")
        self.close_button = make_button("trial_close", tr("Close"), tr("Leave everything as it is"))
        self.stop_button.clicked.connect(self.stop_wanted)
        self.accept_button.clicked.connect(self.accepted)
        self.close_button.clicked.connect(self.closed)
        row = make_row(self.stop_button, self.accept_button, self.close_button)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 4, 6, 10)
        layout.setSpacing(4)
        for part in (self._title, self.text, self._bar):
            layout.addWidget(part)
        layout.addLayout(row)
        self.hide()

    def show_progress(self, change: Text, text: Text, share: float) -> None:
        """Show a trial that goes on."""
        self._show(change, text, done=False)
        self._bar.setValue(round(1000 * share))

    def show_verdict(self, change: Text, text: Text, accepting: str) -> None:
        """Show what came of a trial; ``accepting`` says what accepting the change does."""
        self._show(change, text, done=True)
        self.accept_button.setToolTip(accepting)

    def _show(self, change: Text, text: Text, *, done: bool) -> None:
        title = (
            Text("Tried: {change}", change=change)
            if done
            else Text("Trying {change}", change=change)
        )
        self._title.setText(str(title))
        self.text.setText(str(text))
        self._bar.setVisible(not done)
        self.stop_button.setVisible(not done)
        self.accept_button.setVisible(done)
        self.close_button.setVisible(done)
        self.show()
