"""Things the window must not do without the user's knowledge."""

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QImage

from studio.session.controller import SessionState
from td3core.config import RunConfig, Tunables
from td3core.protocol import events
from tests.studio.fake_runs import add_training
from tests.studio.plots.layers import curves_of
from tests.studio.window.test_main_job import ASKED, Listener, click, start_pendulum
from tests.support.events import started
from tests.support.mouse import turn_wheel

pytestmark = [pytest.mark.slow, pytest.mark.shared_window]


def type_over(qtbot, box, text: str) -> None:
    box.selectAll()
    qtbot.keyClicks(box, text)
    qtbot.keyClick(box, Qt.Key.Key_Return)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("0,01", 0.01),
        ("0.03", 0.03),
        ("1e-3", 0.001),
        ("1,5,5", None),
        ("abc", None),
        ("", None),
    ],
)
def test_a_number_typed_in_any_way_is_read_or_left_as_it_was(qtbot, find, typed, value):
    before = find("spin_tau").value()
    type_over(qtbot, find("spin_tau"), typed)
    assert find("spin_tau").value() == (before if value is None else value)


@pytest.mark.parametrize("name", ["slider_tau", "spin_tau", "seed_spin", "preset_combo"])
def test_the_wheel_scrolls_the_panel_and_changes_no_setting(window, find, name):
    find("log_view").setFocus()
    before = window.setup.settings(window.live.tunables())
    turn_wheel(find(name))
    assert window.setup.settings(window.live.tunables()) == before


def test_the_steps_of_a_box_follow_its_slider(find):
    box = find("spin_policy_noise")
    box.setValue(0.0)
    box.stepBy(1)
    assert box.value() == 0.01
    decay = find("spin_exploration_noise_decay")
    decay.stepBy(-1)
    assert 0.9999 < decay.value() < 1.0


@pytest.mark.own_window
def test_a_run_that_ends_while_closing_is_asked_about_closes_the_window_now(
    qtbot, window, find, monkeypatch
):
    start_pendulum(qtbot, window, find)

    def end_meanwhile(*_args, **_more):
        window.controller.stop()
        qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
        return "stop"

    monkeypatch.setattr(ASKED, end_meanwhile)
    with qtbot.waitSignal(window.closed, timeout=20_000):
        window.close()


@pytest.mark.own_window
def test_leaving_saves_the_run_and_closes_without_a_question(qtbot, window, find, monkeypatch):
    listener = start_pendulum(qtbot, window, find)
    monkeypatch.setattr(ASKED, lambda *_args, **_more: pytest.fail("it asked"))
    with qtbot.waitSignal(window.closed, timeout=20_000):
        window.save_and_close()
    assert listener.said[-1].last_checkpoint.exists()


def test_editing_the_name_of_the_environment_keeps_what_was_set(qtbot, window, find):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(7777)
    editor = find("env_combo").lineEdit()
    window.activateWindow()
    editor.setFocus()
    editor.setCursorPosition(len("Pendulum-v1"))
    qtbot.keyClick(editor, Qt.Key.Key_Backspace)
    qtbot.keyClick(editor, Qt.Key.Key_1)
    assert find("env_combo").currentText() == "Pendulum-v1"
    assert find("steps_spin").value() == 7777


def feed(window, steps: int) -> None:
    """Report a run that reached ``steps`` to the model."""
    tell = window.model.handle
    config = RunConfig(env="Pendulum-v1", steps=10_000)
    tell(started(config, Tunables()))
    rows = [(float(s), s, -5.0, -6.0, -5.5, 0.5, 0.4, 5.0) for s in range(50, steps + 1, 50)]
    add_training(window.model.record.curves.training, rows)
    window.model.record.curves.episodes.append(
        [(float(s), -900.0, -900.0, 200) for s in range(200, steps, 200)]
    )
    window.model.curves_changed.emit()


def drawn(qtbot, window, steps: int) -> None:
    card = window.plots.card("plot_q")
    curve = curves_of(card)[0]
    qtbot.waitUntil(lambda: curve.xData is not None and curve.xData[-1] == steps)


def test_values_under_the_mouse_stay_readable_while_data_comes_in(qtbot, window):
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    card = window.plots.card("plot_q")
    card.hovered.emit(QPointF(500.0, -5.0))
    assert all(word in card.readout for word in ("step 500", "Q₁ −5", "Q₂ −6", "target −5.5"))
    add_training(
        window.model.record.curves.training, [(1050.0, 1050, -7.0, -7.0, -7.0, 0.5, 0.4, 5.0)]
    )
    window.model.curves_changed.emit()
    drawn(qtbot, window, 1050)
    assert "Q₁ −5" in card.readout
    card.hovered.emit(None)
    assert card.readout == ""


def test_every_run_is_shown_from_its_first_step(qtbot, window):
    for steps in (3000, 1000):
        feed(window, steps)
        drawn(qtbot, window, steps)
        for name in ("plot_return", "plot_q", "plot_critic_loss", "plot_actor_loss"):
            low, high = window.plots.card(name).plot.getViewBox().viewRange()[0]
            assert low <= 0 < steps <= high < 1.2 * steps


def test_a_part_that_a_person_looks_at_stays_in_view(qtbot, window):
    feed(window, 1000)
    drawn(qtbot, window, 1000)
    box = window.plots.card("plot_q").plot.getViewBox()
    box.setXRange(200, 400, padding=0)
    box.sigRangeChangedManually.emit([True, True])
    add_training(
        window.model.record.curves.training, [(1050.0, 1050, -7.0, -7.0, -7.0, 0.5, 0.4, 5.0)]
    )
    window.model.curves_changed.emit()
    qtbot.waitUntil(lambda: not window.plots.redraw_pending)
    assert box.viewRange()[0] == pytest.approx([200, 400])


@pytest.mark.own_window
def test_the_status_line_says_how_the_last_run_went(qtbot, window, find):
    listener = start_pendulum(qtbot, window, find)
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    assert isinstance(listener.said[-1], events.Ended)
    assert "stopped" in find("status_state").text()
    find("env_combo").setCurrentText("CartPole-v1")
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: "CartPole-v1" in window.banner.text, timeout=20_000)
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    # The request was refused; the current run did not fail.
    assert "stopped" in find("status_state").text()


@pytest.mark.own_window
def test_a_drag_is_one_line_in_the_log(qtbot, window, find):
    listener = Listener(window)
    start_pendulum(qtbot, window, find)
    for position in range(200, 800, 100):
        find("slider_tau").setValue(position)
        find("slider_tau").sliderReleased.emit()
    qtbot.waitUntil(lambda: len(listener.all(events.Tuned)) >= 1 and not window.live.pending)
    qtbot.waitUntil(lambda: "τ" in find("log_view").toPlainText(), timeout=5_000)
    lines = [line for line in find("log_view").toPlainText().splitlines() if "τ" in line]
    assert len(lines) == 1
    assert lines[0].endswith(f"{window.live.tunables().tau:g}")


def pixels_of(image, colour: str) -> int:
    """Count the pixels of exactly this colour (lines are drawn without smoothing)."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint32)
    return int(np.count_nonzero(pixels == QColor(colour).rgb()))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("apart", [0.0, 2.0, 4.0, 6.0])
@pytest.mark.parametrize("count", [60, 400])
def test_both_critics_and_the_target_can_all_be_seen(qtbot, window, theme, apart, count):
    if window.theme.name != theme:
        window.switch_theme()
    colours = window.theme
    feed(window, 50)
    # Smooth, and a pixel or two from point to point: as the values of a run are.
    values = -80 + 80 * np.exp(-np.linspace(0, 3, count))
    steps = 100 + 8000 // count * np.arange(count)
    # They begin apart, by little or by more, and lie on one another from then on.
    before = np.where(np.arange(count) < 4, apart, 0.0)
    critics = (values, values - before, values + before)
    rest = np.tile((0.5, 0.4, 5.0), (count, 1))
    add_training(
        window.model.record.curves.training, np.column_stack((steps, steps, *critics, rest))
    )
    window.model.curves_changed.emit()
    drawn(qtbot, window, steps[-1])
    image = window.plots.card("plot_q").plot.grab().toImage()
    seen = [
        pixels_of(image, colour) for colour in (colours.curve_1, colours.curve_2, colours.curve_3)
    ]
    assert min(seen) > 0.15 * sum(seen)
