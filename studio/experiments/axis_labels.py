"""Names and ends of parallel axes, written so that they do not overlap."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF

from studio.theme.theme import Theme

_UPRIGHT = 90


def in_lines(name: str) -> str:
    """Return a name with a word on each line."""
    return name.replace(" ", "\n")


class AxisLabels:
    """The labels of parallel axes: the name above the upper end, and both ends."""

    def __init__(
        self,
        names: Sequence[str],
        ends: Sequence[tuple[str, str]],
        theme: Theme,
        spacing: float,
    ) -> None:
        """Write the labels level; ``spacing`` is the distance of the axes in pixels."""
        self._names, self._spacing = names, spacing
        self.columns = [
            (
                _label(in_lines(name), theme.text, 1),
                _label(low, theme.muted, 0),
                _label(high, theme.muted, 1),
            )
            for name, (low, high) in zip(names, ends, strict=True)
        ]
        """Name, lower and upper end of each axis."""
        lift = max(_height(label) for label, _, _ in self.columns[::2])
        self.lifts = [lift * (column % 2) for column in range(len(names))]
        """Pixels by which each name is raised: neighbours would overlap."""
        for (label, _, _), name in zip(self.columns, names, strict=True):
            label.setToolTip(name)

    @property
    def overlap(self) -> bool:
        """Whether level labels would overlap each other or the border."""
        names, lows, highs = ([_extent(i).width() for i in row] for row in self._rows)
        return (
            any(max(row) > self._spacing for row in (lows, highs))
            # A name has the place of two.
            or max(names) > 2 * self._spacing
            or max(names[0], names[-1]) > self._spacing
        )

    def turn(self, longest: float) -> None:
        """Write the labels upright, with names of at most ``longest`` pixels."""
        self.lifts = [0.0] * len(self.columns)
        for (label, low, high), name in zip(self.columns, self._names, strict=True):
            font = QFontMetricsF(label.textItem.font())
            label.setText(font.elidedText(name, Qt.TextElideMode.ElideRight, longest))
            for item, start in ((label, 0), (low, 1), (high, 0)):
                item.setAngle(_UPRIGHT)
                item.setAnchor((start, 0.5))

    @property
    def heights(self) -> tuple[float, float, float]:
        """The pixels needed by the lower ends, the upper ends, and the names."""
        names, lows, highs = ([_height(item) for item in row] for row in self._rows)
        return max(lows), max(highs), max(map(sum, zip(names, self.lifts, strict=True)))

    @property
    def _rows(self) -> tuple[tuple[pg.TextItem, ...], ...]:
        return tuple(zip(*self.columns, strict=True))


def _label(text: str, colour: str, base: int) -> pg.TextItem:
    """Return a label centred above (1) or below (0) its place."""
    return pg.TextItem(text, color=colour, anchor=(0.5, base))


def _extent(item: pg.TextItem) -> QRectF:
    extent: QRectF = item.textItem.boundingRect()
    return extent


def _height(item: pg.TextItem) -> float:
    extent = _extent(item)
    return float(extent.width() if item.angle else extent.height())
