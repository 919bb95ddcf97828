"""Output of commands: results to standard output, everything else to standard error."""

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import category

from rich.console import Console
from rich.markup import escape

from td3core.config.value_text import plain_return
from td3core.text import TURNING, Text

if TYPE_CHECKING:
    from td3core.protocol.events import Ended, Failed

FAILED = 1
"""The exit status of a run that failed."""

console = Console(stderr=True, highlight=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """The answer of a command."""

    status: int = 0
    """The exit status."""
    result: Any = None
    """The value that ``--json`` prints: an object, or an array of objects. None if there is none.
    """
    error: str | Text | None = None
    """Why the command failed, as a sentence; ``--json`` adds it to the object."""


def printable(text: str) -> str:
    """Return text for a terminal; control characters are shown by their codes.

    Names and messages may come from untrusted files.
    """
    return "".join(
        char
        if char in "\n\t" or not (category(char) in ("Cc", "Cs") or char in TURNING)
        # As Python writes them in source code, such as \x1b.
        else ascii(char)[1:-1]
        for char in text
    )


def return_cell(value: float | None) -> str:
    """Return a return for a table; a dash without one."""
    return "-" if value is None else plain_return(value)


def log(text: str | Text, style: str | None = None) -> None:
    """Print a line to standard error; lines are neither wrapped nor read as markup."""
    console.print(escape(printable(str(text))), style=style, soft_wrap=True)


def log_error(heading: Text, message: str | Text) -> None:
    """Print a sentence to standard error, after a red heading."""
    console.print(
        f"[red]{escape(str(heading))}[/] {escape(printable(str(message)))}", soft_wrap=True
    )


def run_failed(event: "Failed", **more: Any) -> CommandResult:
    """Report that a run failed, and return the command's answer with the keys ``more``."""
    log_error(Text("The run failed:"), event.message)
    result = ending_as_dict(event.ending) | {"message": event.message} | more
    return CommandResult(status=FAILED, result=result, error=event.message)


def print_result(text: str | Text) -> None:
    """Print a line to standard output."""
    print(printable(str(text)))  # noqa: T201


def print_json(answer: CommandResult) -> None:
    """Print the last line of ``--json`` to standard output."""
    print_result(json_line(answer))


def json_line(answer: CommandResult) -> str:
    """Return the last line of ``--json``."""
    result = {} if answer.result is None else answer.result
    if answer.error is not None:
        result = result | {"error": answer.error}
    # A value of an unforeseen type must not suppress the line.
    return json.dumps(_as_json(result), allow_nan=False, default=str)


def _as_json(value: Any) -> Any:
    """Return ``value`` with English texts, and strings for NaN and infinities.

    JSON has no such numbers, and scripts must not depend on a language.
    """
    if isinstance(value, dict):
        return {str(key): _as_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(each) for each in value]
    if isinstance(value, Text):
        return value.english
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def ending_as_dict(ending: "Ended | None") -> dict[str, Any]:
    """Return the keys of ``--json``; all null for a run without ending."""
    from td3core.protocol.events import Ended

    if ending is None:
        return {item.name: None for item in fields(Ended)} | {"stopped": "failed"}
    values = asdict(ending)
    return {k: str(v) if isinstance(v, Path) else v for k, v in values.items()}
