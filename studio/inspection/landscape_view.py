"""The first critic over one or two dimensions of the action, in one state."""

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QRectF

from studio.formatting import format_number, typographic
from studio.plots.axis import ShortAxis
from studio.plots.small_plot import SmallPlot
from studio.theme.sizes import scaled
from td3core.analysis.inspection import Landscape
from td3core.text import Text, tr

_COLOURS = "viridis"
_DOT_PX = 11
_POLICY, _BEST = "#ffffff", "#ff5a36"
"""Visible on every colour of the map, in any theme."""


class _ColourBar(pg.ColorBarItem):  # type: ignore[misc]
    """A colour bar, labelled like the axes of plots."""

    def setAxisItems(self, axisItems: Any = None) -> None:  # noqa: N802, N803
        """Set the axes; the one with the numbers is a :class:`ShortAxis`."""
        super().setAxisItems({"right": ShortAxis("right"), **(axisItems or {})})


class LandscapeView(SmallPlot):
    """Two dimensions are an image with a colour bar, one is a curve."""

    def __init__(self) -> None:
        super().__init__("inspection_landscape", tr("Q₁ over the actions"))
        self.image = pg.ImageItem()
        self.plot.addItem(self.image)
        self.bar = _ColourBar(
            colorMap=pg.colormap.get(_COLOURS), interactive=False, width=scaled(12)
        )
        self.bar.setImageItem(self.image, insert_in=self.plot.getPlotItem())
        self._curve = pg.PlotDataItem()
        self.plot.addItem(self._curve)
        self.marks = pg.ScatterPlotItem()
        self.plot.addItem(self.marks)
        self.follow_theme()

    def follow_theme(self) -> None:
        """Apply the colours of the window's theme, also to the bar of colours and the curve."""
        super().follow_theme()
        # Not those of the axes: its ticks are drawn on its colours.
        self.bar.axis.setPen(self.theme.border)
        self.bar.axis.setTextPen(self.theme.muted)
        self._curve.setPen(self.theme.curve_1, width=2)

    def show_landscape(self, found: Landscape) -> None:
        """Show Q₁, the policy's action (a circle) and the best one (a cross)."""
        one = found.values.shape[1] == 1
        first, second = found.dims
        self.image.setVisible(not one)
        self.bar.setVisible(not one)
        self._curve.setVisible(one)
        self.plot.setLabel("bottom", tr("action {number}", number=first + 1))
        if one:
            self.plot.setLabel("left", tr("Q₁"))
            self._curve.setData(found.axis, found.values[:, 0])
            policy = (found.policy[0], found.policy_value)
            best = (found.best[0], found.best_value)
        else:
            self.plot.setLabel("left", tr("action {number}", number=second + 1))
            half = float(found.axis[1] - found.axis[0]) / 2
            # Each point is the centre of its square.
            side = 2 + 2 * half
            self.image.setImage(found.values, autoLevels=False)
            self.image.setRect(QRectF(-1 - half, -1 - half, side, side))
            low, high = float(found.values.min()), float(found.values.max())
            self.bar.setLevels((low, high if high > low else low + 1e-6))
            policy, best = found.policy, found.best
        self._mark(policy, best)
        self.plot.getViewBox().autoRange(padding=0.02 if not one else 0.08)

    def _mark(self, policy: tuple[float, float], best: tuple[float, float]) -> None:
        edge = pg.mkPen("#000000", width=1.5)
        spots = [
            {"pos": best, "symbol": "x", "brush": _BEST, "pen": edge, "size": scaled(_DOT_PX + 3)},
            {"pos": policy, "symbol": "o", "brush": _POLICY, "pen": edge, "size": scaled(_DOT_PX)},
        ]
        self.marks.setData(spots)


def in_words(found: Landscape) -> Text:
    """Compare the policy's action with that of the largest Q₁, and their values."""
    one = found.values.shape[1] == 1

    def point(place: tuple[float, float]) -> str:
        parts = place[:1] if one else place
        text = typographic(", ".join(f"{part:.2f}" for part in parts))
        return text if one else f"({text})"

    gain = found.best_value - found.policy_value
    if found.best == found.policy:
        return Text(
            "The policy's action {policy} has the largest Q₁ here, {value}.",
            policy=point(found.policy),
            value=format_number(found.policy_value),
        )
    return Text(
        "The policy takes {policy}, where Q₁ is {value}. Its largest value here, {best}, is at"
        " {place}: {gain} more.",
        policy=point(found.policy),
        value=format_number(found.policy_value),
        best=format_number(found.best_value),
        place=point(found.best),
        gain=format_number(gain),
    )
