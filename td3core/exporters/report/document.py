"""Structure of a report: sections made of a few kinds of blocks, for any output format.

All text here may come from untrusted files: every output format must escape it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from td3core.analysis.figure_data import FigureData


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """A few sentences."""

    text: str
    quiet: bool = False
    """True for explanations, as opposed to results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Caveats that a reader must know."""

    texts: tuple[str, ...]
    quiet: bool = False
    """True for notes that are not warnings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A headline number, such as a final return."""

    about: str
    value: str
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumbers:
    """A row of key numbers."""

    numbers: tuple[KeyNumber, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The head of a column of a table."""

    title: str
    number: bool = False
    """True for numbers: right-aligned, with digits of equal width."""
    code: bool = False
    """True for identifiers, shown in a monospaced font."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A table cell with more than text."""

    text: str
    place: int | None = None
    """Palette index of the line that it names, if any."""
    share: float | None = None
    """From 0 to 1, drawn as a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataTable:
    """Rows of text."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | Cell, ...], ...]
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One figure with its title and a description."""

    title: str
    figure: FigureData
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plots:
    """Figures with a common legend: a single one as wide as the page, several in two columns."""

    plots: tuple[Plot, ...]

    def legend(self) -> tuple[tuple[str, int], ...]:
        """Return label and palette index of every line, each once."""
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
    """Commands for a terminal, or other text to copy verbatim."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """Long content, collapsed until the reader opens it."""

    title: str
    blocks: "tuple[Block, ...]"


Block = Paragraph | Notes | KeyNumbers | DataTable | Plots | Film | Commands | Folded


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report."""

    name: str
    """Its name in links and in the option that leaves parts out."""
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report."""

    title: str
    question: str
    """The question that the runs were to answer; empty if there is none."""
    subtitle: str
    """The subject, in one line."""
    sections: tuple[Section, ...]
    footer: str
    """Program and time of writing."""

    def films(self) -> Iterator[Film]:
        """Yield all films."""
        for section in self.sections:
            for block in section.blocks:
                if isinstance(block, Film):
                    yield block
