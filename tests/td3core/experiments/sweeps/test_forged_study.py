"""A forged sweep: nothing in it is executed or written through."""

import contextlib
import json
import os
import pickle
import sqlite3
from pathlib import Path
from typing import Any

import optuna
import pytest

from td3core.cli import app
from td3core.errors import RequestError
from td3core.experiments.sweeps.executor import LocalExecutor
from td3core.experiments.sweeps.folder import SweepFolder
from td3core.experiments.sweeps.state import importance_of, read_sweep
from td3core.protocol.trial_status import TrialStatus
from tests.td3core.experiments.sweeps.scripted_runs import ScriptedExecutor, conduct, rising

CMAES = "sampler = 'cmaes'"
POPULATION = 6
"""Population of CMA-ES with two settings."""


class _Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


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


@pytest.mark.slow
def test_a_pickle_in_a_study_is_never_opened(runs_dir: Path, tmp_path: Path) -> None:
    conduct(runs_dir, ScriptedExecutor(rising), trials=2, more=CMAES)
    folder, trap = SweepFolder(runs_dir, "scripted"), tmp_path / "executed"
    plant(folder, pickle.dumps(_Trap(trap)))
    assert "cma:optimizer:0" in attributes_of(folder)[0]
    read_sweep(folder)
    importance_of(folder)
    state, _ = conduct(runs_dir, ScriptedExecutor(rising), trials=3, more=CMAES)
    assert state.count(TrialStatus.DONE) == 3
    assert not trap.exists()


FORGED = {
    "distribution": "UPDATE trial_params SET distribution_json = '[' || char(10) || ']'",
    "range": "UPDATE trial_params SET param_value = 1e300",
    "state": "UPDATE trials SET state = 'ODD'",
    "number": "UPDATE trials SET number = 99",
    "attribute": "UPDATE study_user_attributes SET value_json = '[]'",
    "table": "DROP TABLE trial_params",
}


@pytest.mark.slow
@pytest.mark.parametrize("statement", FORGED.values(), ids=FORGED)
def test_a_forged_study_is_shown_or_refused_with_a_sentence(
    runs_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
) -> None:
    monkeypatch.setattr("td3core.experiments.sweeps.study.FEWEST_TRIALS", 4)
    conduct(runs_dir, ScriptedExecutor(rising), trials=4, more=CMAES)
    file = SweepFolder(runs_dir, "scripted").study_file
    with contextlib.closing(sqlite3.connect(file)) as database, database:
        database.execute(statement)
    status = app.main(["sweep", "show", "scripted", "--runs-dir", str(runs_dir), "--json"])
    captured = capsys.readouterr()
    assert status in (0, 2), captured.err
    assert "Traceback" not in captured.err
    assert isinstance(json.loads(captured.out), dict)


def test_a_study_is_not_written_through_a_link(runs_dir: Path, tmp_path: Path) -> None:
    outside = tmp_path / "bookmarks.sqlite"
    with contextlib.closing(sqlite3.connect(outside)) as database, database:
        database.execute("CREATE TABLE mine (value)")
    before = outside.read_bytes()
    folder = SweepFolder(runs_dir, "scripted")
    folder.path.mkdir(parents=True)
    folder.study_file.symlink_to(outside)
    with pytest.raises(RequestError, match=r"study\.db is a symbolic link"):
        conduct(runs_dir, ScriptedExecutor(rising))
    assert outside.read_bytes() == before


@pytest.mark.parametrize("name", ["logs", "logs/run.log"])
def test_logs_are_not_written_through_a_link(runs_dir: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = SweepFolder(runs_dir, "scripted")
    (folder.path / name).parent.mkdir(parents=True)
    (folder.path / name).symlink_to(outside if name == "logs" else outside / "log")
    if name == "logs":
        with pytest.raises(RequestError, match="logs is a symbolic link"):
            conduct(runs_dir, ScriptedExecutor(rising))
    else:
        with pytest.raises(OSError, match=r"run\.log is a symbolic link"):
            LocalExecutor(1, folder.log_dir).start(runs_dir / "run", 300)
    assert not list(outside.iterdir())


def test_a_log_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.log")
    with pytest.raises(OSError, match="not a regular file"):
        LocalExecutor(1, tmp_path).start(tmp_path / "run", 300)


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
