"""Sentences for the user as data, and the two ways a run can go wrong."""

import difflib
import traceback
from typing import Any, Self


class Message(str):
    """A sentence in English that remembers what it was made of.

    ``template`` names the sentence for a translation, ``values`` are what its braces stand for::

        Message("{name} cannot be {value}.", name="tau", value=7)

    Without values the template is taken as it is, braces included.
    """

    __slots__ = ("template", "values")
    template: str
    values: dict[str, Any]

    def __new__(cls, template: str, /, **values: Any) -> Self:
        """Format ``template`` with ``values``."""
        made = super().__new__(cls, template.format(**values) if values else template)
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep template and values when sent to another process."""
        return _message, (self.template, self.values)


def _message(template: str, values: dict[str, Any]) -> Message:
    return Message(template, **values)


class _SentenceError(Exception):
    """An exception that is one plain sentence for the user."""

    def __init__(self, template: str, /, **values: Any) -> None:
        self.message = template if isinstance(template, Message) else Message(template, **values)
        super().__init__(self.message)


class RequestError(_SentenceError, ValueError):
    """What was asked cannot be done: nothing was started, nothing written."""


def brief(problem: object, most: int = 200) -> str:
    """Return what is said of a problem, or any text, on one line of no more than a few words."""
    text = " ".join(str(problem).split())
    return text if len(text) <= most else f"{text[:most]}…"


class RunError(_SentenceError, RuntimeError):
    """A run that had started cannot continue; the sentence names the cause and the step."""


def traceback_of(problem: BaseException) -> str:
    """Return the traceback that leads to the fault; empty where a sentence says all there is.

    Of a :class:`RunError` that is the one of its cause: what an environment raised, for instance.
    """
    blamed = problem.__cause__ if isinstance(problem, RunError) else problem
    return "".join(traceback.format_exception(blamed)) if blamed else ""


def unknown_name(kind: str, name: str, known: list[str]) -> RequestError:
    """Build the error for a name that does not exist, with the nearest ones that do."""
    name = str(name)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    shown = brief(repr(name))
    hint = f" Did you mean {' or '.join(near)}?" if near else f" Known are: {', '.join(known)}."
    return RequestError(f"There is no {kind} called {shown}.{hint}")
