"""The plots in the hands of a user: zoom, fit, legend, maximise, x axis, smoothing, pictures."""

import csv
import math

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from studio.plots.catalogue import PLOTS
from studio.plots.course_picture import CoursePicture
from studio.plots.explanation import ExplanationPopup
from studio.plots.layers.curve_layers import CurveLayer
from studio.session.curves import EVALUATIONS, RunCurves
from studio.session.record import RunRecord
from td3core.analysis.results import trailing_mean
from td3core.arrays import Doubles
from td3core.config import make_settings
from td3core.protocol.metrics import METRICS
from td3core.protocol.rows import EVALUATION_METRICS
from tests.studio.fake_runs import add_training, make_run, open_record
from tests.studio.plots.layers import curves_of, drawn_curves, layer_of
from tests.support.mouse import double_click, turn_wheel

pytestmark = pytest.mark.shared_window


@pytest.fixture
def curves() -> RunCurves:
    """A run of 1,000 steps that learns from step 300 on; every episode has 100 steps."""
    made = RunCurves()
    made.add_episodes([(step, step / 10, 100) for step in range(100, 1001, 100)])
    nothing = [math.nan] * 3
    add_training(
        made.training, [(step, step - 300, 1.0, 2.0, 3.0, *nothing) for step in (300, 600, 900)]
    )
    made.episode_times.append([(step, step / 50) for step in range(100, 1001, 100)])
    return made


@pytest.fixture
def plots(qtbot, window, curves):
    config, _ = make_settings({"env": "Pendulum-v1", "steps": 1000})
    open_record(window, config=config, name="my run", curves=curves)
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=10_000)
    return window.plots


def ranges(card) -> tuple[list[float], list[float]]:
    x, y = card.plot.getViewBox().viewRange()
    return list(x), list(y)


def test_the_wheel_zooms_x_and_with_ctrl_y_and_a_double_click_fits(qtbot, plots) -> None:
    card = plots.card("plot_return")
    fitted = ranges(card)
    turn_wheel(card.plot.viewport())
    x, y = ranges(card)
    assert x[1] - x[0] < fitted[0][1] - fitted[0][0]
    assert y == fitted[1]
    # All plots show the same part.
    assert ranges(plots.card("plot_q"))[0] == x
    turn_wheel(card.plot.viewport(), keys=Qt.KeyboardModifier.ControlModifier)
    assert ranges(card)[0] == x
    assert ranges(card)[1][1] - ranges(card)[1][0] < y[1] - y[0]
    double_click(card.plot.viewport())
    qtbot.waitUntil(lambda: ranges(card) == fitted, timeout=10_000)


def test_nothing_is_read_where_nothing_was_learnt(plots) -> None:
    shown, learnt = plots.card("plot_return"), plots.card("plot_q")
    shown.hovered.emit(QPointF(200.0, 0.0))
    assert "episode 20" in shown.readout
    assert learnt.readout == ""
    shown.hovered.emit(QPointF(600.0, 0.0))
    assert "target 3" in learnt.readout
    QApplication.sendEvent(shown.plot.viewport(), QEvent(QEvent.Type.Leave))
    assert (shown.readout, learnt.readout) == ("", "")


def test_an_entry_of_the_legend_hides_its_curve_and_shows_it_again(qtbot, plots) -> None:
    card = plots.card("plot_q")
    card.legend.linkActivated.emit("target")
    qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)
    layer = layer_of(card, CurveLayer)
    (hidden,) = [entry for entry in layer.legend() if entry.hidden]
    assert hidden.text == "target"
    assert drawn_curves(card) == ["q1", "q2"]
    card.hovered.emit(QPointF(600.0, 0.0))
    assert "target" not in card.readout
    assert "Q₁" in card.readout
    card.legend.linkActivated.emit("target")
    assert not any(entry.hidden for entry in layer.legend())
    qtbot.waitUntil(lambda: drawn_curves(card) == ["q1", "q2", "target"], timeout=10_000)


@pytest.mark.parametrize("name", ["plot_return", "plot_q", "plot_actor_loss"])
def test_a_maximised_plot_reaches_the_bottom_of_the_middle(qtbot, plots, find, name) -> None:
    find(f"{name}_maximise").click()
    card = plots.card(name)
    qtbot.waitUntil(lambda: card.geometry().bottom() == plots.rect().bottom(), timeout=5_000)
    assert card.width() == plots.width()
    assert card.height() > 0.8 * plots.height()


@pytest.mark.parametrize("name", ["plot_return", "plot_actor_loss"])
def test_a_plot_stays_maximised_while_the_plots_become_a_strip_and_back(
    qtbot, plots, find, name
) -> None:
    find(f"{name}_maximise").click()
    card = plots.card(name)
    for columns in (1, 2):
        plots.set_columns(columns)
        qtbot.waitUntil(
            lambda: card.height() > 0.8 * plots.height() and card.width() == plots.width(),
            timeout=5_000,
        )


def test_a_plot_fills_the_middle_until_escape(qtbot, plots, find) -> None:
    find("plot_q_maximise").click()
    assert [name for name in ("plot_return", "plot_q") if not plots.card(name).isHidden()] == [
        "plot_q"
    ]
    qtbot.keyClick(plots, Qt.Key.Key_Escape)
    assert plots.maximised == ""
    assert not plots.card("plot_return").isHidden()
    assert not find("plot_q_maximise").isChecked()


def test_a_click_on_a_title_makes_that_plot_large(qtbot, plots, find) -> None:
    find("plot_q_title").click()
    assert plots.large == "plot_q"
    qtbot.waitUntil(
        lambda: plots.card("plot_q").height() > plots.card("plot_return").height(), timeout=10_000
    )
    assert plots.card("plot_q").plot.getAxis("bottom").label.isVisible()
    assert not plots.card("plot_return").plot.getAxis("bottom").label.isVisible()


def menu_of(plots, name: str) -> QMenu:
    plots.card(name).plot.customContextMenuRequested.emit(QPoint(5, 5))
    return plots.card(name).findChild(QMenu, f"{name}_menu")


def also_show(plots, name: str, quantity: str) -> None:
    menu = menu_of(plots, name)
    entries = menu.findChild(QMenu).actions()
    next(entry for entry in entries if entry.text() == quantity).trigger()
    menu.close()
    menu.deleteLater()


def test_any_quantity_on_record_can_be_put_on_any_plot_and_taken_off(
    qtbot, plots, tmp_path
) -> None:
    card = plots.card("plot_q")
    menu = menu_of(plots, "plot_q")
    offered = [entry.text() for entry in menu.findChild(QMenu).actions()]
    menu.close()
    own = {"q1", "q2", "target", "q_expected", "q_obtained"}
    logged = {metric.name for metric in (*METRICS, *EVALUATION_METRICS)} | {"return", "length"}
    assert set(offered) == logged - own
    assert len(offered) == len(set(offered))
    also_show(plots, "plot_q", "return")
    layer = layer_of(card, CurveLayer)
    qtbot.waitUntil(lambda: "return" in [entry.text for entry in layer.legend()])
    added = next(points for points in layer.readable() if points.label == "return")
    assert list(added.values) == [step / 10 for step in range(100, 1001, 100)]
    card.exporter.export(tmp_path / "plot.csv")
    assert "return" in (tmp_path / "plot.csv").read_text("utf-8")
    card.legend.linkActivated.emit("return")
    qtbot.waitUntil(lambda: "return" not in drawn_curves(card))
    also_show(plots, "plot_q", "return")
    qtbot.waitUntil(lambda: "return" not in [entry.text for entry in layer.legend()])
    # Whoever adds it again wants to see it.
    also_show(plots, "plot_q", "return")
    qtbot.waitUntil(lambda: "return" in drawn_curves(card))


def test_every_plot_can_count_in_powers_of_ten(qtbot, plots) -> None:
    card = plots.card("plot_return")
    menu = menu_of(plots, "plot_return")
    scale = next(each for each in menu.actions() if each.text() == "Logarithmic scale")
    assert not scale.isChecked()
    scale.trigger()
    menu.close()
    qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)
    low, high = ranges(card)[1]
    assert low < 1.0 < 2.0 < high < 2.2, "returns of 10 to 100 as their logarithms"
    assert card.height_of(100.0) == 2.0


def test_a_plot_without_a_positive_value_says_why_it_cannot_count_in_powers_of_ten(
    plots, monkeypatch
) -> None:
    monkeypatch.setattr(type(plots.card("plot_return")), "has_positive", False)
    menu = menu_of(plots, "plot_return")
    scale = next(each for each in menu.actions() if each.text() == "Logarithmic scale")
    assert not scale.isEnabled()
    assert menu.toolTipsVisible()
    assert scale.toolTip() == "Logarithmic scale. Not now: no value shown is positive"
    menu.close()


@pytest.mark.parametrize("plot", PLOTS, ids=lambda plot: plot.name)
def test_the_title_of_a_large_plot_explains_it_in_three_sentences(qtbot, plots, find, plot) -> None:
    plots.show_large(plot.name)
    find(f"{plot.name}_title").click()
    popup = plots.card(plot.name).findChild(ExplanationPopup)
    assert popup.isVisible()
    texts = [label.text() for label in popup.sentences]
    assert texts == [str(text) for text in (plot.about.shows, plot.about.healthy, plot.about.wrong)]
    assert all(text.endswith(".") and text.count(". ") == 0 for text in texts)
    for label in popup.sentences:
        assert label.height() >= label.heightForWidth(label.width()), "nothing is cut off"
    picture = popup.findChild(CoursePicture)
    assert picture.isVisible()
    assert picture.accessibleName().startswith("Pendulum-v1")
    assert picture.height() >= picture.sizeHint().height()
    QTest.keyClick(popup, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: plots.card(plot.name).findChild(ExplanationPopup) is None)
    assert plots.large == plot.name


@pytest.mark.parametrize(
    ("axis", "end", "heading"), [("episodes", 10.0, "episode 6"), ("time", 20.0, "12 s")]
)
def test_the_curves_stand_along_episodes_or_time(
    qtbot, plots, find, axis: str, end: float, heading: str
) -> None:
    combo = find("plots_x_combo")
    combo.setCurrentIndex(combo.findData(axis))
    combo.activated.emit(combo.currentIndex())
    qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)
    card = plots.card("plot_return")
    item = curves_of(card)[0]
    assert item.getOriginalDataset()[0][-1] == end
    card.hovered.emit(QPointF(0.6 * end, 0.0))
    assert card.readout.startswith(heading)
    assert "episode 60" in card.readout


@pytest.mark.parametrize(
    ("axis", "column", "hint"),
    [
        ("time", "episode_times", "No times recorded"),
        ("episodes", "episodes", "No episodes recorded"),
    ],
)
def test_curves_without_a_place_on_the_axis_are_absent_and_the_plot_says_so(
    qtbot, window, plots, curves, find, axis: str, column: str, hint: str
) -> None:
    getattr(curves, column).keep_to(-1.0)
    curves.evaluations.append([(1000.0, 5.0, *[math.nan] * (len(EVALUATIONS) - 2))])
    combo, card = find("plots_x_combo"), plots.card("plot_return")

    def choose(axis: str) -> None:
        combo.setCurrentIndex(combo.findData(axis))
        combo.activated.emit(combo.currentIndex())
        # Another test may have left it there.
        plots.start_over()
        qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)

    choose(axis)
    items = [item for item in curves_of(card) if item.isVisible()]
    assert not items
    assert card.plot.accessibleDescription().startswith(hint)
    assert "choose another x axis" in card.plot.accessibleDescription()
    card.hovered.emit(QPointF(0.0, 0.0))
    assert not card.readout
    assert not card.legend.names
    choose("steps")
    assert [item for item in curves_of(card) if item.isVisible()]
    assert not card.plot.accessibleDescription()


def test_the_slider_smooths_the_large_plot(qtbot, plots, find) -> None:
    slider = find("plots_smoothing_slider")
    assert slider.value() == 20
    slider.setValue(2)
    card = plots.card("plot_return")
    layer = layer_of(card, CurveLayer)
    qtbot.waitUntil(lambda: layer.episodes == 2, timeout=10_000)
    card.hovered.emit(QPointF(1000.0, 0.0))
    assert "mean of 2 95" in card.readout
    find("plot_q_title").click()
    assert slider.value() == 1


def test_a_smoothed_curve_is_computed_once_and_then_only_where_it_has_grown(
    qtbot, plots, curves, find, monkeypatch
) -> None:
    averaged: list[int] = []

    def counted(values: Doubles, count: int) -> Doubles:
        averaged.append(len(values))
        return trailing_mean(values, count)

    monkeypatch.setattr("studio.plots.layers.smoothed.trailing_mean", counted)
    card = plots.card("plot_q")
    find("plot_q_title").click()
    find("plots_smoothing_slider").setValue(2)
    qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)
    card.hovered.emit(QPointF(600.0, 0.0))
    assert "target 3" in card.readout
    averaged.clear()
    for step in range(300, 900, 50):
        card.hovered.emit(QPointF(step, 0.0))
    card.view_changed.emit()
    qtbot.waitUntil(lambda: not plots.redraw_pending, timeout=10_000)
    assert averaged == []
    add_training(curves.training, [(1000, 700, 1.0, 2.0, 5.0, *[math.nan] * 3)])
    card.hovered.emit(QPointF(1000.0, 0.0))
    assert "target 4" in card.readout
    assert averaged, "the mean of the new row"
    assert max(averaged) <= 2, "of the new row and of the one before it"


def test_a_table_has_the_mean_of_the_returns_that_is_shown_and_all_else_as_recorded(
    qtbot, plots, find, tmp_path
) -> None:
    def exported(name: str) -> list[list[str]]:
        plots.card(name).exporter.export(tmp_path / "plot.csv")
        with (tmp_path / "plot.csv").open() as file:
            return list(csv.reader(file))

    slider, returns, values = find("plots_smoothing_slider"), plots.card("plot_return"), "plot_q"
    episodes = [row for row in exported("plot_return") if "mean" not in row[0]]
    recorded = exported(values)
    slider.setValue(2)
    layer = layer_of(returns, CurveLayer)
    qtbot.waitUntil(lambda: layer.episodes == 2, timeout=10_000)
    rows = exported("plot_return")
    shown = next(points for points in layer.readable() if points.label == "mean of 2")
    means = [(int(step), float(value)) for name, step, value in rows[1:] if name == "mean of 2"]
    assert means == list(zip(shown.steps, shown.values, strict=True))
    assert [row for row in rows if "mean" not in row[0]] == episodes
    find("plot_q_title").click()
    slider.setValue(5)
    layer = layer_of(plots.card(values), CurveLayer)
    qtbot.waitUntil(lambda: layer.smoothing == 5, timeout=10_000)
    assert exported(values) == recorded


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_names_the_run_its_curves_and_its_axes(plots, tmp_path, kind: str) -> None:
    path = tmp_path / f"q.{kind}"
    # A small plot: on screen its axes have no names.
    plots.card("plot_q").exporter.export(path)
    if kind == "png":
        picture = QImage(str(path))
        assert picture.width() >= 1280
        caption = picture.copy(0, 0, picture.width(), 90)
        pixels = np.frombuffer(caption.constBits(), np.uint8)
        assert len(np.unique(pixels)) > 10
        return
    text = path.read_text("utf-8")
    for wanted in ("Q values · Pendulum-v1 · my run", "target", "environment steps"):
        assert wanted in text
    assert not plots.card("plot_q").plot.getAxis("bottom").label.isVisible()


def test_a_run_read_from_disk_has_its_times(runs_dir) -> None:
    from studio.session.history import read_history

    record: RunRecord = read_history(make_run(runs_dir).path, lambda: False).record
    assert list(record.curves.clock[-1]) == [1000.0, pytest.approx(1000 / 150, abs=1e-3)]
