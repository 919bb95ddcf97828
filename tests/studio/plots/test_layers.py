"""Layers: a new kind needs no change of the card, and a missing column draws nothing."""

import csv
import math
from pathlib import Path

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QMenu

from studio.plots.card import PlotCard
from studio.plots.catalogue import PLOTS, PlotSpec, layers_of
from studio.plots.curve import info_curve
from studio.plots.layers.change_markers import ChangeMarkerLayer
from studio.plots.layers.curve_layers import CurveLayer
from studio.plots.layers.layer import Entry, Layer, Points
from studio.plots.run.empty_hint import EmptyHint
from studio.session.curves import RunCurves
from studio.session.journal import JournalEntry
from studio.session.markers import Marker
from studio.session.model import RunModel
from studio.theme.theme import load_theme
from td3core.text import Text
from tests.studio.fake_runs import add_training, open_record
from tests.studio.plots.layers import curves_of, redraw, ticks_of

pytestmark = pytest.mark.shared_window

STEPS, VALUES = np.array([0.0, 500.0, 1000.0]), np.array([30.0, 50.0, 40.0])
SPEC = PlotSpec(name="plot_test", title="Test", help="For a test.", curves=())


class Overlay(Layer):
    """The smallest layer that uses the whole interface."""

    def __init__(self, model: RunModel | None = None) -> None:
        self.item = pg.PlotDataItem()
        self.views = []
        self.theme = None
        self.offered = []
        self.added = frozenset()

    def attach(self, plot):
        plot.addItem(self.item)

    def draw(self, view):
        self.views.append(view)
        self.item.setData(STEPS, VALUES)
        return [VALUES]

    def set_theme(self, theme):
        self.theme = theme

    def last_step(self):
        return float(STEPS[-1])

    def legend(self):
        return [Entry(text="overlay <1>", colour="curve_3", mark="▮")]

    def read(self, x, reach):
        return [Entry(text=f"overlay near {x:g}")] if abs(x - 500) <= reach else []

    def addable(self):
        return self.offered

    def add(self, columns):
        self.added |= set(columns)

    def remove(self, column):
        self.added -= {column}

    @property
    def added_columns(self):
        return self.added

    def points(self):
        return [Points("overlay", STEPS, VALUES)]


@pytest.fixture
def overlay() -> Overlay:
    return Overlay()


@pytest.fixture
def card(qtbot, overlay) -> PlotCard:
    made = PlotCard(SPEC, [overlay], load_theme("light"))
    qtbot.addWidget(made)
    made.resize(500, 300)
    made.show()
    made.show_steps_to(1000.0)
    return made


def drawn_points(item: pg.PlotDataItem) -> int:
    return 0 if item.xData is None else len(item.xData)


def test_a_card_draws_a_layer_of_any_kind_and_fits_its_axes_to_it(card, overlay) -> None:
    card.draw(follow=True)
    (view,) = overlay.views
    assert (view.low, view.high) == (-20.0, 1000.0)
    assert card.plot.width() <= view.points <= 4 * card.plot.width()
    low, high = card.plot.getViewBox().viewRange()[1]
    assert 20 < low < 30 < 50 < high < 60
    assert card.plot.getAxis("left").opacity() == 1.0
    assert card.last_step() == 1000.0


def test_a_plot_shows_neither_axes_nor_hint_before_it_is_drawn(qtbot, overlay) -> None:
    spec = PlotSpec(name="plot_test", title="Test", help="", curves=(), empty="No episodes yet.")
    for layers in ([overlay], []):
        card = PlotCard(spec, layers, load_theme("light"))
        qtbot.addWidget(card)
        card.resize(500, 300)
        card.show()
        said = card.findChild(EmptyHint)
        assert not said.isVisible()
        assert card.plot.getAxis("left").opacity() == 0.0
        card.draw(follow=True)
        assert said.isVisible() is not bool(layers)
        assert said.text == "No episodes yet."
        assert card.plot.getAxis("left").opacity() == float(bool(layers))


def test_a_layer_brings_its_legend_and_its_colours(card, overlay) -> None:
    card.draw(follow=True)
    legend = card.legend
    assert legend.names == ["overlay <1>"]
    assert "▮" in legend.text()
    assert "&lt;1&gt;" in legend.text()
    assert load_theme("light").curve_3 in legend.text()
    dark = load_theme("dark")
    card.set_theme(dark)
    assert overlay.theme == dark
    assert dark.curve_3 in legend.text()


def test_a_layer_is_read_within_a_few_pixels_of_the_crosshair(card) -> None:
    card.draw(follow=True)
    pixel = card.plot.getViewBox().viewPixelSize()[0]
    card.show_readout(500 + 5 * pixel)
    assert "overlay near" in card.readout
    card.show_readout(500 + 7 * pixel)
    # Nothing to read there: a crosshair would promise a value.
    assert card.readout == ""
    card.show_readout(500 + 5 * pixel)
    card.clear_readout()
    assert card.readout == ""


def test_a_layer_of_any_kind_can_offer_quantities(qtbot, card, overlay) -> None:
    def offered() -> dict[str, bool]:
        card.plot.customContextMenuRequested.emit(QPoint(5, 5))
        menu = card.findChild(QMenu, "plot_test_menu")
        found = {
            action.text(): action for each in menu.findChildren(QMenu) for action in each.actions()
        }
        checked = {text: action.isChecked() for text, action in found.items()}
        for action in found.values():
            action.trigger()
        menu.close()
        qtbot.waitUntil(lambda: card.findChild(QMenu, "plot_test_menu") is None)
        return checked

    assert offered() == {}
    overlay.offered = [info_curve("info.speed")]
    with qtbot.waitSignal(card.view_changed):
        assert offered() == {"info.speed": False}
    assert card.added == ["info.speed"]
    assert offered() == {"info.speed": True}
    assert card.added == []
    card.add_quantities(["info.speed"])
    assert card.added == ["info.speed"]


def test_the_points_of_a_layer_are_exported(card, tmp_path: Path) -> None:
    card.exporter.export(tmp_path / "test.csv")
    assert b"\r" not in (tmp_path / "test.csv").read_bytes()
    with (tmp_path / "test.csv").open() as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows == [
        ("overlay", "0", "30.0"),
        ("overlay", "500", "50.0"),
        ("overlay", "1000", "40.0"),
    ]


def test_a_layer_named_for_one_plot_comes_between_its_curves_and_the_markers(qapp) -> None:
    spec = PlotSpec(name="plot_test", title="Test", help="", curves=(), layers=(Overlay,))
    kinds = [type(layer) for layer in layers_of(spec, RunModel())]
    assert kinds.index(CurveLayer) < kinds.index(Overlay) < kinds.index(ChangeMarkerLayer)
    without = layers_of(PLOTS[1], RunModel())
    assert not any(isinstance(layer, Overlay) for layer in without)


def test_the_nearest_change_and_the_latest_notes_are_read_at_the_crosshair(qtbot, window) -> None:
    model, card = window.model, window.plots.card("plot_q")
    add_training(
        model.record.curves.training,
        [(float(step), step, -5.0, -6.0, -5.5, 0.5, 0.4, 5.0) for step in (0, 900)],
    )
    entries = [JournalEntry(500, f"event {number}", "now") for number in range(5)]
    entries.append(JournalEntry(500, "inexact", "now", Text("Digits differ.")))
    model.record.journal.entries.extend(entries)
    for step, new in ((498, 0.01), (501, 0.02), (800, 0.03)):
        model.record.journal.markers.append(
            Marker(env_steps=step, name="tau", old=0.005, new=new, changed_at=0.0)
        )
    redraw(qtbot, window)
    assert ticks_of(card, Qt.PenStyle.SolidLine) == [500.0] * 6
    assert ticks_of(card, Qt.PenStyle.DashLine) == [498.0, 501.0, 800.0]
    card.hovered.emit(QPointF(500.0, 0.0))
    values, rest = card.readout.splitlines()[1:4], card.readout.splitlines()[4:]
    assert all(line.startswith("● ") for line in values)
    assert rest[:-1] == [
        *(f"event {number} at step 500" for number in range(2, 5)),
        "continued with deviations at step 500: Digits differ.",
    ]
    assert rest[-1] == "┊ τ 0.005 → 0.02"
    card.hovered.emit(QPointF(650.0, 0.0))
    assert "τ" not in card.readout
    assert "event" not in card.readout


def test_a_run_recorded_before_a_metric_existed_is_drawn_without_it(
    qtbot, window, tmp_path
) -> None:
    model, plots = window.model, window.plots
    rows = [(float(step), step, -5.0, -6.0, -5.5, 0.5, 0.4, 5.0) for step in range(50, 501, 50)]
    add_training(model.record.curves.training, rows)
    redraw(qtbot, window)
    items = {item.name(): item for item in curves_of(plots.card("plot_q"))}
    assert drawn_points(items["q2"]) == 10

    curves, nan = RunCurves(), math.nan
    rows = [(float(step), step, -5.0, nan, -5.5, nan, nan, nan) for step in range(50, 801, 50)]
    add_training(curves.training, rows)
    open_record(window, curves=curves)
    redraw(qtbot, window)
    card = plots.card("plot_q")
    assert card.legend.names == ["Q₁", "target"]
    assert drawn_points(items["q2"]) == 0
    card.hovered.emit(QPointF(250.0, 0.0))
    assert "Q₁ −5" in card.readout
    assert "Q₂" not in card.readout
    card.exporter.export(tmp_path / "q.csv")
    assert "Q₂" not in (tmp_path / "q.csv").read_text()
    # Without any of its metrics a plot is an empty one.
    assert plots.card("plot_critic_loss").legend.names == []
    assert plots.card("plot_critic_loss").plot.getAxis("left").opacity() == 0.0
    assert card.plot.getAxis("left").opacity() == 1.0


def test_the_first_row_of_a_run_or_its_parents_is_drawn_as_a_dot(qtbot, window) -> None:
    row, second = (300.0, 1, -5.0, -6.0, -5.5, 0.5, 0.4, 5.0), (600.0, 2, *6 * (1.0,))
    past = RunCurves()
    add_training(past.training, [row])
    open_record(window, parent_curves=past)
    training = window.model.record.curves.training
    add_training(training, [row])
    redraw(qtbot, window)
    card = window.plots.card("plot_q")
    drawn = [item for item in curves_of(card) if drawn_points(item)]
    # Q₁, Q₂ and their target, each twice.
    assert len(drawn) == 6
    assert all(item.scatter.isVisible() and len(item.scatter.data) == 1 for item in drawn)
    add_training(training, [second])
    redraw(qtbot, window)
    own = [item for item in curves_of(card) if drawn_points(item) == 2]
    assert len(own) == 3
    assert not any(item.scatter.isVisible() for item in own)


@pytest.mark.slow
def test_parents_recorded_before_a_metric_existed_are_drawn_without_it(qtbot, window) -> None:
    past, nan = RunCurves(), math.nan
    rows = [(float(step), step, -5.0, *5 * (nan,)) for step in range(50, 501, 50)]
    add_training(past.training, rows)
    open_record(window, parent_curves=past)
    redraw(qtbot, window)
    dimmed = curves_of(window.plots.card("plot_q"))[-5:]
    assert [drawn_points(item) for item in dimmed] == [10, 0, 0, 0, 0]
    # The parents' curves have axes, before the branch has any point of its own.
    assert window.plots.card("plot_q").plot.getAxis("left").opacity() == 1.0
    assert window.plots.card("plot_q").plot.getViewBox().viewRange()[0][1] >= 500
    open_record(window)
    redraw(qtbot, window)
    assert not any(map(drawn_points, dimmed))
    assert window.plots.card("plot_q").plot.getAxis("left").opacity() == 0.0
