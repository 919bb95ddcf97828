"""Looks up the parts of a window by their names."""

from PySide6.QtWidgets import QWidget

from studio.window.main_window import MainWindow


def part_of(window: MainWindow, name: str) -> QWidget | None:
    """Return a widget of a window by its object name, as a script would; None if there is none.

    Fields under *Advanced* are made when they are first shown, or asked for as here.
    """
    found = window.findChild(QWidget, name)
    if found is None and name.startswith("field_"):
        window.setup.make_all_fields()
        found = window.findChild(QWidget, name)
    return found
