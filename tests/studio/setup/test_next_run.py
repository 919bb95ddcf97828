"""The form while a run trains: locked, or open for the next run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

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
    monkeypatch.setattr(window.controller, "start", lambda *given: taken.append(given))
    find("steps_spin").setValue(7_777)
    window.toolbar.action("queue" if way == "queued" else "train").trigger()
    assert len(taken) == 1
    config, tunables = make_settings({"env": "Pendulum-v1", "steps": 5_000})
    begin(window, enter, replace(config, seed=3), tunables)
    assert find("env_combo").currentText() == "Pendulum-v1"
    assert find("seed_spin").value() == 3
    assert not find("steps_spin").isEnabled()
