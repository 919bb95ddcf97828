"""The visible range of a plot while its curves grow.

A range that moved with every point would require laying out ticks, labels and grid at each redraw,
which costs more than the curves. So a range grows in steps, and stays as long as the curves fit it
well.
"""

import math

Range = tuple[float, float]

Limits = tuple[float | None, float | None]
"""The ends of a y axis fixed by the user; None follows the curves."""

NO_LIMITS: Limits = (None, None)

_AHEAD = 0.12
"""Free space to the right of the curves, as a share of the last step."""

_MARGIN = 0.08
"""Free space above and below the curves, as a share of their height."""

_EDGE = 0.015
"""Minimum free space at the ends of a kept range, as a share of it: dots must not be cut off."""

_FILLED = 0.6
"""Smallest share of a range that its curves must fill."""


def steps_shown(last: float, end: float | None, most: float = math.inf) -> float:
    """Return the end of the x axis, for curves whose last step is ``last``.

    Args:
        last: the last step with data.
        end: the current end of the axis; None fits it closely to the curves.
        most: the length of the run; the axis needs no space beyond it.
    """
    if end is not None and _FILLED * end <= last <= (1.0 - _EDGE) * end:
        return end
    ahead = 0.02 if end is None else _AHEAD
    return max(min(last * (1.0 + ahead), max(1.02 * most, last)), 1.0)


def heights_shown(low: float, high: float, shown: Range | None) -> Range:
    """Return the range of the y axis, for curves between ``low`` and ``high``.

    ``shown`` is the current range, kept as long as it fits; None fits it closely.
    """
    height = high - low
    if shown is not None:
        edge = _EDGE * (shown[1] - shown[0])
        fits = shown[0] + edge <= low and high <= shown[1] - edge
        if fits and height >= _FILLED * (shown[1] - shown[0]):
            return shown
    # A flat curve also needs a margin, larger than the rounding of its values.
    margin = max(_MARGIN * height, 1e-6 * max(abs(low), abs(high)), 1e-9)
    if height <= 1e-9 * max(abs(low), abs(high)):
        margin = max(0.5 * abs(high), 0.5)
    return low - margin, high + margin


def limited(shown: Range, limits: Limits, logarithmic: bool) -> Range:
    """Return a range with the user's fixed ends where valid; in exponents if ``logarithmic``.

    A fixed end beyond the curves would reverse the axis: then the other end moves to keep the
    height.
    """
    fixed = [_on_axis(end, logarithmic) for end in limits]
    low = shown[0] if fixed[0] is None else fixed[0]
    high = shown[1] if fixed[1] is None else fixed[1]
    if low < high:
        return low, high
    height = shown[1] - shown[0]
    return (high - height, high) if fixed[0] is None else (low, low + height)


def _on_axis(end: float | None, logarithmic: bool) -> float | None:
    if end is None or not logarithmic:
        return end
    return math.log10(end) if end > 0.0 else None
