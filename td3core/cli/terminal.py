"""Where commands write: results to standard output, everything else to standard error."""

import json
from typing import Any
from unicodedata import category

from rich.console import Console
from rich.markup import escape

console = Console(stderr=True, highlight=False)


_BIDI = {*map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
"""Characters that change the direction of the text around them."""


def printable(text: str) -> str:
    """Return text for a terminal; what would command it is shown by its code instead.

    Names and messages may come from the files of others.
    """
    return "".join(
        char
        if char in "\n\t" or not (category(char) in ("Cc", "Cs") or char in _BIDI)
        # As Python writes them in source code, such as \x1b.
        else ascii(char)[1:-1]
        for char in text
    )


def log(text: str, style: str | None = None) -> None:
    """Print a line to standard error; lines are neither wrapped nor read as markup."""
    console.print(escape(printable(text)), style=style, soft_wrap=True)


def print_result(text: str) -> None:
    """Print a line to standard output."""
    print(printable(text))  # noqa: T201


def print_json(result: Any) -> None:
    """Print the one JSON object of ``--json`` to standard output."""
    print_result(json.dumps(result))
