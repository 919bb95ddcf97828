"""Figures for print have room for the names of their lines."""

import errno
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from td3core.analysis.figure_data import COLUMN_WIDTHS_IN, FigureData, FigureLine
from td3core.exporters.figure import export

LONG = "BipedalWalker-v3 with two frames an action, three steps and normalised critics, seed"


def figure(names: list[str], width_in: float, title: str = "Returns") -> FigureData:
    x = np.linspace(0.0, 1000.0, 20)
    lines = tuple(
        FigureLine(label=name, place=at, x=x, y=x + 100 * at) for at, name in enumerate(names)
    )
    return FigureData(title=title, x_label="x", y_label="y", lines=lines, width_in=width_in)


def drawn(figure: FigureData, folder: Path) -> tuple[str, float]:
    """Return the texts of the figure, and its height in points."""
    export(figure, folder / "figure.svg")
    root = ElementTree.parse(folder / "figure.svg").getroot()
    return " ".join(filter(None, root.itertext())), float(root.attrib["height"].removesuffix("pt"))


@pytest.mark.parametrize(
    ("count", "width_in"),
    [(2, COLUMN_WIDTHS_IN[1]), (9, COLUMN_WIDTHS_IN[1]), (9, COLUMN_WIDTHS_IN[2])],
)
def test_long_names_are_below_the_plot_and_take_nothing_from_it(
    tmp_path: Path, count: int, width_in: float
) -> None:
    # A warning of matplotlib, that there is no room, is an error here.
    said, height = drawn(figure([f"{LONG} {n}" for n in range(count)], width_in), tmp_path)
    assert " ".join(said.split()).count("normalised critics") == count
    assert height > 72 * figure([], width_in).height_in


def test_short_names_are_in_the_plot_whose_size_stays(tmp_path: Path) -> None:
    said, height = drawn(figure(["one", "other"], COLUMN_WIDTHS_IN[1]), tmp_path)
    assert {"one", "other"} <= set(said.split())
    assert height == pytest.approx(72 * figure([], COLUMN_WIDTHS_IN[1]).height_in)


def test_a_long_title_is_written_on_several_lines(tmp_path: Path) -> None:
    title = f"{LONG} 1 against {LONG} 2"
    said, _ = drawn(figure(["one"], COLUMN_WIDTHS_IN[1], title), tmp_path)
    assert title not in said
    assert title in " ".join(said.split())


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_a_figure_that_cannot_be_written_leaves_the_one_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / f"figure.{kind}"
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        export(figure(["one"], COLUMN_WIDTHS_IN[1]), path)
    assert path.read_text() == "before"
