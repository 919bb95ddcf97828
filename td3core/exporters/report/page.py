"""Writes a report as one self-contained HTML page: no scripts, no other files, no network."""

import base64
import html
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import singledispatchmethod
from importlib.resources import files
from pathlib import Path

from td3core.exporters.figure import PALETTE
from td3core.exporters.report.document import (
    Block,
    Cell,
    Column,
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
from td3core.exporters.report.drawing import svg_of
from td3core.system.files import write_atomically
from td3core.text import TURNING, tr

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Whatever the page contains, a browser runs no script and loads nothing."""
_DASHES = 4


LIMIT = 5 * 10**6
"""Largest page that can still be sent by mail, in bytes."""


def export(document: Document, target: Path) -> None:
    """Write the page; films that would exceed 5 MB are left out."""
    write_atomically(target, html_of(within_limit(document)).encode())


def within_limit(document: Document) -> Document:
    """Return the report with the films that fit into its page; it names the others."""
    if not any(document.films()):
        return document
    room = LIMIT - len(html_of(_without_films(document)).encode())
    sections = []
    for section in document.sections:
        blocks: list[Block] = []
        for block in section.blocks:
            if isinstance(block, Film):
                needed = 4 * len(block.gif) // 3 + 1_000
                kept = needed <= room
                room -= needed if kept else 0
                blocks.append(block if kept else _left_out(block))
            else:
                blocks.append(block)
        sections.append(replace(section, blocks=tuple(blocks)))
    return replace(document, sections=tuple(sections))


def _left_out(film: Film) -> Paragraph:
    text = tr(
        "{film}: left out. The film has {size:.1f} MB, and a report at most {most:g} MB.",
        film=film.about,
        size=len(film.gif) / 1e6,
        most=LIMIT / 1e6,
    )
    return Paragraph(text=text)


def _without_films(document: Document) -> Document:
    sections = (
        replace(each, blocks=tuple(b for b in each.blocks if not isinstance(b, Film)))
        for each in document.sections
    )
    return replace(document, sections=tuple(sections))


def html_of(document: Document) -> str:
    """Return the page."""
    return "".join(_Page().write(document))


def escaped(text: str) -> str:
    """Return text as HTML, also for attributes, without characters forbidden in a page."""
    known = "".join(each for each in text if each in "\n\t" or _is_printable(each))
    return html.escape(known.encode(errors="replace").decode())


def _is_printable(char: str) -> bool:
    """Return whether a character is allowed in a page: no control or bidirectional characters.

    Names come from untrusted files, and must not change how other text looks.
    """
    code = ord(char)
    controls = code < 0x20 or 0x7F <= code < 0xA0 or 0xFDD0 <= code < 0xFDF0
    return not (controls or char in TURNING or (code & 0xFFFE) == 0xFFFE)


class _Page:
    """Renders blocks as HTML; the only place that generates markup."""

    def __init__(self) -> None:
        self._figures = itertools.count(1)

    def write(self, document: Document) -> Iterator[str]:
        """Yield the parts of the page."""
        title = escaped(document.title)
        style = (files("resources") / "report" / "style.css").read_text("utf-8")
        yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        yield f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        yield f"<header>\n<h1>{title}</h1>\n"
        if document.question:
            yield f'<p class="question">{escaped(document.question)}</p>\n'
        yield f'<p class="subtitle">{escaped(document.subtitle)}</p>\n</header>\n'
        for section in document.sections:
            yield from self._section(section)
        yield f"<footer>{escaped(document.footer)}</footer>\n</main>\n</body>\n</html>\n"

    def _section(self, section: Section) -> Iterator[str]:
        name = escaped(section.name)
        yield f'<section id="{name}">\n<h2>{escaped(section.title)}</h2>\n'
        for kind, blocks in itertools.groupby(section.blocks, type):
            if kind is Film:
                yield f'<div class="films">\n{"".join(map(self.html, blocks))}</div>\n'
            else:
                yield from map(self.html, blocks)
        yield "</section>\n"

    @singledispatchmethod
    def html(self, block: Block) -> str:
        """Return a block as HTML."""
        raise TypeError(type(block))

    @html.register
    def _(self, block: Paragraph) -> str:
        kind = ' class="quiet"' if block.quiet else ""
        return f"<p{kind}>{escaped(block.text)}</p>\n" if block.text else ""

    @html.register
    def _(self, block: Notes) -> str:
        items = "".join(f"<li>{escaped(text)}</li>\n" for text in block.texts)
        kind = "missing" if block.quiet else "notes"
        return f'<ul class="{kind}">\n{items}</ul>\n'

    @html.register
    def _(self, block: KeyNumbers) -> str:
        numbers = "".join(
            f'<div><dt>{escaped(each.about)}</dt><dd class="value">{escaped(each.value)}</dd>'
            f'<dd class="detail">{escaped(each.detail)}</dd></div>\n'
            for each in block.numbers
        )
        return f'<dl class="numbers">\n{numbers}</dl>\n'

    @html.register
    def _(self, block: DataTable) -> str:
        kinds = [_class_of(block.columns, at) for at in range(len(block.columns))]
        heads = "".join(
            f'<th scope="col"{kind}>{escaped(column.title)}</th>'
            for kind, column in zip(kinds, block.columns, strict=True)
        )
        rows = "".join(f"<tr>{''.join(_cells(row, kinds))}</tr>\n" for row in block.rows)
        about = f'<p class="quiet">{escaped(block.about)}</p>\n' if block.about else ""
        return (
            f'<div class="table">\n<table>\n<thead><tr>{heads}</tr></thead>\n'
            f"<tbody>\n{rows}</tbody>\n</table>\n</div>\n{about}"
        )

    @html.register
    def _(self, block: Plots) -> str:
        legend = block.legend()
        keys = "".join(f"<li>{_key(place)}{escaped(label)}</li>\n" for label, place in legend)
        # A single line named like the title needs no legend.
        shown = f'<ul class="legend">\n{keys}</ul>\n' if len(legend) > 1 else ""
        kind = "grid" if len(block.plots) > 1 else "wide"
        plots = "".join(map(self._plot, block.plots))
        return f'{shown}<div class="{kind}">\n{plots}</div>\n'

    def _plot(self, plot: Plot) -> str:
        axis = plot.figure.y_label or plot.title
        label = tr("{what} against {axis}", what=axis, axis=plot.figure.x_label)
        drawn = svg_of(plot.figure, next(self._figures), escaped(label))
        caption = ""
        if plot.title:
            title, about = escaped(plot.title), escaped(plot.about)
            caption = f"<figcaption><strong>{title}</strong><span>{about}</span></figcaption>\n"
        return f"<figure>\n{caption}{drawn}\n</figure>\n"

    @html.register
    def _(self, block: Film) -> str:
        data = base64.b64encode(block.gif).decode()
        about = escaped(block.about)
        return (
            f'<figure><img src="data:image/gif;base64,{data}" width="{block.width}"'
            f' height="{block.height}" alt="{about}"><figcaption>{about}</figcaption></figure>\n'
        )

    @html.register
    def _(self, block: Commands) -> str:
        return f"<pre><code>{escaped(block.text)}</code></pre>\n"

    @html.register
    def _(self, block: Folded) -> str:
        inside = "".join(map(self.html, block.blocks))
        return f"<details>\n<summary>{escaped(block.title)}</summary>\n{inside}</details>\n"


def _class_of(columns: tuple[Column, ...], at: int) -> str:
    column = columns[at]
    kinds = []
    if column.number:
        # A column without a head belongs to the number before it, such as its interval.
        kinds.append("num" if column.title else "num after")
    if column.code:
        kinds.append("code")
    return f' class="{" ".join(kinds)}"' if kinds else ""


def _cells(row: Iterable[str | Cell], kinds: Iterable[str]) -> Iterator[str]:
    for cell, kind in zip(row, kinds, strict=True):
        if isinstance(cell, str):
            yield f"<td{kind}>{escaped(cell)}</td>"
            continue
        before = "" if cell.place is None else _key(cell.place)
        if cell.share is not None:
            width = round(120 * min(max(cell.share, 0.0), 1.0))
            before += f'<span class="bar" style="width: {width}px"></span>'
        yield f"<td{kind}>{before}{escaped(cell.text)}</td>"


def _key(place: int) -> str:
    colour, dash = place % len(PALETTE), place // len(PALETTE) % _DASHES
    return f'<span class="key dash-{dash}" style="border-color: var(--line-{colour})"></span>'
