"""The legend of a plot: wrapped into a few lines, and scrolled if it is longer."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from html import escape

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QFontMetrics,
    QResizeEvent,
    QTextDocument,
    QWheelEvent,
)
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from studio.plots.layers.layer import Entry
from studio.theme.theme import Theme
from td3core.text import Text, tr

_GAP = "\N{NO-BREAK SPACE} "
_MORE = "+"
"""Target of the link that moves on to the entries that do not fit."""
_HIGHEST = "● Q₁"
_SLACK = 4
"""Pixels by which an entry that is too long is cut at a time."""
_SWITCH = Text("Click a name to hide its curve or to show it again.")


class Legend(QLabel):
    """Wraps into a few lines. Requests no width: a long legend must not widen a plot.

    Clicking an entry hides its curve or shows it again. So does Enter: Tab moves from one entry to
    the next. If not all entries fit, the last line ends with the number of further ones: a click
    there shows them, and so does the wheel.
    """

    switched = Signal(str, bool)
    """Name of a curve, and whether to show it."""

    def __init__(self, title: str, about: str, theme: Theme) -> None:
        """Take the plot's title and ``about``, its description, which begins the tooltip."""
        super().__init__()
        self.setAccessibleName(tr("{plot} legend", plot=title))
        self._about = about
        self._entries: tuple[Entry, ...] = ()
        self._lines: list[list[Entry]] = []
        """All entries, line by line."""
        self._most_lines, self._first, self._at = 1, 0, -1
        """Number of lines shown, index of the first one, and index of the link with the keyboard
        focus."""
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
        """Show these entries, from the first one if they have changed."""
        if tuple(entries) != self._entries:
            if [each.text for each in entries] != [each.text for each in self._entries]:
                self._first = 0
            self._entries = tuple(entries)
            self._show()

    @property
    def names(self) -> list[str]:
        """The texts of the visible entries."""
        before = sum(map(len, self._lines[: self._first]))
        seen = sum(map(len, self._shown_lines))
        return [entry.text for entry in self._entries[before : before + seen]]

    @property
    def _shown_lines(self) -> list[list[Entry]]:
        return self._lines[self._first : self._first + self._most_lines]

    def set_most_lines(self, count: int) -> None:
        """Set the maximum number of lines."""
        if count != self._most_lines:
            self._most_lines = count
            self._show()

    def _switch(self, name: str) -> None:
        if name == _MORE:
            last = len(self._lines) - self._most_lines
            self._scroll_to(self._first + self._most_lines if self._first < last else 0)
            return
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
        """Return the height of a line, even without entries."""
        around = self.contentsMargins()
        height = _rich_height(self.font().key(), max(len(self._shown_lines), 1))
        return QSize(0, height + around.top() + around.bottom())

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Request no width: other widgets need it more."""
        return self.sizeHint()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Show as many entries as fit now."""
        super().resizeEvent(event)
        self._show()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802
        """Scroll by a line."""
        before = self._first
        self._scroll_to(self._first + (1 if event.angleDelta().y() < 0 else -1))
        event.setAccepted(self._first != before)

    def _scroll_to(self, line: int) -> None:
        self._first = max(line, 0)
        self._show()

    def _show(self) -> None:
        before = len(self._shown_lines)
        self._wrap()
        parts = [entry.rich_text(self._theme) for entry in self._entries]
        shown = [_GAP.join(map(self._part, line)) for line in self._shown_lines]
        if more := len(parts) - sum(map(len, self._shown_lines)):
            shown[-1] += _GAP + f'<a href="{_MORE}">{_MORE}{more}</a>'
        self.setText("<br>".join(shown))
        # The legend takes keyboard focus only if there is something to switch.
        policy = Qt.FocusPolicy
        self.setFocusPolicy(policy.StrongFocus if self._links() else policy.ClickFocus)
        hint = str(_SWITCH) if any(entry.switch for entry in self._entries) else ""
        about = [escape(self._about), _GAP.join(parts), hint]
        self.setToolTip(f"<qt>{'<br>'.join(line for line in about if line)}</qt>")
        if len(self._shown_lines) != before:
            self.updateGeometry()
        self._mark_again()

    def _wrap(self) -> None:
        """Distribute the entries over lines."""
        self._lines = self._wrapped("")
        if len(self._lines) > self._most_lines:
            # Room for the link at the end of each line, whichever is the last visible one.
            self._lines = self._wrapped(f"{_MORE}{len(self._entries)}")
        self._first = max(min(self._first, len(self._lines) - self._most_lines), 0)

    def _wrapped(self, end: str) -> list[list[Entry]]:
        """Return the entries line by line, with room for ``end``; overlong ones are cut."""
        font, room = self.font(), self.contentsRect().width()
        lines: list[list[Entry]] = []
        for entry in self._entries:
            if lines and _width(font, [*lines[-1], entry], end) <= room:
                lines[-1].append(entry)
            else:
                lines.append([_cut(font, entry, room, end)])
        return lines

    def _links(self) -> int:
        """Return the number of links."""
        switches = sum(bool(entry.switch) for line in self._shown_lines for entry in line)
        return switches + (len(self._lines) > self._most_lines)

    # The keyboard -------------------------------------------------------------------------------

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        """Select an entry at once; Qt selects none until the next Tab."""
        super().focusInEvent(event)
        reasons = Qt.FocusReason
        if event.reason() in (reasons.TabFocusReason, reasons.BacktabFocusReason):
            self._at = -1
            self.focusNextPrevChild(event.reason() == reasons.TabFocusReason)

    def focusNextPrevChild(self, on: bool) -> bool:  # noqa: N802
        """Move to the next or previous entry; beyond the last or first one, leave."""
        count = self._links()
        if self._at < 0 and not on:
            self._at = count
        at = self._at + (1 if on else -1)
        # Going back past the first entry, Qt stops at the label without an entry.
        inside = 0 <= at < count and super().focusNextPrevChild(on)
        self._at = at if inside else -1
        # Not with the label's own method, which restarts at the other end.
        return inside or QWidget.focusNextPrevChild(self, on)

    def _mark_again(self) -> None:
        """Select the focused entry again: a new text has no selection."""
        if self.hasFocus() and self._at >= 0:
            at, self._at = self._at, -1
            # Qt lays out text when its size is queried, and then forgets the selection.
            super().sizeHint()
            for _ in range(at + 1):
                self.focusNextPrevChild(True)


def _width(font: QFont, entries: Sequence[Entry], end: str) -> int:
    texts = [entry.plain_text() for entry in entries]
    gaps = _GAP.join([""] * (len(texts) + bool(end)))
    return sum(_rich_width(font.key(), text) for text in (*texts, gaps, end) if text)


@lru_cache(maxsize=512)
def _rich_width(font: str, text: str) -> int:
    """Return the laid-out width of rich text; font metrics are some pixels too small."""
    return math.ceil(_document(font, text).idealWidth())


@lru_cache(maxsize=64)
def _rich_height(font: str, lines: int) -> int:
    """Return the height of this many laid-out lines: the marks of entries may use another font."""
    return math.ceil(_document(font, "\n".join([_HIGHEST] * lines)).size().height())


def _document(font: str, text: str) -> QTextDocument:
    described, document = QFont(), QTextDocument()
    described.fromString(font)
    document.setDefaultFont(described)
    document.setDocumentMargin(0)
    document.setPlainText(text)
    return document


def _cut(font: QFont, entry: Entry, room: int, end: str) -> Entry:
    """Return an entry cut to a line, with room for ``end``."""
    excess = _width(font, [entry], end) - room
    if excess <= 0 or room <= 0:
        return entry
    least, mode = _rich_width(font.key(), entry.text) - excess, Qt.TextElideMode.ElideMiddle
    shown = entry
    # Elided text may differ in width from the sum of its letters.
    while least > 0 and _width(font, [shown], end) > room:
        least -= _SLACK
        shown = replace(entry, text=QFontMetrics(font).elidedText(entry.text, mode, max(least, 0)))
    return shown
