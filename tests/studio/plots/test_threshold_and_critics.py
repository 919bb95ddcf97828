"""An environment's threshold, and an agent with one critic, on the plots."""

import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QTextDocumentFragment

from studio.plots.header import PlotHeader
from td3core.config import RunConfig, Tunables
from td3core.protocol import events
from tests.studio.fake_runs import add_training
from tests.studio.plots.layers import drawn_curves, redraw, threshold_of
from tests.support.events import started

pytestmark = pytest.mark.shared_window

NAN = float("nan")


def start(window, threshold: float | None, **values) -> None:
    config = RunConfig(env="Pendulum-v1", steps=1000, **values)
    window.model.handle(started(config, Tunables(), reward_threshold=threshold))


def evaluate(window, step: int, returns: tuple[float, ...], threshold: float | None) -> None:
    window.model.handle(
        events.Evaluated(
            env_steps=step,
            returns=returns,
            lengths=(9,) * len(returns),
            seed=0,
            is_best=True,
            wall_s=1.0,
            reward_threshold=threshold,
        )
    )


def legend(card) -> str:
    return QTextDocumentFragment.fromHtml(card.legend.text()).toPlainText()


@pytest.mark.slow
def test_the_threshold_is_a_labelled_line_that_leaves_the_range_alone(qtbot, window):
    start(window, 300.0)
    evaluate(window, 100, (-100.0, -90.0), 300.0)
    evaluate(window, 200, (-80.0, -70.0), 300.0)
    redraw(qtbot, window)
    card = window.plots.card("plot_return")
    threshold = threshold_of(card)
    assert threshold.isVisible()
    assert threshold.value() == 300.0
    low, high = card.plot.getViewBox().viewRange()[1]
    assert -120 < low < -90
    assert -80 < high < -50


@pytest.mark.slow
def test_the_label_of_the_threshold_is_there_where_the_line_is_in_view(qtbot, window):
    start(window, 300.0)
    evaluate(window, 100, (-100.0, -90.0), 300.0)
    evaluate(window, 200, (270.0, 280.0), 300.0)
    redraw(qtbot, window)
    card = window.plots.card("plot_return")
    label, box = threshold_of(card).label, card.plot.getViewBox()
    # Just beyond the edge, where a part of the label would be seen.
    box.setYRange(-100.0, 299.0, padding=0.0)
    assert not label.isVisible()
    box.setYRange(-100.0, 400.0, padding=0.0)
    assert label.isVisible()
    assert label.toPlainText() == "solved at 300"
    box.setYRange(301.0, 400.0, padding=0.0)
    assert not label.isVisible()


def test_a_threshold_of_0_has_no_line_on_a_logarithmic_axis(qtbot, window):
    start(window, 0.0)
    evaluate(window, 100, (10.0, 20.0), 0.0)
    redraw(qtbot, window)
    card = window.plots.card("plot_return")
    assert threshold_of(card).isVisible()
    card.findChild(PlotHeader).set_logarithmic(True)
    qtbot.waitUntil(lambda: not window.plots.redraw_pending)
    assert not threshold_of(card).isVisible()


@pytest.mark.slow
def test_an_environment_without_a_threshold_has_no_line_and_no_success(qtbot, window, find):
    start(window, 300.0)
    redraw(qtbot, window)
    start(window, None)
    evaluate(window, 100, (1.0, 2.0), None)
    redraw(qtbot, window)
    card = window.plots.card("plot_return")
    assert not threshold_of(card).isVisible()
    card.hovered.emit(QPointF(100.0, 1.0))
    assert "reach" not in card.readout
    assert "Evaluation: 1.5 ± 0.5, best so far" in find("log_view").toPlainText()
    assert "reach" not in find("log_view").toPlainText()


def test_success_is_read_at_the_crosshair_and_in_the_log(qtbot, window, find):
    start(window, 300.0)
    evaluate(window, 100, (100.0, 310.0, 300.0, 299.0), 300.0)
    evaluate(window, 900, (400.0, 310.0), 300.0)
    redraw(qtbot, window)
    card = window.plots.card("plot_return")
    card.hovered.emit(QPointF(110.0, 1.0))
    assert "50 % of its episodes reach 300" in card.readout
    card.hovered.emit(QPointF(890.0, 1.0))
    assert "100 % of its episodes reach 300" in card.readout
    assert "reach" not in window.plots.card("plot_q").readout
    assert "50 % reach 300" in find("log_view").toPlainText()


ROWS = {
    "one": [(float(s), s, -5.0, NAN, -5.5, 0.5, NAN, 5.0) for s in range(50, 501, 50)],
    "two": [(float(s), s, -5.0, -6.0, -5.5, 0.5, 0.4, 5.0) for s in range(50, 501, 50)],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("critics", "q", "loss"),
    [("one", ["Q₁", "target"], ["Q₁"]), ("two", ["Q₁", "Q₂", "target"], ["Q₁", "Q₂"])],
)
def test_each_critic_there_is_has_one_curve_and_one_place_in_the_legend(
    qtbot, window, critics, q, loss
):
    start(window, None, twin_critics=critics == "two")
    add_training(window.model.record.curves.training, ROWS[critics])
    redraw(qtbot, window)
    for _ in range(2):
        for name, expected in (("plot_q", q), ("plot_critic_loss", loss)):
            card = window.plots.card(name)
            assert len(drawn_curves(card)) == len(expected)
            assert legend(card).split() == [word for label in expected for word in ("●", label)]
            card.hovered.emit(QPointF(250.0, 0.0))
            read = [line.split()[1] for line in card.readout.splitlines() if "●" in line]
            assert read == expected
        window.switch_theme()
        # At once, before the next redraw.
        assert legend(window.plots.card("plot_q")).split()[1::2] == q
        redraw(qtbot, window)


@pytest.mark.own_window
@pytest.mark.slow
def test_a_real_run_with_one_critic_draws_one_curve(qtbot, window, find):
    from studio.session.controller import SessionState
    from tests.studio.window.test_main_job import click

    find("env_combo").setCurrentText("Pendulum-v1")
    find("variant_combo").setCurrentText("TD3 without twin critics")
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: len(window.model.record.curves.training) > 3, timeout=60_000)
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    redraw(qtbot, window)
    assert legend(window.plots.card("plot_q")).split() == ["●", "Q₁", "●", "target"]
    assert legend(window.plots.card("plot_critic_loss")).split() == ["●", "Q₁"]
