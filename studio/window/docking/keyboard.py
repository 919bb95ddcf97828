"""Keyboard navigation between panels, and the manual's page about the focused one."""

from itertools import pairwise

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QWidget

from studio.widgets.controls import MANUAL
from studio.window.docks import Docks


class PanelKeys(QObject):
    """Moves the focus between parts of a window in visual order: left, middle, right, bottom."""

    def __init__(
        self, window: QMainWindow, docks: Docks, comparison: QWidget, banner: QWidget
    ) -> None:
        """Also close ``banner`` with Escape; the middle holds plots, or a ``comparison``."""
        super().__init__(window)
        self._window, self._docks = window, docks
        self._comparison, self._banner = comparison, banner
        window.installEventFilter(self)
        self.sort_tabs()

    @Slot()
    def sort_tabs(self) -> None:
        """Put the middle after the left panels and before the right ones in the Tab order."""
        centre, left = self._window.centralWidget(), self._docks.dock("live")
        chain = list[QWidget]()
        part: QWidget | None = self._window.nextInFocusChain()
        while part is not None and part is not self._window:
            chain.append(part)
            part = part.nextInFocusChain()
        # Any focus policy counts: plots and legends accept Tab only once they have a curve.
        stops = [each for each in chain if each.focusPolicy() != Qt.FocusPolicy.NoFocus]
        before = [each for each in stops if left.isAncestorOf(each)][-1:]
        after = [each for each in stops if centre is not None and centre.isAncestorOf(each)]
        for first, second in pairwise([*before, *after]):
            QWidget.setTabOrder(first, second)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Close the message with Escape if nothing else uses that key."""
        if (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.KeyPress
            and event.key() == Qt.Key.Key_Escape
            and self._banner.isVisible()
        ):
            self._banner.hide()
            return True
        return super().eventFilter(watched, event)

    @Slot()
    def go_on(self) -> None:
        """Move the keyboard focus to the next panel."""
        self._go(1)

    @Slot()
    def go_back(self) -> None:
        """Move the keyboard focus to the previous panel."""
        self._go(-1)

    def page(self) -> tuple[str, ...]:
        """Return the page about the focused part, and the section there; else the first page.

        Empty without focus: the manual stays where it was.
        """
        focus = self._focus()
        if focus in (None, self._window):
            return ()
        while focus is not None and focus is not self._window:
            about = focus.property(MANUAL)
            if about:
                return tuple(str(about).split("#"))
            focus = focus.parentWidget()
        part = self._focused()
        if part is not None and part is self._window.centralWidget():
            return (
                ("compare.md",) if self._comparison.isVisible() else ("getting-started.md", "plots")
            )
        page = self._docks.page_of(part) if part is not None else ""
        return (f"{page}.md",) if page else ("index.md",)

    def _parts(self) -> list[QWidget]:
        centre = self._window.centralWidget()
        found = [*self._docks.seen(), *([centre] if centre and centre.isVisible() else [])]
        return sorted(found, key=self._place)

    def _place(self, part: QWidget) -> tuple[bool, int, int]:
        # On the screen: a panel may float beside the window.
        corner = part.mapToGlobal(part.rect().topLeft())
        return self._docks.is_at_bottom(part), corner.x(), corner.y()

    def _focus(self) -> QWidget | None:
        """Return the focused widget of a floating panel, which is a window, else of the window."""
        active = QApplication.focusWidget()
        floating = (dock for dock in self._docks.seen() if dock.isWindow())
        if active is not None and any(dock.isAncestorOf(active) for dock in floating):
            return active
        return self._window.focusWidget()

    def _focused(self) -> QWidget | None:
        focus = self._focus()
        if focus is None:
            return None
        return next((p for p in self._parts() if p is focus or p.isAncestorOf(focus)), None)

    def _go(self, by: int) -> None:
        parts, focused = self._parts(), self._focused()
        if focused is not None:
            at = parts.index(focused)
            parts = parts[at + 1 :] + parts[:at]
        for part in parts[::by]:
            first = _first_stop(part)
            if first is not None:
                first.activateWindow()
                reason = Qt.FocusReason
                first.setFocus(reason.TabFocusReason if by > 0 else reason.BacktabFocusReason)
                return


def _first_stop(part: QWidget) -> QWidget | None:
    """Return the first widget of a part in the Tab order."""
    each: QWidget | None = part.nextInFocusChain()
    while each is not None and each is not part:
        stops = each.focusPolicy() & Qt.FocusPolicy.TabFocus
        if part.isAncestorOf(each) and stops and each.isVisible() and each.isEnabled():
            return each
        each = each.nextInFocusChain()
    return None
