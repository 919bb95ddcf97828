"""The numbers above the plots can be read and reached in a small window."""

import json
from importlib.resources import files
from itertools import pairwise

import pytest
from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QLabel

from studio.plots.catalogue import PLOTS
from td3core.analysis.healthy import healthy_course
from td3core.config import RunConfig, Tunables
from td3core.protocol.events import Phase
from tests.support.events import progress, started

pytestmark = pytest.mark.shared_window


def test_no_number_and_no_caption_is_cut_off_in_a_window_of_1024_pixels(qtbot, window) -> None:
    window.resize(1024, 700)
    headline = window.plots.findChild(QLabel, "headline_last").parentWidget().parentWidget()
    qtbot.waitUntil(lambda: headline.width() < 400)
    longest = {
        "last": "−10,000.0",
        "best": "−10,000.0",
        "speed": "10,000",
        "left": "10 h 00 min",
    }
    for name, text in longest.items():
        value = window.plots.findChild(QLabel, f"headline_{name}")
        value.setText(text)
        for label in value.parentWidget().findChildren(QLabel):
            assert label.sizeHint().width() <= label.width(), label.text()


def test_a_paused_run_has_neither_speed_nor_time_left(window, find) -> None:
    tell = window.model.handle
    tell(started(RunConfig(env="Pendulum-v1", steps=10_000), Tunables()))
    tell(progress(500))
    assert (find("headline_speed").text(), find("headline_left").text()) == ("100", "2 min")
    tell(progress(500, phase=Phase.PAUSED))
    assert (find("headline_speed").text(), find("headline_left").text()) == ("–", "–")
    tell(progress(520))
    assert find("headline_speed").text() == "100"


def test_a_plot_made_large_in_a_small_window_can_be_maximised(qtbot, window, find) -> None:
    window.resize(1024, 700)
    qtbot.waitUntil(lambda: find("plot_q_maximise").isHidden())
    window.plots.show_large("plot_q")
    qtbot.waitUntil(lambda: not find("plot_q_maximise").isHidden())


def test_a_narrow_plot_shows_its_button_to_the_mouse_and_to_the_keyboard(
    qtbot, window, find
) -> None:
    window.resize(1024, 700)
    button, card = find("plot_q_maximise"), window.plots.card("plot_q")
    qtbot.waitUntil(button.isHidden)
    QApplication.sendEvent(card, QEnterEvent(QPointF(), QPointF(), QPointF()))
    qtbot.waitUntil(button.isVisible)
    # Not at the cost of its neighbours.
    assert card.width() - 20 < window.plots.card("plot_critic_loss").width() < card.width() + 20
    qtbot.waitUntil(lambda: button.width() >= button.sizeHint().width())
    assert card.rect().contains(button.mapTo(card, button.rect().bottomRight()))
    QApplication.sendEvent(card, QEvent(QEvent.Type.Leave))
    qtbot.waitUntil(button.isHidden)
    window.activateWindow()
    find("plot_q_title").setFocus()
    qtbot.waitUntil(button.isVisible)
    button.setFocus()
    assert button.isVisible()
    find("plot_return_title").setFocus()
    qtbot.waitUntil(button.isHidden)


def test_no_plot_promises_what_a_first_run_does_not_show() -> None:
    # On Pendulum the actor loss climbs from 5 to 60 and Q falls to -61, with a return of -187.
    for plot in PLOTS:
        assert "overestimation" not in str(plot.help)
        assert not any(word in str(plot.help) for word in ("falls as", "rises as"))
        if plot.name != "plot_return":
            assert plot.example == ()
            assert not any(word in str(plot.empty) for word in ("It falls", "it falls", "it rises"))


def test_what_is_called_healthy_is_what_the_bundled_runs_did() -> None:
    about = str(PLOTS[0].about.healthy)
    assert "Pendulum-v1 went from −1,500 to −180 within 10,000 steps" in about
    curve = _curve("Pendulum-v1")
    assert round(curve[0][1], -2) == -1500
    assert next(mean for step, mean in curve if step == 10_000) >= -180
    assert "Hopper-v5 lost half of its return more than once" in about
    means = [mean for _, mean in _curve("Hopper-v5")]
    assert sum(after < before / 2 for before, after in pairwise(means)) > 1


def test_what_is_called_healthy_of_a_loss_is_what_the_picture_beside_it_shows() -> None:
    about = {plot.name: str(plot.about.healthy) for plot in PLOTS}
    pendulum, hopper = _courses("Pendulum-v1"), _courses("Hopper-v5")
    values, others = pendulum["q1"], hopper["q1"]
    assert f"they sink to about −{-min(values):.0f} before they rise" in about["plot_q"]
    assert min(values) < values[-1]
    assert "on Hopper-v5 they grow with the return" in about["plot_q"]
    assert (min(others), max(others)) == (others[0], others[-1])
    values, others = pendulum["critic1_loss"], hopper["critic1_loss"]
    course = f"goes from {values[0]:.0f} to below 0.1 and back to {values[-1]:.1f}"
    assert course in about["plot_critic_loss"]
    assert min(values) < 0.1
    course = f"on Hopper-v5 it rises from {others[0]:.1f} to {others[-1]:.0f} within 30,000 steps"
    assert course in about["plot_critic_loss"]
    values, others = pendulum["actor_loss"], hopper["actor_loss"]
    assert f"from {values[0]:.0f} to {max(values):.0f}, and falls" in about["plot_actor_loss"]
    assert max(values) > values[-1]
    course = f"on Hopper-v5 it falls to about −{-others[-1]:.0f} within 30,000 steps"
    assert course in about["plot_actor_loss"]


def _courses(env: str) -> dict[str, list[float]]:
    found = {name: healthy_course(env, name) for name in ("q1", "critic1_loss", "actor_loss")}
    assert env == "Pendulum-v1" or found["q1"].env_steps[-1] == 30_000
    return {name: course.values.tolist() for name, course in found.items()}


def _curve(agent: str) -> list[tuple[int, float]]:
    file = files("resources") / "agents" / f"{agent}.json"
    return json.loads(file.read_text("utf-8"))["curve"]
