"""The legend of a plot: as many of its names as there is room for, the rest in the tooltip."""

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

_DOT = "●"
_GAP = "\N{NO-BREAK SPACE} "
_MORE = "…"


class Legend(QLabel):
    """One line. Asks for no width of its own: a long legend must not make a plot wider."""

    def __init__(self, about: str) -> None:
        """Take ``about``, what the plot is about, to stand first in the tooltip."""
        super().__init__()
        self._about = about
        self._entries: tuple[tuple[str, str], ...] = ()
        self.setProperty("role", "legend")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._show()

    def show_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        """Show names with their colours; where room is short, the last ones go first.

        Args:
            entries: a name and a colour (#rrggbb) each; a name without a colour gets no dot.
        """
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._show()

    @property
    def names(self) -> list[str]:
        """The names there is room for."""
        return [name for name, _ in self._entries[: self._count()]]

    def sizeHint(self) -> QSize:  # noqa: N802
        """Keep the height of a line, also while there is nothing to name."""
        around = self.contentsMargins()
        return QSize(0, self.fontMetrics().height() + around.top() + around.bottom())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Ask for no width: others need it more."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Name more or less of the curves."""
        super().resizeEvent(event)
        self._show()

    def _count(self) -> int:
        """Return how many names fit."""
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        for count in range(len(self._entries), 0, -1):
            if _width(metrics, self._entries[:count], count < len(self._entries)) <= room:
                return count
        return min(1, len(self._entries))

    def _show(self) -> None:
        count = self._count()
        parts = [
            f'<span style="color:{colour}">{_DOT}</span>&nbsp;{escape(name)}'
            if colour
            else escape(name)
            for name, colour in self._entries
        ]
        shown = parts[:count] + ([_MORE] if count < len(parts) else [])
        self.setText(_GAP.join(shown))
        lines = [escape(self._about), _GAP.join(parts)]
        self.setToolTip(f"<qt>{'<br>'.join(line for line in lines if line)}</qt>")


def _width(metrics: QFontMetrics, entries: Sequence[tuple[str, str]], cut: bool) -> int:
    words = [f"{_DOT} {name}" if colour else name for name, colour in entries]
    return metrics.horizontalAdvance(_GAP.join([*words, *([_MORE] if cut else [])]))
