"""Looks at what a window shows, and takes pictures of it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QPoint, QTimer
from PySide6.QtGui import QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QMainWindow, QToolTip, QWidget

_PATIENCE_S = 90
_SETTLED_MS = 350


def shown_number(text: str) -> float:
    """Return a number from how the window shows it."""
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


class NotSeenError(AssertionError):
    """The window does not show what this user expects."""


class Eyes:
    """See a window as its user does: by the names and texts of its visible parts."""

    def __init__(self, window: QMainWindow, folder: Path, name: str, home: Path) -> None:
        """Use a window.

        Args:
            window: The window.
            folder: Where pictures are saved.
            name: Begins the names of the pictures.
            home: A folder of this user's own, which also holds the runs.
        """
        self.window, self.home = window, home
        self.patience_s: float = _PATIENCE_S
        self._folder, self._name, self._count = folder, name, 0

    def wait(self, milliseconds: int) -> None:
        """Let the window work.

        Raises:
            NotSeenError: the application has ended; no loop waits in it any more.
        """
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        if loop.exec() != 0:
            raise NotSeenError("the window is open")

    def expect(self, what: str, seen: Callable[[], object], patience_s: float = 0) -> None:
        """Wait until something is seen, as long as ``patience_s`` (0: as always).

        Raises:
            NotSeenError: it is not.
        """
        end = time.monotonic() + (patience_s or self.patience_s)
        while not seen():
            if time.monotonic() > end:
                raise NotSeenError(what)
            self.wait(20)

    def part(self, name: str, kind: type[QWidget] = QWidget) -> QWidget:
        """Return a visible part of any window."""
        found = list[QWidget]()

        def look() -> bool:
            for top in QApplication.topLevelWidgets():
                if top.objectName() == name and top.isVisible():
                    found.append(top)
                found.extend(each for each in top.findChildren(kind, name) if each.isVisible())
            return bool(found)

        self.expect(f"{name} is visible", look)
        return found[0]

    def text(self, name: str) -> str:
        """Return the text of a part; empty while it is not visible."""
        for found in self.window.findChildren(QWidget, name):
            if found.isVisible():
                said = found.property("text")
                return str(said if said is not None else found.accessibleName())
        return ""

    def expect_text(self, name: str, words: str, patience_s: float = 0) -> None:
        self.expect(
            f"{name} shows “{words}”", lambda: words in self.text(name), patience_s=patience_s
        )

    def number(self, name: str) -> float:
        """Return the number that a field shows."""
        return shown_number(self.text(name))

    def expect_wrong(self, name: str, why: str) -> None:
        """Expect a field that is marked as wrong, with the reason below it."""
        part = self.part(name)
        self.expect(f"{name} is marked as wrong", lambda: part.property("invalid") is True)
        self.expect(
            f"{name} is wrong because it is {why}, not “{part.accessibleDescription()}”",
            lambda: why in part.accessibleDescription() and QToolTip.text(),
        )

    def expect_right(self, name: str) -> None:
        part = self.part(name)
        self.expect(f"{name} is not marked as wrong", lambda: part.property("invalid") is not True)

    def expect_gone(self, *names: str) -> None:
        """Wait until parts are not visible any more."""

        def gone() -> bool:
            return not any(
                each.isVisible()
                for top in QApplication.topLevelWidgets()
                for name in names
                for each in (top, *top.findChildren(QWidget, name))
                if each.objectName() == name
            )

        self.expect(f"{' and '.join(names)} are gone", gone)

    def expect_state(self, *states: str) -> None:
        def seen() -> bool:
            return self.text("status_state").rpartition(" ")[2] in states

        self.expect(f"the state is {' or '.join(states)}", seen)

    def step(self) -> int:
        """Return the step that the status bar shows."""
        for part in self.text("status_numbers").split("  ·  "):
            if part.startswith("step "):
                return int(part[5:].replace(",", ""))
        return 0

    def expect_step(self, least: int) -> None:
        """Wait until the run has taken this many steps."""

        self.expect(f"the run has reached step {least}", lambda: self.step() >= least)

    def expect_moving(self, name: str = "replay_view") -> None:
        """Wait until a picture has changed twice."""
        part, seen = self.part(name), list[QImage]()

        def moving() -> bool:
            now = part.grab().toImage()
            if not seen or now != seen[-1]:
                seen.append(now)
            return len(seen) > 3

        self.expect(f"{name} moves", moving)

    def expect_no_error(self) -> None:
        said = self.text("banner_text")
        if self.window.findChild(QWidget, "banner").property("level") == "error" and said:
            raise NotSeenError(f"no error is shown, but there is: {said}")

    def take(self, stage: str, of: str = "") -> None:
        """Take a picture of the window with all its dialogs and menus, or only of a part."""
        self.wait(_SETTLED_MS)
        self.keep(stage, self.part(of).grab() if of else self._screen())

    def keep(self, stage: str, picture: QPixmap) -> None:
        """Save a picture of a stage."""
        self._count += 1
        path = self._folder / f"{self._name}_{self._count:02}_{stage}.png"
        picture.save(str(path))
        sys.stderr.write(f"{path.name}\n")

    def _screen(self) -> QPixmap:
        picture = self.window.grab()
        place = self.window.mapToGlobal(QPoint())
        with QPainter(picture) as painter:
            for top in QApplication.topLevelWidgets():
                if top is not self.window and top.isVisible() and top.width() > 1:
                    painter.drawPixmap(top.mapToGlobal(QPoint()) - place, top.grab())
        return picture
