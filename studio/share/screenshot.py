"""The displayed picture as a PNG: as the environment drew it, or with its surroundings."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QImage, QPainter, QPalette

from studio.formatting import format_return
from td3core.playing.step import RolloutStep
from td3core.text import tr

_GAP = 4
_MARGIN = 8
_FONT_SHARE = 0.034
"""Font size of the captions, as a share of a picture's smaller side."""
_LEAST_FONT = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot:
    """The displayed picture and its surroundings."""

    image: QImage
    """The pictures of all agents side by side, in the environment's own size."""
    names: Sequence[str]
    """Name of each agent."""
    steps: Sequence[RolloutStep]
    """Step of each agent."""
    columns: int = 1
    """Pictures per row."""
    instruments: QImage | None = None
    """The instruments, if they are open."""


def compose(
    screenshot: Screenshot, palette: QPalette, *, captions: bool, instruments: bool
) -> QImage:
    """Return the picture; if requested, with name, step and return of each agent below it."""
    if not captions and len(screenshot.names) == 1:
        found = screenshot.image
    else:
        found = _tiled(screenshot, palette, captions=captions)
    if instruments and screenshot.instruments is not None:
        found = _with_instruments(found, screenshot.instruments, palette)
    return found


def _tiled(screenshot: Screenshot, palette: QPalette, *, captions: bool) -> QImage:
    count = len(screenshot.names)
    width, height = screenshot.image.width() // count, screenshot.image.height()
    font = QFont()
    font.setPixelSize(max(_LEAST_FONT, round(min(width, height) * _FONT_SHARE)))
    strip = QFontMetrics(font).height() + _MARGIN if captions else 0
    columns = min(max(screenshot.columns, 1), count)
    rows = -(-count // columns)
    size = QSize(columns * (width + _GAP) - _GAP, rows * (height + strip + _GAP) - _GAP)
    target = _blank(size, palette)
    painter = QPainter(target)
    painter.setFont(font)
    painter.setPen(palette.windowText().color())
    for at in range(count):
        row, column = divmod(at, columns)
        left, top = column * (width + _GAP), row * (height + strip + _GAP)
        painter.drawImage(left, top, screenshot.image, at * width, 0, width, height)
        if captions:
            room = QRect(left + _MARGIN, top + height, width - 2 * _MARGIN, strip)
            _draw_caption(painter, room, screenshot.names[at], screenshot.steps[at])
    painter.end()
    return target


def _draw_caption(painter: QPainter, room: QRect, name: str, step: RolloutStep) -> None:
    metrics = painter.fontMetrics()
    reached = tr("step {step}", step=step.number)
    total = tr("return {mean}", mean=format_return(step.total))
    numbers = f"{reached} · {total}"
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.drawText(room, middle | Qt.AlignmentFlag.AlignRight, numbers)
    left = room.width() - metrics.horizontalAdvance(f"{numbers}   ")
    text = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, left)
    painter.drawText(room, middle | Qt.AlignmentFlag.AlignLeft, text)


def _with_instruments(picture: QImage, panel: QImage, palette: QPalette) -> QImage:
    """Put a row of instruments below the picture, a column of them beside it."""
    smooth = Qt.TransformationMode.SmoothTransformation
    if panel.width() >= panel.height():
        width = max(picture.width(), panel.width())
        target = _blank(QSize(width, picture.height() + _GAP + panel.height()), palette)
        at = (width - panel.width()) // 2, picture.height() + _GAP
        left = (width - picture.width()) // 2
    else:
        panel = panel.scaledToHeight(max(picture.height(), panel.height()), smooth)
        size = QSize(picture.width() + _GAP + panel.width(), panel.height())
        target, at, left = _blank(size, palette), (picture.width() + _GAP, 0), 0
    painter = QPainter(target)
    painter.drawImage(left, 0, picture)
    painter.drawImage(*at, panel)
    painter.end()
    return target


def _blank(size: QSize, palette: QPalette) -> QImage:
    image = QImage(size, QImage.Format.Format_RGB32)
    image.fill(palette.window().color())
    return image
