"""Ways to begin, in the middle of the empty plot of the returns."""

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtWidgets import QFrame, QPushButton, QVBoxLayout, QWidget

FIRST_ENV = "Pendulum-v1"
"""Learns within minutes on any computer."""
_WATCH = "Play a bundled agent in the replay pane"
_TRAIN = f"Choose {FIRST_ENV} with its preset and start: it learns within minutes"
_OPEN = "Show the list of runs"


class StartButtons(QFrame):
    """Hidden for good once a run is on show."""

    watch_requested = Signal()
    train_requested = Signal()
    runs_requested = Signal()

    def __init__(self, place: QWidget) -> None:
        """Stand in the middle of ``place``."""
        super().__init__(place)
        self.setObjectName("start_buttons")
        self._place = place
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for name, text, tip, signal in (
            ("watch", "Watch a trained walker", _WATCH, self.watch_requested),
            ("train", "Train your first agent", _TRAIN, self.train_requested),
            ("runs", "Open a run…", _OPEN, self.runs_requested),
        ):
            button = QPushButton(text)
            button.setObjectName(f"start_{name}_button")
            button.setAccessibleName(text)
            button.setToolTip(tip)
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(signal)
            layout.addWidget(button)
        place.installEventFilter(self)
        self.adjustSize()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Stay in the middle."""
        if watched is self._place and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self.adjustSize()
            room = self._place.rect().center() - self.rect().center()
            self.move(QPoint(max(room.x(), 0), max(room.y(), 0)))
        return super().eventFilter(watched, event)
