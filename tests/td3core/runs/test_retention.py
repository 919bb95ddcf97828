"""The step checkpoints that still exist at the end."""

from pathlib import Path
from typing import Any

import pytest

from studio import formatting
from td3core import checkpoint
from td3core.config import make_settings
from td3core.config.networks import Sizes
from td3core.envs.make import check_env
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated, Saved
from td3core.runs import disk_usage
from td3core.runs.directory import RunDirectory
from td3core.system import files
from tests.support.scripted import STEPS, Script
from tests.td3core.helpers import run
from tests.td3core.training.test_full_disk import Disk


def steps_left(ended: Any) -> list[int]:
    """Return the steps whose checkpoints are still on disk."""
    assert isinstance(ended, Ended), ended
    saved = RunDirectory.open(ended.run).checkpoints.glob("step_*")
    return sorted(int(path.stem.removeprefix("step_")) for path in saved)


@pytest.mark.parametrize(
    ("every", "left"),
    [(1, [20, 40, 60, 80, 100, 120]), (2, [40, 80, 120]), (3, [60, 120]), (7, []), (0, [])],
)
def test_every_nth_checkpoint_stays(runs_dir: Path, every: int, left: list[int]) -> None:
    ended, told = run(runs_dir, checkpoint_interval=20, steps=120, keep_every=every)
    assert steps_left(ended) == left
    # What is said to be saved is there: the last one stands in for those that do not stay.
    assert [said.env_steps for said in told.all(Saved)] == [20, 40, 60, 80, 100, 120, 120]
    assert all(said.path.exists() for said in told.all(Saved))
    assert checkpoint.load(ended.last_checkpoint).header.counters.env_steps == 120


def test_several_environments_keep_every_nth_that_goes_a_little_beyond(runs_dir: Path) -> None:
    ended, _ = run(runs_dir, checkpoint_interval=20, steps=120, keep_every=2, num_envs=3)
    assert steps_left(ended) == [42, 81, 120]


def rewards(means: list[float], scripted: Any) -> str:
    """Return an environment whose one-step evaluations have these returns in turn."""
    script = Script([(1, "terminated")])
    served = iter(means)
    # The training takes 20 steps before each evaluation takes its one.
    script.reward = lambda step, action: next(served) if script.steps % 21 == 0 else 0.0
    return str(scripted(script))


def test_the_checkpoints_with_the_best_evaluations_stay(runs_dir: Path, scripted: Any) -> None:
    env = rewards([5.0, 1.0, 9.0, 2.0, 7.0, 3.0], scripted)
    values = {"checkpoint_interval": 20, "eval_interval": 20, "eval_episodes": 1, "steps": 120}
    ended, told = run(runs_dir, env, learning_starts=0, keep_every=0, keep_best=2, **values)
    assert [said.mean for said in told.all(Evaluated)] == [5.0, 1.0, 9.0, 2.0, 7.0, 3.0]
    assert steps_left(ended) == [60, 100]


def test_what_was_just_saved_is_there_for_whoever_is_told(runs_dir: Path, scripted: Any) -> None:
    env = rewards([5.0, 1.0, 9.0], scripted)
    values = {"checkpoint_interval": 20, "eval_interval": 20, "eval_episodes": 1, "steps": 60}
    missing, told = [], []

    def look(event: Any) -> None:
        # Listeners in other threads come to it a little later.
        if told and not told[-1].exists():
            missing.append(told[-1])
        if isinstance(event, Saved) and event.path.name.startswith("step_"):
            told.append(event.path)
        elif isinstance(event, Saved):
            told.clear()

    run(runs_dir, env, learning_starts=0, keep_every=0, keep_best=1, react=look, **values)
    assert not missing


def test_best_and_every_nth_stay_beside_one_another(runs_dir: Path, scripted: Any) -> None:
    env = rewards([5.0, 1.0, 9.0, 2.0, 7.0, 3.0], scripted)
    values = {"checkpoint_interval": 20, "eval_interval": 20, "eval_episodes": 1, "steps": 120}
    ended, _ = run(runs_dir, env, learning_starts=0, keep_every=3, keep_best=1, **values)
    assert steps_left(ended) == [60, 120]


@pytest.mark.parametrize("journal", ["written", "refused"])
def test_a_checkpoint_that_a_person_asked_for_is_never_deleted(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch, journal: str
) -> None:
    disk = Disk(files.append_whole, lambda path: path.name == "journal.jsonl")
    if journal == "refused":
        monkeypatch.setattr(files, "append_whole", disk)
    control = Control()
    script = Script(on_step=lambda step: control.save() if step in (35, 40) else None)
    values = {"checkpoint_interval": 20, "steps": 120, "keep_every": 3}
    ended, _ = run(runs_dir, scripted(script), control=control, **values)
    assert steps_left(ended) == [35, 40, 60, 120]


def test_a_checkpoint_that_cannot_be_deleted_costs_a_warning(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = rewards([5.0, 1.0, 9.0], scripted)
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.name.startswith("step_"):
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    values = {"checkpoint_interval": 20, "eval_interval": 20, "eval_episodes": 1, "steps": 60}
    ended, _ = run(runs_dir, env, learning_starts=0, keep_every=0, keep_best=1, **values)
    assert steps_left(ended) == [20, 40, 60]


@pytest.mark.parametrize(
    "values", [{}, {"keep_every": 2}, {"keep_every": 0}, {"twin_critics": False}]
)
def test_what_is_foretold_of_the_disk_is_what_the_run_takes(runs_dir: Path, values: Any) -> None:
    values = {"checkpoint_interval": 20, "steps": 120, "actor_hidden": (64, 64), **values}
    values |= {"critic_hidden": (64, 64)}
    ended, _ = run(runs_dir, **values)
    folder = RunDirectory.open(ended.run)
    info = check_env(folder.config.choice)
    one = disk_usage.checkpoint_bytes(folder.config, info.sizes)
    assert one == pytest.approx(folder.last.stat().st_size, rel=0.25)
    files = {path.stat().st_ino for path in folder.checkpoints.iterdir()}
    # The last one may be a second name of the newest.
    assert 0 <= disk_usage.checkpoint_count(folder.config) - len(files) <= 1
    kept = disk_usage.buffer_bytes(folder.config, info.sizes)
    assert kept == 120 * 4 * (2 * info.obs_dim + info.act_dim + 2)
    assert disk_usage.used_bytes(ended.run) >= len(files) * folder.last.stat().st_size


def test_without_a_kept_memory_it_takes_nothing() -> None:
    config, _ = make_settings({"env": STEPS, "keep_replay": False})
    assert disk_usage.buffer_bytes(config, Sizes(24, 4)) == 0


@pytest.mark.parametrize(
    ("size", "words"),
    [
        *((0, "0 bytes"), (999.4, "999 bytes"), (340_000, "340 kB"), (12.4e6, "12 MB")),
        *((1.52e9, "1.5 GB"), (230e9, "230 GB"), (5e15, "5000 TB")),
    ],
)
def test_sizes_are_said_as_people_say_them(size: float, words: str) -> None:
    assert formatting.format_size(size) == words
