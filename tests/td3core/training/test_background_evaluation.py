"""Evaluations in a process of their own: the same run, and nothing lost with the process."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Phase, Progress, Saved, Warned
from td3core.runs.tables import read_table
from tests.support.scripted import Script
from tests.td3core.helpers import finish, run

PENDULUM: dict[str, Any] = {
    "steps": 400,
    "learning_starts": 50,
    "eval_interval": 100,
    "eval_episodes": 2,
}


def helper_process() -> Any:
    found = [p for p in multiprocessing.active_children() if p.name == "evaluations"]
    return found[0] if found else None


def without_time(run_path: Path, name: str) -> list[dict[str, str]]:
    rows = read_table(run_path / f"{name}.csv")
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]


@pytest.mark.slow
def test_a_run_and_its_results_are_the_same_with_evaluations_beside_it(runs_dir: Path) -> None:
    runs = [
        finish(runs_dir, "Pendulum-v1", background_evaluation=b, **PENDULUM) for b in (True, False)
    ]
    for name in ("episodes", "training", "evaluations"):
        assert without_time(runs[0].run, name) == without_time(runs[1].run, name)
    assert len(read_table(runs[0].run / "evaluations.csv")) == 4
    for kind in ("best_checkpoint", "last_checkpoint"):
        one, other = (checkpoint.load(getattr(ended, kind)) for ended in runs)
        assert one.header.evaluation == other.header.evaluation
        assert one.header.counters == other.header.counters
        assert all(one.tensors[k].tobytes() == v.tobytes() for k, v in other.tensors.items())


@pytest.mark.slow
def test_the_best_agent_kept_is_the_one_that_was_measured(runs_dir: Path) -> None:
    ended, told = run(runs_dir, "Pendulum-v1", background_evaluation=True, **PENDULUM)
    assert isinstance(ended, Ended)
    best = max(told.all(Evaluated), key=lambda e: e.mean)
    header = checkpoint.load(ended.best_checkpoint).header
    assert header.counters.env_steps == best.env_steps
    assert header.evaluation.returns == best.returns
    assert [s.env_steps for s in told.all(Saved) if s.path.stem == "best"] == [
        e.env_steps for e in told.all(Evaluated) if e.is_best
    ]


@pytest.mark.slow
def test_an_evaluation_is_reported_while_the_run_is_paused(runs_dir: Path) -> None:
    control, seen = Control(boundary_hook=lambda step: step == 101 and control.pause()), list[int]()

    def react(event: Any) -> None:
        if isinstance(event, Progress) and event.phase is Phase.PAUSED:
            seen.append(event.env_steps)
        if isinstance(event, Evaluated) and event.env_steps == 100:
            assert seen == [101]
            control.unpause()

    values = PENDULUM | {"eval_episodes": 10}
    outcome, told = run(
        runs_dir, "Pendulum-v1", control=control, react=react, background_evaluation=True, **values
    )
    assert isinstance(outcome, Ended)
    assert [each.env_steps for each in told.all(Evaluated)] == [100, 200, 300, 400]


def test_a_lost_process_costs_a_warning_and_no_evaluation(runs_dir: Path) -> None:
    def react(event: Any) -> None:
        child = helper_process()
        if isinstance(event, Progress) and child is not None:
            os.kill(child.pid, signal.SIGKILL)

    outcome, told = run(
        runs_dir, "Pendulum-v1", background_evaluation=True, react=react, **PENDULUM
    )
    assert isinstance(outcome, Ended)
    assert ["was lost" in str(w.message) for w in told.all(Warned)] == [True]
    calm = finish(runs_dir, "Pendulum-v1", background_evaluation=False, **PENDULUM)
    assert without_time(outcome.run, "evaluations") == without_time(calm.run, "evaluations")


@pytest.mark.slow
def test_a_process_of_another_version_is_done_without_and_its_sentence_told(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.system.child_process.__version__", "0.0.9")
    outcome, told = run(runs_dir, "Pendulum-v1", background_evaluation=True, **PENDULUM)
    assert isinstance(outcome, Ended)
    (warned,) = told.all(Warned)
    assert "TD3 Studio was updated from 0.0.9 to" in str(warned.message)
    assert str(warned.message).endswith("restart it.")
    assert told.all(Evaluated)


def test_an_environment_only_this_program_knows_is_evaluated_here(
    runs_dir: Path, scripted: Any
) -> None:
    env = scripted(Script())
    outcome, told = run(runs_dir, env, background_evaluation=True, eval_interval=20, steps=60)
    assert isinstance(outcome, Ended)
    assert [e.env_steps for e in told.all(Evaluated)] == [40, 60]
    assert len(told.all(Warned)) == 1


def test_a_stop_does_not_wait_for_evaluations_and_leaves_no_process(runs_dir: Path) -> None:
    control = Control()

    def react(event: Any) -> None:
        if isinstance(event, Progress) and helper_process() is not None:
            control.stop()

    slow = PENDULUM | {"steps": 100_000, "eval_episodes": 1000}
    outcome, told = run(
        runs_dir, "Pendulum-v1", background_evaluation=True, control=control, react=react, **slow
    )
    assert isinstance(outcome, Ended)
    assert outcome.stopped == "user"
    assert not told.all(Evaluated)
    assert helper_process() is None


@pytest.mark.slow
def test_training_does_not_wait_until_a_busy_process_reads_the_next_agent(runs_dir: Path) -> None:
    control = Control()

    def react(event: Any) -> None:
        # By then two agents are pending, each larger than a pipe.
        if isinstance(event, Progress) and event.env_steps > 250:
            control.stop()

    slow = PENDULUM | {"steps": 100_000, "eval_episodes": 1000, "critic_hidden": (512, 512)}
    outcome, told = run(
        runs_dir, "Pendulum-v1", background_evaluation=True, control=control, react=react, **slow
    )
    assert isinstance(outcome, Ended)
    assert outcome.stopped == "user"
    assert not told.all(Evaluated)


def test_the_process_that_evaluates_needs_no_torch() -> None:
    import subprocess
    import sys

    code = "import sys, td3core.training.background_evaluation; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
