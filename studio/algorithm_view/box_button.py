"""One box of the picture: a button with two lines that shows its description."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from studio.algorithm_view.boxes import Box
from studio.algorithm_view.readings import Reading
from studio.theme.sizes import scaled, sized_font
from studio.theme.theme import Theme
from studio.widgets.controls import describe
from studio.widgets.labels import plain_tip

_TITLE_PX, _VALUE_PX, _NOTE_PX = 11, 12, 11
_RADIUS = 7.0
_BAR = 4.0


class BoxButton(QAbstractButton):
    """Shows its description when chosen. A box without effect is dashed, a network has a bar."""

    def __init__(self, box: Box, parent: QWidget) -> None:
        super().__init__(parent)
        self._reading, self._off = Reading(), ""
        self._moved = False
        self._theme: Theme | None = None
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_box(box)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size with room for three lines."""
        return QSize(scaled(112), scaled(54))

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self.update()

    def show_box(self, box: Box) -> None:
        """Show the description of the box of this name in another algorithm."""
        self.box = box
        tip = plain_tip(f"{box.equation}\n{box.about}")
        describe(self, f"algorithm_{box.name}", str(box.title), tip)

    def show_reading(self, reading: Reading, *, off: str, moved: bool) -> None:
        """Show numbers; ``off``: why it has no effect; ``moved``: a network has changed."""
        self._reading, self._off, self._moved = reading, off, moved
        said = off or ", ".join(filter(None, (reading.value, reading.note)))
        self.setAccessibleDescription(f"{said} {self.box.equation}. {self.box.about}".strip())
        self.update()

    @property
    def reading(self) -> Reading:
        """The displayed lines."""
        return self._reading

    @property
    def off(self) -> str:
        """Why it has no effect; empty if it has one."""
        return self._off

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw frame and lines."""
        theme = self._theme
        if theme is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._draw_frame(painter, theme)
        inside = QRectF(self.rect()).adjusted(scaled(9), scaled(4), -scaled(5), -scaled(3))
        title, value, note = (sized_font(px) for px in (_TITLE_PX, _VALUE_PX, _NOTE_PX))
        title.setWeight(QFont.Weight.DemiBold)
        lines = [(title, str(self.box.title), theme.muted if self._off else theme.text)]
        if self._off:
            lines.append((note, self._off, theme.warn))
        elif self._reading == Reading():
            lines.append((note, str(self.box.equation), theme.muted))
        else:
            lines += [
                (value, self._reading.value, theme.accent),
                (note, self._reading.note, theme.muted),
            ]
        for font, text, colour in lines:
            painter.setFont(font)
            painter.setPen(QColor(colour))
            metrics = painter.fontMetrics()
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(inside.width()))
            painter.drawText(inside, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop, shown)
            inside.setTop(inside.top() + metrics.height())
        painter.end()

    def _draw_frame(self, painter: QPainter, theme: Theme) -> None:
        frame = QRectF(self.rect()).adjusted(1.5, 1.5, -1.5, -1.5)
        colour, width = theme.border, 1.0
        if self._moved:
            colour, width = theme.good, 2.0
        if self.hasFocus() or self.underMouse():
            colour, width = theme.accent, 2.0
        pen = QPen(QColor(colour), width)
        if self._off:
            pen.setStyle(Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.setBrush(QColor(theme.fill if self.isChecked() else theme.field))
        painter.drawRoundedRect(frame, _RADIUS, _RADIUS)
        if self.box.network and not self._off:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.good if self._moved else theme.curve_3))
            bar = QRectF(frame.left() + 2, frame.top() + 7, _BAR, frame.height() - 14)
            painter.drawRoundedRect(bar, _BAR / 2, _BAR / 2)
