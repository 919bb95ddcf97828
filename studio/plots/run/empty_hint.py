"""The contents of a plot without data: a sentence over a faint example."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from studio.theme.theme import Theme
from studio.widgets.polyline import polyline

_FAINT = 0.3
_LOWER_PART = 0.6
"""Share of the height below the sentence."""
_MARGIN = 12


class EmptyHint(QWidget):
    """Says what a plot will show. The curve behind it is an example, not data: it has no axes."""

    def __init__(self, example: Sequence[float], theme: Theme, parent: QWidget) -> None:
        """Take the heights of a typical curve, from 0 to 1."""
        super().__init__(parent)
        self._example, self._theme = tuple(example), theme
        self._said = ("", "")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.label = QLabel()
        self.label.setProperty("role", "muted")
        self.label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.label.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_MARGIN, _MARGIN, _MARGIN, _MARGIN)
        layout.addWidget(self.label, 0, Qt.AlignmentFlag.AlignTop)

    @property
    def text(self) -> str:
        """The complete text."""
        return " ".join(filter(None, self._said))

    def say(self, text: str, more: str = "") -> None:
        """Show ``text``, and ``more`` if it fits."""
        if (text, more) != self._said:
            self._said = (text, more)
            self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Show only as much as fits: half a line is worse than none."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        room = self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        self.label.setText(self.text)
        if self.label.heightForWidth(room.width()) > room.height():
            self.label.setText(self._said[0])

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the example in the lower half, below the sentence."""
        below = self.height() * (1.0 - _LOWER_PART)
        if not self._example or self.label.geometry().bottom() > below + _MARGIN:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._theme.on_panel(QColor(self._theme.curve_1), _FAINT), 2))
        area = QRectF(self.rect().adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN))
        area.setTop(area.bottom() - _LOWER_PART * area.height())
        painter.drawPolyline(polyline(self._example, area, limits=(0.0, 1.0)))
        painter.end()
