"""The histogram of the returns of an evaluation."""

from pathlib import Path

import numpy as np
from PySide6.QtGui import QColor, QImage, QPalette
from pytestqt.qtbot import QtBot

from studio.share.histogram import ReturnHistogram
from studio.theme.theme import load_theme
from td3core.text import Text


def test_the_histogram_of_an_evaluation_is_exported_like_any_plot(
    qtbot: QtBot, tmp_path: Path
) -> None:
    histogram = ReturnHistogram("Returns of best")
    qtbot.addWidget(histogram)
    histogram.resize(300, 200)
    histogram.show()
    histogram.show_returns(np.array([1.0, 2.5, 2.5]))
    height = histogram.plot.height()
    refused: list[Text] = []
    histogram.failed.connect(refused.append)
    for kind in ("png", "svg", "csv"):
        histogram.export(tmp_path / f"returns.{kind}")
    assert refused == []
    assert histogram.plot.height() == height
    assert QImage(str(tmp_path / "returns.png")).width() >= 960
    svg = (tmp_path / "returns.svg").read_text("utf-8")
    assert "Returns of best · 3 episodes" in svg
    assert "Episodes" in svg
    table = (tmp_path / "returns.csv").read_bytes()
    assert table == b"episode,return\n1,1.0\n2,2.5\n3,2.5\n"
    histogram.export(tmp_path / "no" / "returns.csv")
    assert "cannot be written" in str(refused[0])
    axes = [histogram.plot.getAxis(side) for side in ("bottom", "left")]
    for name in ("dark", "light"):
        theme = load_theme(name)
        palette = QPalette()
        palette.setColor(QPalette.ColorRole.Base, theme.panel)
        histogram.setPalette(palette)
        assert histogram.plot.backgroundBrush().color() == QColor(theme.panel)
        assert [axis.pen().color() for axis in axes] == [QColor(theme.grid)] * 2
    texts = [action.text() for action in histogram.export_button.menu().actions()]
    assert texts == ["Export PNG…", "Export SVG…", "Export CSV…"]
