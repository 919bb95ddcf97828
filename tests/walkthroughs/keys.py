"""Reaches the parts of a window by keys, and looks whether the keyboard focus can be seen."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from tests.walkthroughs.user import NotSeenError, User

_MOST_STOPS = 160


def focused() -> QWidget:
    """Return the part that has the focus.

    Raises:
        NotSeenError: none has.
    """
    found = QApplication.focusWidget()
    if found is None:
        raise NotSeenError("something has the keyboard focus")
    return found


def called(part: QWidget) -> str:
    """Return the name of a part on screen."""
    return part.objectName() or f"{type(part).__name__} “{part.accessibleName()}”"


def tab_to(by: User, name: str, keys: str = "Tab") -> None:
    """Press Tab until a part has the focus."""
    for _ in range(_MOST_STOPS):
        by.press(keys)
        if focused().objectName() == name:
            return
    raise NotSeenError(f"{keys} leads to {name}")


def tour(by: User) -> list[str]:
    """Press Tab until it is back where it began; return the parts passed, in order.

    Raises:
        NotSeenError: the focus cannot be seen on one of them, or one has no name.
    """
    by.press("Tab")
    first, parts, unseen = focused(), list[QWidget](), list[str]()
    for _ in range(_MOST_STOPS):
        part = focused()
        parts.append(part)
        by.wait(0)
        there = part.grab().toImage()
        by.press("Tab")
        by.wait(0)
        if part.grab().toImage() == there:
            unseen.append(called(part))
        if focused() is first:
            break
    else:
        raise NotSeenError("Tab comes back to where it began")
    if unseen:
        raise NotSeenError(f"the focus can be seen on {', '.join(unseen)}")
    nameless = [
        type(part).__name__
        for part in parts
        if not (part.accessibleName() or part.property("text"))
    ]
    if nameless:
        raise NotSeenError(f"each part has a name for screen readers: {', '.join(nameless)}")
    return [part.objectName() for part in parts]


def choose_by_keys(by: User, text: str, opened: Callable[[], object]) -> None:
    """Choose from the menu that ``opened`` opens, by Down and Enter."""
    done = list[bool]()

    def look() -> None:
        menu = QApplication.activePopupWidget()
        if not isinstance(menu, QMenu):
            QTimer.singleShot(50, look)
            return
        for _ in menu.actions():
            by.press("Down", menu)
            chosen = menu.activeAction()
            if chosen is not None and chosen.text().startswith(text):
                done.append(True)
                by.press("Return", menu)
                return
        done.append(False)
        menu.close()

    QTimer.singleShot(50, look)
    opened()
    by.expect("the menu is open", lambda: done)
    if not done[0]:
        raise NotSeenError(f"the menu offers “{text}”")
