"""Shows one page of the manual, in the colours of the window and in lines of readable length."""

from collections.abc import Sequence
from itertools import groupby

from PySide6.QtCore import QEvent, QRectF, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QDesktopServices,
    QFontInfo,
    QGuiApplication,
    QImage,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
)
from PySide6.QtWidgets import QTextBrowser, QTextEdit

from studio.help.pages import Page, heading_anchor, manual_folder, read_picture, split_target
from studio.help.style import CODE_PADDING, HelpStyle, blocks_of, fit_tables, is_code
from td3core.text import tr

_WIDTH = 740
"""Width of a line in pixels; longer ones are hard to follow."""
_MARGIN = 28
_RADIUS = 6.0
_HIGHLIGHT_OPACITY = 0.35


class HelpView(QTextBrowser):
    """One page. Links to other pages are signalled; web links open in the browser."""

    page_requested = Signal(str, str)
    """Name of a page and anchor of a heading; either may be empty."""

    def __init__(self) -> None:
        super().__init__()
        self._page: Page | None = None
        self._used: QTextDocument | None = None
        self._words: tuple[str, ...] = ()
        self._pictures: dict[str, QImage] = {}
        self._code: list[tuple[int, int]] = []
        self.setObjectName("help_view")
        self.setAccessibleName(tr("Page of the manual"))
        self.setOpenLinks(False)
        self.setStyleSheet("QTextBrowser { background: palette(alternate-base); border: none; }")
        self.anchorClicked.connect(self._follow)

    # Showing ------------------------------------------------------------------------------------

    @property
    def page(self) -> Page | None:
        """The current page."""
        return self._page

    def show_page(self, page: Page) -> None:
        """Show a page from its top."""
        self._page = page
        self._render()
        self.verticalScrollBar().setValue(0)

    def scroll_to(self, anchor: str) -> bool:
        """Scroll a heading to the top; return whether the page has one with that anchor."""
        for block in blocks_of(self.document()):
            if block.blockFormat().headingLevel() and heading_anchor(block.text()) == anchor:
                layout = self.document().documentLayout()
                self.verticalScrollBar().setValue(int(layout.blockBoundingRect(block).top()) - 8)
                return True
        return False

    def _render(self) -> None:
        """Lay out the page again, at the same position."""
        if self._page is None:
            return
        place = self.verticalScrollBar().value()
        # A new document: text set in a used one adopts the format of its first word.
        document, used = QTextDocument(self), self._used
        document.setMarkdown(
            self._page.markdown, QTextDocument.MarkdownFeature.MarkdownDialectGitHub
        )
        font = self.font()
        font.setPointSizeF(QFontInfo(font).pointSizeF() + 1.0)
        # The application's palette: a style sheet replaces the background in the widget's own.
        HelpStyle.of(QGuiApplication.palette(), font).apply(document)
        self._code = _runs_of_code(document)
        self.setDocument(document)
        self._used = document
        if used is not None:
            used.deleteLater()
        self._fit()
        self._mark_words()
        self.verticalScrollBar().setValue(place)

    def _column(self) -> int:
        """Return the width of a line in pixels."""
        return max(min(self.viewport().width() - 2 * _MARGIN, _WIDTH), 1)

    def _fit(self) -> None:
        """Centre the lines, and give tables their width."""
        document = self.document()
        frame = document.rootFrame()
        layout = frame.frameFormat()
        side = (self.viewport().width() - self._column()) // 2
        layout.setLeftMargin(side)
        layout.setRightMargin(side)
        layout.setTopMargin(_MARGIN * 0.6)
        layout.setBottomMargin(_MARGIN)
        frame.setFrameFormat(layout)
        fit_tables(document, self._column())

    def loadResource(self, kind: int, url: QUrl | str) -> object:  # noqa: N802
        """Load a picture from the resources, as wide as a line."""
        if kind != QTextDocument.ResourceType.ImageResource.value:
            return None
        target = url if isinstance(url, str) else url.toString()
        if target not in self._pictures:
            image = QImage()
            image.loadFromData(read_picture(manual_folder(), target))
            self._pictures[target] = image
        ratio = self.devicePixelRatioF()
        smooth = Qt.TransformationMode.SmoothTransformation
        scaled = self._pictures[target].scaledToWidth(int(self._column() * ratio), smooth)
        scaled.setDevicePixelRatio(ratio)
        return scaled

    # Links --------------------------------------------------------------------------------------

    @Slot(QUrl)
    def _follow(self, url: QUrl) -> None:
        if url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)
        else:
            self.page_requested.emit(*split_target(url.toString()))

    # Searching ----------------------------------------------------------------------------------

    def highlight(self, words: Sequence[str]) -> int:
        """Highlight these words, show the first match, and return the number of matches."""
        self._words = tuple(words)
        found = self._mark_words()
        if found:
            self._show(found[0])
        return len(found)

    def show_next(self, *, backward: bool = False) -> None:
        """Move to the next match, and from the last one to the first."""
        places = sorted(found.selectionStart() for found in self._places())
        if not places:
            return
        here = self.textCursor().selectionStart()
        if backward:
            wanted = max((place for place in places if place < here), default=places[-1])
        else:
            wanted = min((place for place in places if place > here), default=places[0])
        self._show(next(each for each in self._places() if each.selectionStart() == wanted))

    def _show(self, place: QTextCursor) -> None:
        self.setTextCursor(place)
        self.ensureCursorVisible()

    def _places(self) -> list[QTextCursor]:
        document, found = self.document(), []
        for word in self._words:
            cursor = document.find(word)
            while not cursor.isNull():
                found.append(cursor)
                cursor = document.find(word, cursor)
        return sorted(found, key=lambda cursor: cursor.selectionStart())

    def _mark_words(self) -> list[QTextCursor]:
        places, marked = self._places(), []
        ground = self.palette().color(QPalette.ColorRole.Highlight)
        ground.setAlphaF(_HIGHLIGHT_OPACITY)
        look = QTextCharFormat()
        look.setBackground(ground)
        for place in places:
            selection = QTextEdit.ExtraSelection()
            selection.cursor, selection.format = place, look
            marked.append(selection)
        self.setExtraSelections(marked)
        return places

    # Qt -----------------------------------------------------------------------------------------

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Draw a background behind every block of code, then the page."""
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QGuiApplication.palette().color(QPalette.ColorRole.Window))
        document = self.document()
        layout, down = document.documentLayout(), self.verticalScrollBar().value()
        left = document.rootFrame().frameFormat().leftMargin()
        for first, last in self._code:
            top = layout.blockBoundingRect(document.findBlockByNumber(first)).top()
            bottom = layout.blockBoundingRect(document.findBlockByNumber(last)).bottom()
            box = QRectF(left, top - down, self._column(), bottom - top)
            box.adjust(0.0, -CODE_PADDING, 0.0, CODE_PADDING)
            if box.intersects(QRectF(event.rect())):
                painter.drawRoundedRect(box, _RADIUS, _RADIUS)
        painter.end()
        super().paintEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Lay out the page for another width."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._render()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        """Use the colours of another theme."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._render()


def _runs_of_code(document: QTextDocument) -> list[tuple[int, int]]:
    """Return the numbers of the first and last text block of every run of code."""
    runs = []
    for code, blocks in groupby(blocks_of(document), key=is_code):
        numbers = [block.blockNumber() for block in blocks]
        if code:
            runs.append((numbers[0], numbers[-1]))
    return runs
