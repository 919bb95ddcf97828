"""The picture: boxes in three columns, and arrows with their numbers."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QSizePolicy, QWidget

from studio.algorithm_view.box_button import BoxButton
from studio.algorithm_view.boxes import BOXES, ROWS, Box
from studio.algorithm_view.readings import Reading
from studio.theme.sizes import scaled, sized_font
from studio.theme.theme import Theme

_LABEL_PX = 11
# With the usual font:
_MARGIN_PX, _RAIL_PX = 4, 16
"""Margin at the left; space at the right for the arrow of the reward."""
_ACROSS_PX, _DOWN_PX = 20, 26
"""Gaps between two boxes."""
_TALLEST_PX = 84
"""Largest height of a box; further space is left free."""
_HEAD = 4.0


class Diagram(QWidget):
    """Shows one update; announces a box chosen by mouse or arrow keys."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("algorithm_diagram")
        self._theme: Theme | None = None
        self._labels: Mapping[str, str] = {}
        self._climbed: tuple[str, ...] = ("critic1",)
        self.boxes = {box.name: BoxButton(box, self) for box in BOXES}
        group = QButtonGroup(self)
        for button in self.boxes.values():
            group.addButton(button)
            button.toggled.connect(self._on_toggled)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the size below which lines would be cut."""
        box = next(iter(self.boxes.values())).sizeHint()
        width = 3 * box.width() + 2 * scaled(_ACROSS_PX) + scaled(_MARGIN_PX + _RAIL_PX)
        return QSize(width, ROWS * box.height() + (ROWS - 1) * scaled(_DOWN_PX))

    def sizeHint(self) -> QSize:  # noqa: N802
        """Return the smallest size."""
        return self.minimumSizeHint()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        for button in self.boxes.values():
            button.set_theme(theme)
        self.updateGeometry()
        self._place()
        self.update()

    def show_boxes(self, boxes: Mapping[str, Box], climbed: Sequence[str]) -> None:
        """Show the boxes of an algorithm, by name; the actor maximises some of the critics."""
        self._climbed = tuple(climbed)
        for name, button in self.boxes.items():
            if button.box != boxes[name]:
                button.show_box(boxes[name])

    def show_update(
        self,
        readings: Mapping[str, Reading],
        labels: Mapping[str, str],
        off: Mapping[str, str],
        moved: Sequence[str],
    ) -> None:
        """Show the contents of boxes and arrows by name; ``moved``: the networks that changed."""
        self._labels = labels
        for name, button in self.boxes.items():
            reading = readings.get(name, Reading())
            button.show_reading(reading, off=off.get(name, ""), moved=name in moved)
        self.update()

    @property
    def labels(self) -> Mapping[str, str]:
        """The texts along the arrows."""
        return self._labels

    def _on_toggled(self, on: bool) -> None:
        if on:
            for name, button in self.boxes.items():
                if button.isChecked():
                    self.chosen.emit(name)

    # Geometry -----------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Place every box."""
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        across, down = scaled(_ACROSS_PX), scaled(_DOWN_PX)
        width = (self.width() - scaled(_MARGIN_PX + _RAIL_PX) - 2 * across) / 3
        height = (self.height() - (ROWS - 1) * down) / ROWS
        height = min(height, scaled(_TALLEST_PX))
        for button in self.boxes.values():
            box = button.box
            left = scaled(_MARGIN_PX) + box.left * (width + across)
            right = scaled(_MARGIN_PX) + box.right * (width + across) - across
            if box.half is not None:
                middle = (left + right) / 2
                left = middle + 2 if box.half else left
                right = right if box.half else middle - 2
            top = box.row * (height + down)
            button.setGeometry(round(left), round(top), round(right - left), round(height))

    def _rect(self, name: str) -> QRectF:
        return QRectF(self.boxes[name].geometry())

    # Painting -----------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draw the arrows; the boxes draw themselves."""
        if self._theme is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(sized_font(_LABEL_PX))
        for points, dashed in self._arrows():
            self._draw_arrow(painter, self._theme, points, dashed=dashed)
        painter.setPen(QColor(self._theme.text))
        for name, area in self._label_places().items():
            side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            text = painter.fontMetrics().elidedText(
                self._labels.get(name, ""), Qt.TextElideMode.ElideRight, int(area.width())
            )
            painter.drawText(area, side, text)
        painter.end()

    def _arrows(self) -> list[tuple[list[QPointF], bool]]:
        """Return the corners of each arrow, and whether it stands for a change of weights."""
        r = {name: self._rect(name) for name in self.boxes}
        half = scaled(_DOWN_PX) / 2
        flows = [
            _across(r["act"], r["store"]),
            _across(r["store"], r["sample"]),
            _down(r["sample"], r["actor_target"], 0.1),
            _across(r["actor_target"], r["smooth"]),
            _down(r["smooth"], r["critic2_target"], 0.3),
            _across(r["critic2_target"], r["minimum"]),
            _down(r["minimum"], r["y"], 0.1),
            _down(r["y"], r["losses"], 0.1),
            _across(r["critic2"], r["losses"]),
            _down(r["losses"], r["critic_step"], 0.25),
            _across(r["actor"], r["actor_step"], 0.35),
        ]
        ahead, first = flows[4][0], r["critic1_target"].center().x()
        bend = ahead.y() + half
        flows.append(
            [
                QPointF(ahead.x(), bend),
                QPointF(first, bend),
                QPointF(first, r["critic1_target"].top()),
            ]
        )
        rail = self.width() - scaled(_RAIL_PX) / 2
        sample, y = r["sample"], r["y"]
        flows.append(
            [
                QPointF(sample.right(), sample.center().y()),
                QPointF(rail, sample.center().y()),
                QPointF(rail, y.center().y()),
                QPointF(y.right(), y.center().y()),
            ]
        )
        bend = r["critic1"].bottom() + half * 0.7
        into = r["actor_step"].left() + 0.2 * r["actor_step"].width()
        flows += [
            [
                QPointF(r[name].center().x(), r[name].bottom()),
                QPointF(r[name].center().x(), bend),
                QPointF(into, bend),
                QPointF(into, r["actor_step"].top()),
            ]
            for name in self._climbed
        ]
        return [(each, False) for each in flows] + [(each, True) for each in self._steps(r, half)]

    def _steps(self, r: Mapping[str, QRectF], half: float) -> list[list[QPointF]]:
        """Return the arrows along which weights are changed."""
        start, moved = r["critic_step"], r["critic2"]
        back, bend = moved.left() + 0.75 * moved.width(), start.top() - half * 0.7
        across = r["actor_step"]
        average, above, below = r["average"], r["critic2_target"], r["critic2"]
        middle = average.center().x()
        return [
            [
                QPointF(start.left() + 0.08 * start.width(), start.top()),
                QPointF(start.left() + 0.08 * start.width(), bend),
                QPointF(back, bend),
                QPointF(back, moved.bottom()),
            ],
            _across(across, r["actor"], 0.7),
            [QPointF(middle, below.top()), QPointF(middle, average.bottom())],
            [QPointF(middle, average.top()), QPointF(middle, above.bottom())],
        ]

    def _draw_arrow(
        self, painter: QPainter, theme: Theme, points: list[QPointF], *, dashed: bool
    ) -> None:
        pen = QPen(QColor(theme.marker if dashed else theme.muted), 1.4)
        pen.setStyle(Qt.PenStyle.DashLine if dashed else Qt.PenStyle.SolidLine)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPolyline(QPolygonF(points))
        end, before = points[-1], points[-2]
        way = end - before
        length = (way.x() ** 2 + way.y() ** 2) ** 0.5 or 1.0
        along = way / length
        side = QPointF(-along.y(), along.x())
        back = end - along * (2 * _HEAD)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pen.color())
        painter.drawPolygon(QPolygonF([end, back + side * _HEAD, back - side * _HEAD]))

    def _label_places(self) -> dict[str, QRectF]:
        """Return the areas of the arrows' labels, to the right of the arrows."""
        down, gap = scaled(_DOWN_PX), scaled(6)
        found = {}
        for name, box, at in (
            ("next_obs", "sample", 0.1),
            ("next_action", "smooth", 0.3),
            ("minimum", "minimum", 0.1),
            ("y", "y", 0.1),
            ("losses", "losses", 0.25),
        ):
            above = self._rect(box)
            left = above.left() + at * above.width() + gap
            found[name] = QRectF(left, above.bottom(), above.right() + gap - left, down)
        y = self._rect("y")
        found["reward"] = QRectF(y.right() - gap, y.top() - down, 2 * gap, down)
        return found


def _across(one: QRectF, other: QRectF, at: float = 0.5) -> list[QPointF]:
    """Return a horizontal arrow between two boxes, at a share of the first one's height."""
    y = one.top() + at * one.height()
    if other.left() > one.left():
        return [QPointF(one.right(), y), QPointF(other.left(), y)]
    return [QPointF(one.left(), y), QPointF(other.right(), y)]


def _down(one: QRectF, other: QRectF, at: float) -> list[QPointF]:
    """Return a vertical arrow between two boxes, at a share of the first one's width."""
    x = one.left() + at * one.width()
    return [QPointF(x, one.bottom()), QPointF(x, other.top())]
