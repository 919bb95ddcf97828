"""The best agent: never lost to a full disk, and never one of a future that was dropped."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.config.value_text import plain_return
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Failed, Saved, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.tables import read_table
from tests.support.scripted import Script
from tests.td3core.helpers import run, same, tensors
from tests.td3core.training.resuming import VALUES, go_on
from tests.td3core.training.test_full_disk import Disk

LINES: dict[str, Any] = {"steps": 97, "eval_interval": 30, "checkpoint_interval": 0}


def best_rewards(best_at: int) -> Callable[[int, Any], float]:
    """Return a reward that makes the first evaluation the best one, or the later ones better."""
    return lambda step, _: 100.0 - step if best_at == 30 else float(step)


def refuse_best(monkeypatch: pytest.MonkeyPatch, times: int) -> Disk:
    """Let the disk be full for the first attempts, this many, to write the best agent."""
    disk = Disk(checkpoint.save, lambda path: path.stem == "best" and disk.refused < times)
    monkeypatch.setattr(checkpoint, "save", disk)
    return disk


def require_consistent(outcome: Ended) -> None:
    """Require that the best return is that of the agent in the best checkpoint."""
    rows = read_table(outcome.run / "evaluations.csv")
    by_step = {int(row["env_steps"]): float(row["mean"]) for row in rows}
    header = checkpoint.read_header(outcome.best_checkpoint)
    assert header.evaluation is not None
    assert header.evaluation.mean == outcome.best_eval_return
    assert by_step[header.counters.env_steps] == outcome.best_eval_return
    assert outcome.best_eval_return == max(by_step.values())


@pytest.mark.parametrize("values", [{}, {"checkpoint_interval": 40}], ids=["at the end", "later"])
def test_the_best_agent_is_saved_later_if_the_disk_was_full(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, values: dict[str, int]
) -> None:
    plain, _ = run(runs_dir, scripted(Script(reward=best_rewards(30))), **LINES)
    assert isinstance(plain, Ended)
    disk = refuse_best(monkeypatch, 1)
    outcome, told = run(runs_dir, scripted(Script(reward=best_rewards(30))), **LINES | values)
    assert isinstance(outcome, Ended), outcome
    assert disk.refused == 1
    assert len(told.all(Warned)) == 1
    require_consistent(outcome)
    assert [s.env_steps for s in told.all(Saved) if s.path.stem == "best"] == [30]
    assert same(tensors(plain.best_checkpoint), tensors(outcome.best_checkpoint))
    assert not list((outcome.run / "checkpoints").glob("evaluating_*"))


def test_a_run_killed_before_its_best_agent_was_saved_saves_it_once_resumed(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = scripted(Script(reward=best_rewards(30)))
    with monkeypatch.context() as patch:
        refuse_best(patch, 1000)
        copies = runs_dir.parent / "copies"

        def copy(event: Any) -> None:
            if isinstance(event, Evaluated) and event.env_steps == 60:
                shutil.copytree(runs_dir, copies)

        run(runs_dir, env, react=copy, **LINES)
    (killed,) = copies.iterdir()
    outcome, _ = go_on(killed)
    assert isinstance(outcome, Ended), outcome
    assert checkpoint.read_header(outcome.best_checkpoint).counters.env_steps == 30


def test_a_run_whose_best_agent_could_never_be_saved_has_failed_and_keeps_it_to_resume(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = scripted(Script(reward=best_rewards(30)))
    with monkeypatch.context() as patch:
        refuse_best(patch, 1000)
        outcome, _ = run(runs_dir, env, **LINES)
    assert isinstance(outcome, Failed)
    assert "best agent could not be saved" in str(outcome.message)
    assert "No space left" in str(outcome.message)
    assert outcome.ending is not None
    assert outcome.ending.best_checkpoint is None
    resumed, _ = go_on(outcome.run)
    assert isinstance(resumed, Ended), resumed
    require_consistent(resumed)


def test_an_older_best_agent_is_not_given_the_return_of_a_better_one(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(checkpoint.save, lambda path: path.stem == "best" and path.exists())
    monkeypatch.setattr(checkpoint, "save", disk)
    outcome, _ = run(runs_dir, scripted(Script(reward=best_rewards(97))), **LINES)
    assert isinstance(outcome, Failed)
    ending = outcome.ending
    assert ending is not None
    assert checkpoint.read_header(ending.best_checkpoint).evaluation.mean == ending.best_eval_return
    # The last evaluation may be better than what is called the best; why, the run says.
    assert ending.last_eval_return > ending.best_eval_return
    last, best = plain_return(ending.last_eval_return), plain_return(ending.best_eval_return)
    told = f"of step 97 and returned {last}; the best one saved returned {best}."
    assert told in str(outcome.message)


def test_an_agent_that_returns_as_much_as_the_best_does_not_take_its_place(
    runs_dir: Path, scripted: Any
) -> None:
    outcome, told = run(runs_dir, scripted(Script(reward=lambda *_: 1.0)), **LINES)
    assert isinstance(outcome, Ended), outcome
    assert [each.is_best for each in told.all(Evaluated)] == [True, False, False, False]
    assert checkpoint.read_header(outcome.best_checkpoint).counters.env_steps == 30
    assert not list((outcome.run / "checkpoints").glob("evaluating_*"))


# A dropped future -------------------------------------------------------------------------------


def damage(path: Path) -> None:
    path.unlink()
    path.write_bytes(b"no checkpoint")


def grown(runs_dir: Path, env: str, **values: Any) -> RunDirectory:
    """Return a run whose evaluations grow better and better, stopped at step 97 of 200."""
    outcome, _ = run(
        runs_dir, env, control=Control.stopping_at(97), **VALUES | {"steps": 200} | values
    )
    assert isinstance(outcome, Ended), outcome
    return RunDirectory.open(outcome.run)


@pytest.mark.parametrize(("interval", "left"), [(20, 60), (25, None), (15, 60)])
def test_the_best_agent_of_a_dropped_future_is_replaced_by_the_best_that_is_kept(
    runs_dir: Path, scripted: Any, interval: int, left: int | None
) -> None:
    grown_run = grown(
        runs_dir, scripted(Script(reward=best_rewards(97))), checkpoint_interval=interval
    )
    assert checkpoint.read_header(grown_run.best).counters.env_steps == 90
    damage(grown_run.last)
    if interval == 15:
        damage(grown_run.step_checkpoint(90))
    outcome, told = go_on(grown_run.path, control=Control.stopping_at(82))
    assert isinstance(outcome, Ended), outcome
    assert any(
        "step 90" in str(each.message) and "best" in str(each.message) for each in told.all(Warned)
    )
    kept = outcome.best_checkpoint
    assert (kept and checkpoint.read_header(kept).counters.env_steps) == left
    means = dict(grown_run.evaluations())
    assert max(means) == 60
    if left:
        assert outcome.best_eval_return == means[left]
        assert checkpoint.read_header(kept).evaluation.mean == means[left]
    assert all(int(path.stem[5:]) <= 82 for path in grown_run.saved() if "step" in path.stem)


def test_a_best_agent_on_the_resumed_line_stays_byte_for_byte(
    runs_dir: Path, scripted: Any
) -> None:
    grown_run = grown(runs_dir, scripted(Script(reward=best_rewards(30))))
    before = grown_run.best.read_bytes()
    damage(grown_run.last)
    outcome, _ = go_on(grown_run.path, control=Control.stopping_at(82))
    assert isinstance(outcome, Ended), outcome
    assert grown_run.best.read_bytes() == before
    assert outcome.best_eval_return == max(mean for _, mean in grown_run.evaluations())


def test_checkpoints_newer_than_the_one_resumed_from_are_dropped(
    runs_dir: Path, scripted: Any
) -> None:
    grown_run = grown(runs_dir, scripted(Script(reward=best_rewards(30))))
    # Such as last from a backup.
    grown_run.last.unlink()
    shutil.copy(grown_run.step_checkpoint(40), grown_run.last)
    outcome, _ = go_on(grown_run.path, control=Control.stopping_at(50))
    assert isinstance(outcome, Ended), outcome
    names = {path.stem for path in grown_run.saved()}
    assert names == {"step_000000020", "step_000000040", "best", "last"}
