"""The look of the manual's pages: formats for a document read from Markdown.

Qt has no style sheet for Markdown, so the formats are set on the parts of the document.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetricsF,
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableCellFormat,
    QTextTableFormat,
)

_HEADING_SIZES = (1.75, 1.3, 1.1)
"""Font sizes of headings of level 1, 2 and deeper, as multiples of the text's."""
_LINE_HEIGHT = 135.0
"""In percent of the font's own."""
CODE_PADDING = 9.0
_CELL_PADDING = 5.0
_INDENT = 22.0
_PROPORTIONAL = QTextBlockFormat.LineHeightTypes.ProportionalHeight.value


@dataclass(frozen=True, slots=True, kw_only=True)
class HelpStyle:
    """Colours and font of a page, from the palette of the widget that shows it."""

    text: QColor
    muted: QColor
    link: QColor
    line: QColor
    code_ground: QColor
    font: QFont

    @classmethod
    def of(cls, palette: QPalette, font: QFont) -> "HelpStyle":
        """Return the style for a palette and the font of the running text."""
        role = QPalette.ColorRole
        return cls(
            text=palette.color(role.Text),
            muted=palette.color(role.PlaceholderText),
            link=palette.color(role.Link),
            line=palette.color(role.Mid),
            code_ground=palette.color(role.Window),
            font=font,
        )

    def apply(self, document: QTextDocument) -> None:
        """Set the formats of every part of a document."""
        document.setDefaultFont(self.font)
        document.setIndentWidth(_INDENT)
        for block in blocks_of(document):
            if is_code(block):
                self._set_code_block(block)
            else:
                self._set_block(block)
                self._set_fragments(block)
        for frame in document.rootFrame().childFrames():
            if isinstance(frame, QTextTable):
                self._set_table(frame)

    # Blocks -------------------------------------------------------------------------------------

    def _set_block(self, block: QTextBlock) -> None:
        layout, level = QTextBlockFormat(), block.blockFormat().headingLevel()
        in_table = QTextCursor(block).currentTable() is not None
        if level:
            self._set_heading(block, level)
            layout.setTopMargin(4.0 if level == 1 else 20.0)
            layout.setBottomMargin(8.0 if level == 1 else 4.0)
        elif block.textList() is not None:
            layout.setTopMargin(2.0)
            layout.setBottomMargin(2.0)
        elif not in_table:
            layout.setTopMargin(7.0)
            layout.setBottomMargin(7.0)
        # A line with a picture would grow by the same factor.
        if not any(each.charFormat().isImageFormat() for each in fragments_of(block)):
            layout.setLineHeight(_LINE_HEIGHT if not in_table else 118.0, _PROPORTIONAL)
        QTextCursor(block).mergeBlockFormat(layout)

    def _set_heading(self, block: QTextBlock, level: int) -> None:
        size = _HEADING_SIZES[min(level, len(_HEADING_SIZES)) - 1]
        for fragment in list(fragments_of(block)):
            look = fragment.charFormat()
            # Qt's own size for headings would override this one.
            look.clearProperty(QTextFormat.Property.FontSizeAdjustment.value)
            look.setForeground(self.text)
            look.setFontWeight(QFont.Weight.DemiBold)
            look.setFontPointSize(size * self.font.pointSizeF())
            _over(fragment, block).setCharFormat(look)

    def _set_code_block(self, block: QTextBlock) -> None:
        """Leave space around a block of code; the view paints the background behind it."""
        layout = QTextBlockFormat()
        layout.setLeftMargin(CODE_PADDING + 3.0)
        layout.setRightMargin(CODE_PADDING + 3.0)
        layout.setTopMargin(0.0 if is_code(block.previous()) else 2 * CODE_PADDING)
        layout.setBottomMargin(0.0 if is_code(block.next()) else 2 * CODE_PADDING)
        layout.setLineHeight(_LINE_HEIGHT, _PROPORTIONAL)
        layout.setNonBreakableLines(False)
        cursor = _whole(block)
        cursor.mergeBlockFormat(layout)
        cursor.mergeCharFormat(self._code())

    # Text ---------------------------------------------------------------------------------------

    def _set_fragments(self, block: QTextBlock) -> None:
        for fragment in list(fragments_of(block)):
            found, look = fragment.charFormat(), QTextCharFormat()
            if found.isImageFormat():
                continue
            if found.fontFixedPitch():
                look = self._code()
                if not block.blockFormat().headingLevel():
                    look.setBackground(self.code_ground)
            if found.isAnchor():
                look.setForeground(self.link)
                look.setFontUnderline(False)
            _over(fragment, block).mergeCharFormat(look)

    def _code(self) -> QTextCharFormat:
        look = QTextCharFormat()
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        look.setFontFamilies([fixed.family(), "monospace"])
        look.setFontPointSize(0.92 * self.font.pointSizeF())
        look.setForeground(self.text)
        return look

    # Tables -------------------------------------------------------------------------------------

    def _set_table(self, table: QTextTable) -> None:
        layout = QTextTableFormat(table.format())
        layout.setBorder(0)
        layout.setCellSpacing(0)
        layout.setBorderCollapse(True)
        layout.setTopMargin(8)
        layout.setBottomMargin(12)
        layout.setWidth(QTextLength(QTextLength.Type.PercentageLength, 100))
        table.setFormat(layout)
        heading = QTextCharFormat()
        heading.setForeground(self.muted)
        for row in range(table.rows()):
            for column in range(table.columns()):
                cell = table.cellAt(row, column)
                look = QTextTableCellFormat()
                look.setTopPadding(_CELL_PADDING)
                look.setBottomPadding(_CELL_PADDING)
                look.setLeftPadding(0.0 if column == 0 else _CELL_PADDING)
                look.setRightPadding(_CELL_PADDING)
                look.setBottomBorder(1)
                look.setBottomBorderBrush(self.line)
                look.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
                cell.setFormat(look)
                if row == 0:
                    cursor = cell.firstCursorPosition()
                    end = cell.lastCursorPosition().position()
                    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                    cursor.mergeCharFormat(heading)


def fit_tables(document: QTextDocument, width: float) -> None:
    """Divide ``width`` pixels among the columns of every table, keeping words whole if possible."""
    for table in document.rootFrame().childFrames():
        if isinstance(table, QTextTable):
            layout = table.format()
            shares = _shared(*_column_widths(table), width)
            kind = QTextLength.Type.PercentageLength
            layout.setColumnWidthConstraints([QTextLength(kind, 100 * each) for each in shares])
            table.setFormat(layout)


def _column_widths(table: QTextTable) -> tuple[list[float], list[float]]:
    """Return the width of every column's longest word, and of its longest cell."""
    words, cells = [0.0] * table.columns(), [0.0] * table.columns()
    for column in range(table.columns()):
        for row in range(table.rows()):
            block = table.cellAt(row, column).firstCursorPosition().block()
            longest, whole = 0.0, 0.0
            for fragment in fragments_of(block):
                metrics = QFontMetricsF(fragment.charFormat().font())
                whole += metrics.horizontalAdvance(fragment.text())
                each = map(metrics.horizontalAdvance, fragment.text().split())
                longest = max(longest, *each, 0.0)
            room = 2 * _CELL_PADDING + 2.0
            words[column] = max(words[column], longest + room)
            cells[column] = max(cells[column], whole + room)
    return words, cells


def _shared(words: list[float], cells: list[float], width: float) -> list[float]:
    """Return the width of every column: its longest word, and a share of the rest by need."""
    left = width - sum(words)
    if left <= 0.0:
        return [each / sum(words) for each in words]
    needs = [cell - word for word, cell in zip(words, cells, strict=True)]
    total = sum(needs)
    if total <= left:
        return [*(each / width for each in cells[:-1]), 1.0 - sum(cells[:-1]) / width]
    return [(word + left * need / total) / width for word, need in zip(words, needs, strict=True)]


def blocks_of(document: QTextDocument) -> Iterator[QTextBlock]:
    """Yield every block of a document, including those in tables."""
    block = document.begin()
    while block.isValid():
        yield block
        block = block.next()


def fragments_of(block: QTextBlock) -> Iterator[QTextFragment]:
    """Yield the fragments of a block, each of one format."""
    each = block.begin()
    while not each.atEnd():
        yield each.fragment()
        each += 1


def is_code(block: QTextBlock) -> bool:
    """Return whether a block is a line of a fenced block of code."""
    return block.isValid() and block.blockFormat().hasProperty(
        QTextFormat.Property.BlockCodeFence.value
    )


def _over(fragment: QTextFragment, block: QTextBlock) -> QTextCursor:
    cursor = QTextCursor(block)
    cursor.setPosition(fragment.position())
    end = fragment.position() + fragment.length()
    cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _whole(block: QTextBlock) -> QTextCursor:
    cursor = QTextCursor(block)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    return cursor
