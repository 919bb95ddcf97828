"""Pictures replace what was there as a whole, or not at all."""

import errno
from pathlib import Path

import pyqtgraph as pg
import pytest
from PySide6.QtGui import QImage
from pytestqt.qtbot import QtBot

from studio.experiments.sweep_export import TrialMark
from studio.theme.theme import load_theme
from studio.widgets.figure_export import FigureHeading, write_picture
from td3core.text import Text


def heading(colour: str) -> FigureHeading:
    legend = (TrialMark(about=Text("a curve"), colour=colour),)
    return FigureHeading(title="Returns", legend=legend, theme=load_theme("light"))


@pytest.fixture
def plot(qtbot: QtBot) -> pg.PlotWidget:
    plot = pg.PlotWidget()
    qtbot.addWidget(plot)
    return plot


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_that_cannot_be_drawn_leaves_the_one_of_before(
    plot: pg.PlotWidget, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"plot.{kind}"
    path.write_text("before")
    with pytest.raises(AttributeError):
        write_picture(plot, path, heading("no_such_colour"))
    assert path.read_text() == "before"
    write_picture(plot, path, heading("curve_1"))
    assert QImage(str(path)).width() > 0


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_full_disk_leaves_the_picture_of_before(
    plot: pg.PlotWidget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = tmp_path / "exported" / f"plot.{kind}"
    path.parent.mkdir()
    path.write_text("before")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_picture(plot, path, heading("curve_1"))
    assert {each.name: each.read_text() for each in path.parent.iterdir()} == {path.name: "before"}
