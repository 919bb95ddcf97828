"""Means of the numbers that an environment returns as ``info``, over the steps of an episode."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from td3core.arrays import Doubles

NOT_FINITE, NO_NUMBER = math.inf, -math.inf
"""In place of a mean: a value was NaN or infinite, or not a number."""
_MISSING = object()
_DEEPEST = 3
_MOST_LISTED = 500


class InfoMeans:
    """The means of one episode; each is over the steps that return its value."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._sums, self._counts = [0.0] * len(names), [0] * len(names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, info: Any) -> None:
        """Add the info of one step."""
        for at, name in enumerate(self._names):
            value = value_in(info, name)
            if value is _MISSING:
                continue
            number = number_of(value)
            self._counts[at] += 1
            if number is None:
                self._sums[at] = NO_NUMBER
            elif math.isfinite(self._sums[at]):
                self._sums[at] = self._sums[at] + number if math.isfinite(number) else NOT_FINITE

    def row(self) -> Doubles:
        """Return a mean for each name, shape (names,).

        NaN if no step had it; :data:`NOT_FINITE` or :data:`NO_NUMBER` if it is unusable.
        """
        pairs = zip(self._sums, self._counts, strict=True)
        return np.array([total / count if count else math.nan for total, count in pairs])


def value_in(info: Any, name: str) -> Any:
    """Return the value of a name in ``info``; dotted names reach into dictionaries."""
    if not isinstance(info, Mapping):
        return _MISSING
    if name in info:
        return info[name]
    first, dot, rest = name.partition(".")
    while dot:
        if first in info:
            return value_in(info[first], rest)
        more, dot, rest = rest.partition(".")
        first = f"{first}.{more}"
    return _MISSING


def number_of(value: Any) -> float | None:
    """Return a value as a number, which may be NaN or infinite; None if it is not a number.

    An array of one element counts as the element, and True as 1.
    """
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray):
        value = value.item() if value.size == 1 else None
    # Text is no number, even if it reads like one.
    if not hasattr(value, "__float__") or np.iscomplexobj(value):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
    except (TypeError, ValueError):
        return None


def rate_of(value: Any) -> float | None:
    """Return a rate or duration as :func:`number_of` reads it; None unless finite and positive."""
    number = number_of(value)
    return number if number is not None and 0 < number < math.inf else None


def entries_of(info: Any, depth: int = _DEEPEST) -> Iterator[tuple[str, float | None]]:
    """Yield the entries of ``info`` as :func:`number_of` reads them; nested ones by dotted name."""
    if not isinstance(info, Mapping):
        return
    for name, value in itertools.islice(info.items(), _MOST_LISTED):
        if not isinstance(name, str):
            continue
        if not isinstance(value, Mapping):
            yield name, number_of(value)
        elif depth > 1:
            yield from ((f"{name}.{inner}", n) for inner, n in entries_of(value, depth - 1))
