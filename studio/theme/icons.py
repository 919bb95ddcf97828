"""The icon font, one of those that qtawesome contains."""

from functools import cache
from importlib.resources import files
from typing import Any

from PySide6.QtGui import QIcon
from qtawesome.iconic_font import IconicFont

_NAME = "materialdesignicons6-webfont"
_SET = "mdi6"


def icon(name: str, **look: Any) -> QIcon:
    """Return a Material Design icon; ``look`` are qtawesome's options, such as ``color``."""
    found: QIcon = _font().icon(f"{_SET}.{name}", **look)
    return found


@cache
def _font() -> IconicFont:
    # qtawesome itself would load a dozen fonts, which takes a tenth of the window's start.
    names = sorted(path.name for path in (files("qtawesome") / "fonts").iterdir())
    font, charmap = (
        next(name for name in names if name.startswith(_NAME) and name.endswith(suffix))
        for suffix in (".ttf", ".json")
    )
    return IconicFont((_SET, font, charmap))
