"""Draws runs: distinguishing facts, common ones muted below them, and a curve of evaluations."""

from PySide6.QtCore import QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from studio.run_browser.columns import RunColumn, told_below
from studio.run_browser.sparklines import Sparklines
from studio.run_browser.tree_model import LINES, ROW
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.model_index import Index
from studio.widgets.polyline import paint_sparkline
from td3core.text import tr

_AROUND = 8
"""Pixels above and below the two lines of a row."""
ICON_ONLY = 34
"""Width of a column of states shown as icons only."""


class RunDelegate(QStyledItemDelegate):
    """Draws two lines in the first column, and a curve of evaluations; other cells as usual."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.sparklines = Sparklines(self)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._colour = QColor(theme.curve_eval)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Return a height of two lines for every cell: all rows are equally high."""
        hint = super().sizeHint(option, index)
        return QSize(hint.width(), 2 * option.fontMetrics.height() + _AROUND)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        if index.data(LINES):
            self._paint_lines(painter, option, index)
            return
        super().paint(painter, option, index)
        if index.column() == RunColumn.CURVE:
            self._paint_curve(painter, option, index)

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:  # noqa: N802
        """Show the state by its icon alone if the column is narrow."""
        super().initStyleOption(option, index)
        if index.column() == RunColumn.STATE and option.rect.width() < scaled(ICON_ONLY) + _AROUND:
            option.text = ""

    def _paint_curve(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        values = self.sparklines.values(index.data(ROW))
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        highlighted = option.palette.color(QPalette.ColorRole.HighlightedText)
        area = QRectF(option.rect).adjusted(6, 7, -6, -7)
        paint_sparkline(painter, values, area, highlighted if chosen else self._colour)

    def _paint_lines(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        self.initStyleOption(option, index)
        style = option.widget.style()
        part = QStyle.SubElement.SE_ItemViewItemText
        area = style.subElementRect(part, option, option.widget).adjusted(3, 0, -3, 0)
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        roles = QPalette.ColorRole
        # The palette of a widget with a style sheet has a paler placeholder, hard to read.
        muted = QApplication.palette().color(roles.PlaceholderText)
        name_colour = option.palette.color(roles.HighlightedText if chosen else roles.Text)
        painter.save()
        painter.setFont(option.font)
        for line, colour, (place, room) in zip(
            shown_lines(index, option.widget, option.fontMetrics, area.width()),
            (name_colour, name_colour if chosen else muted),
            _two_lines(area, option.fontMetrics.height()),
            strict=True,
        ):
            painter.setPen(colour)
            painter.drawText(place, room, line)
        painter.restore()

    def createEditor(  # noqa: N802
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QWidget:
        """Give an empty editor a placeholder."""
        editor = super().createEditor(parent, option, index)
        if isinstance(editor, QLineEdit):
            editor.setPlaceholderText(tr("Name of this run"))
            editor.setAccessibleName(tr("Name of this run"))
        return editor


def shown_lines(index: Index, view: QWidget, metrics: QFontMetrics, width: int) -> tuple[str, str]:
    """Return the two lines of a cell, elided to this width in pixels.

    Names differ at both ends, so they are cut in the middle; the line below is cut at its end.
    """
    name, about = index.data(LINES)
    below = (told_below(index.data(ROW), hidden_columns(view)), about)
    modes = Qt.TextElideMode
    return (
        metrics.elidedText(name, modes.ElideMiddle, width),
        metrics.elidedText(" · ".join(filter(None, below)), modes.ElideRight, width),
    )


def hidden_columns(view: QWidget) -> list[RunColumn]:
    """Return the columns that are hidden because the list is narrow."""
    return [each for each in RunColumn if isinstance(view, QTreeView) and view.isColumnHidden(each)]


def _two_lines(area: QRect, height: int) -> list[tuple[QRect, Qt.AlignmentFlag]]:
    """Return the areas of two lines, centred together in a cell."""
    top = area.top() + (area.height() - 2 * height) // 2
    align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    return [(QRect(area.left(), top + n * height, area.width(), height), align) for n in (0, 1)]
