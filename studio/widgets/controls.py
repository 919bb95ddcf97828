"""Small pieces the replay pane is put together from."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QWidget


def describe(widget: QWidget, name: str, spoken: str, tip: str) -> None:
    """Give a control its name for code, for ears, and its tip."""
    widget.setObjectName(name)
    widget.setAccessibleName(spoken)
    widget.setToolTip(tip)


def make_label(name: str, *, muted: bool = False) -> QLabel:
    """Return an empty label that takes the room it is given."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setObjectName(name)
    if muted:
        label.setProperty("role", "muted")
    # A long name or number must not widen the pane.
    label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return label


def make_icon_button(name: str, spoken: str, tip: str) -> QToolButton:
    """Return a flat button that shows only an icon."""
    button = QToolButton()
    describe(button, name, spoken, tip)
    button.setIconSize(QSize(20, 20))
    button.setAutoRaise(True)
    # An application's style may pad text buttons widely; here is only an icon.
    button.setStyleSheet("QToolButton { padding: 4px; }")
    return button


def in_a_row(*widgets: QWidget) -> QHBoxLayout:
    """Return a layout with the widgets side by side."""
    row = QHBoxLayout()
    row.setSpacing(4)
    for widget in widgets:
        row.addWidget(widget)
    return row
