"""Draws a run's name with, muted after it, what tells it from the others."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, Qt
from PySide6.QtGui import QPainter, QPalette
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.runs_model import DETAIL

_SHARE = 0.6
"""Of the cell, for the detail: a long name must not push it out."""


class RunDelegate(QStyledItemDelegate):
    """Any cell as usual; one with a detail shows it after its text."""

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
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
        name, rest = split(text, f" · {detail}", area.width(), option)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        roles = QPalette.ColorRole
        painter.save()
        painter.setFont(option.font)
        align = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setPen(option.palette.color(roles.HighlightedText if chosen else roles.Text))
        painter.drawText(area, align, name)
        # A style sheet's own palette has a paler one, hard to read.
        muted = QApplication.palette().color(roles.PlaceholderText)
        painter.setPen(option.palette.color(roles.HighlightedText) if chosen else muted)
        left = area.left() + option.fontMetrics.horizontalAdvance(name)
        painter.drawText(QRect(left, area.top(), area.right() - left, area.height()), align, rest)
        painter.restore()


def split(text: str, detail: str, width: int, option: QStyleOptionViewItem) -> tuple[str, str]:
    """Return how much of a name and of its detail a cell has room for."""
    metrics, mode = option.fontMetrics, Qt.TextElideMode.ElideRight
    kept = min(metrics.horizontalAdvance(detail), int(_SHARE * width))
    name = metrics.elidedText(text, mode, width - kept)
    return name, metrics.elidedText(detail, mode, width - metrics.horizontalAdvance(name))
