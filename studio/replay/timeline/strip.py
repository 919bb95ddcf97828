"""The timeline below the picture: click, drag or press an arrow key to play another agent."""

import math
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QAccessibleEvent,
    QColor,
    QFocusEvent,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QToolTip

from studio.formatting import short_steps
from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.timeline.points import Mark, TimelinePoint
from studio.theme.sizes import sized_font
from studio.theme.theme import Theme
from studio.widgets.labels import plain_tip
from td3core.text import Text

_HEIGHT = 49
"""Height of the strip in pixels, without its text."""
_FOOT = 7.0
"""Height of the marks below the bars."""
_SIDE, _TOP = 8.0, 14.0
_FONT, _AROUND_TEXT = 10, 3
"""Pixels of the text's font, and of the space around it."""
_BAR, _STUB = 5.0, 3.0
_MARK = 4.0
_EMPTY = Text("Checkpoints of the run appear here")
_NAME = Text("Checkpoints of the run")
_STEP_KEYS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


class Timeline(QAbstractSlider):
    """A bar for each agent: x is its step, its height the evaluation return.

    A slider over the indices of the points, for its keys and for screen readers.
    """

    chosen = Signal(Path)
    """The user wants this agent to be played."""

    def __init__(self) -> None:
        super().__init__()
        self._points: Sequence[TimelinePoint] = ()
        self._low = self._high = 0.0
        """Range of the points' mean returns."""
        self._shown: Path | None = None
        self._gone_step: int | None = None
        """Step of the current agent, if its file now holds another one, or none."""
        self._theme: Theme | None = None
        self._showing = False
        self.setOrientation(Qt.Orientation.Horizontal)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setObjectName("replay_timeline")
        self.setAccessibleName(str(_NAME))
        self.setRange(0, 0)
        self.setPageStep(5)
        self.valueChanged.connect(self._on_value)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the size of a strip."""
        return QSize(200, _HEIGHT + math.ceil(self._text_height()))

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the size of the smallest useful strip."""
        return QSize(120, _HEIGHT + math.ceil(self._text_height()))

    def _text_height(self) -> float:
        return QFontMetricsF(sized_font(_FONT)).height() + _AROUND_TEXT

    def _base(self) -> float:
        """Return the y at which bars begin, with room for marks between them and the text."""
        return self.height() - self._text_height() - _FOOT

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        # The font may have changed, too.
        self.updateGeometry()
        self.update()

    # What is shown ------------------------------------------------------------------------------

    @property
    def points(self) -> Sequence[TimelinePoint]:
        """The agents, by step."""
        return self._points

    @property
    def current(self) -> TimelinePoint | None:
        """The current agent, if it is on the timeline."""
        if self._gone_step is not None:
            return next((p for p in self._points if p.env_steps == self._gone_step), None)
        return next((p for p in self._points if self._shown and p.holds(self._shown)), None)

    def show_points(self, points: Sequence[TimelinePoint]) -> None:
        """Show the agents of a run."""
        if points != self._points:
            self._points = points
            means = [p.mean_return for p in points if p.mean_return is not None]
            self._low, self._high = min(means, default=0.0), max(means, default=0.0)
            self._update_value()

    def show_agent(self, shown: ShownAgent) -> None:
        """Mark the current agent."""
        gone_step = shown.env_steps if shown.gone else None
        if (shown.path, gone_step) != (self._shown, self._gone_step):
            self._shown, self._gone_step = shown.path, gone_step
            self._update_value()

    def _update_value(self) -> None:
        current = self.current
        # Only moves by the user choose an agent.
        self._showing = True
        self.setRange(0, max(len(self._points) - 1, 0))
        if current is not None:
            self.setValue(list(self._points).index(current))
        self._showing = False
        self._describe(current)
        self.update()

    def _describe(self, point: TimelinePoint | None) -> None:
        text = str(_EMPTY)
        if self._points:
            shown = point.text if point else Text("none of them shown")
            count = len(self._points)
            text = str(
                Text.counted("{n} agent; {shown}", "{n} agents; {shown}", n=count, shown=shown)
            )
        if text != self.accessibleDescription():
            self.setAccessibleDescription(text)
            event = QAccessibleEvent(self, QAccessible.Event.DescriptionChanged)
            QAccessible.updateAccessibility(event)

    @Slot(int)
    def _on_value(self, index: int) -> None:
        if not self._showing and index < len(self._points):
            self._choose(self._points[index])

    def _choose(self, point: TimelinePoint) -> None:
        if point is not self.current:
            self._shown, self._gone_step = point.path, None
            self._update_value()
            self.chosen.emit(point.path)

    # Where a point is ---------------------------------------------------------------------------

    def x_of(self, point: TimelinePoint) -> float:
        """Return the position of an agent in pixels from the left."""
        last = max(self._points[-1].env_steps, 1)
        return _SIDE + (self.width() - 2 * _SIDE) * point.env_steps / last

    def height_of(self, point: TimelinePoint) -> float:
        """Return the height of an agent's bar in pixels."""
        if point.mean_return is None:
            return _STUB
        low, high = self._low, self._high
        share = (point.mean_return - low) / (high - low) if high > low else 1.0
        return 2 * _STUB + (self._base() - _TOP - 2 * _STUB) * share

    def point_at(self, x: float) -> TimelinePoint | None:
        """Return the agent nearest to a position."""
        return min(self._points, key=lambda p: abs(self.x_of(p) - x), default=None)

    # The user -----------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Play the agent under the mouse."""
        self.setFocus(Qt.FocusReason.MouseFocusReason)
        self.mouseMoveEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802
        """Play the agent that the mouse is dragged to."""
        point = self.point_at(event.position().x())
        if event.buttons() & Qt.MouseButton.LeftButton and point is not None:
            self._choose(point)

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Pass the wheel to the parent: otherwise agents would be loaded by accident."""
        event.ignore()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        """Choose with the keyboard; Up and Down are passed to the parent."""
        match event.key():
            case _ if not self._points:
                event.ignore()
            case Qt.Key.Key_Up | Qt.Key.Key_Down:
                event.ignore()
            # Not by the slider's value, which may already be there while another agent is shown.
            case Qt.Key.Key_Home:
                self._choose(self._points[0])
            case Qt.Key.Key_End:
                self._choose(self._points[-1])
            case key if self.current is None and key in _STEP_KEYS:
                # Another agent is shown: start from the newest one.
                self._choose(self._points[-1])
            case _:
                super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        """Describe the agent under the mouse in a tooltip."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            point = self.point_at(event.pos().x())
            tip = plain_tip(point.text if point else str(_EMPTY))
            QToolTip.showText(event.globalPos(), tip, self)
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Show the focus."""
        super().focusInEvent(event)
        self.update()

    # Drawing ------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the bars, their marks and the first and last step."""
        theme = self._theme
        if theme is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_frame(painter, theme)
        if not self._points:
            painter.setPen(QColor(theme.muted))
            painter.drawText(self.rect(), Qt.AlignmentFlag.AlignCenter, str(_EMPTY))
        else:
            self._paint_steps(painter, theme)
            current = self.current
            for point in self._points:
                self._paint_point(painter, theme, point, shown=point is current)
        painter.end()

    def _paint_frame(self, painter: QPainter, theme: Theme) -> None:
        painter.setPen(QColor(theme.accent if self.hasFocus() else theme.border))
        painter.setBrush(QColor(theme.field))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _paint_steps(self, painter: QPainter, theme: Theme) -> None:
        painter.setFont(sized_font(_FONT))
        painter.setPen(QColor(theme.muted))
        bottom = self._text_height()
        line = QRectF(_SIDE, self.height() - bottom, self.width() - 2 * _SIDE, bottom)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(line, middle | Qt.AlignmentFlag.AlignLeft, "0")
        last = short_steps(self._points[-1].env_steps)
        painter.drawText(line, middle | Qt.AlignmentFlag.AlignRight, last)
        current = self.current
        if current is not None:
            painter.setPen(QColor(theme.text))
            painter.drawText(line, Qt.AlignmentFlag.AlignCenter, current.text)

    def _paint_point(
        self, painter: QPainter, theme: Theme, point: TimelinePoint, *, shown: bool
    ) -> None:
        x, height = self.x_of(point), self.height_of(point)
        base = self._base()
        painter.setPen(Qt.PenStyle.NoPen)
        colour = theme.accent if shown else theme.curve_eval
        painter.setBrush(QColor(colour) if shown else theme.on_panel(QColor(colour), 0.55))
        painter.drawRect(QRectF(x - _BAR / 2, base - height, _BAR, height))
        self._paint_marks(painter, theme, point, QPointF(x, base - height))

    def _paint_marks(
        self, painter: QPainter, theme: Theme, point: TimelinePoint, top: QPointF
    ) -> None:
        """Draw marks by shape, not by colour alone."""
        above = QPointF(top.x(), top.y() - _MARK - 2)
        painter.setBrush(QColor(theme.text))
        if Mark.BEST in point.marks:
            painter.drawPolygon(_diamond(above))
        elif Mark.MANUAL in point.marks:
            painter.drawRect(QRectF(above.x() - 3, above.y() - 3, 6, 6))
        elif Mark.LAST in point.marks:
            painter.drawEllipse(above, 3.0, 3.0)
        if Mark.BRANCH in point.marks:
            foot = QPointF(top.x(), self._base() + 1)
            painter.drawPolygon(_triangle(foot))


def _diamond(at: QPointF) -> QPolygonF:
    corners = ((0.0, -_MARK), (_MARK, 0.0), (0.0, _MARK), (-_MARK, 0.0))
    return QPolygonF([at + QPointF(x, y) for x, y in corners])


def _triangle(at: QPointF) -> QPolygonF:
    return QPolygonF([at, at + QPointF(-_MARK, 6.0), at + QPointF(_MARK, 6.0)])
