"""The font of films, and their number format, the same as in the window."""

import importlib.util
from functools import cache
from pathlib import Path

from PIL import ImageFont

from td3core.config.value_text import plain_return, typographic
from td3core.text import tr

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def font(size: int) -> Font:
    """Return the font of films in a size in pixels."""
    file = font_file()
    return ImageFont.load_default(size) if file is None else ImageFont.truetype(file, size)


@cache
def font_file() -> Path | None:
    """Return a font with minus signs and Greek, as in run names; Pillow's own font has neither."""
    # Located without importing matplotlib: only this file is needed.
    found = importlib.util.find_spec("matplotlib")
    if found is None or found.origin is None:
        return None
    file = Path(found.origin).with_name("mpl-data") / "fonts" / "ttf" / "DejaVuSans.ttf"
    return file if file.is_file() else None


def return_text(value: float) -> str:
    """Return a formatted return, or a value in the same unit: −207.1, 1,234.5."""
    text = plain_return(value)
    # Pillow's own font would draw an empty box for a minus sign.
    return text if font_file() is None else typographic(text)


def return_caption(value: float) -> str:
    """Return a caption with the return of the episode so far."""
    return tr("Return {value}", value=return_text(value))
