"""An axis for small plots."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from studio.formatting import typographic
from studio.theme.theme import Theme

_BETWEEN_LABELS = 6
"""Pixels between two labels of the x axis."""
_UNLABELLED = 0.25
"""Largest share of an axis without a label at either end."""
_LINES_APART = 1.8
"""Lines of text between two labels of the y axis that are as close as can be."""
_FAR = 1000.0
"""Pixels beyond an axis where pyqtgraph would drop no label."""
_PLAIN = range(-2, 4)
"""Powers of ten of numbers that are as short without an exponent."""
_MANY_DECADES = 12
"""With more decades than this, ticks between them would fill the plot."""


_Label = tuple[QRectF, Any, str]
"""Where a label is, how it is aligned, and what it reads."""


class ShortAxis(pg.AxisItem):  # type: ignore[misc]
    """An axis labelled 500, 20k, 1.5M: short enough for plots side by side."""

    _theme: Theme | None = None
    _full_name: str | None = None
    _laid_out: str | None = None
    _keeps_labels = False
    _name_style: Mapping[str, Any] = MappingProxyType({})

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self.setPen(pg.mkPen(theme.grid))
        self.setTextPen(pg.mkPen(theme.muted))

    def setLabel(self, text: Any = None, units: Any = None, **style: Any) -> None:  # noqa: N802
        """Name the axis; a name longer than the axis is cut off with an ellipsis."""
        self._full_name, self._name_style = text, style
        super().setLabel(text, units, **style)
        self._fit_name()

    def _updateLabel(self) -> None:  # noqa: N802
        """Lay the name out anew if it has changed; pyqtgraph does so a dozen times per plot."""
        name = self.labelString()
        if name != self._laid_out:
            self._laid_out = name
            super()._updateLabel()

    def resizeEvent(self, event: Any = None) -> None:  # noqa: N802
        """Show as much of the name as there is room for."""
        super().resizeEvent(event)
        if self._full_name:
            self._fit_name()

    def _fit_name(self) -> None:
        """Cut off what would reach beyond the ends of the axis."""
        room = self.height() if self.orientation in ("left", "right") else self.width()
        if not self._full_name or room <= 0:
            return
        font = QFont(self.label.font())
        size = str(self._name_style.get("font-size", ""))
        if size.endswith("pt"):
            font.setPointSizeF(float(size.removesuffix("pt")))
        metrics, mode = QFontMetricsF(font), Qt.TextElideMode.ElideRight
        shown = metrics.elidedText(self._full_name, mode, max(room - _BETWEEN_LABELS, 0))
        if shown != self.labelText:
            visible = self.label.isVisible()
            super().setLabel(shown, **self._name_style)
            self.showLabel(visible)

    def generateDrawSpecs(self, p: QPainter) -> Any:  # noqa: N802
        """Return what to draw: axis, ticks and labels, with ticks and grid in opaque colours.

        Qt draws pyqtgraph's translucent ones forty times slower. Labels that would reach beyond
        the axis, which pyqtgraph drops, are moved inside: the last tick has one.
        """
        self._keeps_labels = True
        specs = super().generateDrawSpecs(p)
        self._keeps_labels = False
        if specs is None or self._theme is None:
            return specs
        axis, ticks, labels = specs
        labels = self._moved_inside(labels)
        # Ticks of one level share a colour.
        pens: dict[int, QPen] = {}
        for pen, _, _ in ticks:
            colour = pen.color()
            if colour.rgba() not in pens:
                pens[colour.rgba()] = pg.mkPen(self._theme.on_panel(colour, colour.alphaF()))
        return axis, [(pens[pen.color().rgba()], *ends) for pen, *ends in ticks], labels

    def boundingRect(self) -> QRectF:  # noqa: N802
        """Return where the axis draws; pyqtgraph asks it, too, which labels have room."""
        found: QRectF = super().boundingRect()
        if not self._keeps_labels:
            return found
        if self.orientation == "bottom":
            return found.adjusted(-_FAR, 0, _FAR, 0)
        return found.adjusted(0, -_FAR, 0, _FAR)

    def _moved_inside(self, labels: Sequence[_Label]) -> list[_Label]:
        """Move labels at the ends inside; leave out their neighbours if they touched them."""
        area = self.mapRectFromParent(self.geometry())
        moved: list[_Label] = []
        others: list[_Label] = []
        for rect, flags, text in labels:
            place = _moved_into(rect, area)
            (others if place == rect else moved).append((place, flags, text))
        kept: list[_Label] = []
        # The last one first: it tells how far the axis reaches.
        for label in [*reversed(moved), *others]:
            gap = _BETWEEN_LABELS / 2 if self.orientation == "bottom" else 0
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
        """Return ticks by level; a logarithmic axis has no more labels than fit."""
        if not self.logMode:
            found: list[tuple[float | None, list[float]]] = super().tickValues(minVal, maxVal, size)
            found = self._with_room(found, size / max(maxVal - minVal, 1e-300))
            return self._up_to_the_ends(found, minVal, maxVal, size)
        height = QFontMetricsF(self.style["tickFont"] or QFont()).height()
        return log_ticks(minVal, maxVal, height * (maxVal - minVal) / max(size, 1.0))

    def _with_room(
        self, levels: list[tuple[float | None, list[float]]], scale: float
    ) -> list[tuple[float | None, list[float]]]:
        """Leave out labels that would touch; ``scale`` is in pixels per unit."""
        if self.orientation != "bottom" or not levels:
            return levels
        spacing, values = levels[0]
        if not spacing or not math.isfinite(spacing * scale):
            return levels
        metrics = QFontMetricsF(self.style["tickFont"] or QFont())
        widths = map(metrics.horizontalAdvance, self.tickStrings(values, 1.0, spacing))
        needed = max(widths, default=0.0) + _BETWEEN_LABELS
        if needed <= spacing * scale:
            return levels
        step = _round_step(needed / scale)
        return [(step, _multiples(step, values[0], values[-1]))]

    def _up_to_the_ends(
        self, levels: list[tuple[float | None, list[float]]], low: float, high: float, size: float
    ) -> list[tuple[float | None, list[float]]]:
        """Label as many ticks as have room where much of an axis would end without a label."""
        labelled = levels[0][1] if levels else []
        length = high - low
        if not labelled or not size > 0 or not 0 < length < math.inf:
            return levels
        if max(labelled[0] - low, high - labelled[-1]) <= _UNLABELLED * length:
            return levels
        metrics = QFontMetricsF(self.style["tickFont"] or QFont())
        needed = _LINES_APART * metrics.height()
        if self.orientation == "bottom":
            widths = map(metrics.horizontalAdvance, self.tickStrings([low, high], 1.0, length / 10))
            needed = max(widths) + _BETWEEN_LABELS
        step = _round_step(needed * length / size)
        finer = _multiples(step, low, high)
        return [(step, finer), *levels[1:]] if len(finer) > len(labelled) else levels

    def tickStrings(  # noqa: N802
        self, values: Sequence[float], scale: float, spacing: float | None
    ) -> list[str]:
        """Return the labels of these ticks; on a logarithmic axis the values are exponents."""
        if self.logMode:
            return [_power(value) if spacing else "" for value in values]
        if spacing is None:
            return [_power(value) for value in values]
        return [typographic(_short(value * scale, spacing * scale)) for value in values]


def log_ticks(low: float, high: float, gap: float) -> list[tuple[float | None, list[float]]]:
    """Return ticks between two exponents: those with a label, then (``None``) those without.

    Labels are at least ``gap`` decades apart. They are at every decade or every few decades, and
    between decades where there is room.
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
    bare = [decade + math.log10(digit) for decade in decades for digit in range(1, 10)]
    if len(decades) > _MANY_DECADES:
        bare = [float(decade) for decade in decades]
    rest = [value for value in bare if low <= value <= high and value not in labelled]
    return [(1.0, labelled), (None, rest)]


def _within_a_decade(low: float, high: float, gap: float) -> list[float]:
    """Return round numbers, as exponents, for a range with at most one power of ten."""
    start, end = 10.0**low, 10.0**high
    # Evenly spaced numbers are closest together at the upper end of a logarithmic axis.
    least = max(end - 10.0 ** (high - gap), (end - start) / 8)
    if not 0.0 < least < math.inf:
        return []
    step = _round_step(least)
    first, last = math.ceil(start / step), math.floor(end / step)
    return [math.log10(number * step) for number in range(max(first, 1), last + 1)]


def _round_step(least: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, ... that is ``least`` or more."""
    unit = 10.0 ** math.floor(math.log10(least))
    return next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= least * (1 - 1e-9))


def _multiples(step: float, low: float, high: float) -> list[float]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [number * step for number in range(first, last + 1)]


def _moved_into(rect: QRectF, area: QRectF) -> QRectF:
    """Return a rectangle moved as little as possible to lie inside an area."""
    right = min(rect.right(), area.right()) - rect.right()
    down = min(rect.bottom(), area.bottom()) - rect.bottom()
    right += max(area.left() - rect.left() - right, 0.0)
    down += max(area.top() - rect.top() - down, 0.0)
    return rect.translated(right, down)


def _power(exponent: float) -> str:
    """Return a power of ten with as few digits as it needs: 1e−3, 0.05, 2, 1500, 1e4."""
    digits, power = f"{10.0**exponent:.2e}".split("e")
    if int(power) in _PLAIN:
        return f"{float(digits) * 10.0 ** int(power):g}"
    return typographic(f"{float(digits):g}e{int(power)}")


def _short(value: float, spacing: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            decimals = max(0, math.ceil(-math.log10(spacing / limit) - 1e-9)) if spacing else 0
            return f"{value / limit:.{min(decimals, 3)}f}{unit}"
    return f"{value:.4g}" if spacing < 1 else f"{value:.0f}"
