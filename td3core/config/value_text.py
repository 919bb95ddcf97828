"""Formats values of settings, counts, shares, returns and durations as text.

Where the window writes a number differently, its functions are ``format_…`` in
``studio/formatting.py`` and those of the terminal and of files are ``plain_…`` here.
"""

import math
import re
from typing import Any

from td3core.text import Text, tr

ON, OFF, NONE = Text("on"), Text("off"), Text("none")
_MINUS = "\N{MINUS SIGN}"
_HYPHEN = re.compile(r"(?<![\w-])-(?=\d|\.\d|inf)|(?<=\de)-(?=\d)")
"""A hyphen used as a minus sign: before a number, and in its exponent."""


def typographic(text: str) -> str:
    """Return a text with typographic minus signs instead of hyphens in numbers.

    Only for display and screen readers: text to copy, type, parse or save has hyphens.
    """
    return _HYPHEN.sub(_MINUS, text)


def plain_minus(text: str) -> str:
    """Return a text with hyphens instead of typographic minus signs, for programs."""
    return text.replace(_MINUS, "-")


def format_count(count: float) -> str:
    """Format a number of steps, episodes or runs: 512, 12,340."""
    return f"{count:,.0f}"


def plain_return(value: float, decimals: int = 1, *, grouped: bool = True) -> str:
    """Format a return, or a value in its unit, with a hyphen as minus sign: -207.1, 1,234.5.

    What rounds to zero has no sign. Programs parse it more easily if it is not ``grouped``.
    """
    return f"{value:z{',' if grouped else ''}.{decimals}f}"


def format_share(share: float) -> str:
    """Format a share from 0 to 1: 62 %."""
    return f"{100 * share:.0f} %"


def format_duration(seconds: float) -> str:
    """Format a duration: 45 s, 6 min, 2 h 10 min."""
    if seconds < 90:
        return tr("{seconds:.0f} s", seconds=seconds)
    minutes = round(seconds / 60)
    if minutes < 90:
        return tr("{minutes} min", minutes=minutes)
    return tr("{hours} h {minutes:02d} min", hours=minutes // 60, minutes=minutes % 60)


def value_words(value: Any) -> Text | str:
    """Format the value of a setting, with a hyphen as minus sign: on, -0.005, 300,000, relu.

    A dash stands for ``None``, a value that is not known.
    """
    if isinstance(value, bool):
        return ON if value else OFF
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or NONE
    if isinstance(value, int):
        return format_count(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return "–" if value is None else str(value)


def in_english(words: Text | str) -> str:
    """Return a text in English, and a plain string as it is."""
    return words.english if isinstance(words, Text) else words


def typed(value: Any) -> str:
    """Return the value of a setting as ``--set`` takes it, exactly: true, 0.005, 300000, 64,64."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, str) else repr(value)


def about_steps(steps: int) -> str:
    """Format a number of steps in at most three digits: 512, 11.2k, 1.25M."""
    if steps < 1_000:
        return format_count(steps)
    return with_letter(round(steps, 2 - math.floor(math.log10(steps))))


def with_letter(steps: int) -> str:
    """Format a number of steps in thousands or millions: 50k, 1.25M."""
    return f"{steps / 1_000:g}k" if steps < 1_000_000 else f"{steps / 1_000_000:g}M"
