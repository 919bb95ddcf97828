"""Uses a window by mouse and keyboard, looks at what it shows, and takes pictures of it."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QModelIndex, QPoint, Qt, QTimer
from PySide6.QtGui import QImage, QKeySequence, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QDialog,
    QFileDialog,
    QLineEdit,
    QMainWindow,
    QMenu,
    QPushButton,
    QSlider,
    QToolButton,
    QWidget,
)

LEFT = Qt.MouseButton.LeftButton
PATIENCE_S = 40
SETTLED_MS = 350


class NotSeenError(AssertionError):
    """The window does not show what this user expects."""


class User:
    """Knows the window by the names and texts of its parts only."""

    def __init__(self, window: QMainWindow, folder: Path, name: str, home: Path) -> None:
        """Use a window.

        Args:
            window: The window.
            folder: Where pictures are saved.
            name: Begins the names of the pictures.
            home: A folder of this user's own, which also holds the runs.
        """
        self.window, self.home = window, home
        self._folder, self._name, self._count = folder, name, 0

    # Seeing -------------------------------------------------------------------------------------

    def wait(self, milliseconds: int) -> None:
        loop = QEventLoop()
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()

    def expect(self, what: str, seen: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        """Wait until something is seen.

        Raises:
            NotSeenError: it is not.
        """
        end = time.monotonic() + patience_s
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
        """Return what a part says, or nothing while it is not visible."""
        for found in self.window.findChildren(QWidget, name):
            if found.isVisible():
                said = found.property("text")
                return str(said if said is not None else found.accessibleName())
        return ""

    def expect_text(self, name: str, words: str, patience_s: float = PATIENCE_S) -> None:
        self.expect(
            f"{name} shows “{words}”", lambda: words in self.text(name), patience_s=patience_s
        )

    def expect_state(self, *states: str) -> None:
        def seen() -> bool:
            return self.text("status_state").rpartition(" ")[2] in states

        self.expect(f"the state is {' or '.join(states)}", seen)

    def expect_step(self, least: int) -> None:
        """Wait until the run has taken this many steps."""

        def seen() -> bool:
            for part in self.text("status_numbers").split("  ·  "):
                if part.startswith("step "):
                    return int(part[5:].replace(",", "")) >= least
            return False

        self.expect(f"the run has reached step {least}", seen)

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

    def take(self, stage: str) -> None:
        """Take a picture of the window with all its dialogs and menus."""
        self.wait(SETTLED_MS)
        self._count += 1
        picture = self.window.grab()
        place = self.window.mapToGlobal(QPoint())
        with QPainter(picture) as painter:
            for top in QApplication.topLevelWidgets():
                if top is not self.window and top.isVisible() and top.width() > 1:
                    painter.drawPixmap(top.mapToGlobal(QPoint()) - place, top.grab())
        path = self._folder / f"{self._name}_{self._count:02}_{stage}.png"
        picture.save(str(path))
        sys.stderr.write(f"{path.name}\n")

    # Mouse --------------------------------------------------------------------------------------

    def click(self, name: str) -> None:
        part = self.part(name, QWidget)
        self.expect(f"{name} can be clicked", part.isEnabled)
        QTest.mouseClick(part, LEFT, pos=part.rect().center())

    def click_text(self, text: str) -> None:
        """Click the button whose text begins so."""
        found = list[QWidget]()

        def look() -> bool:
            for top in QApplication.topLevelWidgets():
                buttons = (*top.findChildren(QPushButton), *top.findChildren(QToolButton))
                found.extend(b for b in buttons if b.isVisible() and b.text().startswith(text))
            return bool(found)

        self.expect(f"a button “{text}” is visible", look)
        QTest.mouseClick(found[0], LEFT)

    def choose(self, text: str, of: Callable[[], object]) -> None:
        """Choose from the menu that ``of`` opens, which may not return before it is closed."""
        done = list[bool]()

        def look() -> None:
            menu = QApplication.activePopupWidget()
            if not isinstance(menu, QMenu):
                QTimer.singleShot(50, look)
                return
            for action in menu.actions():
                if action.text().startswith(text) and action.isEnabled():
                    done.append(True)
                    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())
                    return
            done.append(False)
            menu.close()

        QTimer.singleShot(100, look)
        of()
        self.expect("the menu is open", lambda: done)
        if not done[0]:
            raise NotSeenError(f"the menu offers “{text}”")

    def choose_from(self, button: str, text: str) -> None:
        self.choose(text, lambda: self.click(button))

    def drag_slider(self, name: str, to: float) -> None:
        """Drag a slider to a share of its length."""
        slider = self.part(name, QSlider)
        y, width = slider.height() // 2, slider.width()
        QTest.mousePress(slider, LEFT, pos=QPoint(width // 2, y))
        for share in (0.5, (0.5 + to) / 2, to):
            QTest.mouseMove(slider, QPoint(int(share * (width - 1)), y))
            self.wait(30)
        QTest.mouseRelease(slider, LEFT, pos=QPoint(int(to * (width - 1)), y))

    def row(self, name: str, text: str, below: int = 0) -> tuple[QAbstractItemView, QModelIndex]:
        """Return a visible list, and its first row with this text, or one below that."""
        view = self.part(name, QAbstractItemView)
        found = list[QModelIndex]()

        def look() -> bool:
            model = view.model()
            for at in range(model.rowCount()):
                index = model.index(at, 0)
                said = f"{index.data()} {index.data(Qt.ItemDataRole.AccessibleTextRole)}"
                if text in said and at + below < model.rowCount():
                    found.append(model.index(at + below, 0))
            return bool(found)

        self.expect(f"{name} lists “{text}”", look)
        view.scrollTo(found[0])
        return view, found[0]

    def click_row(
        self,
        name: str,
        text: str,
        *,
        below: int = 0,
        double: bool = False,
        button: Qt.MouseButton = LEFT,
    ) -> None:
        view, index = self.row(name, text, below)
        place = view.visualRect(index).center()
        QTest.mouseClick(view.viewport(), button, pos=place)
        if double:
            QTest.mouseDClick(view.viewport(), LEFT, pos=place)

    # Keyboard -----------------------------------------------------------------------------------

    def press(self, keys: str, at: QWidget | None = None) -> None:
        """Press a combination such as ``Ctrl+T``."""
        pressed = QKeySequence(keys)[0]
        target = at or QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
        QTest.keyClick(target, pressed.key(), pressed.keyboardModifiers())

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        QTest.keyClicks(QApplication.focusWidget(), text)

    def fill(self, name: str, text: str) -> None:
        """Click into a field, replace what it holds, and press Enter."""
        part = self.part(name)
        editor = part if isinstance(part, QLineEdit) else part.findChild(QLineEdit)
        QTest.mouseClick(editor, LEFT)
        self.wait(30)
        QTest.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClicks(editor, text)
        # An open list of proposals gets the keys first.
        QTest.keyClick(QApplication.activePopupWidget() or editor, Qt.Key.Key_Return)

    # Dialogs ------------------------------------------------------------------------------------

    def with_file(self, path: Path, act: Callable[[], object]) -> None:
        """Type a path into the file dialog that ``act`` opens, and accept it."""
        done = list[bool]()

        end = time.monotonic() + PATIENCE_S

        def look() -> None:
            dialog = QApplication.activeModalWidget()
            if not isinstance(dialog, QFileDialog):
                if time.monotonic() < end:
                    QTimer.singleShot(50, look)
                return
            editor = dialog.findChild(QLineEdit, "fileNameEdit")
            editor.selectAll()
            QTest.keyClicks(editor, str(path))
            done.append(True)
            buttons = dialog.findChildren(QPushButton)
            QTest.mouseClick(next(each for each in buttons if each.isDefault()), LEFT)

        QTimer.singleShot(100, look)
        act()
        self.expect("a file dialog is open", lambda: done)
        self.expect(
            "the file dialog has closed",
            lambda: not isinstance(QApplication.activeModalWidget(), QFileDialog),
        )

    def dialog(self, name: str) -> QDialog:
        found = self.part(name)
        assert isinstance(found, QDialog)
        return found
