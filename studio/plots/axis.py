"""An axis for small plots."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from studio.formatting import typographic
from studio.theme.theme import Theme

_BETWEEN_LABELS = 6
"""Pixels between two labels of the x axis."""
_UNLABELLED = 0.25
"""Largest unlabelled share of an axis at either end."""
_LINES_APART = 1.8
"""Minimum distance between labels of the y axis, in lines of text."""
_FINER = 4
"""Labels are chosen from ticks this many times as dense as labels may be."""
_FAR = 1000.0
"""Pixels by which the reported area is enlarged, to keep pyqtgraph from dropping labels."""
_EXACT = 12
"""Digits to which the power of a logarithm is exact."""
_PLAIN = range(-2, 4)
"""Powers of ten for which numbers are as short without an exponent."""
_MANY_DECADES = 12
"""With more decades than this, ticks between them would fill the plot."""


_Label = tuple[QRectF, Any, str]
"""Rectangle, alignment and text of a label."""


class _Form(NamedTuple):
    """How the numbers of an axis are written."""

    divisor: float
    unit: str
    digits: str
    """A format specification."""

    def text(self, value: float) -> str:
        """Return a number in this form: 1,475, 1.5k, 1.48M."""
        if not value:
            return "0"
        return typographic(f"{value / self.divisor:{self.digits}}{self.unit}")


class ShortAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis labelled 500, 20k, 1.5M: short enough for plots side by side."""

    _theme: Theme | None = None
    _full_name: str | None = None
    _laid_out: str | None = None
    _keeps_labels = False
    _name_style: Mapping[str, Any] = MappingProxyType({})
    _form: _Form | None = None
    """The common form of all labels; None while each level of ticks has its own."""
    _levels: list[tuple[_Form, list[float], float]]
    """While labels are laid out: form, values and spacing of each level of ticks."""

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self.setPen(pg.mkPen(theme.grid))
        self.setTextPen(pg.mkPen(theme.muted))

    def setLabel(self, text: Any = None, units: Any = None, **style: Any) -> None:  # noqa: N802
        """Name the axis; a name longer than the axis is elided or left out."""
        self._full_name, self._name_style = text, style
        super().setLabel(text, units, **style)
        self._fit_name()

    def _updateLabel(self) -> None:  # noqa: N802
        """Lay out the name only if it has changed; pyqtgraph does so a dozen times per plot."""
        name = self.labelString()
        if name != self._laid_out:
            self._laid_out = name
            super()._updateLabel()

    def resizeEvent(self, event: Any = None) -> None:  # noqa: N802
        """Show as much of the name as fits."""
        super().resizeEvent(event)
        if self._full_name:
            self._fit_name()

    def _fit_name(self) -> None:
        """Cut the name off at the ends of the axis; leave it out if less than half of it fits."""
        room = self.height() if self.orientation in ("left", "right") else self.width()
        if not self._full_name or room <= 0:
            return
        font = QFont(self.label.font())
        size = str(self._name_style.get("font-size", ""))
        if size.endswith("pt"):
            font.setPointSizeF(float(size.removesuffix("pt")))
        metrics, mode = QFontMetricsF(font), Qt.TextElideMode.ElideRight
        shown = metrics.elidedText(self._full_name, mode, max(room - _BETWEEN_LABELS, 0))
        if 2 * (len(shown) - 1) < len(self._full_name):
            shown = ""
        self.setToolTip("" if shown == self._full_name else self._full_name)
        if shown != self.labelText:
            visible = self.label.isVisible()
            super().setLabel(shown, **self._name_style)
            self.showLabel(visible)

    def generateDrawSpecs(self, p: QPainter) -> Any:  # noqa: N802
        """Return axis, ticks and labels to draw, with ticks and grid in opaque colours.

        Qt draws pyqtgraph's translucent colours forty times slower. Labels that would extend beyond
        the axis, which pyqtgraph drops, are moved inside: the last tick keeps its label.
        """
        self._keeps_labels, self._levels = True, []
        specs = super().generateDrawSpecs(p)
        self._form = self._common_form(specs)
        if self._form is not None:
            specs = super().generateDrawSpecs(p)
        self._keeps_labels, self._form = False, None
        if specs is None or self._theme is None:
            return specs
        axis, ticks, labels = specs
        labels = self._moved_inside(labels)
        # Ticks of one level have the same colour.
        pens: dict[int, QPen] = {}
        for pen, _, _ in ticks:
            colour = pen.color()
            if colour.rgba() not in pens:
                pens[colour.rgba()] = pg.mkPen(self._theme.on_panel(colour, colour.alphaF()))
        return axis, [(pens[pen.color().rgba()], *ends) for pen, *ends in ticks], labels

    def _common_form(self, specs: Any) -> _Form | None:
        """Return the form that suits all labels; None if they have the same one already."""
        drawn = {text for _, _, text in specs[2]} if specs is not None else set()
        levels = [each for each in self._levels if drawn.intersection(map(each[0].text, each[1]))]
        if len({form for form, _, _ in levels}) < 2:
            return None
        values = [value for _, level, _ in levels for value in level]
        return _shortest_form(values, min(spacing for *_, spacing in levels))

    def boundingRect(self) -> QRectF:  # noqa: N802
        """Return the area of the axis, which pyqtgraph also uses to decide which labels fit."""
        found: QRectF = super().boundingRect()
        if not self._keeps_labels:
            return found
        if self.orientation == "bottom":
            return found.adjusted(-_FAR, 0, _FAR, 0)
        return found.adjusted(0, -_FAR, 0, _FAR)

    def _moved_inside(self, labels: Sequence[_Label]) -> list[_Label]:
        """Move labels at the ends inside; if they then touch others, leave out every other label.

        With only their neighbours left out, the last labels would be farther apart than the rest.
        """
        area, along = self.mapRectFromParent(self.geometry()), self.orientation == "bottom"
        moved = [(_moved_into(rect, area), flags, text) for rect, flags, text in labels]
        moved.sort(key=lambda each: each[0].center().x() if along else -each[0].center().y())
        if self.logMode:
            return self._with_room(moved)
        for every in range(1, len(moved)):
            # The last one stays: it shows how far the axis extends.
            kept = moved[::-1][::every]
            if len(self._with_room(kept)) == len(kept):
                return kept
        return self._with_room(moved)

    def _with_room(self, labels: Sequence[_Label]) -> list[_Label]:
        """Leave out labels that touch another, except the last and the first."""
        kept: list[_Label] = []
        gap = _BETWEEN_LABELS / 2 if self.orientation == "bottom" else 0
        for label in [*labels[-1:], *labels[:-1]]:
            room = label[0].adjusted(-gap, 0, gap, 0)
            if not any(room.intersects(other[0]) for other in kept):
                kept.append(label)
        return kept

    def tickValues(  # noqa: N802
        self,
        minVal: float,  # noqa: N803
        maxVal: float,  # noqa: N803
        size: float,
    ) -> list[tuple[float | None, list[float]]]:
        """Return ticks by level, with at least two labels and no more than fit."""
        if not self.logMode:
            found: list[tuple[float | None, list[float]]] = super().tickValues(minVal, maxVal, size)
            return self._readable(found, minVal, maxVal, size)
        height = QFontMetricsF(self.style["tickFont"] or QFont()).height()
        return log_ticks(minVal, maxVal, height * (maxVal - minVal) / max(size, 1.0))

    def _readable(
        self, levels: list[tuple[float | None, list[float]]], low: float, high: float, size: float
    ) -> list[tuple[float | None, list[float]]]:
        """Choose other labels if these would touch, are too few, or leave an end unlabelled."""
        spacing, labelled = levels[0] if levels else (None, [])
        length = high - low
        if not labelled or not spacing or not size > 0 or not 0 < length < math.inf:
            return levels
        room = _Room(self, low, size / length, size)
        fits = room.for_equals(labelled, spacing)
        unlabelled = max(labelled[0] - low, high - labelled[-1])
        if fits and len(labelled) > 2 and unlabelled <= _UNLABELLED * length:
            return levels
        step, chosen = _labels(room, low, high)
        if not chosen or (fits and len(chosen) <= len(labelled)):
            return levels
        # No finer ticks then: they would fill the wide gaps between the labels.
        return [(step, chosen), *(levels[1:] if fits else ())]

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float | None
    ) -> list[str]:
        """Return the labels of these ticks; on a logarithmic axis the values are exponents."""
        if self.logMode:
            return [_power(value) if spacing else "" for value in values]
        if spacing is None:
            return [_power(value) for value in values]
        scaled = [value * scale for value in values]
        form = self._form or _shortest_form(scaled, spacing * scale)
        if self._keeps_labels:
            self._levels.append((form, scaled, spacing * scale))
        return list(map(form.text, scaled))


class _Room:
    """Decides which labels of an axis fit side by side."""

    def __init__(self, axis: ShortAxis, low: float, scale: float, size: float) -> None:
        """Take the start of the axis, its pixels per unit and its length in pixels."""
        self._low, self._scale, self._size = low, scale, size
        self._metrics = QFontMetricsF(axis.style["tickFont"] or QFont())
        self._across = axis.orientation == "bottom"
        height = self._metrics.height()
        self._gap = _BETWEEN_LABELS if self._across else (_LINES_APART - 1.0) * height
        shortest = self._metrics.horizontalAdvance("0") if self._across else height
        self.least = (self._gap + shortest) / scale
        """Minimum distance between labels, in units of the axis."""

    def for_equals(self, values: Sequence[float], spacing: float) -> bool:
        """Return whether labels fit if all are as long as the longest."""
        longest = max(self._extents(values, spacing), default=0.0)
        return not self._across or longest + self._gap <= spacing * self._scale

    def holds(self, values: Sequence[float], spacing: float, *, tight: bool = False) -> bool:
        """Return whether the labels fit; those at the ends are moved inside."""
        reached, gap = -math.inf, self._gap / 2 if tight else self._gap
        for value, extent in zip(values, self._extents(values, spacing), strict=True):
            middle = (value - self._low) * self._scale
            start = max(min(middle - extent / 2, self._size - extent), 0.0)
            if start < reached + gap:
                return False
            reached = start + extent
        return reached <= self._size

    def _extents(self, values: Sequence[float], spacing: float) -> list[float]:
        if not self._across:
            return [self._metrics.height()] * len(values)
        form = _shortest_form(values, spacing)
        return [self._metrics.horizontalAdvance(form.text(value)) for value in values]


def _labels(room: _Room, low: float, high: float) -> tuple[float, list[float]]:
    """Return as many round numbers as fit, and their spacing or a fraction of it."""
    steps = [_round_step(room.least / _FINER)]
    while steps[-1] < high - low:
        steps.append(_round_step(1.5 * steps[-1]))
    for step in steps:
        values = _multiples(step, low, high)
        if len(values) > 1 and room.holds(values, step):
            return step, values
    for step in reversed(steps):
        values = _multiples(step, low, high)
        for every in range(2, len(values)):
            if room.holds(values[::every], step, tight=True):
                return step, values[::every]
    return steps[-1], []


def log_ticks(low: float, high: float, gap: float) -> list[tuple[float | None, list[float]]]:
    """Return ticks between two exponents: labelled ones, then (``None``) unlabelled ones.

    Labels are at least ``gap`` decades apart. They are at every decade or every few decades, and
    between decades if there is room.
    """
    decades = range(math.floor(low), math.ceil(high) + 1)
    every = max(1, math.ceil(gap))
    chosen = [float(decade) for decade in decades if decade % every == 0]
    for digits in (range(1, 10), (1, 2, 4, 6, 8), (1, 2, 5), (1, 3)):
        finer = [decade + math.log10(digit) for decade in decades for digit in digits]
        if all(after - before >= gap for before, after in pairwise(finer)):
            chosen = finer
            break
    labelled = [value for value in chosen if low <= value <= high]
    if len(labelled) < 2:
        labelled = _within_a_decade(low, high, gap)
    if len(labelled) < 2:
        labelled = _outermost(low, high, gap) or labelled
    bare = [decade + math.log10(digit) for decade in decades for digit in range(1, 10)]
    if len(decades) > _MANY_DECADES:
        bare = [float(decade) for decade in decades]
    rest = [value for value in bare if low <= value <= high and value not in labelled]
    return [(1.0, labelled), (None, rest)]


def _within_a_decade(low: float, high: float, gap: float) -> list[float]:
    """Return round numbers, as exponents, for a range with at most one power of ten."""
    start, end = 10.0**low, 10.0**high
    # Evenly spaced numbers are closest at the upper end of a logarithmic axis.
    least = max(end - 10.0 ** (high - gap), (end - start) / 8)
    if not 0.0 < least < math.inf:
        return []
    step = _round_step(least)
    first, last = math.ceil(start / step), math.floor(end / step)
    return [math.log10(number * step) for number in range(max(first, 1), last + 1)]


def _outermost(low: float, high: float, gap: float) -> list[float]:
    """Return the exponents of two round numbers near the ends, the roundest that fit."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    start, end = 10.0**low, 10.0**high
    choices = [
        [decade + math.log10(digit) for decade in decades for digit in digits]
        for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10))
    ]
    if 0.0 < (end - start) / 8 < math.inf:
        step = _round_step((end - start) / 8)
        choices.append([math.log10(each) for each in _multiples(step, start, end) if each > 0])
    for choice in choices:
        inside = [value for value in choice if low <= value <= high]
        # A label at an end is moved inside by half its height.
        if inside and min(inside[-1], high - gap / 2) - max(inside[0], low + gap / 2) >= gap:
            return [inside[0], inside[-1]]
    return []


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is ``least`` or more."""
    unit = 10.0 ** math.floor(math.log10(least))
    return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least * (1 - 1e-9))


def _multiples(step: float, low: float, high: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _moved_into(rect: QRectF, area: QRectF) -> QRectF:
    """Return a rectangle moved as little as possible to be inside an area."""
    right = min(rect.right(), area.right()) - rect.right()
    down = min(rect.bottom(), area.bottom()) - rect.bottom()
    right += max(area.left() - rect.left() - right, 0.0)
    down += max(area.top() - rect.top() - down, 0.0)
    return rect.translated(right, down)


def _power(exponent: float) -> str:
    """Return a power of ten as short text: 1e-3, 0.05, 2, 1,500, 1e4.

    Ticks are at round numbers: all digits beyond are errors of the logarithm.
    Exponents have a hyphen, as typed: a minus sign would be as wide as a digit.
    """
    digits, power = f"{10.0**exponent:.{_EXACT - 1}e}".split("e")
    if int(power) in _PLAIN:
        return f"{float(digits) * 10.0 ** int(power):,.{_EXACT}g}"
    return f"{float(digits):.{_EXACT}g}e{int(power)}"


def _shortest_form(values: Sequence[float], spacing: float) -> _Form:
    """Return the form that tells ticks apart whose longest label is the shortest."""
    largest = max(map(abs, values), default=0.0)
    if spacing < 1 and largest < 1e3:
        finest = math.floor(math.log10(spacing) + 1e-9) if spacing and largest else 0
        digits = math.floor(math.log10(largest)) - finest + 1 if largest else 0
        return _Form(1.0, "", f".{max(digits, 4)}g")
    forms = []
    for limit, unit in ((1e6, "M"), (1e3, "k"), (1.0, "")):
        if largest >= limit or not unit:
            decimals = max(0, math.ceil(-math.log10(spacing / limit) - 1e-9)) if spacing else 0
            forms.append(_Form(limit, unit, f",.{decimals}f"))

    def lengths(form: _Form) -> tuple[int, int]:
        # Without thousands separators, which are narrow.
        found = [len(form.text(value).replace(",", "")) for value in values]
        return max(found, default=0), sum(found)

    return min(forms, key=lengths)
