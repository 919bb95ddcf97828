"""Finds truncated texts and overlapping widgets in a window."""

from collections.abc import Iterator
from itertools import combinations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QDockWidget,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMainWindow,
    QPlainTextEdit,
    QPushButton,
    QSlider,
    QSplitter,
    QStackedWidget,
    QStyle,
    QStyleOptionComboBox,
    QTabBar,
    QToolButton,
    QWidget,
)

from studio.widgets.labels import ElidedLabel

_CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
)
_OWN_PARTS = (QAbstractItemView, QAbstractSpinBox, QComboBox, QHeaderView, QLineEdit, QTabBar)
"""Qt makes buttons and fields inside these."""


def clipped(top: QWidget) -> list[str]:
    """Return a sentence for each visible text that is cut off and in no tooltip."""
    found = [why for part in _shown(top) for why in _cuts(part)]
    return [*found, *_overlaps(top)]


def unreachable(top: QWidget, part: QWidget | None = None) -> list[str]:
    """Return a sentence for each control that can neither be seen nor scrolled to.

    ``part``: only controls in this part of the window.
    """
    found = []
    for control in (part or top).findChildren(QWidget):
        if not (isinstance(control, _CONTROLS) and control.isVisible()):
            continue
        if control.window() is not top or isinstance(control.parentWidget(), _OWN_PARTS):
            continue
        if _is_behind_a_tab(control):
            continue
        room, at = _room_of(control)
        if not room.contains(at):
            found.append(f"{_name(control)} “{control.accessibleName()}” at {at} is beyond {room}")
    return found


def arrows_of(top: QWidget) -> list[QToolButton]:
    """Return the visible arrows beside tabs that do not fit."""
    buttons = (each for bar in _tab_bars(top) for each in bar.findChildren(QToolButton))
    return [each for each in buttons if not each.visibleRegion().isEmpty()]


def _tab_bars(top: QWidget) -> list[QTabBar]:
    return [top] if isinstance(top, QTabBar) else top.findChildren(QTabBar)


def _is_behind_a_tab(control: QWidget) -> bool:
    holder: QWidget | None = control
    while holder is not None and not isinstance(holder, QDockWidget):
        holder = holder.parentWidget()
    return holder is not None and holder.visibleRegion().isEmpty()


def _room_of(control: QWidget) -> tuple[QRect, QRect]:
    """Return the visible area of the nearest clipping parent, and the control's area.

    A scrolling parent counts with all its contents, in the directions in which it scrolls.
    """
    holder = control.parentWidget()
    while holder is not None:
        above = holder.parentWidget()
        if isinstance(above, QAbstractScrollArea) and above.viewport() is holder:
            control, holder = above, above.parentWidget()
            continue
        at = QRect(control.mapTo(holder, QPoint()), control.size())
        if not holder.rect().contains(at) or holder.isWindow():
            return holder.rect(), at
        holder = above
    return control.rect(), control.rect()


def _shown(top: QWidget) -> list[QWidget]:
    return [
        part
        for part in top.findChildren(QWidget)
        if part.isVisible()
        and part.window() is top
        and not part.visibleRegion().isEmpty()
        # Qt's own arrows.
        and not isinstance(part.parentWidget(), QTabBar)
    ]


def _cuts(part: QWidget) -> Iterator[str]:  # noqa: C901  one case for each kind of widget
    text = ""
    if isinstance(part, ElidedLabel):
        # Its tooltip has the truncated text.
        return
    if isinstance(part, QLabel) and part.text() and part.pixmap().isNull():
        text, needed = part.text(), _of_label(part)
        if part.wordWrap():
            needed = QSize(part.minimumSizeHint().width(), part.heightForWidth(part.width()))
    elif isinstance(part, QToolButton | QPushButton) and part.text():
        text, needed = part.text(), part.sizeHint()
    elif isinstance(part, QAbstractButton):
        text, needed = part.text() or part.accessibleName(), part.sizeHint()
    elif isinstance(part, QComboBox):
        text, needed = part.currentText(), _of_combo(part)
    elif isinstance(part, QLineEdit):
        text = part.text() or part.placeholderText()
        needed = _of_line(part, text)
    elif isinstance(part, QTabBar):
        text, needed = "tabs", part.minimumSizeHint()
    elif isinstance(part, QHeaderView):
        yield from _of_header(part)
        return
    if text and _plain(text) not in _plain(part.toolTip()):
        short = needed.width() > part.width(), needed.height() > part.height()
        if any(short):
            has = part.size().toTuple()
            yield f"{_name(part)} “{_plain(text)}” needs {needed.toTuple()}, has {has}"
    if text and not _scrolls(part):
        room = part.parentWidget().rect()
        if not room.contains(part.geometry()):
            yield f"{_name(part)} “{_plain(text)}” at {part.geometry()} reaches beyond {room}"


def _of_label(label: QLabel) -> QSize:
    if label.textFormat() is not Qt.TextFormat.PlainText:
        return label.sizeHint()
    # The hint may be an earlier one.
    margins, metrics = label.contentsMargins(), label.fontMetrics()
    wide = margins.left() + margins.right() + metrics.horizontalAdvance(label.text())
    return QSize(wide, margins.top() + margins.bottom() + metrics.height())


def _of_combo(combo: QComboBox) -> QSize:
    option = QStyleOptionComboBox()
    combo.initStyleOption(option)
    room = combo.style().subControlRect(
        QStyle.ComplexControl.CC_ComboBox,
        option,
        QStyle.SubControl.SC_ComboBoxEditField,
        combo,
    )
    text = combo.fontMetrics().horizontalAdvance(combo.currentText())
    return QSize(combo.width() - room.width() + text, combo.fontMetrics().height())


def _of_line(line: QLineEdit, text: str) -> QSize:
    margins, metrics = line.textMargins(), line.fontMetrics()
    # Qt keeps two pixels at each side, and one for the cursor.
    inner = line.contentsRect().width() - margins.left() - margins.right() - 4
    around = line.width() - inner
    return QSize(around + metrics.horizontalAdvance(text), metrics.height())


def _of_header(header: QHeaderView) -> Iterator[str]:
    model = header.model()
    for section in range(header.count()):
        if header.isSectionHidden(section):
            continue
        text = str(model.headerData(section, header.orientation()) or "")
        needed = header.fontMetrics().horizontalAdvance(text) + 12
        if text and needed > header.sectionSize(section):
            name, width = _name(header.parentWidget()), header.sectionSize(section)
            yield f"{name} heads a column of {width} with “{text}”, {needed}"


def _overlaps(top: QWidget) -> Iterator[str]:
    for parent in [top, *_shown(top)]:
        if isinstance(parent, QStackedWidget | QMainWindow | QSplitter | QAbstractScrollArea):
            continue
        layout = parent.layout()
        if layout is None:
            continue
        managed = [
            child
            for child in parent.children()
            if isinstance(child, QWidget)
            and child.isVisible()
            and layout.indexOf(child) >= 0
            # For instance the legend of a plot without curves.
            and not (isinstance(child, QLabel) and not child.text())
        ]
        for one, other in combinations(managed, 2):
            both: QRect = one.geometry() & other.geometry()
            if both.width() > 1 and both.height() > 1:
                yield f"{_name(one)} lies over {_name(other)} in {_name(parent)}"


def _scrolls(part: QWidget) -> bool:
    holder = part.parentWidget()
    while holder is not None:
        if isinstance(holder, QAbstractScrollArea):
            return True
        holder = holder.parentWidget()
    return False


def _plain(text: str) -> str:
    document = QTextDocument()
    document.setHtml(text)
    return document.toPlainText().replace("\u200b", "")


def _name(part: QWidget) -> str:
    return part.objectName() or type(part).__name__
