"""Draws a figure as SVG that is embedded in a page and adopts its colours."""

import io
import re
from collections.abc import Iterable
from dataclasses import replace

from td3core.analysis.figure_data import FigureData, FigureLine, drawable
from td3core.exporters.figure import GRID, INK, PALETTE, QUIET, STYLE, draw

_VARIABLES = {
    **{colour: f"var(--line-{place})" for place, colour in enumerate(PALETTE)},
    INK: "var(--ink)",
    QUIET: "var(--quiet)",
    GRID: "var(--grid)",
}
"""The colours of a figure, and the page's variables that replace them: a page has two themes.

No line has the colour of the text or the grid.
"""
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_PLACES = re.compile(r'(?<= )(?:d|transform|x|y|width|height)="[^"]*"')
"""Coordinates in attributes, as opposed to tick labels."""
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_ID = re.compile(r'(\bid="|xlink:href="#|url\(#)')
_HEAD = re.compile(r"^.*?(?=<svg )", re.DOTALL)
_METADATA = re.compile(r"<metadata>.*?</metadata>|<!--.*?-->", re.DOTALL)
_SIZE = re.compile(r'(<svg [^>]*?) ?width="[^"]*"( [^>]*?)? ?height="[^"]*"')
_FONT = re.compile(r"font: (?:bold )?([\d.]+)px '[^;\"]*(?=[;\"])")
_BACKGROUND = re.compile(r'<g id="patch_\d+">\s*<path d="[^"]*" style="fill: #ffffff[^/]*/>\s*</g>')
_SPACE = re.compile(r">\s+<")


def svg_of(figure: FigureData, number: int, label: str) -> str:
    """Return a figure as an ``<svg>`` element.

    It contains numbers from runs, but no text: the page itself shows the names of lines.

    Args:
        figure: the figure.
        number: number of the figure in its page, used as a prefix of names within it.
        label: escaped description, for screen readers.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    out = io.StringIO()
    undated = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(figure.width_in, figure.height_in), layout="constrained")
        FigureCanvasSVG(drawn)
        axes = drawn.add_subplot()
        draw(axes, replace(figure, lines=tuple(_nameless(figure.lines))))
        drawn.savefig(out, format="svg", metadata=undated, transparent=True)
    found = _METADATA.sub("", _HEAD.sub("", out.getvalue()))
    found = _BACKGROUND.sub("", found)
    found = _COLOUR.sub(lambda match: _VARIABLES.get(match[0], match[0]), found)
    found = _PLACES.sub(_rounded, found)
    found = _ID.sub(rf"\1f{number}-", found)
    # The font of the page, in the same size.
    found = _FONT.sub(r"font-size: \1px", found)
    found = _SIZE.sub(rf'\1 role="img" aria-label="{label}"', found, count=1)
    return _SPACE.sub("><", found).strip()


def _rounded(places: re.Match[str]) -> str:
    """Return an attribute rounded to hundredths of a point: digits would fill half the page."""
    return _NUMBER.sub(lambda match: f"{float(match[0]):.2f}", places[0])


def _nameless(lines: Iterable[FigureLine]) -> Iterable[FigureLine]:
    """Return the lines that have points, without their names."""
    return (replace(line, label="") for line in lines if drawable(line))
