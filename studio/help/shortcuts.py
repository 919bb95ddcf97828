"""The list of keys and mouse actions."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from studio.theme.sizes import scaled
from studio.widgets.forms import room_on
from td3core.text import Text, tr

_HEIGHT = 620
_ELSEWHERE = (
    (
        Text("In the plots"),
        (
            (
                Text("Left, Right"),
                Text("Read the value before or after this one; with Ctrl, ten further"),
            ),
            (Text("Up, Down"), Text("Read another curve")),
            ("+, −", Text("Zoom along x, with Ctrl along y")),
            (Text("0, Home"), Text("Show everything again")),
            (Text("Enter"), Text("Fill the middle with this plot, or show all again")),
            (Text("Wheel"), Text("Zoom along x")),
            (Text("Ctrl+wheel"), Text("Zoom along y")),
            (Text("Drag"), Text("Move")),
            (Text("Double click"), Text("Show everything again")),
            (Text("Click on a title"), Text("Show this plot large; explain the large one")),
            (Text("Click in a legend"), Text("Hide or show a curve")),
            (Text("Esc"), Text("Show all plots again")),
        ),
    ),
    (
        Text("In the replay"),
        (
            (Text("Space"), Text("Play or pause")),
            (Text(", and ."), Text("One step back, one step forward")),
            (Text("Left, Right"), Text("On the timeline: the agent before and after this one")),
            (Text("Drag, wheel"), Text("Turn and zoom the camera, where there is one")),
            (Text("P"), Text("In a comparison: push the agent")),
            (Text("Esc"), Text("Leave the comparison, the large replay or the full screen")),
        ),
    ),
    (
        Text("In the list of runs"),
        (
            (Text("Enter"), Text("Open the run chosen")),
            (Text("F2"), Text("Rename it")),
            (Text("Del"), Text("Move it to the trash")),
        ),
    ),
    (
        Text("In forms"),
        (
            (Text("Tab, Shift+Tab"), Text("Next and previous field")),
            (Text("Up, Down"), Text("Change a number by one step")),
            (Text("Space"), Text("Press the button that has the focus")),
        ),
    ),
)


class ShortcutsDialog(QDialog):
    """Every key of the window."""

    def __init__(self, keys: Sequence[tuple[str, str]], parent: QWidget) -> None:
        """Take ``keys``, the window's keys with their actions."""
        super().__init__(parent)
        self.setObjectName("shortcuts_dialog")
        self.setWindowTitle(tr("Keyboard shortcuts"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.table = QTreeWidget()
        self.table.setObjectName("shortcuts_table")
        self.table.setAccessibleName(tr("Keyboard shortcuts"))
        self.table.setHeaderHidden(True)
        self.table.setColumnCount(2)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.table.setRootIsDecorated(False)
        # Lines are never cut: where the screen is too narrow, the table scrolls.
        self.table.header().setStretchLastSection(False)
        self.table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.table.setSizeAdjustPolicy(QTreeWidget.SizeAdjustPolicy.AdjustToContents)
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        for heading, rows in ((Text("Everywhere"), tuple(keys)), *_ELSEWHERE):
            group = QTreeWidgetItem(self.table, [str(heading)])
            group.setFirstColumnSpanned(True)
            font = group.font(0)
            font.setBold(True)
            group.setFont(0, font)
            for row in rows:
                QTreeWidgetItem(group, [str(part) for part in row])
        self.table.expandAll()
        for column in range(self.table.columnCount()):
            self.table.resizeColumnToContents(column)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(self.table, 1)
        layout.addWidget(buttons)
        size = QSize(self.sizeHint().width(), scaled(_HEIGHT))
        self.resize(size.boundedTo(room_on(self.screen())))
