"""The manual and the list of keyboard shortcuts, in separate windows."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from studio.help.shortcuts import ShortcutsDialog
from studio.widgets.controls import bring_to_front
from studio.window.docking.keyboard import PanelKeys
from studio.window.toolbar import Toolbar

if TYPE_CHECKING:
    from studio.help.viewer import HelpViewer


class HelpWindows(QObject):
    """Opens at most one of each of these windows, in front of the main window."""

    def __init__(self, toolbar: Toolbar, panel_keys: PanelKeys, window: QWidget) -> None:
        super().__init__(window)
        self._toolbar, self._panel_keys, self._window = toolbar, panel_keys, window
        self._manual: HelpViewer | None = None

    @Slot()
    def show_manual(self) -> None:
        """Open the manual at the page about the focused part."""
        # Imported on first use, so that it does not delay the start.
        from studio.help.viewer import HelpViewer

        if self._manual is None:
            self._manual = HelpViewer(self._window)
        if page := self._panel_keys.page():
            self._manual.open_page(*page)
        self._manual.bring_to_front()

    @Slot()
    def show_keys(self) -> None:
        """Open the list of keyboard shortcuts."""
        keys = self._window.findChild(ShortcutsDialog)
        bring_to_front(keys or ShortcutsDialog(self._keys(), self._window))

    def _keys(self) -> list[tuple[str, str]]:
        """Return the shortcuts of the toolbar and menus, which work wherever the focus is."""
        found = dict(self._toolbar.keys())
        for action in self._window.findChildren(QAction):
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            if keys and action.shortcutContext() is Qt.ShortcutContext.WindowShortcut:
                found.setdefault(keys, action.text())
        return list(found.items())

    @Slot()
    def close_manual(self) -> None:
        """Close the manual with the window: it is a separate window."""
        if self._manual is not None:
            self._manual.close()
