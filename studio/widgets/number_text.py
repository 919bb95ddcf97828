"""Reads numbers as people write them."""

import re

from td3core.text import Text

_SPACES = dict.fromkeys(
    map(ord, "_'\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"), " "
)
_SPACED_GROUPS = re.compile(r"[+-]?\d{1,3}( \d{3})+([.,]\d*)?")
_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_SEVERAL_GROUPS = re.compile(r"[+-]?\d{1,3}(,\d{3}){2,}(\.\d*)?")


def read_number(text: str, *, whole: bool) -> float:
    """Read 1000000, 1e6, 1 000 000, 1,000,000, 0.01 or 0,01.

    A single comma separates thousands in a whole number (24,000) and decimals in any other (0,01).

    Raises:
        ValueError: with a short reason, such as "not a number".
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-").translate(_SPACES)
    if _SPACED_GROUPS.fullmatch(plain):
        # Only between groups of three digits: "10 20" is two numbers.
        plain = plain.replace(" ", "")
    if _SEVERAL_GROUPS.fullmatch(plain) or (whole and _GROUPS.fullmatch(plain)):
        plain = plain.replace(",", "")
    elif plain.count(",") == 1 and "." not in plain and not whole:
        plain = plain.replace(",", ".")
    try:
        value = float(plain)
    except ValueError:
        raise ValueError(Text("not a number")) from None
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(Text("not a number"))
    if whole and value != int(value):
        raise ValueError(Text("not a whole number"))
    return value
