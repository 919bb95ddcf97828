"""The visible range of plots while their curves grow, and their colours."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter

from studio.plots.axis import ShortAxis
from studio.plots.view_range import heights_shown, steps_shown
from studio.theme.theme import load_theme
from tests.studio.fake_runs import add_training, make_run
from tests.studio.plots.layers import curves_of
from tests.studio.run_browser.runs_list import action, choose, show_runs
from tests.studio.window.test_manners import drawn, feed

pytestmark = pytest.mark.shared_window

steps = st.floats(0, 1e9)
heights = st.floats(-1e12, 1e12)


@given(lasts=st.lists(steps, min_size=1, max_size=50), most=steps | st.just(math.inf))
def test_the_last_step_is_always_in_view_and_most_of_the_axis_is_used(lasts, most):
    end = None
    for last in sorted(lasts):
        end = steps_shown(last, end, most)
        assert end >= last
        assert last >= 0.6 * end or end == 1.0


def test_the_x_axis_grows_in_leaps_and_not_beyond_the_run():
    ends, end = set(), None
    for last in range(1000, 100_001, 50):
        end = steps_shown(last, end, 100_000)
        ends.add(end)
    assert len(ends) < 60
    assert end == pytest.approx(102_000)


@given(st.lists(st.tuples(heights, heights), min_size=1, max_size=30))
def test_all_of_the_curves_is_in_view_and_fills_most_of_it(spans):
    shown = None
    for span in spans:
        low, high = min(span), max(span)
        shown = heights_shown(low, high, shown)
        assert shown[0] < low <= high < shown[1]
        if high - low > 1e-3 * max(abs(low), abs(high), 1e-3):
            assert high - low >= 0.5 * (shown[1] - shown[0])


def test_dots_at_the_ends_of_the_curves_are_whole():
    kept = heights_shown(-100.0, 100.0, None)
    for low, high in ((kept[0], 99.0), (-99.0, kept[1])):
        shown = heights_shown(low, high, kept)
        assert min(low - shown[0], shown[1] - high) > 0.01 * (shown[1] - shown[0])
    end = steps_shown(1000, None)
    assert steps_shown(end, end) > 1.01 * end


def test_a_range_that_still_fits_is_kept_as_it_is():
    shown = heights_shown(-100.0, 100.0, None)
    assert heights_shown(-101.0, 99.0, shown) is shown
    assert heights_shown(-130.0, 99.0, shown) != shown
    assert heights_shown(-10.0, 10.0, shown) != shown


def test_the_axes_of_the_plots_stand_still_while_a_few_points_come_in(qtbot, window):
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    add_training(
        window.model.record.curves.training, [(1050.0, 1050, -7.0, -7.0, -7.0, 0.5, 0.4, 5.0)]
    )
    window.model.curves_changed.emit()
    drawn(qtbot, window, 1050)
    box = window.plots.card("plot_q").plot.getViewBox()
    before = box.viewRange()
    assert before[0][1] >= 1050
    assert before[1][0] <= -7.0
    for step in range(1052, 1060):
        add_training(
            window.model.record.curves.training,
            [(float(step), step, -7.0, -7.0, -7.0, 0.5, 0.4, 5.0)],
        )
    window.model.curves_changed.emit()
    drawn(qtbot, window, 1059)
    assert box.viewRange() == before


@pytest.mark.slow
@pytest.mark.own_window
def test_a_long_run_is_shown_whole_after_a_short_one(qtbot, window, find, tmp_path):
    short = make_run(tmp_path / "runs", reached=1000)
    long = make_run(tmp_path / "runs", reached=8000, steps=8000)
    show_runs(qtbot, window, find, long)
    for run, steps in ((short, 1000), (long, 8000), (short, 1000)):
        choose(window.runs, run)
        action(window.runs, "open").trigger()
        qtbot.waitUntil(lambda run=run: window.model.record.run == run.path)
        for name in ("plot_return", "plot_q", "plot_critic_loss", "plot_actor_loss"):
            box = window.plots.card(name).plot.getViewBox()
            qtbot.waitUntil(
                lambda box=box, steps=steps: steps <= box.viewRange()[0][1] < 1.2 * steps
            )


def test_the_axes_of_an_empty_plot_bear_no_numbers(qtbot, window):
    window.show()
    axis = window.plots.card("plot_q").plot.getAxis("left")
    qtbot.waitUntil(lambda: axis.opacity() == 0.0)
    feed(window, 1000)
    qtbot.waitUntil(lambda: axis.opacity() == 1.0)


@pytest.mark.parametrize("name", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_ticks_and_grid_are_drawn_in_opaque_colours(qtbot, window, name):
    if window.theme.name != name:
        window.switch_theme()
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    axis = window.plots.card("plot_q").plot.getAxis("left")
    assert isinstance(axis, ShortAxis)
    page = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(page)
    _, ticks, _ = axis.generateDrawSpecs(painter)
    painter.end()
    colours = {pen.color().name(QColor.NameFormat.HexArgb) for pen, _, _ in ticks}
    assert len(colours) > 1
    assert all(colour.startswith("#ff") for colour in colours)


def labels_of(axis):
    """Return the labels of an axis and their positions, as drawn."""
    page = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(page)
    _, _, labels = axis.generateDrawSpecs(painter)
    painter.end()
    return {text: rect for rect, _, text in labels if text}


@pytest.mark.parametrize("card", ["plot_return", "plot_q"])
def test_the_last_tick_of_an_axis_has_its_label_inside_the_axis(qtbot, window, card):
    window.resize(1280, 800)
    window.show()
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    plot = window.plots.card(card).plot
    plot.getViewBox().setRange(xRange=(-20.0, 1005.0), yRange=(-901.0, 10.0), padding=0.0)
    for side, ends in (("bottom", ("0", "1,000")), ("left", ("0", "−800"))):
        axis = plot.getAxis(side)
        labels = labels_of(axis)
        assert set(ends) <= set(labels), side
        area = axis.mapRectFromParent(axis.geometry())
        assert all(area.contains(rect) for rect in labels.values())
        places = sorted(labels.values(), key=lambda rect: (rect.x(), rect.y()))
        assert not any(one.intersects(other) for one, other in pairwise(places))


@pytest.mark.own_window
@pytest.mark.slow
def test_the_name_of_an_axis_lies_beside_its_numbers_also_in_large_fonts(qtbot, window, qapp):
    before, large = qapp.font(), qapp.font()
    large.setPointSizeF(2 * before.pointSizeF())
    qapp.setFont(large)
    try:
        window.switch_theme()
        window.resize(1280, 800)
        window.show()
        feed(window, 1000)
        drawn(qtbot, window, 1000)
        for side in ("left", "bottom"):
            axis = window.plots.card("plot_return").plot.getAxis(side)
            name = axis.label.mapRectToParent(axis.label.boundingRect())
            margin = axis.label.document().documentMargin()
            name = name.adjusted(margin, margin, -margin, -margin)
            assert labels_of(axis)
            assert not any(name.intersects(rect) for rect in labels_of(axis).values()), side
    finally:
        qapp.setFont(before)


def test_no_grid_line_cuts_through_a_curve(qtbot, window):
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    card = window.plots.card("plot_actor_loss")
    window.show()
    qtbot.waitUntil(lambda: card.plot.getAxis("left").opacity() == 1.0)
    curve, box = curves_of(card)[0], card.plot.getViewBox()
    seen = card.plot.grab().toImage()
    colour = curve.opts["pen"].color().name()
    ends = (box.mapViewToDevice(QPointF(x, curve.yData[0])) for x in curve.xData[[0, -1]])
    first, last = (round(point.x()) for point in ends)
    columns = range(first + 2, last - 1)
    assert len(columns) > 60
    assert set(curve.yData) == {curve.yData[0]}, "a level curve crosses every upright grid line"
    for x in columns:
        assert colour in {seen.pixelColor(x, y).name() for y in range(seen.height())}


def test_a_translucent_colour_and_the_opaque_one_for_it_look_the_same(qapp):
    theme, front = load_theme("dark"), QColor("#4a5160")
    page = QImage(1, 1, QImage.Format.Format_RGB32)
    page.fill(QColor(theme.panel))
    painter = QPainter(page)
    painter.setOpacity(0.35)
    painter.fillRect(page.rect(), front)
    painter.end()
    seen, mixed = page.pixelColor(0, 0), theme.on_panel(front, 0.35)
    assert mixed.alpha() == 255
    pairs = zip(seen.getRgb(), mixed.getRgb(), strict=True)
    assert all(abs(one - other) <= 1 for one, other in pairs)
