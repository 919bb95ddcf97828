"""A4 sheets that fill from the top: text, lines and axes at positions in inches."""

import functools
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

from td3core.exporters.figure import INK, QUIET

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ft2font import FT2Font

_WIDTH_IN, _HEIGHT_IN = 8.27, 11.69
_SIDE_IN, _TOP_IN, _FOOT_IN = 0.75, 0.75, 0.85
_POINTS = 72.0
_MISSING = "\N{WHITE SQUARE}"
"""Replaces characters that the font lacks."""


@dataclass(frozen=True, slots=True)
class Font:
    """Appearance of a text."""

    size: float
    """In points."""
    bold: bool = False
    mono: bool = False
    colour: str = INK

    @property
    def line_in(self) -> float:
        """Line spacing in inches."""
        return self.size * 1.4 / _POINTS


BODY, SMALL, HEAD, MONO = Font(8.5), Font(7.5), Font(11.5, bold=True), Font(7, mono=True)


@functools.cache
def _file_of(bold: bool, mono: bool) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    family = "DejaVu Sans Mono" if mono else "DejaVu Sans"
    return findfont(FontProperties(family=family, weight="bold" if bold else "normal"))


@functools.cache
def _metrics(bold: bool, mono: bool) -> "FT2Font":
    from matplotlib.font_manager import get_font

    return get_font(_file_of(bold, mono))


class Sheets:
    """The sheets of a PDF. Positions are inches from the left margin, and below the last print."""

    def __init__(self, target: IO[bytes], title: str, footer: str) -> None:
        self._target, self._title, self._footer = target, title, footer
        self._sheet: Figure | None = None
        self._number, self._at = 0, 0.0
        self.width = _WIDTH_IN - 2 * _SIDE_IN

    def __enter__(self) -> Self:
        from matplotlib.backends.backend_pdf import PdfPages

        about: dict[str, Any] = {"Title": self._title, "Creator": "TD3 Studio"}
        self._pages = PdfPages(self._target, metadata=about)
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if problem is None:
            self._finish()
        self._pages.close()  # type: ignore[no-untyped-call]

    # Places -------------------------------------------------------------------------------------

    def space(self, height: float) -> None:
        """Move down."""
        self._at += height

    def need(self, height: float) -> bool:
        """Begin a new sheet if ``height`` does not fit; return whether one was begun."""
        full = self._at + height > _HEIGHT_IN - _TOP_IN - _FOOT_IN
        if full and self._at > 0:
            self._finish()
            self._begin()
            return True
        return False

    # Printing -----------------------------------------------------------------------------------

    def text(self, text: str, font: Font) -> None:
        """Print text as wide as the sheet, over several sheets if need be."""
        for line in self.wrap(text, font, self.width):
            self.need(font.line_in)
            self.put(line, font, 0.0, font.size * 1.05 / _POINTS)
            self.space(font.line_in)

    def put(self, text: str, font: Font, left: float, below: float, *, right: bool = False) -> None:
        """Print a line of text, its baseline at ``below``; with ``right`` it ends at ``left``."""
        assert self._sheet is not None
        self._sheet.text(
            (_SIDE_IN + left) / _WIDTH_IN,
            1 - (_TOP_IN + self._at + below) / _HEIGHT_IN,
            _drawable(text, font),
            fontsize=font.size,
            family="DejaVu Sans Mono" if font.mono else "DejaVu Sans",
            weight="bold" if font.bold else "normal",
            color=font.colour,
            ha="right" if right else "left",
            va="baseline",
            parse_math=False,
        )

    def line(
        self, left: float, right: float, below: float, colour: str, width: float, dash: str = "-"
    ) -> None:
        """Draw a line from left to right."""
        from matplotlib.lines import Line2D

        assert self._sheet is not None
        y = 1 - (_TOP_IN + self._at + below) / _HEIGHT_IN
        x = [(_SIDE_IN + each) / _WIDTH_IN for each in (left, right)]
        drawn = Line2D(x, [y, y], color=colour, linewidth=width, linestyle=dash)
        drawn.set_solid_capstyle("butt")
        self._sheet.add_artist(drawn)

    def rule(self, colour: str, width: float) -> None:
        """Draw a line as wide as the sheet."""
        self.line(0.0, self.width, 0.0, colour, width)

    def axes(self, left: float, below: float, width: float, height: float) -> "Axes":
        """Return axes to draw into; labels outside of them need space of their own."""
        assert self._sheet is not None
        bottom = _HEIGHT_IN - _TOP_IN - self._at - below - height
        return self._sheet.add_axes(
            (
                (_SIDE_IN + left) / _WIDTH_IN,
                bottom / _HEIGHT_IN,
                width / _WIDTH_IN,
                height / _HEIGHT_IN,
            )
        )

    # Measuring ----------------------------------------------------------------------------------

    def measure(self, text: str, font: Font) -> float:
        """Return the width of a text in inches."""
        return sum(_advance(char, font.bold, font.mono) for char in text) * font.size

    def cut(self, text: str, font: Font, width: float) -> str:
        """Return text truncated to ``width``, with an ellipsis."""
        if self.measure(text, font) <= width:
            return text
        room, kept = width - self.measure("…", font), ""
        for char in text:
            room -= self.measure(char, font)
            if room < 0:
                break
            kept += char
        return f"{kept}…"

    def wrap(self, text: str, font: Font, width: float) -> list[str]:
        """Return text as lines of at most ``width``; long words are broken."""
        lines, line, room = [], "", width
        for word in text.split(" "):
            taken = self.measure(f" {word}" if line else word, font)
            if taken <= room:
                line, room = (f"{line} {word}" if line else word), room - taken
                continue
            if line:
                lines.append(line)
            line, room = "", width
            for char in word:
                taken = self.measure(char, font)
                if taken > room and line:
                    lines.append(line)
                    line, room = "", width
                line, room = line + char, room - taken
        return [*lines, line]

    # Sheets -------------------------------------------------------------------------------------

    def _begin(self) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        self._sheet = Figure(figsize=(_WIDTH_IN, _HEIGHT_IN))
        FigureCanvasAgg(self._sheet)
        self._number, self._at = self._number + 1, 0.0

    def _finish(self) -> None:
        assert self._sheet is not None
        foot = Font(6.5, colour=QUIET)
        self._at = _HEIGHT_IN - _TOP_IN - _FOOT_IN / 2
        self.put(self._footer, foot, 0.0, 0.0)
        self.put(str(self._number), foot, self.width, 0.0, right=True)
        self._pages.savefig(self._sheet)  # type: ignore[no-untyped-call]
        self._sheet = None


@functools.lru_cache(maxsize=4096)
def _advance(char: str, bold: bool, mono: bool) -> float:
    """Return the width of a character in inches, at a size of one point."""
    from matplotlib.ft2font import LoadFlags

    font = _metrics(bold, mono)
    known = char if font.get_char_index(ord(char)) else _MISSING
    glyph = font.load_char(ord(known), flags=LoadFlags.NO_SCALE)
    return float(glyph.horiAdvance / font.units_per_EM / _POINTS)


def _drawable(text: str, font: Font) -> str:
    """Return text with only characters that the font has."""
    metrics = _metrics(font.bold, font.mono)
    return "".join(
        char if metrics.get_char_index(ord(char)) or char == " " else _MISSING for char in text
    )
