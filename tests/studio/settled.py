"""Waits for what an object has begun in the background."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication

from studio.tasks.background_queue import BackgroundQueue


def settle(owner: QObject) -> None:
    """Wait until the tasks that an object has queued are done, and let it take their results."""
    for queue in owner.findChildren(BackgroundQueue):
        queue.finish()
    QApplication.processEvents()
