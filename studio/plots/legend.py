"""The legend of a plot: the entries that fit, the others in the tooltip."""

from collections.abc import Sequence
from html import escape

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from studio.plots.layers.layer import Entry
from studio.theme.theme import Theme

_GAP = "\N{NO-BREAK SPACE} "
_MORE = "…"
_SWITCH = "Click a name to hide its curve or to show it again."


class Legend(QLabel):
    """One line. Requests no width of its own: a long legend must not widen a plot.

    Clicking an entry hides its curve or shows it again.
    """

    switched = Signal(str, bool)
    """Names a curve, and whether it is to be shown."""

    def __init__(self, title: str, about: str, theme: Theme) -> None:
        """Take the plot's title and ``about``, its description, which begins the tooltip."""
        super().__init__()
        self.setAccessibleName(f"{title} legend")
        self._about = about
        self._entries: tuple[Entry, ...] = ()
        self._theme = theme
        self.setProperty("role", "legend")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        links = Qt.TextInteractionFlag
        self.setTextInteractionFlags(links.LinksAccessibleByMouse | links.LinksAccessibleByKeyboard)
        self.linkActivated.connect(self._switch)
        self._show()

    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""
        self._theme = theme
        self._show()

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Show these entries; where room is short, the last ones are left out."""
        if tuple(entries) != self._entries:
            self._entries = tuple(entries)
            self._show()

    @property
    def names(self) -> list[str]:
        """The texts of the entries that fit."""
        return [entry.text for entry in self._entries[: self._count()]]

    def _switch(self, name: str) -> None:
        entry = next((each for each in self._entries if each.switch == name), None)
        if entry is not None:
            self.switched.emit(name, entry.hidden)

    def _part(self, entry: Entry) -> str:
        text = entry.rich_text(self._theme)
        if not entry.switch:
            return text
        style = f"color:{self._theme.muted};text-decoration:none"
        return f'<a href="{escape(entry.switch)}" style="{style}">{text}</a>'

    def sizeHint(self) -> QSize:  # noqa: N802
        """Keep the height of a line, even without entries."""
        around = self.contentsMargins()
        return QSize(0, self.fontMetrics().height() + around.top() + around.bottom())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Request no width: other widgets need it more."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Show as many entries as fit now."""
        super().resizeEvent(event)
        self._show()

    def _count(self) -> int:
        """Return how many entries fit."""
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        for count in range(len(self._entries), 0, -1):
            if _width(metrics, self._entries[:count], count < len(self._entries)) <= room:
                return count
        return min(1, len(self._entries))

    def _show(self) -> None:
        count = self._count()
        parts = [entry.rich_text(self._theme) for entry in self._entries]
        shown = [self._part(entry) for entry in self._entries[:count]] + (
            [_MORE] if count < len(parts) else []
        )
        self.setText(_GAP.join(shown))
        # The keyboard stops here only where there is something to switch.
        switches = any(entry.switch for entry in self._entries[:count])
        policy = Qt.FocusPolicy
        self.setFocusPolicy(policy.StrongFocus if switches else policy.NoFocus)
        hint = _SWITCH if any(entry.switch for entry in self._entries) else ""
        lines = [escape(self._about), _GAP.join(parts), hint]
        self.setToolTip(f"<qt>{'<br>'.join(line for line in lines if line)}</qt>")


def _width(metrics: QFontMetrics, entries: Sequence[Entry], cut: bool) -> int:
    texts = [entry.plain_text() for entry in entries]
    return metrics.horizontalAdvance(_GAP.join([*texts, *([_MORE] if cut else [])]))
