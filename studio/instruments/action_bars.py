"""The action at one step: a bar per dimension, within the environment's bounds."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.formatting import format_tick
from studio.instruments.instrument import Instrument
from studio.theme.sizes import scale, scaled, sized_font
from studio.theme.theme import Theme
from studio.widgets.labels import plain_tip
from td3core.arrays import Doubles, Floats
from td3core.playing.numbers import SATURATED, AgentSpec, EpisodeNumbers, in_bounds
from td3core.text import Text, tr

# With the usual font:
_FONT_PX = 11
_MOST_ROW_PX, _LEAST_ROW_PX = 24.0, 2.0
_LEAST_TEXT_PX = 12.0
_NUMBER_PX = 46
_BOUND_PX = 34
_LEAST_WIDTH_PX = 220
"""Width from which the bounds are shown, too."""


class ActionInstrument(Instrument):
    """A bar per dimension of the action."""

    name = "actions"
    title = Text("Actions")
    help = Text(
        "The action that led to the picture, one bar for each dimension between the environment's"
        " bounds: low + (a + 1)/2 × (high − low) for the actor's a in [−1, 1]. The bar starts in"
        " the middle. MIN and MAX mark saturation, |a| ≥ 0.99: the actor is at the bound."
    )

    def __init__(self) -> None:
        super().__init__()
        self.bars = ActionBars()
        self.bars.setToolTip(plain_tip(str(self.help)))
        self._body.addWidget(self.bars, 1)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.bars.set_theme(theme)

    def show_agent(self, spec: AgentSpec) -> None:
        """Use the bounds of another environment."""
        self.bars.show_bounds(spec)

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show the action of a step."""
        action = numbers.action[step - numbers.first]
        self.bars.show_action(action)
        self.describe_values(self.bars.described)
        saturated = self.bars.saturated
        self.note.setText(tr("{count} saturated", count=saturated) if saturated else "")

    def clear(self) -> None:
        """Show nothing."""
        super().clear()
        self.bars.show_action(None)
        self.note.clear()


class ActionBars(QWidget):
    """The bars. If there are too many for text, only the bars are drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._theme: Theme | None = None
        self._spec: AgentSpec | None = None
        self._action: Floats | None = None
        self._values: Doubles = np.empty(0)
        self._scale = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size at which four bars have room for their numbers."""
        return QSize(scaled(200), scaled(120))

    @property
    def saturated(self) -> int:
        """Number of dimensions at a bound."""
        action = self._action
        return 0 if action is None else int(np.count_nonzero(np.abs(action) >= SATURATED))

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme, self._scale = theme, scale()
        self.setFont(sized_font(_FONT_PX))
        self.setMinimumSize(scaled(90), scaled(44))
        self.update()

    def show_bounds(self, spec: AgentSpec) -> None:
        """Use the bounds of another environment."""
        self._spec = spec
        self.show_action(None)

    def show_action(self, action: Floats | None) -> None:
        """Show an action (act_dim,) in [-1, 1], or none."""
        known = action is not None and self._spec is not None
        self._action = action if known else None
        self._values = np.empty(0)
        if action is not None and self._spec is not None:
            self._values = in_bounds(action, self._spec)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw a row per dimension."""
        if self._theme is None:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        if self._action is not None:
            share = self.height() / len(self._action)
            row = min(max(share, _LEAST_ROW_PX), self._scale * _MOST_ROW_PX)
            for number in range(min(len(self._action), int(self.height() / row))):
                area = QRectF(0.0, number * row, self.width(), row)
                self._draw_row(painter, self._theme, area, number)
        painter.end()

    def _draw_row(self, painter: QPainter, theme: Theme, area: QRectF, number: int) -> None:
        assert self._action is not None
        written = area.height() >= self._scale * _LEAST_TEXT_PX
        gap = 2.0 if written else 0.5
        value = self._scale * _NUMBER_PX if written else 0.0
        bound = self._scale * _BOUND_PX if written and self._has_bounds else 0.0
        track = area.adjusted(value + bound, gap, -max(bound, 2), -gap)
        action = float(self._action[number])
        saturated = abs(action) >= SATURATED
        painter.fillRect(track, QColor(theme.window))
        centre = track.center().x()
        end = centre + action * track.width() / 2
        bar = QRectF(min(centre, end), track.top(), abs(end - centre), track.height())
        painter.fillRect(bar, QColor(theme.warn if saturated else theme.curve_1))
        painter.setPen(QColor(theme.muted))
        painter.drawLine(QPointF(centre, track.top()), QPointF(centre, track.bottom()))
        if written:
            self._write(painter, theme, area, track, number)

    def described(self) -> str:
        """Return the values as text, with the bounds reached."""
        return ", ".join(
            f"{format_tick(value)} {self._bound_reached(number)}".rstrip()
            for number, value in enumerate(self._values)
        )

    def _bound_reached(self, number: int) -> str:
        """Return MIN or MAX for a saturated dimension, else nothing."""
        assert self._action is not None
        action = self._action[number]
        if abs(action) < SATURATED:
            return ""
        return tr("MAX") if action > 0 else tr("MIN")

    @property
    def _has_bounds(self) -> bool:
        return self.width() >= self._scale * _LEAST_WIDTH_PX

    def _write(
        self, painter: QPainter, theme: Theme, area: QRectF, track: QRectF, number: int
    ) -> None:
        assert self._spec is not None
        assert self._action is not None
        middle = Qt.AlignmentFlag.AlignVCenter
        right, left = Qt.AlignmentFlag.AlignRight | middle, Qt.AlignmentFlag.AlignLeft | middle
        number_width = self._scale * _NUMBER_PX
        value = QRectF(0.0, area.top(), number_width, area.height())
        painter.setPen(QColor(theme.text))
        painter.drawText(value.adjusted(0, 0, -5, 0), right, format_tick(self._values[number]))
        if self._has_bounds:
            painter.setPen(QColor(theme.muted))
            low, high = self._spec.action_low[number], self._spec.action_high[number]
            between = area.adjusted(number_width, 0, track.left() - area.right() - 3, 0)
            painter.drawText(between, right, format_tick(low))
            painter.drawText(area.adjusted(track.right() + 3, 0, 0, 0), left, format_tick(high))
        if word := self._bound_reached(number):
            high = self._action[number] > 0
            width = QFontMetricsF(painter.font()).horizontalAdvance(word)
            room = track.adjusted(4, 0, -4, 0)
            painter.setPen(QColor(theme.on_accent))
            if width < room.width() / 2:
                painter.drawText(room, right if high else left, word)
