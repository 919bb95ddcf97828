"""Which part of a plot to show while its curves grow.

A range that moved with every point would have ticks, labels and grid laid out anew at each redraw,
which costs more than the curves. So it grows in leaps, and stays while the curves fit it well.
"""

import math

Range = tuple[float, float]

_AHEAD = 0.12
"""Share of the steps taken that is left empty to the right, for those to come."""

_MARGIN = 0.08
"""Share of the curves' height that is left empty above and below them."""

_FILLED = 0.6
"""The least share of a range that its curves have to fill."""


def steps_shown(last: float, end: float | None, most: float = math.inf) -> float:
    """Return where the x axis is to end, for curves that have come to step ``last``.

    Parameters
    ----------
    end
        Where it ends now; None lets it fit the curves closely.
    most
        Where the run ends; there is no room needed beyond it.
    """
    if end is not None and _FILLED * end <= last <= end:
        return end
    ahead = 0.02 if end is None else _AHEAD
    return max(min(last * (1.0 + ahead), max(1.02 * most, last)), 1.0)


def heights_shown(low: float, high: float, shown: Range | None) -> Range:
    """Return which part of the y axis to show, for curves between ``low`` and ``high``.

    ``shown`` is the part that was chosen before; it is kept as long as it will do.
    """
    height = high - low
    if shown is not None:
        fits = shown[0] <= low and high <= shown[1]
        if fits and height >= _FILLED * (shown[1] - shown[0]):
            return shown
    # A level curve gets some room as well, more than its numbers' last digits.
    margin = max(_MARGIN * height, 1e-6 * max(abs(low), abs(high)), 1e-9)
    if height <= 1e-9 * max(abs(low), abs(high)):
        margin = max(0.5 * abs(high), 0.5)
    return low - margin, high + margin
