"""Labels for text from outside (names, notes, paths): shown literally and never too wide."""

import re
from collections.abc import Mapping
from html import escape

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QStyleOption, QWidget

_LONG_WORD = 30
_LONG_TIP = 80
_SHORT = 60
_LEAST = 4


def breakable(text: str) -> str:
    """Insert zero-width spaces, so that very long words can wrap."""
    return re.sub(rf"([^\s/-]{{{_LONG_WORD}}})(?=\S)", "\\1\u200b", text)


def shortened(name: str, most: int = _SHORT) -> str:
    """Leave out the middle of a name of more than ``most`` characters."""
    half = most // 2
    return name if len(name) <= most else f"{name[:half]}…{name[1 - half :]}"


def plain_tip(text: str) -> str:
    """Return a tooltip that shows a text literally, wrapped if long."""
    if "<" not in text and len(text) <= _LONG_TIP:
        return text
    # Qt wraps only rich text.
    lines = escape(breakable(text)).replace("\n", "<br>")
    return f"<qt>{lines}</qt>"


def plain_label(text: str = "") -> QLabel:
    """Return a label that shows a text literally."""
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    return label


def title_label(text: str) -> QLabel:
    """Return a heading within a form."""
    label = QLabel(text)
    label.setProperty("role", "title")
    return label


class ElidedLabel(QLabel):
    """A single line, elided if too long; the tooltip shows all of it."""

    def __init__(self, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight) -> None:
        super().__init__()
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:  # noqa: N802
        """Show a text with its line breaks replaced by spaces."""
        super().setText(" ".join(text.splitlines()))
        self.setToolTip(plain_tip(text))

    @property
    def shown(self) -> str:
        """The part of the text that fits."""
        room, indent = self.contentsRect().width(), max(self.indent(), 0)
        found = self.fontMetrics().elidedText(self.text(), self._mode, room - indent)
        # A letter or two of a long text are worse than none.
        return found if found == self.text() or len(found) > _LEAST else ""

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return zero width: the label gives way to its neighbours."""
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the part that fits."""
        painter, option = QPainter(self), QStyleOption()
        option.initFrom(self)
        style = self.style()
        style.drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option, painter, self)
        style.drawItemText(
            painter,
            self.contentsRect(),
            int(self.alignment()),
            self.palette(),
            self.isEnabled(),
            self.shown,
            self.foregroundRole(),
        )
        painter.end()


class SteadyLabels(QWidget):
    """Labels side by side whose frequently changing texts do not affect their positions.

    In a layout, each change would lay out and paint the whole window again.
    """

    def __init__(self, labels: Mapping[QLabel, int], gap: int = 0) -> None:
        """Give each of ``labels`` its share of the width, with ``gap`` pixels between them."""
        super().__init__()
        self._labels, self._gap = dict(labels), gap
        for label in labels:
            label.setParent(self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the height of a line."""
        return QSize(0, max(label.minimumSizeHint().height() for label in self._labels))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Give each label its share of the width."""
        super().resizeEvent(event)
        room = self.width() - self._gap * (len(self._labels) - 1)
        left, total = 0, sum(self._labels.values())
        for label, share in self._labels.items():
            width = room * share // total
            # A label of fixed size requests no layout for a new text.
            label.setFixedSize(width, self.height())
            label.move(left, 0)
            left += width + self._gap
