"""A section of a form that can be collapsed."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from studio.theme.theme import Theme


class Collapsible(QWidget):
    """A heading that shows or hides the page below it."""

    opening = Signal()
    """The page is about to be shown; expensive parts may be made now."""

    def __init__(self, title: str, page: QWidget) -> None:
        super().__init__()
        self._theme: Theme | None = None
        self._page = page
        self._heading = QPushButton(title)
        self._heading.setProperty("role", "heading")
        self._heading.setCheckable(True)
        self._heading.toggled.connect(self._show)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 2, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self._heading)
        layout.addWidget(page)
        # Hidden rather than shrunk, so that Tab skips its fields.
        page.hide()

    @property
    def expanded(self) -> bool:
        """Whether the page is shown."""
        return self._heading.isChecked()

    @property
    def heading(self) -> QPushButton:
        """The button that shows or hides the page."""
        return self._heading

    def expand(self) -> None:
        """Show the page."""
        self._heading.setChecked(True)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._theme = theme
        self._show_icon()

    @Slot(bool)
    def _show(self, shown: bool) -> None:
        if shown:
            self.opening.emit()
        self._page.setVisible(shown)
        self._show_icon()

    def _show_icon(self) -> None:
        if self._theme is not None:
            name = "chevron-down" if self.expanded else "chevron-right"
            self._heading.setIcon(self._theme.icon(name))
