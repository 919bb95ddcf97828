"""What came of work outside the GUI thread: its result, or why there is none."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from td3core.errors import RequestError, unusable
from td3core.text import Text

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[T]):
    """The result of work; without a ``problem``, ``value`` is what it returned."""

    value: T | None = None
    problem: Text | None = None


def outcome_of(work: Callable[[], T]) -> Outcome[T]:
    """Do work; an error becomes a sentence for the user."""
    try:
        return Outcome(value=work())
    except RequestError as refusal:
        return Outcome(problem=refusal.message)
    except OSError as caught:
        said = unusable(caught)
        log.warning("%s failed: %s", threading.current_thread().name, said)
        return Outcome(problem=said)
    except Exception as caught:
        log.exception("%s failed", threading.current_thread().name)
        name = type(caught).__name__
        return Outcome(problem=Text("{error}: {problem}", error=name, problem=str(caught)))
