"""A study that somebody else has written: nothing in its file is executed."""

import contextlib
import json
import os
import pickle
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import pytest

from td3core.experiments.sweeps.folder import SweepFolder
from td3core.experiments.sweeps.state import importance_of, read_sweep
from td3core.runs.directory import RunDirectory
from tests.td3core.experiments.sweeps.scripted_runs import ScriptedExecutor, conduct

CMAES = "sampler = 'cmaes'"
POPULATION = 6
"""Of CMA-ES with two settings."""


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


def rising(run: RunDirectory) -> Sequence[float]:
    """Return four evaluations; the best tau is 0.3."""
    height = -abs(run.first_tunables.tau - 0.3)
    return [height - 3, height - 2, height - 1, height]


def attributes_of(folder: SweepFolder) -> list[dict[str, Any]]:
    study = optuna.load_study(study_name="sweep", storage=f"sqlite:///{folder.study_file}")
    return [trial.system_attrs for trial in study.get_trials()]


def plant(folder: SweepFolder, data: bytes) -> None:
    """Write what Optuna's own sampler would restore its state from into every trial."""
    with contextlib.closing(sqlite3.connect(folder.study_file)) as database, database:
        database.execute(
            "INSERT INTO trial_system_attributes (trial_id, key, value_json)"
            " SELECT trial_id, 'cma:optimizer:0', ? FROM trials",
            (json.dumps(data.hex()),),
        )


def test_a_pickle_in_a_study_is_never_opened(runs_dir: Path, tmp_path: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=2, more=CMAES)
    folder, trap = SweepFolder(runs_dir, "scripted"), tmp_path / "executed"
    plant(folder, pickle.dumps(_Trap(trap)))
    assert "cma:optimizer:0" in attributes_of(folder)[0]
    read_sweep(folder)
    importance_of(folder)
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=3, more=CMAES)
    assert state.count("done") == 3
    assert not trap.exists()


@pytest.mark.slow
def test_cma_es_moves_to_the_good_trials_and_leaves_no_pickle(runs_dir: Path) -> None:
    count = 4 * POPULATION + 1
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=count, more=CMAES)
    tau = [float(trial.settings["tau"]) for trial in state.trials]
    misses = [sum(abs(t - 0.3) for t in tau[n : n + 8]) for n in (1, count - 8)]
    assert misses[1] < misses[0]
    attributes = attributes_of(SweepFolder(runs_dir, "scripted"))
    assert not [name for each in attributes for name in each if "optimizer" in name]
    # The first trial is random, the others are drawn from one generation after the other.
    drawn = [each.get("cma:generation") for each in attributes[1:]]
    assert drawn == [n // POPULATION for n in range(count - 1)]


@pytest.mark.slow
def test_cma_es_continues_after_a_stop_as_without_one(runs_dir: Path) -> None:
    count = 2 * POPULATION + 4
    whole, _ = conduct(runs_dir / "a", ScriptedExecutor(rising), trials=count, more=CMAES)
    for trials in (POPULATION, POPULATION + 3, count):
        parts, _ = conduct(runs_dir / "b", ScriptedExecutor(rising), trials=trials, more=CMAES)
    assert [dict(t.settings) for t in parts.trials] == [dict(t.settings) for t in whole.trials]
