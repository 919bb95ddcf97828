"""The icon font: of those that come with qtawesome, the one that is used."""

from functools import cache
from importlib.resources import files
from typing import Any

from PySide6.QtGui import QIcon
from qtawesome.iconic_font import IconicFont

_NAME = "materialdesignicons6-webfont"
_SET = "mdi6"


def icon(name: str, **look: Any) -> QIcon:
    """Return a Material Design icon; ``look`` are qtawesome's options, ``color`` and the like."""
    found: QIcon = _font().icon(f"{_SET}.{name}", **look)
    return found


@cache
def _font() -> IconicFont:
    # qtawesome's own would read a dozen fonts of it, a tenth of the window's time to show.
    names = sorted(path.name for path in (files("qtawesome") / "fonts").iterdir())
    font, charmap = (
        next(name for name in names if name.startswith(_NAME) and name.endswith(suffix))
        for suffix in (".ttf", ".json")
    )
    return IconicFont((_SET, font, charmap))
