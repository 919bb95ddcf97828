"""Shared by the tests of resuming: resumed runs, and copies of runs mid-way."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Failed, Warned
from td3core.training.launch import branch, resume
from tests.support.marks import release
from tests.support.scripted import STEPS
from tests.td3core.helpers import Told, run

VALUES: dict[str, Any] = {"steps": 97, "eval_interval": 30, "checkpoint_interval": 20}

each_way = pytest.mark.parametrize("every", [11, *release(1)], ids=["some", "all"])
"""Some of the states that a run may be left in every time; all of them before a release."""


def stopped(runs_dir: Path, step: int, env: str = STEPS, **values: Any) -> Ended:
    """Return a run that was stopped after a step."""
    outcome, _ = run(runs_dir, env, control=stop_at(step), **values)
    assert isinstance(outcome, Ended)
    assert (outcome.stopped, outcome.env_steps) == ("user", step)
    return outcome


def go_on(
    run: Path,
    *,
    steps: int | None = None,
    control: Control | None = None,
    react: Callable[[Event], None] = lambda event: None,
    exact: bool = False,
) -> tuple[Ended | Failed, Told]:
    """Resume a run; return the outcome and all reports."""
    told = Told(react)
    return resume(run, control or Control(), told, steps=steps, exact=exact), told


def go_on_well(run: Path, *, steps: int | None = None, warnings: int = 0) -> Ended:
    """Resume a run to its end, with this many warnings."""
    outcome, told = go_on(run, steps=steps)
    assert isinstance(outcome, Ended), outcome
    said = [str(event.message) for event in told.all(Warned)]
    assert len(said) == warnings, said
    return outcome


def refused(run: Path, *, steps: int | None = None) -> str:
    """Resume a run that cannot be resumed; return the sentence."""
    outcome, told = go_on(run, steps=steps)
    assert isinstance(outcome, Failed)
    assert outcome.request, outcome
    assert told.events == [outcome]
    assert "\n" not in str(outcome.message)
    return str(outcome.message)


def branched(checkpoint: Path, runs_dir: Path, **values: Any) -> tuple[Ended | Failed, Told]:
    """Branch from a checkpoint; return the outcome and all reports."""
    told = Told()
    return branch(checkpoint, values, Control(), told, runs_dir), told


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file of a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def stop_at(step: int) -> Control:
    """Return a control that stops a run before the turn after ``step``, one step a turn."""
    return Control.stopping_at(step)


class Crashes:
    """Copies of a run as it stood on disk whenever something was about to change there.

    What stood there before is not copied again.
    """

    def __init__(self, runs_dir: Path, to: Path) -> None:
        self._runs_dir, self._to = runs_dir, to
        self._seen: set[int] = set()
        self.found: list[Path] = []

    def __call__(self) -> None:
        runs = [path for path in self._runs_dir.iterdir() if (path / "run.toml").exists()]
        state = hash(frozenset(contents(runs[0]).items())) if runs else None
        if state is not None and state not in self._seen:
            self._seen.add(state)
            copy = self._to / f"{len(self.found):04d}" / runs[0].name
            shutil.copytree(runs[0], copy)
            self.found.append(copy)


@contextmanager
def crashing(runs_dir: Path, to: Path) -> Iterator[Crashes]:
    """Copy the run before and after each flush to disk, each renaming and each deletion."""
    crashes = Crashes(runs_dir, to)

    def around(work: Any) -> Any:
        def wrapped(*given: Any, **more: Any) -> Any:
            crashes()
            done = work(*given, **more)
            crashes()
            return done

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", around(os.fsync))
        patch.setattr(Path, "replace", around(Path.replace))
        patch.setattr(Path, "hardlink_to", around(Path.hardlink_to))
        yield crashes
