"""The icon font, one of qtawesome's."""

from functools import cache
from importlib.resources import files
from typing import Any

from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon, QPixmap
from qtawesome.iconic_font import CharIconEngine, IconicFont

_NAME = "materialdesignicons6-webfont"
_SET = "mdi6"


def icon(name: str, **look: Any) -> QIcon:
    """Return a Material Design icon; ``look`` are qtawesome's options, such as ``color``."""
    found: QIcon = _font().icon(f"{_SET}.{name}", **look)
    return found


class _KeptPixmaps(CharIconEngine):  # type: ignore[misc]
    """Paints an icon once per size: Qt requests it whenever a button is painted."""

    def __init__(self, font: IconicFont, painter: Any, options: Any) -> None:
        super().__init__(font, painter, options)
        self._kept: dict[tuple[Any, ...], QPixmap] = {}

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        """Return the icon in a size in pixels."""
        key = size.width(), size.height(), mode, state
        if key not in self._kept:
            self._kept[key] = super().pixmap(size, mode, state)
        return self._kept[key]


class _Font(IconicFont):  # type: ignore[misc]
    def _icon_by_painter(self, painter: Any, options: Any) -> QIcon:
        return QIcon(_KeptPixmaps(self, painter, options))


@cache
def _font() -> IconicFont:
    # qtawesome itself would load a dozen fonts, which takes a tenth of the window's start.
    names = sorted(path.name for path in (files("qtawesome") / "fonts").iterdir())
    font, charmap = (
        next(name for name in names if name.startswith(_NAME) and name.endswith(suffix))
        for suffix in (".ttf", ".json")
    )
    return _Font((_SET, font, charmap))
