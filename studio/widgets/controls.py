"""Builds the small controls of the replay pane."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget


def describe(widget: QWidget, name: str, accessible_name: str, tip: str) -> None:
    """Set object name, accessible name and tooltip."""
    widget.setObjectName(name)
    widget.setAccessibleName(accessible_name)
    widget.setToolTip(tip)


def make_label(name: str, *, muted: bool = False) -> QLabel:
    """Return an empty label that takes whatever width there is."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setObjectName(name)
    if muted:
        label.setProperty("role", "muted")
    # Long text must not widen the pane.
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def make_icon_button(name: str, accessible_name: str, tip: str) -> QToolButton:
    """Return a flat button that shows only an icon."""
    button = QToolButton()
    describe(button, name, accessible_name, tip)
    button.setIconSize(QSize(20, 20))
    button.setAutoRaise(True)
    # The application's style pads buttons for text.
    button.setStyleSheet("QToolButton { padding: 4px; }")
    return button


def make_row(*widgets: QWidget) -> QHBoxLayout:
    """Return a layout with the widgets side by side."""
    row = QHBoxLayout()
    row.setSpacing(4)
    for widget in widgets:
        row.addWidget(widget)
    return row
