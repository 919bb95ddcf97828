"""Draws a figure of curves for print: light, with axes, units and legend."""

import io
import re
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from td3core.analysis.figure_data import WHOLE_AXES, FigureData, FigureLine, drawable
from td3core.system.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.ticker import Formatter

PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#882255",
    "#666666",
)
"""Okabe and Ito's colours, for colour-blind readers, without yellow and black."""
_DASHES = ("-", "--", "-.", ":")
"""Dashes that distinguish lines of the same colour."""

STYLE = {
    "font.size": 8,
    "font.family": "DejaVu Sans",
    "axes.titlesize": 9,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "legend.fontsize": 7,
    "legend.frameon": False,
    # Text stays text, for search and editing.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # The same figure gives the same file.
    "svg.hashsalt": "td3-studio",
}
"""Style of matplotlib for every figure."""
INK, QUIET, GRID = "#000000", "#777777", "#dddddd"
"""Colours of text, of lines other than data, and of the grid."""
_MOST_IN_PLOT = 6
"""Legend entries that fit into the plot; more go to its right."""
_WIDEST_INSIDE, _WIDEST_BESIDE = 0.75, 0.45
"""Shares of the figure's width that a legend may take, in the plot and to its right."""
_LETTER_IN = 0.062
"""Inches per letter of the legend, including a share of the line before the name."""
_DPI = 300
_NARROW_IN = 4.5
_STEPS = (1, 2, 2.5, 5, 10)
_THOUSANDS = re.compile(r"(?<![\d.])\d{4,}")
"""Four or more digits before the decimal point."""


def export(figure: FigureData, target: Path) -> None:
    """Write a figure as .svg, .pdf or .png."""
    # Imported here: it takes half a second.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind = target.suffix.lower().removeprefix(".")
    with mpl.rc_context(STYLE):
        drawn = Figure(figsize=(figure.width_in, figure.height_in), layout="constrained")
        FigureCanvasAgg(drawn)
        axes = drawn.add_subplot()
        draw(axes, figure)
        axes.set_title(_literal(figure.title), wrap=True)
        _legend(drawn, axes, figure)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        out = io.BytesIO()
        drawn.savefig(out, format=kind, dpi=_DPI, metadata=undated)
    write_atomically(target, out.getvalue())


def draw(axes: "Axes", figure: FigureData) -> None:
    """Draw a figure without its title and its legend, in matplotlib's current style."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    for line in figure.lines:
        _draw(axes, line)
    for at in figure.marks:
        axes.axvline(at, color=QUIET, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1)
    if figure.threshold is not None:
        axes.axhline(figure.threshold, color=QUIET, linewidth=0.8, linestyle=(0, (5, 3)), zorder=1)
    axes.set(xlabel=str(figure.x_label), ylabel=str(figure.y_label))
    axes.margins(x=0.01)
    # Ticks at whole numbers of steps, and only as many as fit.
    axes.xaxis.set_major_locator(
        MaxNLocator(6 if figure.width_in > _NARROW_IN else 4, steps=_STEPS)
    )
    whole = figure.x_label in WHOLE_AXES
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}") if whole else _grouping())
    if figure.logarithmic:
        axes.set_yscale("log", nonpositive="mask")
    else:
        axes.yaxis.set_major_formatter(_grouping())


def _grouping() -> "Formatter":
    """Return a tick formatter with thousands separators, as on the other axis and in texts."""
    from matplotlib.ticker import ScalarFormatter

    class Grouping(ScalarFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            text: str = super().__call__(x, pos)
            return _THOUSANDS.sub(lambda digits: f"{int(digits[0]):,}", text, count=1)

    # A tick shows its own value, not an offset to a number in a corner.
    return Grouping(useOffset=False)


def look_of(place: int) -> tuple[str, str]:
    """Return the colour and dashes of the line at a place."""
    return PALETTE[place % len(PALETTE)], _DASHES[place // len(PALETTE) % len(_DASHES)]


def _draw(axes: "Axes", line: FigureLine) -> None:
    colour, dash = look_of(line.place)
    single = "o" if line.points or len(line.x) == 1 else None
    label = _literal(line.label if drawable(line) else f"{line.label}: no curve")
    style = "none" if line.points else dash
    (drawn,) = axes.plot(
        line.x, line.y, color=colour, linestyle=style, label=label, marker=single, markersize=3
    )
    if line.faint:
        # Behind the other lines, which are the main ones.
        drawn.set(linewidth=0.7, alpha=0.5, zorder=1.5)
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)


def _legend(drawn: "Figure", axes: "Axes", figure: FigureData) -> None:
    """Put the legend in the plot or to its right; below it if the names need the room."""
    count = len(figure.lines)
    if not count:
        return
    inside = count <= _MOST_IN_PLOT
    if inside:
        legend = axes.legend(loc="best")
    else:
        legend = axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=1 + count // 30)
    width, _ = _size_in(drawn, legend)
    if width <= (_WIDEST_INSIDE if inside else _WIDEST_BESIDE) * figure.width_in:
        return
    handles, labels = axes.get_legend_handles_labels()
    legend.remove()
    letters = int(figure.width_in / _LETTER_IN)
    names = [fill(label, letters) for label in labels]
    below = drawn.legend(handles, names, loc="outside lower left")
    # The plot keeps its requested size.
    _, height = _size_in(drawn, below)
    drawn.set_size_inches(figure.width_in, figure.height_in + height)


def _size_in(drawn: "Figure", legend: "Legend") -> tuple[float, float]:
    """Return width and height in inches."""
    extent = legend.get_window_extent()
    return extent.width / drawn.dpi, extent.height / drawn.dpi


def _literal(text: str) -> str:
    r"""Return text in which no ``$`` begins a formula, and no leading ``_`` hides the label."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
