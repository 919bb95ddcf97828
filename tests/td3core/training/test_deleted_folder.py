"""A run whose folder is deleted or moved while it trains: a whole run is written again."""

import shutil
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import psutil
import pytest

from td3core import checkpoint
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Saved, Warned
from td3core.remote.steer import RemoteControl
from td3core.runs.directory import RunDirectory
from td3core.runs.lock import RunLock, holder
from td3core.runs.tables import read_table
from td3core.training.launch import train
from tests.support.marks import slow
from tests.support.scripted import Script
from tests.td3core.helpers import Told, finish, run, same, tensors, tiny
from tests.td3core.training.resuming import VALUES, go_on, go_on_well, refused, stopped

pytestmark = pytest.mark.slow

TABLES = ("episodes", "training", "evaluations")


def delete(path: Path) -> None:
    shutil.rmtree(path)


def move(path: Path) -> None:
    path.rename(path.parent.parent / "moved")


def delete_half(path: Path) -> None:
    """Delete what a deletion that was interrupted, or raced the run, may have deleted."""
    for each in [path / "run.toml", *(path / "checkpoints").iterdir()]:
        each.unlink()


def losing(
    runs_dir: Path,
    at: int,
    lose: Callable[[Path], None],
    then: Callable[[int], None] = lambda _: None,
) -> Control:
    """Return a control with which the run's folder is lost after a step."""

    def lose_at_step(env_steps: int) -> None:
        if env_steps == at:
            lose(next(runs_dir.iterdir()))
        then(env_steps)

    return Control(boundary_hook=lose_at_step)


@pytest.fixture(autouse=True)
def reports_at_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)


@pytest.mark.parametrize("lose", [delete, move])
@pytest.mark.parametrize("at", [45, *slow(5, 96)])
def test_a_run_that_loses_its_folder_ends_with_a_whole_one(
    runs_dir: Path, lose: Callable[[Path], None], at: int
) -> None:
    straight = finish(runs_dir.parent / "straight", **VALUES)
    outcome, told = run(runs_dir, control=losing(runs_dir, at, lose), **VALUES)
    assert isinstance(outcome, Ended), outcome
    said = [str(event.message) for event in told.all(Warned)]
    assert len(said) == 1, said
    assert "deleted or moved" in said[0]
    assert same(tensors(straight.last_checkpoint), tensors(outcome.last_checkpoint))
    again = RunDirectory.open(outcome.run)
    assert again.ending() is not None
    for name in TABLES:
        columns = (straight.run / f"{name}.csv").read_text().splitlines()[0]
        assert (outcome.run / f"{name}.csv").read_text().splitlines()[0] == columns
    assert read_table(outcome.run / "evaluations.csv")[-1]["env_steps"] == "97"
    assert outcome.best_checkpoint is not None
    evaluation = checkpoint.read_header(outcome.best_checkpoint).evaluation
    assert evaluation is not None
    assert evaluation.mean == outcome.best_eval_return
    # With its replay buffer: it resumes without a word.
    go_on_well(outcome.run, steps=120)


def test_a_killed_run_that_lost_its_folder_is_resumed_from_the_new_one(
    runs_dir: Path, scripted: Any
) -> None:
    copies = runs_dir.parent / "copies"

    def on_step(step: int) -> None:
        (folder,) = runs_dir.iterdir()
        if step == 45:
            delete(folder)
        if step == 52:
            shutil.copytree(runs_dir, copies)

    run(
        runs_dir,
        scripted(Script(on_step=on_step)),
        **VALUES | {"checkpoint_interval": 0, "bias_interval": 0},
    )
    (killed,) = copies.iterdir()
    # It was saved anew as soon as that was noticed, not only at the next checkpoint.
    assert RunDirectory.open(killed).last.exists()


def test_the_journal_is_written_again(runs_dir: Path, scripted: Any) -> None:
    control = Control()
    _, new = tiny(tau=0.5)

    def on_step(step: int) -> None:
        if step == 25:
            control.tune(new)
        if step == 45:
            delete(next(runs_dir.iterdir()))

    outcome, _ = run(runs_dir, scripted(Script(on_step=on_step)), control=control, **VALUES)
    assert isinstance(outcome, Ended), outcome
    (entry,) = RunDirectory.open(outcome.run).journal()
    assert (entry["step"], entry["field"], entry["new"]) == (25, "tau", 0.5)


def test_a_resumed_run_that_loses_its_folder_keeps_settings_and_journal(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 50, **VALUES)
    before = RunDirectory.open(ended.run)
    lost: list[int] = []

    def hook(env_steps: int) -> None:
        if env_steps == 70 and not lost:
            lost.append(env_steps)
            delete(ended.run)

    outcome, _ = go_on(ended.run, control=Control(boundary_hook=hook), steps=110)
    assert isinstance(outcome, Ended), outcome
    after = RunDirectory.open(outcome.run)
    assert (after.created, after.config.steps) == (before.created, 110)
    assert [entry["event"] for entry in after.journal()] == ["stop", "resume"]


@pytest.mark.parametrize("lose", [delete, move])
def test_a_paused_run_that_loses_its_folder_can_still_be_steered(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    monkeypatch.setattr("td3core.training.trainer.IDLE_S", 0.01)
    monkeypatch.setattr("td3core.training.trainer.FOLDER_S", 0.02)
    monkeypatch.setattr("td3core.remote.access.LOOK_S", 0.0)
    control, folders, end = Control(), list[Path](), time.monotonic() + 30

    class Steerer:
        asked = gave_up = False

        def report(self, event: object) -> None:
            pass

        def idle(self) -> None:
            if not folders:
                folders.extend(runs_dir.iterdir())
                lose(folders[0])
            elif (folders[0] / "requests").exists() and not self.asked:
                self.asked = True
                RemoteControl(folders[0]).unpause()
            elif time.monotonic() > end:
                self.gave_up = True
                control.stop()

    def hook(env_steps: int) -> None:
        if env_steps == 45 and not folders:
            control.pause()

    control.boundary_hook = hook
    steerer, told = Steerer(), Told()
    outcome = train(*tiny(**VALUES), control, told, runs_dir, listeners=[steerer])
    assert isinstance(outcome, Ended), outcome
    assert (outcome.stopped, steerer.asked, steerer.gave_up) == ("finished", True, False)
    assert ["deleted or moved" in str(event.message) for event in told.all(Warned)] == [True]
    go_on_well(outcome.run, steps=120)


def test_a_folder_lost_after_the_last_save_is_saved_again(runs_dir: Path) -> None:
    lost: list[int] = []

    def react(event: Any) -> None:
        if isinstance(event, Saved) and event.path.stem == "last" and not lost:
            lost.append(event.env_steps)
            delete(next(runs_dir.iterdir()))

    outcome, _ = run(runs_dir, react=react, **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert lost == [97]
    assert outcome.last_checkpoint is not None
    assert outcome.best_checkpoint is not None
    go_on_well(outcome.run, steps=120)


@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_that_loses_half_of_its_folder_keeps_its_lock_and_ends_with_a_whole_one(
    runs_dir: Path, resumed: bool
) -> None:
    control = losing(runs_dir, 70, delete_half)
    if resumed:
        outcome, _ = go_on(stopped(runs_dir, 50, **VALUES).run, control=control)
    else:
        outcome, _ = run(runs_dir, control=control, **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert holder(outcome.run) is None
    assert not (outcome.run / "lock.json").exists()
    go_on_well(outcome.run, steps=120)


@pytest.mark.parametrize("name", [*(f"{name}.csv" for name in TABLES), "replay.f32"])
def test_a_file_that_is_deleted_is_begun_again(runs_dir: Path, name: str) -> None:
    control = losing(runs_dir, 45, lambda path: (path / name).unlink(missing_ok=True))
    outcome, _ = run(runs_dir, control=control, **VALUES)
    assert isinstance(outcome, Ended), outcome
    if name.endswith(".csv"):
        assert (outcome.run / name).read_text().startswith(("episode,", "env_steps,"))
        assert read_table(outcome.run / name)
    go_on_well(outcome.run, steps=120)


def test_a_folder_that_cannot_be_written_again_fails_the_run(runs_dir: Path) -> None:
    def block(path: Path) -> None:
        delete(path)
        path.write_text("in the way")

    outcome, _ = run(runs_dir, control=losing(runs_dir, 45, block), **VALUES)
    assert isinstance(outcome, Failed)
    assert "could not be saved" in str(outcome.message)
    assert outcome.last_checkpoint is None


def test_a_run_whose_new_folder_cannot_be_locked_goes_on(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, refusals = RunLock.acquire, []

    def refuse_once(lock: RunLock) -> None:
        if not refusals:
            refusals.append(lock)
            raise RequestError("It cannot be locked.")
        acquire(lock)

    def block(path: Path) -> None:
        delete(path)
        monkeypatch.setattr(RunLock, "acquire", refuse_once)

    outcome, told = run(runs_dir, control=losing(runs_dir, 45, block), **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert refusals
    assert any("It cannot be locked" in str(warned.message) for warned in told.all(Warned))
    assert (outcome.run / "run.toml").exists()


def test_a_folder_that_was_written_again_is_locked(runs_dir: Path) -> None:
    refusals: list[str] = []

    def try_to_lock(env_steps: int) -> None:
        if env_steps == 60:
            refusals.append(refused(next(runs_dir.iterdir())))

    outcome, _ = run(runs_dir, control=losing(runs_dir, 45, delete, try_to_lock), **VALUES)
    assert isinstance(outcome, Ended), outcome
    assert "is locked by a living process" in refusals[0]


@pytest.mark.parametrize("lose", [delete, move])
def test_a_run_that_loses_its_folder_leaves_no_process_lock_or_temporary_file(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Path], None]
) -> None:
    temporary = runs_dir.parent / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    resource_tracker.ensure_running()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    control = losing(runs_dir, 45, lose)
    values = {"steps": 97, "eval_interval": 30, "env_processes": 1, "background_evaluation": True}
    outcome, _ = run(runs_dir, "Pendulum-v1", control=control, **values)
    assert isinstance(outcome, Ended), outcome
    left = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    assert left == []
    assert [*temporary.iterdir()] == []
    assert [*runs_dir.iterdir()] == [outcome.run]
    assert not [*outcome.run.rglob(".*")]
    assert holder(outcome.run) is None
    with RunLock(outcome.run):
        pass
