"""The observations of an episode: a row per dimension."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent, qRgb
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.instruments.chart import polygon
from studio.instruments.instrument import Instrument
from studio.instruments.picture_cache import PictureCache
from studio.theme.sizes import scale, scaled
from studio.theme.theme import Theme
from studio.widgets.labels import plain_tip
from td3core.arrays import Floats
from td3core.playing.numbers import AgentSpec, EpisodeNumbers
from td3core.text import Text

_LEAST_ROW_PX = 9.0
"""Lines in lower rows would be unreadable."""
_MOST_COLUMNS = 160
_NAME_PX = 24


class ObservationInstrument(Instrument):
    """Every dimension of the observation over the episode."""

    name = "observations"
    first_on = False
    title = Text("Observations")
    help = Text(
        "One row for each dimension of the observation, over the episode, as the environment"
        " returns it. Each row is scaled by the smallest and largest value of its dimension so far,"
        " (s − min)/(max − min). Where there are too many rows for lines, brightness shows the"
        " value. The vertical line is the observation that the action in the picture answers."
    )

    def __init__(self) -> None:
        super().__init__()
        self.chart = ObservationChart()
        self.chart.setToolTip(plain_tip(str(self.help)))
        self._body.addWidget(self.chart, 1)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.chart.set_theme(theme)

    def show_agent(self, spec: AgentSpec) -> None:
        """Forget the values of another agent."""
        self.chart.forget(spec.obs_dim)
        dimensions = Text.counted("{n} dimension", "{n} dimensions", n=spec.obs_dim)
        self.note.setText(str(dimensions))

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show the episode, with a cursor at a step."""
        self.chart.show_numbers(numbers, step)

    def clear(self) -> None:
        """Show nothing."""
        super().clear()
        self.chart.clear()


class ObservationChart(QWidget):
    """The rows: lines if there is room, else brightness."""

    def __init__(self) -> None:
        super().__init__()
        self._theme: Theme | None = None
        self._numbers: EpisodeNumbers | None = None
        self._cursor = 0.0
        self._scaled_rows = (-1, 0)
        self._cache = PictureCache(self)
        self.forget(0)
        self._scale = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return a size at which a dozen lines can be read."""
        return QSize(scaled(220), scaled(120))

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme, self._scale = theme, scale()
        self.setMinimumSize(scaled(90), scaled(44))
        self._cache.forget()
        self.update()

    def forget(self, obs_dim: int) -> None:
        """Forget the smallest and largest values."""
        self._low = np.full(obs_dim, np.inf, np.float32)
        self._high = np.full(obs_dim, -np.inf, np.float32)
        self.clear()

    def clear(self) -> None:
        """Show nothing."""
        self._numbers = None
        self.update()

    def show_numbers(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show an episode, with a cursor at a step."""
        playback_id, last = self._scaled_rows
        # Only the new rows can extend the limits.
        known = max(0, last - numbers.first + 1) if playback_id == numbers.playback_id else 0
        new = numbers.obs[known:]
        if len(new):
            np.minimum(self._low, new.min(axis=0), out=self._low)
            np.maximum(self._high, new.max(axis=0), out=self._high)
        self._scaled_rows = numbers.playback_id, numbers.last
        self._numbers = numbers
        self._cursor = (step - numbers.first) / max(numbers.count - 1, 1)
        self.update()

    def columns(self) -> Floats:
        """Return scaled observations (columns, obs_dim), 0 to 1; at most ``_MOST_COLUMNS``."""
        assert self._numbers is not None
        obs = self._numbers.obs
        if len(obs) > _MOST_COLUMNS:
            obs = obs[np.linspace(0, len(obs) - 1, _MOST_COLUMNS).astype(np.intp)]
        spread = self._high - self._low
        scaled = obs - self._low
        np.divide(scaled, spread, out=scaled, where=spread > 0)
        # A constant is drawn in the middle.
        scaled[:, spread <= 0] = 0.5
        return scaled

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the cached rows, and the cursor."""
        if self._theme is None:
            return
        painter = QPainter(self)
        numbers, version = self._numbers, None
        if numbers is not None:
            version = numbers.playback_id, numbers.first, numbers.count
        painter.drawPixmap(0, 0, self._cache.picture(numbers is None, version, self._draw_rows))
        if numbers is not None and numbers.count:
            plot = self._plot()
            x = plot.left() + self._cursor * plot.width()
            painter.setPen(QColor(self._theme.text))
            painter.drawLine(QPointF(x, plot.top()), QPointF(x, plot.bottom()))
        painter.end()

    def _plot(self) -> QRectF:
        return QRectF(self.rect()).adjusted(self._scale * _NAME_PX, 1, -4, -1)

    def _draw_rows(self, painter: QPainter) -> None:
        assert self._theme is not None
        painter.fillRect(self.rect(), QColor(self._theme.panel))
        if self._numbers is None or not self._numbers.count:
            return
        rows, plot = self.columns().T, self._plot()
        painter.fillRect(plot, QColor(self._theme.window))
        lines = plot.height() / len(rows) >= self._scale * _LEAST_ROW_PX
        (self._draw_lines if lines else _draw_image)(painter, self._theme, plot, rows)

    @staticmethod
    def _draw_lines(painter: QPainter, theme: Theme, plot: QRectF, rows: Floats) -> None:
        height = plot.height() / len(rows)
        across = np.linspace(plot.left(), plot.right(), rows.shape[1])
        name = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        font = painter.font()
        font.setPixelSize(int(min(height, scaled(11))))
        painter.setFont(font)
        for number, row in enumerate(rows):
            top = plot.top() + number * height
            painter.setPen(QColor(theme.curve_1))
            painter.drawPolyline(polygon(across, top + 1 + (1.0 - row) * (height - 3)))
            painter.setPen(QColor(theme.muted))
            painter.drawText(QRectF(0, top, plot.left() - 4, height), name, str(number + 1))


def _draw_image(painter: QPainter, theme: Theme, plot: QRectF, rows: Floats) -> None:
    levels = np.ascontiguousarray(rows * 255.0, dtype=np.uint8)
    height, width = levels.shape
    image = QImage(levels.data, width, height, width, QImage.Format.Format_Indexed8)
    image.setColorTable(_ramp(theme))
    painter.drawImage(plot, image)


def _ramp(theme: Theme) -> list[int]:
    """Return 256 colours from the background to the line colour, evenly spaced in brightness."""
    dark, bright = QColor(theme.window), QColor(theme.curve_1)
    shares = [level / 255 for level in range(256)]
    return [
        qRgb(
            round(dark.red() + share * (bright.red() - dark.red())),
            round(dark.green() + share * (bright.green() - dark.green())),
            round(dark.blue() + share * (bright.blue() - dark.blue())),
        )
        for share in shares
    ]
