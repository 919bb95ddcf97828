"""Sizes that follow the application's font: of texts, icons and their containers.

They are given in pixels for a font of 12 pixels, the usual 9 points at 96 dots per inch.
"""

from typing import Any

from PySide6.QtGui import QFont, QFontInfo
from PySide6.QtWidgets import QApplication

_USUAL_FONT = 12.0
"""Pixels."""


def scale() -> float:
    """Return how many times larger the application's font is than the usual one."""
    return QFontInfo(QApplication.font()).pixelSize() / _USUAL_FONT


def scaled(pixels: float) -> int:
    """Return a size in pixels for the application's font, from the size for the usual one."""
    return round(pixels * scale())


def sized_font(pixels: float) -> QFont:
    """Return the application's font in another size, given as for :func:`scaled`."""
    font = QApplication.font()
    font.setPixelSize(scaled(pixels))
    return font


class SheetSizes(dict[str, Any]):
    """Sizes for the style sheet: ``px14`` is 14 pixels scaled to this font."""

    def __init__(self) -> None:
        super().__init__()
        self._scale = scale()

    def __missing__(self, name: str) -> int:
        """Return the size of a name.

        Raises:
            KeyError: the name is not a size.
        """
        pixels = name.removeprefix("px")
        if pixels == name or not pixels.isdigit():
            raise KeyError(name)
        return round(int(pixels) * self._scale)
