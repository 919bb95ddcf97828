"""Uses a window by mouse and keyboard."""

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData, QModelIndex, QPoint, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QContextMenuEvent, QDragEnterEvent, QDropEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QComboBox,
    QDialog,
    QLineEdit,
    QMenu,
    QPushButton,
    QSlider,
    QToolButton,
    QWidget,
)

from tests.walkthroughs.seeing import Eyes, NotSeenError

__all__ = ["LEFT", "NotSeenError", "User"]

LEFT = Qt.MouseButton.LeftButton


class User(Eyes):
    """Knows the window by the names and texts of its parts only."""

    def look_at_window(self) -> None:
        """Give the keyboard to the window, or to its dialog, after a menu has closed.

        A desktop does that by itself, and the platform without a screen does not.
        """

        def awake() -> bool:
            active = QApplication.activeWindow()
            return active is not None and active.isVisible()

        if not awake() and QApplication.activePopupWidget() is None:
            top = QApplication.activeModalWidget() or self.window
            top.activateWindow()
            self.expect("the window is active", awake)

    # Mouse --------------------------------------------------------------------------------------

    def click(self, name: str) -> None:
        part = self.part(name, QWidget)
        self.expect(f"{name} can be clicked", part.isEnabled)
        self.look_at_window()
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
        """Choose from the menu that ``of`` opens, which may not return before it is closed.

        Args:
            text: How the entry begins; below another one as in ``Camera > Free``.
            of: Opens the menu.
        """
        done, path = list[bool](), text.split(" > ")

        def look() -> None:
            menu = QApplication.activePopupWidget()
            if not isinstance(menu, QMenu):
                QTimer.singleShot(50, look)
                return
            for action in menu.actions():
                if action.text().startswith(path[0]) and action.isEnabled():
                    path.pop(0)
                    if path:
                        QTimer.singleShot(100, look)
                    else:
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

    def right_click(self, view: QAbstractItemView, place: QPoint) -> None:
        """Ask for the menu of a place in a list."""
        on = view.viewport()
        QTest.mouseClick(on, Qt.MouseButton.RightButton, pos=place)
        reason = QContextMenuEvent.Reason.Mouse
        QApplication.sendEvent(on, QContextMenuEvent(reason, place, on.mapToGlobal(place)))

    def pick(self, name: str, text: str) -> None:
        """Choose an entry of a list that opens below its field."""
        combo = self.part(name, QComboBox)
        assert isinstance(combo, QComboBox)
        self.expect(f"{name} offers “{text}”", lambda: _entry(combo, text) >= 0)
        self.expect(f"{name} can be changed", combo.isEnabled)
        QTest.mouseClick(combo, LEFT, pos=QPoint(combo.width() - 8, combo.height() // 2))
        view = combo.view()
        self.expect(f"the list of {name} is open", view.isVisible)
        index = combo.model().index(_entry(combo, text), combo.modelColumn())
        view.scrollTo(index)
        self.wait(30)
        place = view.visualRect(index).center()
        # Qt ignores the release of the click that opened the list.
        self.wait(QApplication.doubleClickInterval())
        QTest.mouseMove(view.viewport(), place)
        QTest.mouseClick(view.viewport(), LEFT, pos=place)
        self.expect(f"the list of {name} is closed", lambda: not view.isVisible())

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

    def drop(self, path: Path) -> None:
        """Drag a file from elsewhere onto the window."""
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        place, copy = self.window.rect().center(), Qt.DropAction.CopyAction
        held = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
        entered = QDragEnterEvent(place, copy, data, *held)
        QApplication.sendEvent(self.window, entered)
        self.expect("the file may be dropped", entered.isAccepted)
        QApplication.sendEvent(self.window, QDropEvent(QPointF(place), copy, data, *held))

    # Keyboard -----------------------------------------------------------------------------------

    def press(self, keys: str, at: QWidget | None = None) -> None:
        """Press a combination such as ``Ctrl+T``."""
        self.look_at_window()
        pressed = QKeySequence(keys)[0]
        target = at or QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
        QTest.keyClick(target, pressed.key(), pressed.keyboardModifiers())

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.look_at_window()
        QTest.keyClicks(QApplication.focusWidget(), text)

    def fill(self, name: str, text: str, *, enter: bool = True) -> None:
        """Click into a field, replace what it holds, and press Enter."""
        part = self.part(name)
        editor = part if isinstance(part, QLineEdit) else part.findChild(QLineEdit)
        self.look_at_window()
        QTest.mouseClick(editor, LEFT)
        self.wait(30)
        QTest.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        QTest.keyClick(editor, Qt.Key.Key_Backspace)
        QTest.keyClicks(editor, text)
        if not enter:
            return
        # An open list of proposals gets the keys first.
        QTest.keyClick(QApplication.activePopupWidget() or editor, Qt.Key.Key_Return)

    # Dialogs ------------------------------------------------------------------------------------

    def in_dialog(
        self, name: str, opened: Callable[[], object], then: Callable[[], object]
    ) -> None:
        """Do ``then`` in the dialog that ``opened`` opens, which may block until it is closed.

        Args:
            name: The dialog.
            opened: Opens it, now or later.
            then: Uses the dialog, and closes it.
        """
        outcome = list[BaseException | None]()
        end = time.monotonic() + self.patience_s

        def look() -> None:
            dialog = QApplication.activeModalWidget()
            if dialog is None or dialog.objectName() != name:
                if time.monotonic() < end:
                    QTimer.singleShot(50, look)
                return
            try:
                then()
            except Exception as problem:
                self.take("in_dialog")
                # Raised here, it would be lost in the dialog's own loop.
                dialog.reject()
                outcome.append(problem)
            else:
                outcome.append(None)

        QTimer.singleShot(50, look)
        opened()
        self.expect(f"{name} is open", lambda: outcome)
        if outcome[0] is not None:
            raise outcome[0]
        self.expect(f"{name} is closed", lambda: not self._modal(name))

    def with_file(self, path: Path, opened: Callable[[], object]) -> None:
        """Paste a path into the file dialog that ``opened`` opens, and accept it."""

        def choose() -> None:
            dialog = QApplication.activeModalWidget()
            editor = dialog.findChild(QLineEdit, "fileNameEdit")
            editor.selectAll()
            editor.insert(str(path))
            buttons = dialog.findChildren(QPushButton)
            accept = next(each for each in buttons if each.isDefault())

            def accepted() -> bool:
                proposals = QApplication.activePopupWidget()
                if proposals is not None:
                    # They appear at any time, and would take the click.
                    proposals.close()
                elif dialog.isVisible() and editor.text() != str(path):
                    # It went to a folder that it had not read yet, and forgot the name.
                    editor.selectAll()
                    editor.insert(str(path))
                elif dialog.isVisible():
                    QTest.mouseClick(accept, LEFT)
                return not dialog.isVisible()

            self.expect(f"{path.name} is accepted", accepted)

        self.in_dialog("QFileDialog", opened, choose)

    def _modal(self, name: str) -> bool:
        dialog = QApplication.activeModalWidget()
        return dialog is not None and dialog.objectName() == name

    def dialog(self, name: str) -> QDialog:
        found = self.part(name)
        assert isinstance(found, QDialog)
        return found


def _entry(combo: QComboBox, text: str) -> int:
    """Return the first entry of a list that begins with a text; -1 without one."""
    shown = (at for at in range(combo.count()) if combo.itemText(at).startswith(text))
    return next(shown, -1)
