"""Additional listeners to a run."""

from pathlib import Path

import pytest

from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Failed, Started
from td3core.training import launch
from tests.td3core.helpers import tiny


class Ear:
    """Listens, and lets a paused run continue when it has its turn."""

    def __init__(self, control: Control | None = None) -> None:
        self.heard: list[Event] = []
        self.turns = 0
        self._control = control

    def report(self, event: Event) -> None:
        self.heard.append(event)

    def idle(self) -> None:
        self.turns += 1
        if self._control is not None:
            self._control.unpause()


def test_all_listeners_hear_what_report_hears_in_the_same_order(runs_dir: Path) -> None:
    config, tunables = tiny(steps=60)
    heard: list[Event] = []
    ears = Ear(), Ear()
    ended = launch.train(config, tunables, Control(), heard.append, runs_dir, listeners=ears)
    assert isinstance(ended, Ended)
    assert heard[-1] is ended
    for ear in ears:
        assert [id(event) for event in ear.heard] == [id(event) for event in heard]


def test_listeners_of_resumed_runs_and_branches_hear_them(runs_dir: Path) -> None:
    config, tunables = tiny(steps=60)
    first = launch.train(config, tunables, Control(), lambda _: None, runs_dir)
    assert isinstance(first, Ended)
    assert first.last_checkpoint is not None
    resumed, branched = Ear(), Ear()
    launch.resume(first.run, Control(), lambda _: None, steps=80, listeners=[resumed])
    launch.branch(
        first.last_checkpoint,
        {"tau": 0.1, "steps": 100},
        Control(),
        lambda _: None,
        runs_dir,
        listeners=[branched],
    )
    for ear in (resumed, branched):
        assert any(isinstance(event, Started) for event in ear.heard), ear.heard
        assert isinstance(ear.heard[-1], Ended)


def test_listeners_have_a_turn_while_a_run_is_paused(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.training.trainer.IDLE_S", 0.01)
    config, tunables = tiny(steps=60)
    control = Control()
    control.pause()
    ear = Ear(control)
    ended = launch.train(config, tunables, control, lambda _: None, runs_dir, listeners=[ear])
    assert isinstance(ended, Ended)
    assert ear.turns >= 1


def test_listeners_hear_of_a_refusal(runs_dir: Path) -> None:
    ear = Ear()
    launch.resume(runs_dir / "nothing", Control(), lambda _: None, listeners=[ear])
    (refused,) = ear.heard
    assert isinstance(refused, Failed)
    assert refused.request
