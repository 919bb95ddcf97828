"""Builds the small controls of the panels."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QTableView,
    QToolButton,
    QTreeView,
    QWidget,
)

from studio.widgets.labels import plain_tip
from td3core.text import Text, tr

MANUAL = "manual"
"""Property of a widget: the manual's page about it, optionally with ``#`` and a heading."""
_TIP = "usual_tip"
"""Property of a control: its tooltip while enabled."""


def describe(widget: QWidget, name: str, accessible_name: str, tip: str) -> None:
    """Set object name, accessible name and tooltip."""
    widget.setObjectName(name)
    widget.setAccessibleName(accessible_name)
    widget.setToolTip(tip)


def enable(control: QWidget | QAction, why_not: Text | str, tip: Text | str = "") -> None:
    """Enable a control, or disable it with the reason in its tooltip.

    Args:
        control: the control.
        why_not: completes "Not now: …"; empty if the control can be used.
        tip: the tooltip of the enabled state; empty: as before, at first the control's own.
    """
    usual = str(tip) or control.property(_TIP) or control.toolTip()
    control.setProperty(_TIP, usual)
    control.setEnabled(not why_not)
    shown = tr("{tip}. Not now: {reason}", tip=usual, reason=why_not) if why_not else usual
    control.setToolTip(plain_tip(shown))


def set_styled(widget: QWidget, name: str, value: object) -> None:
    """Set a property used by the style sheet, and restyle: Qt does not do so by itself."""
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


def bring_to_front(dialog: QWidget) -> None:
    """Show a dialog in front of all others, even if it is open already."""
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()


def arrange(parts: QSplitter, shares: Sequence[int], *, below: bool) -> None:
    """Put parts below each other or side by side; if that changes, with these shares."""
    way = Qt.Orientation.Vertical if below else Qt.Orientation.Horizontal
    if way != parts.orientation():
        parts.setOrientation(way)
        parts.setSizes(shares)


def make_label(name: str, *, muted: bool = False) -> QLabel:
    """Return an empty label that takes any available width."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setObjectName(name)
    if muted:
        label.setProperty("role", "muted")
    # Long text must not widen the pane.
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def make_button(name: str, text: str, tip: str) -> QPushButton:
    """Return a button with a text."""
    button = QPushButton(text)
    describe(button, name, text, tip)
    return button


def make_narrow_combo(name: str, label: str, tip: str) -> QComboBox:
    """Return an empty combo box whose entries do not widen it."""
    combo = QComboBox()
    describe(combo, name, label, tip)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(6)
    return combo


def make_icon_button(name: str, accessible_name: str, tip: str) -> QToolButton:
    """Return a flat button that shows only an icon."""
    button = QToolButton()
    describe(button, name, accessible_name, tip)
    button.setProperty("icon_px", 20)
    button.setAutoRaise(True)
    button.setProperty("role", "icon")
    return button


def make_table(name: str, accessible_name: str, model: QAbstractItemModel) -> QTableView:
    """Return a table of rows, without grid and row numbers, that Tab leaves."""
    table = QTableView()
    table.setObjectName(name)
    table.setAccessibleName(accessible_name)
    table.setModel(model)
    # The arrow keys go from cell to cell.
    table.setTabKeyNavigation(False)
    table.verticalHeader().hide()
    table.setShowGrid(False)
    return table


def show_columns(view: QTableView | QTreeView, widths: Mapping[int, int], room: int) -> None:
    """Show the columns that fit into this many pixels, most important first; hide the others."""
    for column, width in widths.items():
        room -= width
        view.setColumnHidden(column, room < 0)


def full_width(view: QTableView | QTreeView, column: int) -> int:
    """Return the width of a column in pixels; show it first, a hidden one has none."""
    view.setColumnHidden(column, False)
    return view.columnWidth(column)


def make_row(*widgets: QWidget) -> QHBoxLayout:
    """Return a layout with the widgets side by side."""
    row = QHBoxLayout()
    row.setSpacing(4)
    for widget in widgets:
        row.addWidget(widget)
    return row
