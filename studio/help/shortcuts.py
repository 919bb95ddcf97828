"""The list of keys and of what the mouse does."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.widgets.forms import resize_within_screen

_SIZE = (560, 620)
_ELSEWHERE = (
    (
        "In the plots",
        (
            ("Left, Right", "Read the value before or after this one; with Ctrl, ten further"),
            ("Up, Down", "Read another curve"),
            ("+, −", "Zoom along x, with Ctrl along y"),
            ("0, Home", "Show everything again"),
            ("Enter", "Fill the middle with this plot, or show all again"),
            ("Wheel", "Zoom along x"),
            ("Ctrl+wheel", "Zoom along y"),
            ("Drag", "Move"),
            ("Double click", "Show everything again"),
            ("Click on a title", "Show this plot large"),
            ("Click in a legend", "Hide or show a curve"),
            ("Esc", "Show all plots again"),
        ),
    ),
    (
        "In the replay",
        (
            ("Space", "Play or pause"),
            (", and .", "One step back, one step forward"),
            ("Left, Right", "On the timeline: the agent before and after this one"),
            ("Drag, wheel", "Turn and zoom the camera, where there is one"),
            ("P", "In a comparison: push the agent"),
            ("Esc", "Leave the comparison, the large replay or the full screen"),
        ),
    ),
    (
        "In the list of runs",
        (
            ("Enter", "Open the run chosen"),
            ("F2", "Rename it"),
            ("Del", "Move it to the trash"),
        ),
    ),
    (
        "In forms",
        (
            ("Tab, Shift+Tab", "Next and previous field"),
            ("Up, Down", "Change a number by one step"),
            ("Space", "Press the button that has the focus"),
        ),
    ),
)


class ShortcutsDialog(QDialog):
    """Every key of the window."""

    def __init__(self, keys: Sequence[tuple[str, str]], parent: QWidget) -> None:
        """Take ``keys``, those of the window with what each of them does."""
        super().__init__(parent)
        self.setObjectName("shortcuts_dialog")
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        resize_within_screen(self, *_SIZE)
        self.table = QTreeWidget()
        self.table.setObjectName("shortcuts_table")
        self.table.setAccessibleName("Keyboard shortcuts")
        self.table.setHeaderHidden(True)
        self.table.setColumnCount(2)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setRootIsDecorated(False)
        self.table.setWordWrap(True)
        for heading, rows in (("Everywhere", tuple(keys)), *_ELSEWHERE):
            group = QTreeWidgetItem(self.table, [heading])
            group.setFirstColumnSpanned(True)
            font = group.font(0)
            font.setBold(True)
            group.setFont(0, font)
            for row in rows:
                item = QTreeWidgetItem(group, row)
                # Cut off where the dialog is narrow.
                item.setToolTip(1, row[1])
        self.table.expandAll()
        self.table.resizeColumnToContents(0)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.table, 1)
        layout.addWidget(buttons)
