"""The labels of axes, whatever range they show."""

import math
import re
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QFont, QImage, QPainter
from PySide6.QtWidgets import QApplication

from studio.plots.axis import ShortAxis, log_ticks
from studio.plots.canvas import PlotCanvas, PlotViewBox
from studio.theme.sizes import scaled
from studio.theme.theme import load_theme

SPANS = [factor * 10.0**power for power in range(-1, 7) for factor in (1, 1.3, 1.7, 2.6, 4.4, 7.3)]


@pytest.fixture(params=[1.0, 1.5, 2.0])
def canvas(qtbot, qapp: QApplication, request):
    """A plot as small as in the lowest row of a window of 1024 pixels."""
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(request.param * before.pointSizeF())
    qapp.setFont(font)
    axes = ShortAxis("left"), ShortAxis("bottom")
    made = PlotCanvas(PlotViewBox(), *axes)
    qtbot.addWidget(made)
    for axis in axes:
        axis.set_theme(load_theme("light"))
        axis.setStyle(tickTextOffset=4, autoExpandTextSpace=False)
        axis.enableAutoSIPrefix(False)
    made.getAxis("left").setWidth(scaled(51))
    made.getAxis("bottom").setHeight(scaled(22))
    made.resize(scaled(105), max(scaled(64), 90))
    made.show()
    made.lay_out_now()
    yield made
    qapp.setFont(before)


def labels(canvas: PlotCanvas, side: str) -> list[str]:
    """Return the labels of an axis, as drawn."""
    page = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(page)
    _, _, found = canvas.getAxis(side).generateDrawSpecs(painter)
    painter.end()
    return [text for _, _, text in found if text]


def test_every_axis_of_a_small_plot_has_two_labels(canvas) -> None:
    box = canvas.getViewBox()
    for span in SPANS:
        # As plots show a run, and returns, values or losses.
        box.setRange(xRange=(-0.02 * span, span), yRange=(-0.7 * span, 0.4 * span), padding=0.0)
        for side in ("bottom", "left"):
            found = labels(canvas, side)
            assert len(found) >= 2, (side, span, found)
            assert len(set(found)) == len(found), (side, span, found)
            # None is left out between others.
            numbers = sorted(map(number, found))
            gaps = [after - before for before, after in pairwise(numbers)]
            assert max(gaps) == pytest.approx(min(gaps), rel=1e-3), (side, span, found)


@pytest.mark.parametrize("low", [-1474.0, -1462.5, 2003.0, 9311.0, 11_220.0])
def test_numbers_close_together_far_from_zero_have_two_labels(canvas, low) -> None:
    for span in (6.0, 12.0, 47.0, 130.0):
        canvas.getViewBox().setRange(yRange=(low, low + span), padding=0.0)
        found = labels(canvas, "left")
        assert len(found) >= 2, (low, span, found)
        assert len(set(found)) == len(found), (low, span, found)


@pytest.mark.parametrize("height", [80, 150, 250, 400, 700])
def test_all_labels_of_an_axis_have_one_unit_and_as_many_decimals(canvas, height) -> None:
    canvas.resize(scaled(105), scaled(height))
    canvas.lay_out_now()
    for low, high in (
        *((-1210.0, -940.0), (-1030.0, -960.0), (0.0, 2100.0), (0.0, 13_000.0), (900.0, 1010.0)),
        *((0.0, 1_600_000.0), (950_000.0, 1_020_000.0), (-120_000.0, 40_000.0)),
        (1502.6, 1504.4),
    ):
        canvas.getViewBox().setRange(yRange=(low, high), padding=0.0)
        found = labels(canvas, "left")
        assert len(set(found)) == len(found) >= 2, (low, high, found)
        kinds = {
            re.sub(r"\d", "0", label.lstrip("−0123456789,")) for label in found if label != "0"
        }
        assert len(kinds) == 1, (low, high, found)


CLOSE = [(1503, 1511), (23.78, 24.02), (0.1503, 0.1511), (123.41, 123.46), (9.9996, 10.0002)]


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("ends", CLOSE)
def test_every_label_is_the_number_at_its_tick(canvas, ends, logarithmic: bool) -> None:
    canvas.resize(scaled(105), scaled(400))
    canvas.lay_out_now()
    box, axis = canvas.getViewBox(), canvas.getAxis("left")
    canvas.set_logarithmic(logarithmic)
    box.setRange(yRange=list(map(math.log10, ends)) if logarithmic else ends, padding=0.0)
    page = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(page)
    _, _, found = axis.generateDrawSpecs(painter)
    painter.end()
    assert len(found) >= 2
    for rect, _, text in found:
        at = math.log10(number(text)) if logarithmic else number(text)
        middle, half = box.mapFromView(QPointF(0.0, at)).y(), rect.height() / 2
        # Those at the ends are moved inside.
        middle = min(max(middle, half), box.height() - half)
        assert rect.center().y() == pytest.approx(middle, abs=1.5), text


def number(label: str) -> float:
    """Return the number in a label."""
    units = {"k": 1e3, "M": 1e6}
    return float(label.rstrip("kM").replace(",", "").replace("\N{MINUS SIGN}", "-")) * units.get(
        label[-1], 1.0
    )


def test_every_logarithmic_axis_of_a_small_plot_has_two_labels(canvas) -> None:
    canvas.set_logarithmic(True)
    for low in (-3.1, -0.97, -0.2, 0.35, 2.1):
        for decades in (0.33, 0.61, 1.0, 1.4, 2.7, 3.8, 6.2):
            heights = low, low + decades
            canvas.getViewBox().setRange(yRange=heights, padding=0.0)
            found = labels(canvas, "left")
            assert len(found) >= 2, (heights, found)
            for text in found:
                assert heights[0] - 1e-9 <= math.log10(number(text)) <= heights[1] + 1e-9


@pytest.mark.parametrize(("high", "bare"), [(2.0, 19), (12.0, 13)])
def test_a_logarithmic_axis_of_many_decades_has_no_ticks_between_them(
    high: float, bare: int
) -> None:
    ticks = {value for _, level in log_ticks(0.0, high, high / 4) for value in level}
    assert len(ticks) == bare
    assert ticks.issuperset(range(int(high) + 1))


def test_the_name_of_an_axis_is_left_out_where_less_than_half_of_it_fits(canvas) -> None:
    axis, name = canvas.getAxis("left"), "return per episode"
    axis.setLabel(name)
    assert axis.labelText == ""
    assert axis.toolTip() == name
    canvas.resize(canvas.width(), scaled(140))
    canvas.lay_out_now()
    assert name.startswith(axis.labelText.rstrip("…"))
    assert len(axis.labelText) > len(name) / 2
    canvas.resize(canvas.width(), scaled(400))
    canvas.lay_out_now()
    assert axis.labelText == name
    assert not axis.toolTip()
