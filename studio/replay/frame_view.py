"""The picture in the replay pane."""

import math
from functools import lru_cache

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPalette,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

_RADIUS = 8.0
_MARGIN = 16
_SETTLED_MS = 100
_USUAL_ASPECT = 2 / 3
_LARGEST = 2**24 - 1
_NOTCH, _ZOOM = 120, -0.05
"""``angleDelta`` of one wheel notch, and the zoom per notch as a share of the distance."""
_MARGINAL = 2
"""A picture smaller than the view by at most this many pixels is not scaled again."""
_BY_TAB = (Qt.FocusReason.TabFocusReason, Qt.FocusReason.BacktabFocusReason)


class FrameView(QWidget):
    """Shows the latest picture as large as possible, or a sentence if there is none."""

    size_settled = Signal(QSize)
    """The size available for a picture, in pixels, once it has been stable for a moment."""

    camera_moved = Signal(str, float, float)
    """The user drags or zooms: ``turn``, ``shift`` or ``zoom``, then x and y.

    See :class:`~studio.replay.renderer.protocol.MoveCamera`.
    """
    camera_reset = Signal()

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self._moves_camera = False
        self._dragged_from: QPointF | None = None
        self._shows_focus = False
        self._settling = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settling.timeout.connect(lambda: self.size_settled.emit(self._pixels()))
        self._image: QImage | None = None
        self._scaled: QImage | None = None
        self._placeholder = placeholder
        self._fills = False
        self._aspect = _USUAL_ASPECT
        self.setMinimumSize(160, 110)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def let_move_camera(self, moves: bool) -> None:
        """Let drags and the wheel move a camera, or ignore them."""
        self._moves_camera = moves

    @property
    def image(self) -> QImage | None:
        """The displayed picture, unscaled."""
        return self._image

    def use_all_height(self, fills: bool) -> None:
        """Take the whole height available, or only what the picture needs at this width."""
        self._fills = fills
        self._limit_height()

    def _limit_height(self) -> None:
        needed = math.ceil(self.width() * self._aspect)
        self.setMaximumHeight(_LARGEST if self._fills else max(needed, self.minimumHeight()))

    def _pixels(self) -> QSize:
        return (QSizeF(self.size()) * self.devicePixelRatioF()).toSize()

    def settle(self) -> None:
        """Request pictures of the current size."""
        self._settling.start()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Request pictures of the new size."""
        super().resizeEvent(event)
        self._limit_height()
        self._settling.start()

    def event(self, event: QEvent) -> bool:
        """Notice a move to a screen with another device pixel ratio."""
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._settling.start()
        return super().event(event)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size with the aspect ratio of most environments."""
        return QSize(300, 200)

    def show_image(self, image: QImage) -> None:
        """Show a picture."""
        self._image, self._scaled = image, None
        aspect = image.height() / image.width()
        # Pictures scaled to fit may differ by a pixel.
        if abs(aspect - self._aspect) * self.width() > 1.5:
            self._aspect = aspect
            self._limit_height()
        self.update()

    def show_text(self, text: str) -> None:
        """Show a sentence instead of a picture."""
        self._image, self._scaled, self._placeholder = None, None, text
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Draw a focus frame after Tab, but not after a click."""
        super().focusInEvent(event)
        self._shows_focus = event.reason() in _BY_TAB

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Remove the focus frame."""
        super().focusOutEvent(event)
        self._shows_focus = False

    # The camera ---------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Begin to drag."""
        if self._moves_camera:
            self._dragged_from = event.position()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Turn the camera; shift it with the right button or Shift."""
        if self._dragged_from is None:
            return
        moved, self._dragged_from = event.position() - self._dragged_from, event.position()
        right = bool(event.buttons() & Qt.MouseButton.RightButton)
        shifted = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        action = "shift" if right or shifted else "turn"
        height = max(self.height(), 1)
        self.camera_moved.emit(action, moved.x() / height, moved.y() / height)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:  # noqa: N802
        """End the drag."""
        self._dragged_from = None

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:  # noqa: N802
        """Reset the camera."""
        if self._moves_camera:
            self.camera_reset.emit()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Move the camera nearer, or further away."""
        if self._moves_camera:
            self.camera_moved.emit("zoom", 0.0, _ZOOM * event.angleDelta().y() / _NOTCH)
        else:
            super().wheelEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the picture or the sentence."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        if self._image is None:
            self._paint_text(painter)
        else:
            self._paint_image(painter, self._image)
        if self._shows_focus:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), 2))
            painter.drawRoundedRect(self.rect().adjusted(1, 1, -1, -1), _RADIUS, _RADIUS)
        painter.end()

    def _paint_text(self, painter: QPainter) -> None:
        painter.setBrush(self.palette().brush(QPalette.ColorRole.Base))
        # In the light theme the background alone is hardly visible.
        painter.setPen(self.palette().color(QPalette.ColorRole.Mid))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS
        )
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        inner = self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        painter.drawText(
            inner, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self._placeholder
        )

    def _paint_image(self, painter: QPainter, image: QImage) -> None:
        ratio = self.devicePixelRatioF()
        fitted = image.size().scaled(self._pixels(), Qt.AspectRatioMode.KeepAspectRatio)
        smaller = fitted - image.size()
        if 0 <= smaller.width() <= _MARGINAL and 0 <= smaller.height() <= _MARGINAL:
            self._scaled, fitted = image, image.size()
        elif self._scaled is None or self._scaled.size() != fitted:
            # Only until pictures of the new size arrive. Scaled beforehand, because the painter
            # scales down with a coarse filter.
            self._scaled = image.scaled(
                fitted,
                Qt.AspectRatioMode.IgnoreAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
        # Aligned to device pixels, otherwise it would be scaled again.
        left = int((self.width() * ratio - fitted.width()) / 2) / ratio
        top = int((self.height() * ratio - fitted.height()) / 2) / ratio
        target = QRectF(left, top, fitted.width() / ratio, fitted.height() / ratio)
        painter.drawImage(target, self._scaled)
        # Corners are painted over: a clip path or a texture brush takes several times as long.
        painter.setBrush(self.palette().brush(QPalette.ColorRole.Window))
        painter.drawPath(_corners(*target.getRect()))  # type: ignore[misc]


@lru_cache(maxsize=1)
def _corners(left: float, top: float, width: float, height: float) -> QPainterPath:
    """Return the corners that rounding cuts off a rectangle."""
    target = QRectF(left, top, width, height)
    sharp, rounded = QPainterPath(), QPainterPath()
    sharp.addRect(target)
    rounded.addRoundedRect(target, _RADIUS, _RADIUS)
    return sharp.subtracted(rounded)
