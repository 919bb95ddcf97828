"""Caches a widget's drawing, so that a moving cursor costs next to nothing."""

from collections.abc import Callable, Hashable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QPainter, QPixmap
from PySide6.QtWidgets import QWidget

_INTERVAL_MS = 100


class PictureCache:
    """A widget's curves as a picture, redrawn at most ten times a second while they grow."""

    def __init__(self, widget: QWidget) -> None:
        self._widget = widget
        self._picture: QPixmap | None = None
        self._subject: Hashable = None
        self._version: Hashable = None
        self._timer = QTimer(widget, singleShot=True, interval=_INTERVAL_MS)
        self._timer.timeout.connect(widget.update)

    def forget(self) -> None:
        """Redraw everything, because colours or bounds have changed."""
        self._picture = None

    def picture(
        self, subject: Hashable, version: Hashable, draw: Callable[[QPainter], None]
    ) -> QPixmap:
        """Return the picture, redrawn if it is outdated.

        Args:
            subject: The subject of the drawing, such as an episode. A new one is drawn at once.
            version: Its version. A newer one may wait for a tenth of a second.
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
