"""What a report is made of: sections of a few kinds of blocks, whatever it is written as.

All text in here may come from the files of strangers: whoever writes it, escapes it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from td3core.analysis.figure_data import FigureData


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A few sentences."""

    text: str
    quiet: bool = False
    """True for what explains, beside what is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What a reader has to know before trusting the numbers."""

    texts: tuple[str, ...]
    quiet: bool = False
    """True for what is no warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """One number that says most, such as a final return."""

    about: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumbers:
    """A row of them."""

    numbers: tuple[KeyNumber, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The head of a column of a table."""

    title: str
    number: bool = False
    """True for numbers: aligned at their right, with digits of one width."""
    code: bool = False
    """True for names that are typed, not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a table that is more than text."""

    text: str
    place: int | None = None
    """The place of the line in the palette that it names, if it does."""
    share: float | None = None
    """From 0 to 1: drawn as a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Rows of text."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One figure with its title, and what it shows in words."""

    title: str
    figure: FigureData
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plots:
    """Figures with one legend: a single one as wide as the page, several in two columns."""

    plots: tuple[Plot, ...]

    def legend(self) -> tuple[tuple[str, int], ...]:
        """Return label and place of every line, each once."""
        lines = (line for plot in self.plots for line in plot.figure.lines)
        return tuple(dict.fromkeys((line.label, line.place) for line in lines if line.label))


@dataclass(frozen=True, slots=True, kw_only=True)
class Film:
    """A film of an agent, as an animated picture."""

    gif: bytes
    width: int
    height: int
    about: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What to type in a terminal, or another text to be copied as it is."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Something long that is shown when it is asked for."""

    title: str
    blocks: "tuple[Block, ...]"


Block = Paragraph | Notes | KeyNumbers | DataTable | Plots | Film | Commands | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report."""

    name: str
    """What it is called in a link, and where parts are left out."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report."""

    title: str
    question: str
    """What the runs were to answer; empty if nobody said."""
    subtitle: str
    """What it is about, in one line."""
    sections: tuple[Section, ...]
    footer: str
    """By what and when it was written."""

    def films(self) -> Iterator[Film]:
        """Yield all films."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Film):
                    yield block
