"""Where commands write: results to standard output, everything else to standard error."""

import json
from typing import Any

from rich.console import Console
from rich.markup import escape

console = Console(stderr=True, highlight=False)


def log(text: str, style: str | None = None) -> None:
    """Print a line to standard error; lines are neither wrapped nor read as markup."""
    console.print(escape(text), style=style, soft_wrap=True)


def print_result(text: str) -> None:
    """Print a line to standard output."""
    print(text)  # noqa: T201


def print_json(result: Any) -> None:
    """Print the one JSON object of ``--json`` to standard output."""
    print_result(json.dumps(result))
