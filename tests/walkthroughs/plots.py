"""A user's actions on a plot: read it, zoom, pan, fit it, and hide a curve."""

from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QTextDocument, QTextDocumentFragment
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from studio.plots.canvas import PlotCanvas
from tests.support.mouse import turn_wheel
from tests.walkthroughs.user import LEFT, NotSeenError, User

_NONE = Qt.MouseButton.NoButton
_NO_KEYS = Qt.KeyboardModifier.NoModifier
_EDGE = 3
"""Pixels."""


class Plot:
    """One plot, as seen and handled from the outside."""

    def __init__(self, by: User, name: str) -> None:
        found = by.part(name, PlotCanvas)
        assert isinstance(found, PlotCanvas)
        self._by, self._name, self._plot = by, name, found

    # Seeing -------------------------------------------------------------------------------------

    def range(self, axis: str) -> tuple[float, float]:
        """Return the numbers at the ends of an axis, x or y."""
        low, high = self._plot.getViewBox().viewRange()[0 if axis == "x" else 1]
        return float(low), float(high)

    def expect(self, what: str, seen: Callable[[], object]) -> None:
        self._by.expect(f"{self._name} {what}", seen)

    def read(self) -> str:
        """Return the text next to the crosshair."""
        found = [each for each in self._labels("readout") if each.isVisible()]
        return QTextDocumentFragment.fromHtml(found[0].text()).toPlainText() if found else ""

    def expect_marker(self, words: str) -> None:
        """Search the plot with the mouse for the marker of a change, and stay there.

        A plot that grows during the search moves its markers, so that it may need another one.

        Raises:
            NotSeenError: there is none with these words.
        """
        self.expect(
            f"has a marker “{words}”", lambda: any(words in each for each in self._along_the_axis())
        )

    def _along_the_axis(self) -> Iterator[str]:
        """Move the mouse from left to right, and yield what the crosshair says."""
        for x in range(_EDGE, self._plot.viewport().width() - _EDGE, _EDGE):
            self._mouse(QEvent.Type.MouseMove, QPoint(x, self._middle().y()), _NONE, _NONE)
            self._by.wait(0)
            yield self.read()

    def point_at(self, x: float) -> None:
        """Hold the mouse at a value of the x axis."""
        place = self._plot.mapFromScene(self._plot.getViewBox().mapViewToScene(QPointF(x, 0.0)))
        self._mouse(QEvent.Type.MouseMove, QPoint(place.x(), self._middle().y()), _NONE, _NONE)

    def leave(self) -> None:
        """Move the mouse away."""
        QApplication.sendEvent(self._plot.viewport(), QEvent(QEvent.Type.Leave))

    # Doing --------------------------------------------------------------------------------------

    def turn_wheel(self, *, ctrl: bool = False) -> None:
        keys = Qt.KeyboardModifier.ControlModifier if ctrl else _NO_KEYS
        turn_wheel(self._plot.viewport(), keys=keys)

    def drag(self, by: int) -> None:
        """Drag the curves to the right by this many pixels."""
        start = self._middle()
        self._mouse(QEvent.Type.MouseMove, start, _NONE, _NONE)
        self._mouse(QEvent.Type.MouseButtonPress, start, LEFT, LEFT)
        for part in range(1, 11):
            self._mouse(QEvent.Type.MouseMove, start + QPoint(by * part // 10, 0), _NONE, LEFT)
            self._by.wait(20)
        self._mouse(QEvent.Type.MouseButtonRelease, start + QPoint(by, 0), LEFT, _NONE)

    def double_click(self) -> None:
        place = self._middle()
        for kind in ("Press", "Release", "DblClick", "Release"):
            held = _NONE if kind == "Release" else LEFT
            self._mouse(getattr(QEvent.Type, f"MouseButton{kind}"), place, LEFT, held)

    def click_legend(self, curve: str) -> None:
        """Click on the name of a curve."""
        label, document = self._labels("legend")[0], QTextDocument()
        document.setDefaultFont(label.font())
        document.setDocumentMargin(0)
        document.setHtml(label.text())
        area = label.contentsRect()
        for x in range(area.width()):
            anchor = document.documentLayout().anchorAt(QPointF(x, area.height() // 2))
            if anchor == curve:
                place = QPoint(area.left() + x + _EDGE, area.center().y())
                for kind, held in (("Press", LEFT), ("Release", _NONE)):
                    event = getattr(QEvent.Type, f"MouseButton{kind}")
                    self._mouse(event, place, LEFT, held, label)
                return
        raise NotSeenError(f"the legend of {self._name} names {curve}: {label.text()}")

    def struck_out(self, curve: str) -> bool:
        """Return whether the legend shows a curve as hidden."""
        text = self._labels("legend")[0].text()
        return any(curve in part for part in text.split("<s ")[1:])

    # Inside -------------------------------------------------------------------------------------

    def _middle(self) -> QPoint:
        return self._plot.viewport().rect().center()

    def _labels(self, role: str) -> list[QLabel]:
        card = self._plot.parentWidget()
        return [each for each in card.findChildren(QLabel) if each.property("role") == role]

    def _mouse(
        self,
        kind: QEvent.Type,
        place: QPoint,
        button: Qt.MouseButton,
        held: Qt.MouseButton,
        target: QWidget | None = None,
    ) -> None:
        on = target or self._plot.viewport()
        there = QPointF(on.mapToGlobal(place))
        QApplication.sendEvent(on, QMouseEvent(kind, QPointF(place), there, button, held, _NO_KEYS))
