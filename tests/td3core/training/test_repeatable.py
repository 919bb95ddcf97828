"""Same seed, same run; and watching does not change it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Progress
from td3core.runs.tables import read_table
from tests.support.scripted import STEPS
from tests.td3core.helpers import finish, run, same, tensors

PENDULUM = {"env": "Pendulum-v1", "steps": 450, "learning_starts": 100}


def table(outcome: Ended, name: str) -> list[dict[str, str]]:
    """Return the rows of a table without its clock."""
    rows = read_table(outcome.run / f"{name}.csv")
    assert all(row.pop("time_s") for row in rows)
    return rows


def test_the_same_seed_gives_the_same_run_bit_for_bit(runs_dir: Path) -> None:
    values = PENDULUM | {"seed": 4, "eval_interval": 150, "eval_episodes": 1}
    one, again = finish(runs_dir, **values), finish(runs_dir, **values)
    assert one.run != again.run
    assert same(tensors(one.last_checkpoint), tensors(again.last_checkpoint))
    for name in ("episodes", "evaluations", "training"):
        assert len(table(one, name)) >= 2
        assert table(one, name) == table(again, name)


def test_another_seed_gives_another_run(runs_dir: Path) -> None:
    one, other = finish(runs_dir, **PENDULUM, seed=4), finish(runs_dir, **PENDULUM, seed=5)
    assert not same(tensors(one.last_checkpoint), tensors(other.last_checkpoint))
    assert table(one, "episodes") != table(other, "episodes")


def test_evaluating_changes_nothing_that_is_learnt(runs_dir: Path) -> None:
    watched = finish(runs_dir, **PENDULUM, eval_interval=50, eval_episodes=1)
    alone = finish(runs_dir, **PENDULUM, eval_interval=0)
    assert len(table(watched, "evaluations")) == 7
    assert same(tensors(watched.last_checkpoint), tensors(alone.last_checkpoint))
    assert table(watched, "episodes") == table(alone, "episodes")


def test_saving_and_reporting_change_nothing_that_is_learnt(runs_dir: Path) -> None:
    control = Control()
    often, _ = run(
        runs_dir,
        steps=100,
        checkpoint_interval=7,
        control=control,
        react=lambda event: control.save() if isinstance(event, Progress) else None,
    )
    assert isinstance(often, Ended)
    assert same(
        tensors(often.last_checkpoint), tensors(finish(runs_dir, steps=100).last_checkpoint)
    )


def test_the_length_of_a_run_does_not_change_its_beginning(runs_dir: Path) -> None:
    short = finish(runs_dir, steps=50)
    long = finish(runs_dir, steps=80, checkpoint_interval=50)
    assert same(
        tensors(short.last_checkpoint), tensors(long.run / "checkpoints/step_000000050.safetensors")
    )


def test_each_evaluation_starts_from_the_same_states(runs_dir: Path) -> None:
    # Without updates the policy stays: the same states have to give the same returns.
    _, told = run(runs_dir, STEPS, updates_per_step=0, eval_interval=10, eval_episodes=3)
    found = {event.returns for event in told.all(Evaluated)}
    assert len(told.all(Evaluated)) == 4
    assert len(found) == 1
    assert len(set(found.pop())) == 3


def numpy_state() -> Any:
    return [str(part) for part in np.random.get_state()]


GLOBALS: dict[str, Callable[[], Any]] = {
    "random": random.getstate,
    "numpy": numpy_state,
    "torch": lambda: torch.get_rng_state().tolist(),
}


@pytest.mark.parametrize("read", GLOBALS.values(), ids=GLOBALS)
def test_a_run_leaves_the_global_generators_alone(runs_dir: Path, read: Callable[[], Any]) -> None:
    before = read()
    finish(runs_dir, eval_interval=20)
    assert read() == before
