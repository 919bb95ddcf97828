"""The manual in a separate window: pages, search, and the current page."""

from PySide6.QtCore import QEvent, QSignalBlocker, Qt, Slot
from PySide6.QtGui import QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.help.page_view import HelpView
from studio.help.pages import INDEX, load_pages, manual_folder
from studio.theme.icons import icon
from studio.widgets.forms import resize_within_screen
from studio.widgets.labels import plain_label
from td3core.text import Text, tr

_SIZE = (1040, 760)
_LIST_WIDTH = 220
_LIST_PADDING = 12
"""Pixels that the style adds around the titles."""
_LIST_STYLE = """
QListWidget::item { padding: 5px 4px; border-radius: 4px; }
QListWidget::item:selected { background: palette(highlight); color: palette(highlighted-text); }
"""
_NAME = Qt.ItemDataRole.UserRole


class HelpViewer(QWidget):
    """Shows the manual. The pages are read when the window is made, and stay in memory."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self.setObjectName("help_viewer")
        self.setWindowTitle(tr("TD3 Studio manual"))
        resize_within_screen(self, *_SIZE)
        self._pages = {page.name: page for page in load_pages(manual_folder())}
        self._history: list[tuple[str, int]] = []
        """Previous pages with their scroll positions."""
        self.view = HelpView()
        self._make_widgets()
        self._lay_out()
        self._connect()
        self._set_icons()
        self._show_page(INDEX)
        self.view.setFocus()

    def _make_widgets(self) -> None:
        self.back_button = QToolButton()
        self.back_button.setObjectName("help_back_button")
        self.back_button.setAccessibleName(tr("Back"))
        self.back_button.setToolTip(tr("Back to the page before (Alt+Left)"))
        self.back_button.setProperty("role", "small")
        self.back_button.setProperty("icon_px", 18)
        self.back_button.setEnabled(False)
        self.search = QLineEdit()
        self.search.setObjectName("help_search")
        self.search.setAccessibleName(tr("Search the manual"))
        self.search.setPlaceholderText(tr("Search (Ctrl+F)"))
        self.search.setToolTip(tr("Enter: next place, Shift+Enter: the one before"))
        self.search.setClearButtonEnabled(True)
        self.list = QListWidget()
        self.list.setObjectName("help_list")
        self.list.setAccessibleName(tr("Pages of the manual"))
        self.list.setStyleSheet(_LIST_STYLE)
        for page in self._pages.values():
            item = QListWidgetItem(page.title)
            item.setData(_NAME, page.name)
            self.list.addItem(item)
        # Wide enough for the full titles in any font.
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        bar = self.list.verticalScrollBar().sizeHint().width()
        widest = self.list.sizeHintForColumn(0) + 2 * self.list.frameWidth() + bar
        self.list.setMinimumWidth(widest + _LIST_PADDING)
        self.count = plain_label()
        self.count.setObjectName("help_count")
        self.count.setProperty("role", "muted")

    def _lay_out(self) -> None:
        bar = QHBoxLayout()
        bar.setSpacing(4)
        bar.addWidget(self.back_button)
        bar.addWidget(self.search, 1)
        left = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(8, 8, 4, 8)
        column.setSpacing(6)
        column.addLayout(bar)
        column.addWidget(self.list, 1)
        column.addWidget(self.count)
        splitter = QSplitter()
        splitter.setChildrenCollapsible(False)
        splitter.addWidget(left)
        splitter.addWidget(self.view)
        splitter.setStretchFactor(1, 1)
        splitter.setSizes([_LIST_WIDTH, _SIZE[0] - _LIST_WIDTH])
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)

    def _connect(self) -> None:
        self.list.currentItemChanged.connect(self._on_chosen)
        self.view.page_requested.connect(self.open_page)
        self.back_button.clicked.connect(self.go_back)
        self.search.textChanged.connect(self._search)
        self.search.returnPressed.connect(self.view.show_next)
        for keys, slot in (
            (QKeySequence.StandardKey.Find, self._focus_search),
            (QKeySequence.StandardKey.FindNext, self.view.show_next),
            (QKeySequence.StandardKey.FindPrevious, self._show_previous),
            (QKeySequence("Shift+Return"), self._show_previous),
            (QKeySequence.StandardKey.Back, self.go_back),
            (QKeySequence("Escape"), self._clear_or_close),
        ):
            QShortcut(keys, self).activated.connect(slot)

    def bring_to_front(self) -> None:
        """Show the window in front of all others."""
        self.show()
        self.raise_()
        self.activateWindow()

    # Pages --------------------------------------------------------------------------------------

    @Slot(str, str)
    def open_page(self, name: str, anchor: str = "") -> None:
        """Show a page of the manual, at a heading if one is named.

        An empty name means the current page; an unknown one means the index.
        """
        name, before = name or self._shown, self._place
        self._show_page(name if name in self._pages else INDEX)
        if anchor:
            self.view.scroll_to(anchor)
        if self._place != before:
            self._remember(before)

    @Slot()
    def go_back(self) -> None:
        """Show the previous page, at its last position."""
        if self._history:
            name, place = self._history.pop()
            self._show_page(name)
            self.view.verticalScrollBar().setValue(place)
            self.back_button.setEnabled(bool(self._history))

    @property
    def _shown(self) -> str:
        page = self.view.page
        return page.name if page is not None else INDEX

    @property
    def _place(self) -> tuple[str, int]:
        """The current page and its scroll position."""
        return self._shown, self.view.verticalScrollBar().value()

    def _remember(self, place: tuple[str, int]) -> None:
        self._history.append(place)
        self.back_button.setEnabled(True)

    def _show_page(self, name: str) -> None:
        page = self._pages[name]
        if page is not self.view.page:
            self.view.show_page(page)
        with QSignalBlocker(self.list):
            self.list.setCurrentRow(list(self._pages).index(name))

    @Slot(QListWidgetItem, QListWidgetItem)
    def _on_chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.open_page(item.data(_NAME))
            self._highlight()

    # Searching ----------------------------------------------------------------------------------

    @Slot(str)
    def _search(self, text: str) -> None:
        """List the pages that contain every word, and show the first unless one is shown."""
        words = text.lower().split()
        found = [name for name, page in self._pages.items() if page.contains(words)]
        for row, name in enumerate(self._pages):
            self.list.item(row).setHidden(name not in found)
        if found and self._shown not in found:
            self._remember(self._place)
            phrase = [" ".join(words)]
            best = (name for name in found if self._pages[name].contains(phrase))
            self._show_page(next(best, found[0]))
        self._highlight()
        if words and not found:
            self.count.setText(tr("No page contains “{search}”.", search=text.strip()))

    def _highlight(self) -> None:
        """Highlight the search: as a phrase if the page contains it, else word by word."""
        words = self.search.text().lower().split()
        places = self.view.highlight([" ".join(words)] if words else [])
        if words and not places:
            places = self.view.highlight(words)
        found = Text.counted("{n:,} match on this page", "{n:,} matches on this page", n=places)
        self.count.setText(str(found) if words else "")

    @Slot()
    def _focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    @Slot()
    def _show_previous(self) -> None:
        self.view.show_next(backward=True)

    @Slot()
    def _clear_or_close(self) -> None:
        if self.search.text():
            self.search.clear()
        else:
            self.close()

    # Qt -----------------------------------------------------------------------------------------

    def _set_icons(self) -> None:
        palette = self.palette()
        self.back_button.setIcon(
            icon(
                "arrow-left",
                color=palette.color(QPalette.ColorRole.Text),
                color_disabled=palette.color(QPalette.ColorRole.Mid),
            )
        )

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Use the colours of another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._set_icons()
