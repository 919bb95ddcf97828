"""Draws a run's name and, muted below it, its details."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.run_browser.tree_model import DETAIL

_AROUND = 8
"""Pixels of a row above and below its two lines."""

Index = QModelIndex | QPersistentModelIndex


class RunDelegate(QStyledItemDelegate):
    """Any cell as usual; one with a detail shows it in a second line."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        """Ask for two lines in each cell: the rows are of one height."""
        hint = super().sizeHint(option, index)
        return QSize(hint.width(), 2 * option.fontMetrics.height() + _AROUND)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        detail = index.data(DETAIL)
        if not detail:
            super().paint(painter, option, index)
            return
        self.initStyleOption(option, index)
        style, text = option.widget.style(), option.text
        part = QStyle.SubElement.SE_ItemViewItemText
        area = style.subElementRect(part, option, option.widget).adjusted(3, 0, -3, 0)
        option.text = ""
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        roles = QPalette.ColorRole
        # A style sheet's own palette has a paler one, hard to read.
        muted = QApplication.palette().color(roles.PlaceholderText)
        name_colour = option.palette.color(roles.HighlightedText if chosen else roles.Text)
        painter.save()
        painter.setFont(option.font)
        for line, colour, (place, room) in zip(
            (text, detail),
            (name_colour, name_colour if chosen else muted),
            _two_lines(area, option.fontMetrics.height()),
            strict=True,
        ):
            shown = option.fontMetrics.elidedText(line, Qt.TextElideMode.ElideRight, area.width())
            painter.setPen(colour)
            painter.drawText(place, room, shown)
        painter.restore()

    def createEditor(  # noqa: N802
        self, parent: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> QWidget:
        """Give an empty editor a placeholder."""
        editor = super().createEditor(parent, option, index)
        if isinstance(editor, QLineEdit):
            editor.setPlaceholderText("Name of this run")
            editor.setAccessibleName("Name of this run")
        return editor


def _two_lines(area: QRect, height: int) -> list[tuple[QRect, Qt.AlignmentFlag]]:
    """Return where two lines stand, centred together in a cell."""
    top = area.top() + (area.height() - 2 * height) // 2
    align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    return [(QRect(area.left(), top + n * height, area.width(), height), align) for n in (0, 1)]
