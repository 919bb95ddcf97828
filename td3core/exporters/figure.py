"""Draws a figure of curves for print: light, with axes, units and legend."""

from pathlib import Path
from typing import TYPE_CHECKING

from td3core.analysis.figure_data import FigureData, FigureLine, drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PALETTE = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#882255", "#666666"),
)
"""Okabe and Ito's colours, told apart by colour-blind readers, without yellow and black."""
_DASHES = ("-", "--", "-.", ":")
"""Lines that repeat a colour differ by these."""

_STYLE = {
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
    # Text stays text, so that it can be searched and edited.
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    # The same figure is the same file.
    "svg.hashsalt": "td3-studio",
}
_MOST_IN_PLOT = 6
"""Legend entries that fit into the plot; more go to its right."""
_DPI = 300


def export(figure: FigureData, target: Path) -> None:
    """Write a figure as .svg, .pdf or .png."""
    # Imported here: it takes half a second.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind = target.suffix.lower().removeprefix(".")
    with mpl.rc_context(_STYLE):
        drawn = Figure(figsize=(figure.width_in, figure.height_in), layout="constrained")
        FigureCanvasAgg(drawn)
        axes = drawn.add_subplot()
        for line in figure.lines:
            _draw(axes, line)
        axes.set(title=_literal(figure.title), xlabel=figure.x_label, ylabel=figure.y_label)
        if figure.logarithmic:
            axes.set_yscale("log", nonpositive="mask")
        axes.margins(x=0.01)
        _legend(axes, len(figure.lines))
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        drawn.savefig(target, format=kind, dpi=_DPI, metadata=undated)


def _draw(axes: "Axes", line: FigureLine) -> None:
    colour = PALETTE[line.place % len(PALETTE)]
    dash = _DASHES[line.place // len(PALETTE) % len(_DASHES)]
    single = "o" if len(line.x) == 1 else None
    label = _literal(line.label if drawable(line) else f"{line.label}: no results")
    axes.plot(
        line.x, line.y, color=colour, linestyle=dash, label=label, marker=single, markersize=3
    )
    if line.low is not None and line.high is not None:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.2, linewidth=0)


def _legend(axes: "Axes", count: int) -> None:
    if not count:
        return
    if count <= _MOST_IN_PLOT:
        axes.legend(loc="best")
    else:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=1 + count // 30)


def _literal(text: str) -> str:
    r"""Return text in which no ``$`` begins a formula, and that no leading ``_`` hides."""
    shown = text.replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
