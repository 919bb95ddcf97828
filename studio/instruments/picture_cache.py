"""Keeps what a widget has drawn, so that a moving cursor costs next to nothing."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QWidget

_INTERVAL_MS = 100


class PictureCache:
    """A widget's curves as a picture, drawn again at most ten times a second while they grow."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._picture: QPixmap | None = None
        self._subject: Hashable = None
        self._version: Hashable = None
        self._timer = QTimer(widget)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_INTERVAL_MS)
        self._timer.timeout.connect(widget.update)

    def forget(self) -> None:
        """Draw everything again, because colours or bounds are others."""
        self._picture = None

    def picture(
        self, subject: Hashable, version: Hashable, draw: Callable[[QPainter], None]
    ) -> QPixmap:
        """Return the picture, drawn anew if it is outdated.

        Args:
            subject: What is drawn, such as an episode. Another one is drawn at once.
            version: Its state. A newer one may wait for a tenth of a second.
            draw: Draws it.
        """
        ratio = self._widget.devicePixelRatioF()
        size = (self._widget.size() * ratio).toTuple()
        same = self._picture is not None and self._subject == (subject, size)
        if same and (version == self._version or self._timer.isActive()):
            assert self._picture is not None
            return self._picture
        self._picture = QPixmap(*size)
        self._picture.setDevicePixelRatio(ratio)
        painter = QPainter(self._picture)
        draw(painter)
        painter.end()
        self._subject, self._version = (subject, size), version
        self._timer.start()
        return self._picture
