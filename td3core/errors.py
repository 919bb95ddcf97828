"""The two ways a run can go wrong, told apart because the user's next step differs."""

import difflib
import traceback


class RequestError(ValueError):
    """What was asked cannot be done: one plain sentence, nothing started, nothing written."""


def brief(problem: object, most: int = 200) -> str:
    """Return what is said of a problem, or any text, on one line of no more than a few words."""
    text = " ".join(str(problem).split())
    return text if len(text) <= most else f"{text[:most]}…"


class RunError(RuntimeError):
    """A run that had started cannot go on: one plain sentence naming the cause and the step."""


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
