"""The form while a run trains: locked, or open for the next run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from studio.experiments.sweep_reader import TrialSettings
from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.config import RunConfig, Tunables, make_settings
from tests.support.events import started

pytestmark = pytest.mark.shared_window

Enter = Callable[[SessionState], None]


@pytest.fixture
def enter(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Return a function by which a run that is played enters a state."""
    state = [SessionState.IDLE]
    busy = property(lambda _: state[0] is not SessionState.IDLE)
    monkeypatch.setattr(type(window.controller), "busy", busy)

    def enter(now: SessionState) -> None:
        state[0] = now
        window.controller.state_changed.emit(now)

    return enter


def begin(window: MainWindow, enter: Enter, config: RunConfig, tunables: Tunables) -> None:
    """Let another run begin, as the queue does."""
    enter(SessionState.IDLE)
    enter(SessionState.STARTING)
    window.model.handle(started(config, tunables, run=Path("of-the-queue")))
    enter(SessionState.RUNNING)


def test_what_was_unlocked_stays_so_in_every_state_of_the_run(find, enter: Enter) -> None:
    for state in (SessionState.STARTING, SessionState.RUNNING):
        enter(state)
        assert not find("steps_spin").isEnabled()
    find("prepare_next_button").click()
    for state in (SessionState.PAUSED, SessionState.RUNNING, SessionState.STOPPING):
        enter(state)
        assert find("steps_spin").isEnabled()
        assert not find("prepare_next_button").isVisible()
    enter(SessionState.IDLE)
    enter(SessionState.STARTING)
    assert find("steps_spin").isEnabled()


def test_a_run_of_the_queue_leaves_what_is_being_entered_alone(window, find, enter: Enter) -> None:
    other = make_settings({"env": "Pendulum-v1", "steps": 5_000})
    enter(SessionState.RUNNING)
    find("prepare_next_button").click()
    find("steps_spin").setValue(7_777)
    begin(window, enter, *other)
    assert find("env_combo").currentText() == "BipedalWalker-v3"
    assert find("steps_spin").value() == 7_777
    assert find("steps_spin").isEnabled()


@pytest.mark.parametrize("way", ["queued", "started"])
def test_what_is_queued_or_started_makes_way_for_the_run_that_begins(
    window, find, enter: Enter, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    taken = []
    monkeypatch.setattr(window.many, "add", taken.append)
    monkeypatch.setattr(window.controller, "begin", taken.append)
    find("steps_spin").setValue(7_777)
    window.toolbar.action("queue" if way == "queued" else "train").trigger()
    assert len(taken) == 1
    config, tunables = make_settings({"env": "Pendulum-v1", "steps": 5_000})
    begin(window, enter, replace(config, seed=3), tunables)
    assert find("env_combo").currentText() == "Pendulum-v1"
    assert find("seed_spin").value() == 3
    assert not find("steps_spin").isEnabled()


def test_a_preset_for_the_next_run_leaves_the_live_settings_to_the_run_that_trains(
    window, find, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    queued = []
    monkeypatch.setattr(window.many, "add", queued.append)
    config, tunables = window.setup.settings(window.live.tunables())
    begin(window, enter, config, tunables)
    find("prepare_next_button").click()
    find("env_combo").setCurrentText("Pendulum-v1")
    chosen = window.setup.chosen_tunables()
    assert chosen != tunables
    assert window.live.tunables() == tunables
    window.toolbar.action("queue").trigger()
    assert queued[0].tunables == chosen
    enter(SessionState.IDLE)
    assert window.live.tunables() == chosen


def test_a_run_of_the_queue_leaves_the_live_settings_of_the_next_run_for_later(
    window, find, enter: Enter
) -> None:
    find("spin_gamma").setValue(0.9)
    find("steps_spin").setValue(7_777)
    entered = window.live.tunables()
    other = make_settings({"env": "Pendulum-v1", "algorithm": "tqc", "gamma": 0.5})
    begin(window, enter, *other)
    assert window.live.tunables() == other[1]
    assert not window.live.row("dropped_quantiles").isHidden()
    assert window.live.next_tunables() == entered
    enter(SessionState.IDLE)
    assert window.live.tunables() == entered
    assert window.live.row("dropped_quantiles").isHidden()


@pytest.mark.parametrize("steered", [False, True])
def test_settings_of_a_trial_are_for_the_next_run_and_have_nothing_to_take_back(
    window, find, steered: bool
) -> None:
    find("spin_gamma").setValue(0.9)
    window.live.set_steered(steered)
    shown = window.live.tunables()
    config, tunables = window.setup.settings(replace(shown, gamma=0.8))
    found = TrialSettings(name="trial", config=config, tunables=tunables)
    window.panels.named("sweeps").settings_chosen.emit(found)
    assert window.live.next_tunables() == tunables
    if steered:
        assert window.live.tunables() == shown
        window.live.set_steered(False)
    assert window.live.tunables() == tunables
    assert not window.live.can_undo
