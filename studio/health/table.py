"""The quantities of a run with their current values, small curves and healthy ranges."""

from dataclasses import dataclass
from enum import IntEnum
from html import escape
from typing import Any

import numpy as np
from PySide6.QtCore import (
    QAbstractTableModel,
    QObject,
    QRectF,
    Qt,
)
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from studio.formatting import format_number, format_tick
from studio.health.quantities import QUANTITIES, Quantity
from studio.session.curves import RunCurves
from studio.session.series import thinned
from studio.theme.theme import Theme
from studio.widgets.model_index import ROOT, Index
from studio.widgets.polyline import paint_sparkline
from td3core.analysis.advice import Rule
from td3core.text import Text, tr

CURVE = Qt.ItemDataRole.UserRole
_NONE = "–"
_POINTS = 60


class HealthColumn(IntEnum):
    """The columns of the table."""

    NAME = 0
    VALUE = 1
    CURVE = 2
    RANGE = 3


_HEADINGS = {
    HealthColumn.NAME: Text("Quantity"),
    HealthColumn.VALUE: Text("Now"),
    HealthColumn.CURVE: Text("Trend"),
    HealthColumn.RANGE: Text("Healthy"),
}


@dataclass(frozen=True, slots=True)
class _Row:
    quantity: Quantity
    value: float | None = None
    curve: tuple[float, ...] = ()


class HealthTable(QAbstractTableModel):
    """One row per quantity."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows = [_Row(quantity) for quantity in QUANTITIES]
        self._rules: dict[str, list[Rule]] = {}
        self._broken: set[str] = set()
        self.is_old = False
        """Whether the run trained without measuring its health, in an earlier version."""

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self._announce()

    def show(self, curves: RunCurves, rules: tuple[Rule, ...], broken: set[str]) -> None:
        """Show the known values of a run; ``broken`` quantities are out of range."""
        self._rules = {}
        for rule in rules:
            self._rules.setdefault(rule.quantity, []).append(rule)
        self._broken = broken
        # Broken quantities come first.
        quantities = sorted(QUANTITIES, key=lambda quantity: quantity.column not in broken)
        self._rows = [_measured(quantity, curves) for quantity in quantities]
        known = any(row.value is not None for row in self._rows if not row.quantity.always)
        self.is_old = len(curves.training) > 0 and not known
        self._announce()

    @property
    def unmeasured(self) -> list[int]:
        """The rows without a value."""
        return [number for number, row in enumerate(self._rows) if row.value is None]

    def _announce(self) -> None:
        last = self.index(len(self._rows) - 1, len(HealthColumn) - 1)
        self.dataChanged.emit(self.index(0, 0), last)

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of quantities."""
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Return the number of columns."""
        return 0 if parent.isValid() else len(HealthColumn)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column."""
        if orientation is Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return str(_HEADINGS[HealthColumn(section)])
        if role == Qt.ItemDataRole.TextAlignmentRole and section == HealthColumn.VALUE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the data of a cell."""
        row, column = self._rows[index.row()], HealthColumn(index.column())
        if role == CURVE and column is HealthColumn.CURVE:
            return row.curve
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(row, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column)
        if role == Qt.ItemDataRole.AccessibleTextRole and self._text(row, column) == _NONE:
            return tr("not measured")
        if role == Qt.ItemDataRole.ForegroundRole:
            if row.value is None or column is HealthColumn.RANGE:
                return QColor(self._theme.muted)
            if row.quantity.column in self._broken:
                return QColor(self._theme.warn)
        if role == Qt.ItemDataRole.TextAlignmentRole and column is HealthColumn.VALUE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def _text(self, row: _Row, column: HealthColumn) -> str:
        match column:
            case HealthColumn.NAME:
                return str(row.quantity.title)
            case HealthColumn.VALUE:
                if row.value is None:
                    return tr("not measured") if self.is_old else _NONE
                return format_number(row.value)
            case HealthColumn.RANGE:
                return _range(self._rules.get(row.quantity.column, []))
        return ""

    def _tip(self, row: _Row, column: HealthColumn) -> str:
        rules = self._rules.get(row.quantity.column, [])
        if column is HealthColumn.RANGE and rules:
            reasons = "<br><br>".join(str(rule.reason) for rule in rules)
            return f"<qt>{reasons}</qt>"
        meaning = escape(str(row.quantity.meaning), quote=False)
        told = f"{meaning[:1].upper()}{meaning[1:]}"
        healthy = tr("Healthy: {range}", range=_range(rules)) if rules else ""
        missing = tr("Not measured") if row.value is None else ""
        return f"<qt>{'<br>'.join(filter(None, (told, healthy, missing)))}</qt>"


def _measured(quantity: Quantity, curves: RunCurves) -> _Row:
    series = curves.evaluations if quantity.of_evaluations else curves.training
    values = series.column(quantity.column)
    if quantity.minus:
        values = values - series.column(quantity.minus)
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return _Row(quantity)
    _, drawn = thinned(known.astype(np.float64), values[known], _POINTS)
    return _Row(quantity, float(values[known[-1]]), tuple(drawn.tolist()))


def _range(rules: list[Rule]) -> str:
    high = min((rule.threshold for rule in rules if rule.is_upper), default=None)
    low = max((rule.threshold for rule in rules if not rule.is_upper), default=None)
    if high is not None and low is not None:
        return tr("{low} to {high}", low=format_tick(low), high=format_tick(high))
    if high is not None:
        return tr("at most {high}", high=format_tick(high))
    return tr("at least {low}", low=format_tick(low)) if low is not None else ""


class CurveDelegate(QStyledItemDelegate):
    """Draws the curve of a quantity."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        super().paint(painter, option, index)
        area = QRectF(option.rect).adjusted(6, 4, -6, -4)
        paint_sparkline(painter, index.data(CURVE) or (), area, QColor(self._theme.accent))
