"""The parts of the window, each on its own."""

import csv
import sys
from dataclasses import fields as dataclass_fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import QApplication, QWidget

from studio.formatting import format_duration
from studio.live.live_panel import LivePanel
from studio.session.controller import SessionState
from studio.widgets.number_box import NumberBox
from studio.widgets.slider_scale import from_slider, to_slider
from td3core.config import RunConfig, Tunables, spec, specs
from td3core.protocol.events import Failed, Preparing, Tuned
from td3core.text import Text
from tests.studio.fake_runs import add_training
from tests.studio.plots.layers import curves_of
from tests.support.events import progress, started

pytestmark = pytest.mark.shared_window

LIVE = [name for name, _ in specs(Tunables)]


class Emitter(QObject):
    fired = Signal(object)


def test_emitting_a_signal_a_thousand_times_keeps_the_references_to_true(qapp):
    emitter, heard = Emitter(), []
    emitter.fired.connect(lambda value: heard.append(value is True))
    before = sys.getrefcount(True)
    for _ in range(1000):
        emitter.fired.emit(True)
    heard.clear()
    assert sys.getrefcount(True) >= before - 5


def test_every_control_of_the_contract_has_its_name_and_an_accessible_one(window, find):
    names = [
        *("train_button", "pause_button", "stop_button", "save_button", "env_combo"),
        *("preset_combo", "seed_spin", "steps_spin", "plot_return", "plot_q"),
        *("plot_critic_loss", "plot_actor_loss", "replay_view", "replay_play_button"),
        *("checkpoint_list", "status_progress", "log_view"),
        *(f"slider_{name}" for name in LIVE),
        *(f"spin_{name}" for name in LIVE),
    ]
    for name in names:
        assert find(name).accessibleName(), f"{name} has no accessible name"


def test_every_fixed_setting_can_be_reached_in_the_form(window, find):
    own_names = {"env": "env_combo", "preset": "preset_combo"}
    own_names |= {"seed": "seed_spin", "steps": "steps_spin"}
    for item in dataclass_fields(RunConfig):
        assert find(own_names.get(item.name, f"field_{item.name}"))


@pytest.mark.parametrize("name", LIVE)
@given(share=st.floats(0, 1))
def test_a_slider_position_and_its_value_agree(name, share):
    known = spec(Tunables, name)
    position = round(share * 1000)
    value = from_slider(known, position, 1000)
    assert known.low <= value <= known.high
    # The value is rounded for reading, by at most one part in two hundred of the scale.
    assert abs(to_slider(known, value, 1000) - position) <= 5


@pytest.mark.parametrize("name", LIVE)
def test_the_whole_slider_is_within_the_allowed_range(name):
    known = spec(Tunables, name)
    low, high = known.slider_range
    assert from_slider(known, 0, 1000) == pytest.approx(known.low if known.lowest else low)
    # Where the lowest position means "off", the rest begins at the next one.
    assert to_slider(known, low, 1000) == bool(known.lowest)
    assert from_slider(known, 1000, 1000) == pytest.approx(high)
    Tunables(**{name: getattr(Tunables(), name)})


def test_a_number_box_takes_scientific_notation_and_refuses_what_is_out_of_range(qtbot):
    box = NumberBox(spec(Tunables, "actor_lr"), whole=False)
    qtbot.addWidget(box)
    box.selectAll()
    qtbot.keyClicks(box, "2.5e-5")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() == 2.5e-5
    box.selectAll()
    qtbot.keyClicks(box, "7")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert box.value() <= 1.0


def test_a_live_change_is_pending_until_the_run_says_it_holds(qtbot):
    requests = []

    def request(tunables: Tunables, _: Tunables) -> int:
        requests.append(tunables)
        return 3

    panel = LivePanel(request)
    qtbot.addWidget(panel)
    panel.findChild(QWidget, "slider_tau").setValue(900)
    qtbot.waitUntil(lambda: bool(requests))
    (wanted,) = requests
    assert wanted.tau != Tunables().tau
    assert panel.pending == {"tau"}
    panel.acknowledge(acknowledgement(2, wanted))
    assert panel.pending == {"tau"}
    panel.acknowledge(acknowledgement(3, wanted))
    assert panel.pending == frozenset()


def acknowledgement(revision: int, tunables: Tunables) -> Tuned:
    return Tuned(env_steps=10, updates=5, revision=revision, tunables=tunables, changes=())


def test_the_reset_button_goes_back_to_the_preset_value(qtbot):
    panel = LivePanel(lambda *_: None)
    qtbot.addWidget(panel)
    panel.show_defaults(Tunables(gamma=0.98))
    panel.findChild(QWidget, "spin_gamma").setValue(0.5)
    panel.findChild(QWidget, "reset_gamma").click()
    assert panel.tunables().gamma == 0.98


def test_choosing_an_environment_brings_the_values_of_its_preset(window, find):
    find("env_combo").setCurrentText("Pendulum-v1")
    config, tunables = window.setup.settings(window.live.tunables())
    assert (config.preset, config.steps, config.actor_hidden) == ("Pendulum-v1", 20_000, (64, 64))
    assert tunables.gamma == 0.98
    find("preset_combo").setCurrentText("TD3 defaults")
    config, tunables = window.setup.settings(window.live.tunables())
    assert (config.preset, config.actor_hidden) == ("", (256, 256))
    assert tunables == Tunables()


@pytest.mark.own_window
@pytest.mark.slow
def test_the_theme_switches_and_is_remembered(window, find, qtbot, tmp_path):
    from studio.app import build_window

    before = window.palette().window().color().lightness()
    qtbot.mouseClick(find("theme_button"), Qt.MouseButton.LeftButton)
    after = window.palette().window().color().lightness()
    assert (before < 128) != (after < 128)
    again = build_window(tmp_path / "runs")
    assert (again.palette().window().color().lightness() < 128) == (after < 128)
    again.close()


def test_a_plot_exports_its_picture_and_all_of_its_numbers(window, tmp_path, qtbot):
    model = window.model
    add_training(
        model.record.curves.training,
        [(50 * i, i, 1.0, 2.0, 3.0, 0.5, 0.25, -1.0) for i in range(5000)],
    )
    model.curves_changed.emit()
    card = window.plots.card("plot_q")
    curve = curves_of(card)[0]
    qtbot.waitUntil(lambda: curve.xData is not None and len(curve.xData) > 0)
    for kind, head in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        card.exporter.export(tmp_path / f"q.{kind}")
        assert (tmp_path / f"q.{kind}").read_bytes().startswith(head)
    card.exporter.export(tmp_path / "q.csv")
    with (tmp_path / "q.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 * 5000
    assert rows[5000] == {"curve": "Q₂", "env_steps": "0", "value": "2.0"}
    card.exporter.export(tmp_path / "nowhere" / "q.csv")
    assert "cannot be written" in window.banner.text


def test_the_log_can_be_shown_and_hidden_from_the_panels_menu(window, find):
    action = next(a for a in window.docks.menu.actions() if a.text() == "Log")
    action.trigger()
    assert find("log_view").isVisible()
    action.trigger()
    assert not find("log_view").isVisible()


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (59.6, "60 s"), (600, "10 min"), (7800, "2 h 10 min"), (7170, "2 h 00 min")],
)
def test_durations_are_said_as_a_person_would(seconds, words):
    assert format_duration(seconds) == words


def test_the_status_bar_says_what_a_run_waits_for(window, find):
    bar = find("status_state").parent()
    window.model.handle(Preparing(message=Text("Compiling the update.")))
    bar.show_state(SessionState.STARTING)
    assert find("status_state").text().endswith("preparing")
    assert find("status_numbers").text() == "Compiling the update."
    assert find("headline_left").text() == "preparing"
    failed = Failed(message=Text("Stopped before the first step."), details="", cancelled=True)
    window.model.handle(failed)
    bar.show_state(SessionState.IDLE)
    assert find("status_numbers").text() == ""
    assert find("headline_left").text() == "–"
    assert not find("banner").isVisible()


class LayoutRequests(QObject):
    """Counts layout requests to a widget."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__()
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def test_numbers_that_change_with_each_report_lay_out_no_window(qtbot, window, find):
    config, tunables = RunConfig(env="Pendulum-v1", steps=100_000), Tunables()
    window.model.handle(started(config, tunables))
    window.model.handle(progress(1_000))
    qtbot.waitUntil(lambda: "step 1,000" in find("status_numbers").text())
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    requests = LayoutRequests(window)
    for step in range(1_020, 1_620, 20):
        window.model.handle(progress(step, steps_per_s=0.1 * step))
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
    assert "step 1,600" in find("status_numbers").text()
    # A few are of its beginning; the 30 reports ask for none.
    assert requests.count < 10
