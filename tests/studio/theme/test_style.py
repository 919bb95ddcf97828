"""The style of the application, applied while windows exist."""

import gc

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.theme.theme import apply_theme, load_theme


class Watcher(QLabel):
    """Notes whether garbage may be collected when its style changes."""

    def __init__(self) -> None:
        super().__init__()
        self.collecting: list[bool] = []

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() is QEvent.Type.StyleChange:
            self.collecting.append(gc.isenabled())
        super().changeEvent(event)


def test_no_closed_window_is_collected_while_qt_styles_all_widgets(
    qtbot: QtBot, qapp: QApplication
) -> None:
    """Qt iterates over a list of all widgets meanwhile: the process would end."""
    watcher = Watcher()
    qtbot.addWidget(watcher)
    watcher.ensurePolished()
    for name in ("dark", "light"):
        apply_theme(qapp, load_theme(name))
    assert watcher.collecting
    assert not any(watcher.collecting)
    assert gc.isenabled()
