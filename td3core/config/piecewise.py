"""Schedules of live settings: points over the steps of a run, written as text.

``0.02@20000, 0.005@40000`` holds 0.02 until step 20,000, falls linearly to 0.005 at step 40,000 and
stays there. An integer setting keeps each value until the next point. Two points at the same step
are a jump. A step may be a percentage of the run (``100%``), and a value a multiple of the previous
one (``x0.1``).
"""

import math
import re
from collections.abc import Iterator
from dataclasses import Field, dataclass, replace
from functools import lru_cache
from typing import Any

from td3core.config.spec import Spec, checked_number, spec_of
from td3core.errors import RequestError, brief
from td3core.text import SettingName

MOST_POINTS = 200
_POINT = re.compile(r"\s*(x?)\s*([^@\s]+)\s*(?:@\s*([^@%\s]+)\s*(%?)\s*)?")


@dataclass(frozen=True, slots=True)
class Point:
    """A value and the step at which it is reached."""

    value: float
    relative: bool
    """Whether the value is a multiple of the previous one."""
    step: float
    percent: bool
    """Whether the step is a percentage of the run."""
    word: str = ""
    """English word to write instead of the number, if any."""

    @property
    def text(self) -> str:
        """The point as text, in the shortest form that is read back exactly."""
        step = f"{_number(self.step)}%" if self.percent else _number(self.step)
        return f"{'x' if self.relative else ''}{self.word or _number(self.value)}@{step}"

    def at(self, steps: int) -> float:
        """Return its step in a run of this many steps."""
        return self.step * steps / 100 if self.percent else self.step


class PiecewiseSchedule:
    """The value of one setting over the steps of a run."""

    __slots__ = ("_points", "_whole", "text", "values")

    def __init__(
        self, points: tuple[Point, ...], values: tuple[float, ...], *, whole: bool
    ) -> None:
        self._points, self._whole = points, whole
        self.values = values
        """The value at each point."""
        self.text = ", ".join(point.text for point in points)
        """The schedule in canonical form."""

    def at(self, step: int, steps: int) -> float:
        """Return the value in force during step number ``step``, counted from 1.

        ``steps`` is the length of the run. A jump at step k takes effect before step k + 1, like a
        manual change.
        """
        before = -1
        for index, point in enumerate(self._points):
            if point.at(steps) >= step:
                break
            before = index
        if before < 0:
            return self.values[0]
        if before == len(self._points) - 1 or self._whole:
            return self.values[before]
        return self._between(before, step, steps)

    def _between(self, before: int, step: int, steps: int) -> float:
        start, end = self._points[before].at(steps), self._points[before + 1].at(steps)
        done = min((step - start) / (end - start), 1.0)
        value, after = self.values[before], self._points[before + 1]
        if after.relative:
            # In this order, rounding is as in earlier versions, which scaled a rate.
            return (1.0 + (after.value - 1.0) * done) * value
        # Between equal values, a weighted sum would not be exact.
        return value if after.value == value else (1.0 - done) * value + done * after.value

    def scaled(self, factor: float) -> str:
        """Return the text of a schedule with all values multiplied."""
        points = (
            point
            if point.relative
            else Point(point.value * factor, False, point.step, point.percent)
            for point in self._points
        )
        return ", ".join(point.text for point in points)

    def pinned(self, steps: int) -> str:
        """Return the text with percentages replaced by steps of a run of ``steps``.

        Fractions of a step are dropped; jumps stay at the same step.
        """
        pinned: list[Point] = []
        for point in self._points:
            # Percentages and steps may not have been in order.
            least = pinned[-1].step if pinned else 0
            step = max(int(point.at(steps)), least)
            pinned.append(replace(point, step=step, percent=False))
        return ", ".join(point.text for point in pinned)

    def steps_of_points(self, steps: int) -> tuple[float, ...]:
        """Return the step of each point in a run of this many steps."""
        return tuple(point.at(steps) for point in self._points)


def is_text(value: Any) -> bool:
    """Return whether a setting's value is the text of a schedule."""
    return isinstance(value, str) and "@" in value


def is_schedule(item: Field[Any], value: Any) -> bool:
    """Return whether a value of this setting is meant as a schedule."""
    return item.type in (int, float) and is_text(value)


@lru_cache(512)
def parse(item: Field[Any], text: str) -> PiecewiseSchedule:
    """Read the schedule of a setting.

    Raises:
        RequestError: it is not a schedule, or a value is out of the setting's range.
    """
    try:
        points = tuple(_points(text, spec_of(item)))
    except (ValueError, OverflowError) as problem:
        raise RequestError(
            "{name} cannot be {text}; it must be a number, or a schedule: values at steps in"
            " ascending order, such as {example}.",
            name=SettingName(item.name),
            text=brief(repr(text)),
            example="0.02@20000, 0.005@40000",
        ) from problem
    reached = [points[0].value]
    for point in points[1:]:
        # Rounded as at the end of the interpolation, which is not exactly the product.
        factor = 1.0 + (point.value - 1.0)
        reached.append(factor * reached[-1] if point.relative else point.value)
    values = tuple(checked_number(item, value) for value in reached)
    return PiecewiseSchedule(points, values, whole=item.type is int)


def _points(text: str, known: Spec) -> Iterator[Point]:
    parts = text.split(",")
    if len(parts) > MOST_POINTS:
        raise ValueError(text)
    last: Point | None = None
    for part in parts:
        found = _POINT.fullmatch(part)
        if found is None:
            raise ValueError(part)
        relative, value, step, percent = found.groups()
        if last is None:
            step = step or "0"
        if step is None or (last is None and relative):
            raise ValueError(part)
        is_word = not relative and known.is_lowest(value)
        number, word = (known.low, known.lowest.english) if is_word else (_finite(value), "")
        point = Point(number, bool(relative), _finite(step), bool(percent), word)
        _require_order(last, point)
        last = point
        yield point


def _require_order(last: Point | None, point: Point) -> None:
    most = 100.0 if point.percent else 1e10
    if not 0 <= point.step <= most or (not point.percent and point.step != int(point.step)):
        raise ValueError(point.step)
    # Steps and percentages cannot be compared before the length of the run is known.
    if last is not None and last.percent == point.percent and point.step < last.step:
        raise ValueError(point.step)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _number(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
