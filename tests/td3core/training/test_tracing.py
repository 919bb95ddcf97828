"""Watching single updates of a run: one by one while it is paused, and now and then while not."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.algorithm.fused import kernel_cache
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Noted, Phase, Progress, Traced
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.layout import step_checkpoint
from td3core.training import tracing
from tests.support.waiting import eventually
from tests.td3core.helpers import Told, run, same, tensors

PAUSED_AT = 30
STEPS = 7
"""Through more than three cycles of the delay."""
ENGINES = [
    "torch",
    pytest.param("compiled", marks=pytest.mark.skipif(not kernel_cache.works(), reason="no Numba")),
]
MEASURED = ("q1", "q2", "target", "critic1_loss", "critic2_loss", "actor_loss")


@pytest.fixture(autouse=True)
def _a_row_for_each_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.training.trainer.LOG_STEPS", 1)


def stepped(
    runs_dir: Path, steps: int = STEPS, at: int = PAUSED_AT, **values: Any
) -> tuple[Ended, Told]:
    """Pause a run at a step, do some updates one by one, and let it continue."""

    def pause(reached: int) -> None:
        if reached == at:
            control.pause()

    control = Control(boundary_hook=pause)
    asked = 0

    def react(event: Event) -> None:
        nonlocal asked
        begins = isinstance(event, Progress) and event.phase is Phase.PAUSED and not asked
        if begins or (isinstance(event, Traced) and event.single):
            asked += 1
            # From the run's own thread, as if it had been asked right afterwards.
            (control.step if asked <= steps else control.unpause)()

    outcome, told = run(runs_dir, control=control, react=react, **values)
    assert isinstance(outcome, Ended), outcome
    return outcome, told


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.slow
def test_the_numbers_shown_of_a_paused_run_are_those_of_its_own_updates(
    runs_dir: Path, engine: str
) -> None:
    outcome, told = stepped(
        runs_dir, engine=engine, normalize_observations=True, checkpoint_interval=1
    )
    traced = told.all(Traced)
    assert [each.env_steps for each in traced] == list(range(31, 38))
    assert [each.moved_actor for each in traced] == [each.updates % 2 == 0 for each in traced]
    assert all(each.single for each in traced)
    rows = np.concatenate([event.training for event in told.all(Progress)])
    for each in traced:
        (row,) = rows[rows[:, 1] == each.updates]
        found = dict(zip(TRAINING_COLUMNS, row.tolist(), strict=True))
        shown = (*each.q, each.y, *each.critic_loss, each.actor_loss or np.nan)
        np.testing.assert_allclose(shown, [found[name] for name in MEASURED], rtol=2e-5, atol=1e-6)
        before, after = (
            tensors(step_checkpoint(outcome.run, each.env_steps - back)) for back in (1, 0)
        )
        for change in each.changes:
            names = [name for name in before if name.startswith(f"{change.network}.")]
            moved = np.concatenate([(after[n].astype(float) - before[n]).ravel() for n in names])
            assert change.step == pytest.approx(np.linalg.norm(moved), rel=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("live", [{}, {"update_interval": 4}, {"updates_per_step": 3}])
def test_a_run_that_is_watched_has_the_digits_of_one_that_is_not(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, live: Any
) -> None:
    monkeypatch.setattr(tracing, "TRACE_S", 0.0)
    values = {"engine": engine, "n_step": 2, **live}
    one, told = stepped(runs_dir, **values)
    other, _ = run(tmp_path / "other", **values)
    assert isinstance(other, Ended)
    assert told.all(Traced)
    assert same(tensors(one.last_checkpoint), tensors(other.last_checkpoint))
    for table in ("training.csv", "episodes.csv"):
        mine, theirs = (without_times(each.run / table) for each in (one, other))
        assert mine == theirs


def without_times(path: Path) -> list[str]:
    return [line.rpartition(",")[0] for line in path.read_text().splitlines()]


def test_several_updates_of_one_turn_are_single_ones_too(runs_dir: Path) -> None:
    control, traced = Control(), []
    stopped_within: list[int] = []
    paused = threading.Event()

    def react(event: Event) -> None:
        if isinstance(event, Progress) and event.phase is Phase.PAUSED:
            paused.set()
        if isinstance(event, Traced):
            traced.append(event.updates)

    def ask() -> None:
        paused.wait(20)
        for _ in range(3):
            seen = len(traced)
            control.step()
            eventually(lambda seen=seen: len(traced) > seen)
        stopped_within.append(len(traced))
        control.unpause()

    thread = threading.Thread(target=ask)
    control.boundary_hook = lambda reached: control.pause() if reached == 24 else None
    thread.start()
    outcome, told = run(runs_dir, control=control, react=react, updates_per_step=5)
    thread.join(20)
    assert isinstance(outcome, Ended)
    assert stopped_within == [3]
    # Of the turn's five updates the last two were done at once.
    assert traced == [21, 22, 23]
    assert {each.env_steps for each in told.all(Traced)} == {25}


def test_updates_are_reported_while_the_run_goes_on_but_not_all(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(np.arange(1.0, 1e6, 0.1))
    monkeypatch.setattr(tracing, "perf_counter", lambda: float(next(clock)))
    control = Control()
    control.trace(True)
    outcome, told = run(runs_dir, control=control)
    assert isinstance(outcome, Ended)
    numbers = [each.updates for each in told.all(Traced)]
    # Asked the time at every update, and at each report once more.
    assert 1 in numbers
    assert len(numbers) == pytest.approx(40 / 5, abs=3)
    assert not any(each.single for each in told.all(Traced))


def test_a_run_that_nobody_watches_computes_nothing_of_it(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(tracing, "make_tracer", lambda *parts: made.append(parts))
    monkeypatch.setattr(tracing, "perf_counter", lambda: pytest.fail("asked for the time"))
    control = Control()
    # Opened and closed again before the first update.
    control.trace(True)
    control.trace(False)
    outcome, told = run(runs_dir, control=control)
    assert isinstance(outcome, Ended)
    assert not made
    assert not told.all(Traced)


def test_single_updates_are_one_pause_in_the_journal(runs_dir: Path) -> None:
    _, told = stepped(runs_dir, steps=3)
    assert [each.event for each in told.all(Noted)].count("pause") == 1


def test_a_step_before_the_first_update_goes_on_until_there_is_one(runs_dir: Path) -> None:
    _, told = stepped(runs_dir, steps=1, at=5)
    (traced,) = told.all(Traced)
    assert (traced.updates, traced.env_steps) == (1, 21)


def test_a_step_that_is_asked_of_a_run_that_goes_on_is_not_kept(runs_dir: Path) -> None:
    control = Control()
    control.step()
    outcome, told = run(runs_dir, control=control)
    assert isinstance(outcome, Ended)
    assert not told.all(Traced)
