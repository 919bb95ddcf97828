"""Writes a report as PDF: the same text and figures, on A4 pages drawn by matplotlib."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatchmethod
from pathlib import Path

from td3core.analysis.figure_data import drawable
from td3core.exporters.figure import INK, QUIET, STYLE, draw, look_of
from td3core.exporters.report.document import (
    Block,
    Cell,
    Commands,
    DataTable,
    Document,
    Film,
    Folded,
    KeyNumbers,
    Notes,
    Paragraph,
    Plot,
    Plots,
    Section,
)
from td3core.exporters.report.sheet import BODY, HEAD, MONO, SMALL, Font, Sheets
from td3core.system.files import write_atomically
from td3core.text import tr

_TITLE, _QUESTION, _VALUE = Font(17, bold=True), Font(11), Font(14, bold=True)
_QUIET = replace(SMALL, colour=QUIET)
_STRONG = replace(SMALL, bold=True)
_RULE = "#c9ced6"
_GAP_IN = 0.16
"""Gap between two columns."""
_PLOT_IN, _LEFT_IN, _BELOW_IN = 2.5, 0.55, 0.42
"""Height of a wide plot, and space for its tick labels at the left and below."""
_SMALL_IN = 1.65
_LEAST_COLUMN = 0.35
_MOST_CELL = 3.2
"""Maximum width of a cell in inches; longer text wraps."""


def export(document: Document, target: Path) -> None:
    """Write the report; films are only mentioned."""
    import matplotlib as mpl

    # In memory first: on a full disk, matplotlib raises an error of zlib instead.
    pages = io.BytesIO()
    with mpl.rc_context(STYLE), Sheets(pages, document.title, document.footer) as sheets:
        _Printer(sheets).print(document)
    write_atomically(target, pages.getvalue())


class _Printer:
    """Lays out blocks on sheets, one below the other."""

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets

    def print(self, document: Document) -> None:
        """Print everything."""
        sheets = self._sheets
        sheets.text(document.title, _TITLE)
        if document.question:
            sheets.space(0.06)
            sheets.text(document.question, _QUESTION)
        sheets.space(0.05)
        sheets.text(document.subtitle, _QUIET)
        sheets.space(0.1)
        sheets.rule(INK, 1.2)
        for section in document.sections:
            self._section(section)

    def _section(self, section: Section) -> None:
        sheets = self._sheets
        sheets.space(0.22)
        # No heading alone at the foot of a page.
        sheets.need(1.0)
        sheets.text(section.title, HEAD)
        sheets.space(0.08)
        for block in section.blocks:
            self.block(block)
            sheets.space(0.08)

    @singledispatchmethod
    def block(self, block: Block) -> None:
        """Print a block."""
        raise TypeError(type(block))

    @block.register
    def _(self, block: Paragraph) -> None:
        if block.text:
            self._sheets.text(block.text, _QUIET if block.quiet else BODY)

    @block.register
    def _(self, block: Notes) -> None:
        for text in block.texts:
            self._sheets.text(f"•  {text}", BODY)

    @block.register
    def _(self, block: KeyNumbers) -> None:
        sheets = self._sheets
        sheets.need(0.75)
        width = sheets.width / max(len(block.numbers), 3)
        for at, number in enumerate(block.numbers):
            left = at * width
            sheets.put(number.about, _QUIET, left, 0.12)
            sheets.put(number.value, _VALUE, left, 0.36)
            detail = sheets.cut(number.detail, _QUIET, width - _GAP_IN)
            sheets.put(detail, _QUIET, left, 0.54)
        sheets.space(0.64)

    @block.register
    def _(self, block: DataTable) -> None:
        _TablePrinter(self._sheets, block).print()
        if block.about:
            self._sheets.text(block.about, _QUIET)

    @block.register
    def _(self, block: Plots) -> None:
        sheets, legend = self._sheets, block.legend()
        height = _PLOT_IN if len(block.plots) == 1 else _SMALL_IN
        sheets.need(height + _BELOW_IN + 0.5)
        if len(legend) > 1:
            self._legend(legend)
        if len(block.plots) == 1:
            self._plot(block.plots[0], 0.0, sheets.width, height)
            sheets.space(height + _BELOW_IN)
            return
        width = (sheets.width - 2 * _GAP_IN) / 2
        for at in range(0, len(block.plots), 2):
            sheets.need(height + _BELOW_IN)
            for column, plot in enumerate(block.plots[at : at + 2]):
                self._plot(plot, column * (width + 2 * _GAP_IN), width, height)
            sheets.space(height + _BELOW_IN)

    def _legend(self, legend: Sequence[tuple[str, int]]) -> None:
        sheets = self._sheets
        left = 0.0
        for label, place in legend:
            text = sheets.cut(label, SMALL, sheets.width - 0.4)
            width = 0.34 + sheets.measure(text, SMALL) + 0.2
            if left and left + width > sheets.width:
                sheets.space(0.17)
                left = 0.0
            colour, dash = look_of(place)
            sheets.line(left, left + 0.26, 0.075, colour, 1.6, dash)
            sheets.put(text, SMALL, left + 0.34, 0.11)
            left += width
        sheets.space(0.24)

    def _plot(self, plot: Plot, left: float, width: float, height: float) -> None:
        """Draw a plot below the current position; ``height`` is the height of its axes."""
        sheets = self._sheets
        above = 0.0
        if plot.title:
            sheets.put(sheets.cut(plot.title, _STRONG, width), _STRONG, left, 0.11)
            sheets.put(sheets.cut(plot.about, _QUIET, width), _QUIET, left, 0.26)
            above = 0.34
        room = 0.62 if plot.figure.y_label else _LEFT_IN
        axes = sheets.axes(left + room, above, width - room, height - above)
        shown = tuple(replace(line, label="") for line in plot.figure.lines if drawable(line))
        draw(axes, replace(plot.figure, lines=shown, title=""))

    @block.register
    def _(self, block: Film) -> None:
        self._sheets.text(
            tr("{film} (a film: it is in the report as HTML)", film=block.about), _QUIET
        )

    @block.register
    def _(self, block: Commands) -> None:
        for line in block.text.split("\n"):
            self._sheets.text(line, MONO)
            self._sheets.space(0.03)

    @block.register
    def _(self, block: Folded) -> None:
        for each in block.blocks:
            self.block(each)


class _TablePrinter:
    """Prints a table, with its head on every sheet."""

    def __init__(self, sheets: Sheets, table: DataTable) -> None:
        self._sheets, self._table = sheets, table
        self._fonts = [MONO if column.code else SMALL for column in table.columns]
        self._head = replace(SMALL, bold=True, colour=QUIET)
        self._widths = self._fit()

    def print(self) -> None:
        """Print the table."""
        sheets = self._sheets
        self._print_head()
        for row in self._table.rows:
            cells = [
                sheets.wrap(_text_of(cell), font, width)
                for cell, font, width in zip(row, self._fonts, self._widths, strict=True)
            ]
            height = max(map(len, cells)) * SMALL.line_in + 0.07
            if sheets.need(height):
                self._print_head()
            for at, lines in enumerate(cells):
                self._print_cell(at, row[at], lines)
            sheets.space(height)
            sheets.line(0.0, sheets.width, -0.02, _RULE, 0.4)
        sheets.space(0.06)

    def _print_head(self) -> None:
        sheets = self._sheets
        for at, column in enumerate(self._table.columns):
            text = sheets.cut(column.title, self._head, self._widths[at])
            right = column.number and bool(column.title)
            left = self._left(at) + (self._widths[at] if right else 0.0)
            sheets.put(text, self._head, left, 0.11, right=right)
        sheets.space(0.2)
        sheets.line(0.0, sheets.width, -0.03, QUIET, 0.6)
        sheets.space(0.02)

    def _print_cell(self, at: int, cell: str | Cell, lines: Sequence[str]) -> None:
        sheets, column = self._sheets, self._table.columns[at]
        left, indent = self._left(at), 0.0
        if isinstance(cell, Cell) and cell.place is not None:
            colour, dash = look_of(cell.place)
            sheets.line(left, left + 0.2, 0.075, colour, 1.6, dash)
            indent = 0.28
        if isinstance(cell, Cell) and cell.share is not None:
            length = 1.2 * min(max(cell.share, 0.0), 1.0)
            sheets.line(left, left + length, 0.075, look_of(0)[0], 5)
            indent = 1.3
        right = column.number and bool(column.title)
        for number, text in enumerate(lines):
            place = left + (self._widths[at] if right else indent)
            sheets.put(text, self._fonts[at], place, 0.11 + number * SMALL.line_in, right=right)

    def _left(self, at: int) -> float:
        return sum(self._widths[:at]) + at * _GAP_IN

    def _fit(self) -> list[float]:
        """Return column widths that fit the table onto the sheet."""
        sheets, table = self._sheets, self._table
        widths = []
        for at, column in enumerate(table.columns):
            texts = [(column.title, self._head)]
            texts += [(_text_of(row[at]), self._fonts[at]) for row in table.rows]
            more = max((_before(row[at]) for row in table.rows), default=0.0)
            longest = max(sheets.measure(text, font) for text, font in texts)
            widths.append(min(max(longest + more, _LEAST_COLUMN), _MOST_CELL + more))
        room = sheets.width - _GAP_IN * (len(widths) - 1)
        if sum(widths) <= room:
            # A narrow table does not fill the sheet.
            return widths
        narrow = [min(width, room / len(widths)) for width in widths]
        wanted = sum(width - least for width, least in zip(widths, narrow, strict=True))
        share = (room - sum(narrow)) / wanted if wanted else 0.0
        return [
            least + (width - least) * share for width, least in zip(widths, narrow, strict=True)
        ]


def _text_of(cell: str | Cell) -> str:
    return cell if isinstance(cell, str) else cell.text


def _before(cell: str | Cell) -> float:
    if isinstance(cell, str):
        return 0.0
    return (0.28 if cell.place is not None else 0.0) + (1.3 if cell.share is not None else 0.0)
