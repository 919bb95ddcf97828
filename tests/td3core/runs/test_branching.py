"""A branch is a new run with all that a checkpoint holds; its parent stays as it is."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.exporters import weights
from td3core.protocol.events import Ended, Failed, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.runs.resumption import FIXED_BY_CHECKPOINT
from td3core.runs.tables import read_table
from tests.support.lives import differences
from tests.td3core.helpers import finish
from tests.td3core.training.resuming import (
    VALUES,
    branched,
    contents,
    crashing,
    go_on,
    go_on_well,
    refused,
)


@pytest.fixture
def parent(runs_dir: Path) -> RunDirectory:
    """Return a finished run."""
    return RunDirectory.open(finish(runs_dir, **VALUES).run)


def refusal(checkpoint_file: Path, runs_dir: Path, **values: Any) -> str:
    """Return the sentence with which a branch is refused, before it leaves a trace."""
    before = contents(runs_dir)
    outcome, told = branched(checkpoint_file, runs_dir, **values)
    assert isinstance(outcome, Failed)
    assert outcome.request, outcome
    assert told.events == [outcome]
    assert contents(runs_dir) == before
    return str(outcome.message)


def test_a_branch_goes_on_from_its_checkpoint_and_says_so(
    parent: RunDirectory, runs_dir: Path
) -> None:
    before = contents(parent.path)
    outcome, told = branched(parent.step_checkpoint(60), runs_dir, tau=0.5, steps=130)
    assert isinstance(outcome, Ended), outcome
    assert (outcome.env_steps, outcome.run.parent) == (130, runs_dir)
    assert not told.all(Warned)
    assert contents(parent.path) == before
    found = RunDirectory.open(outcome.run)
    assert found.parent is not None
    assert (found.parent.run, found.parent.checkpoint) == (
        parent.path.name,
        "step_000000060.safetensors",
    )
    assert found.parent.env_steps == summarise(found).parent.env_steps == 60  # type: ignore[union-attr]
    assert [entry["event"] for entry in found.journal()] == ["branch"]
    assert checkpoint.read_header(found.last).tunables.tau == 0.5
    rows = read_table(found.path / "episodes.csv")
    assert [int(row["env_steps"]) for row in rows] == list(range(70, 131, 10))


def test_a_branch_with_nothing_changed_learns_what_its_parent_learnt(
    parent: RunDirectory, runs_dir: Path
) -> None:
    outcome, _ = branched(parent.step_checkpoint(60), runs_dir)
    assert isinstance(outcome, Ended)
    found = checkpoint.load(RunDirectory.open(outcome.run).last)
    last = checkpoint.load(parent.last)
    assert found.header.counters == last.header.counters
    assert all(a.tobytes() == found.tensors[n].tobytes() for n, a in last.tensors.items())


def test_a_branch_that_keeps_no_replay_buffer_learns_from_its_parents_and_leaves_none(
    parent: RunDirectory, runs_dir: Path
) -> None:
    kept, _ = branched(parent.step_checkpoint(60), runs_dir / "kept")
    outcome, told = branched(parent.step_checkpoint(60), runs_dir / "branch", keep_replay=False)
    assert isinstance(kept, Ended)
    assert isinstance(outcome, Ended)
    assert not told.all(Warned)
    assert not (outcome.run / "replay.f32").exists()
    found, wanted = (
        checkpoint.load(RunDirectory.open(each.run).last).tensors for each in (outcome, kept)
    )
    assert found.keys() == wanted.keys() - {"replay.sums"}
    assert all(array.tobytes() == wanted[name].tobytes() for name, array in found.items())


OTHER: dict[str, Any] = {
    "env": "Pendulum-v1",
    "env_args": '{"max_episode_steps": 7}',
    "num_envs": 2,
    "actor_hidden": (9, 8),
    "critic_hidden": (8,),
    "twin_critics": False,
    "algorithm": "ddpg",
    "actor_activation": "tanh",
    "critic_activation": "tanh",
    "critic_layer_norm": True,
    "normalize_observations": True,
    "buffer_size": 999,
    "reward_scale": 0.1,
}


@pytest.mark.parametrize("name", [name for name in FIXED_BY_CHECKPOINT if name in OTHER])
def test_a_setting_that_the_checkpoint_depends_on_cannot_change(
    parent: RunDirectory, runs_dir: Path, name: str
) -> None:
    said = refusal(parent.last, runs_dir, steps=200, **{name: OTHER[name]})
    assert said.startswith(f"{name} cannot change in a branch; it is ")


def test_the_quantiles_of_a_checkpoint_cannot_change(runs_dir: Path) -> None:
    parent = RunDirectory.open(finish(runs_dir, algorithm="tqc", quantiles=5).run)
    said = refusal(parent.last, runs_dir, steps=200, quantiles=9)
    assert said.startswith("quantiles cannot change in a branch; it is 5")
    assert set(FIXED_BY_CHECKPOINT) == {*OTHER, "quantiles"}


def test_other_wrong_requests_are_refused(parent: RunDirectory, runs_dir: Path) -> None:
    assert "steps cannot be 97" in refusal(parent.last, runs_dir)
    said = refusal(parent.step_checkpoint(60), runs_dir, steps=60)
    assert said.startswith("steps cannot be 60")
    assert said.endswith("Choose more, such as 120.")
    assert "tau cannot be 7" in refusal(parent.last, runs_dir, steps=200, tau=7)
    assert "no setting called 'tua'" in refusal(parent.last, runs_dir, tua=1)
    assert "There is no checkpoint" in refusal(parent.path / "none", runs_dir)
    slim = parent.path / "slim.safetensors"
    weights.export(parent.last, slim)
    assert "exported agent" in refusal(slim, runs_dir, steps=200)


@pytest.mark.parametrize("noise", [0.5, VALUES.get("exploration_noise", 0.1)])
def test_an_exploration_noise_that_is_set_begins_its_decay_there(
    runs_dir: Path, noise: float
) -> None:
    run = finish(runs_dir, **VALUES | {"exploration_noise_decay": 0.9, "learning_starts": 20}).run
    path = RunDirectory.open(run).step_checkpoint(60)
    assert checkpoint.read_header(path).counters.exploration_noise < 0.01
    outcome, _ = branched(path, runs_dir, steps=61, exploration_noise=noise)
    assert isinstance(outcome, Ended)
    reached = checkpoint.read_header(RunDirectory.open(outcome.run).last).counters
    assert reached.exploration_noise == pytest.approx(noise * 0.9)


def test_an_older_checkpoint_has_its_memory_as_long_as_that_is_there(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.buffer.replay_buffer.SLACK", 50)
    parent = RunDirectory.open(finish(runs_dir, **VALUES | {"buffer_size": 20}).run)
    outcome, told = branched(parent.step_checkpoint(80), runs_dir)
    assert isinstance(outcome, Ended)
    assert not told.all(Warned)
    # By now the ring has come round to where those of an earlier one were.
    outcome, told = branched(parent.step_checkpoint(20), runs_dir)
    assert isinstance(outcome, Ended)
    assert "could not be restored" in str(told.all(Warned)[0].message)
    assert "It is filled again until step 40" in str(told.all(Warned)[0].message)


def test_a_checkpoint_that_stands_alone_can_be_branched_from(
    parent: RunDirectory, tmp_path: Path, runs_dir: Path
) -> None:
    alone = tmp_path / "elsewhere" / "mine.safetensors"
    alone.parent.mkdir()
    shutil.copy(parent.last, alone)
    outcome, told = branched(alone, runs_dir, steps=120)
    assert isinstance(outcome, Ended)
    assert "could not be restored" in str(told.all(Warned)[0].message)


def test_a_checkpoint_that_stands_alone_takes_nothing_of_the_run_whose_folder_it_lies_in(
    parent: RunDirectory, runs_dir: Path
) -> None:
    alone = parent.path / "mine" / "agent.safetensors"
    alone.parent.mkdir()
    shutil.copy(parent.last, alone)
    outcome, told = branched(alone, runs_dir, steps=120)
    assert isinstance(outcome, Ended)
    assert "could not be restored" in str(told.all(Warned)[0].message)


@pytest.mark.slow
def test_a_branch_killed_at_any_moment_goes_on_the_same(
    parent: RunDirectory, runs_dir: Path, tmp_path: Path
) -> None:
    with crashing(runs_dir / "branches", tmp_path / "crashes") as crashes:
        (runs_dir / "branches").mkdir()
        straight, _ = branched(parent.step_checkpoint(60), runs_dir / "branches", tau=0.1)
    assert isinstance(straight, Ended)
    early = whole = 0
    for copy in crashes.found:
        outcome, told = go_on(copy)
        if isinstance(outcome, Failed):
            said = str(outcome.message)
            if "is at step 97" not in said:
                assert "before it had copied" in said, outcome
                early += 1
            continue
        assert not told.all(Warned)
        assert differences(straight.run, copy) == [], copy
        whole += 1
    assert early
    assert whole > 10


def test_a_branch_that_never_got_its_checkpoint_is_not_begun_from_scratch(
    parent: RunDirectory, runs_dir: Path
) -> None:
    outcome, _ = branched(parent.step_checkpoint(60), runs_dir)
    assert isinstance(outcome, Ended)
    shutil.rmtree(outcome.run / "checkpoints")
    said = refused(outcome.run)
    assert "before it had copied step_000000060.safetensors" in said
    assert parent.path.name in said


def test_a_resumed_branch_says_that_it_was_resumed(parent: RunDirectory, runs_dir: Path) -> None:
    outcome, _ = branched(parent.step_checkpoint(60), runs_dir)
    assert isinstance(outcome, Ended)
    go_on_well(outcome.run, steps=110)
    events = [entry["event"] for entry in RunDirectory.open(outcome.run).journal()]
    assert events == ["branch", "resume"]


def test_a_memory_that_cannot_be_copied_leaves_no_branch(
    parent: RunDirectory, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("td3core.system.files.os.pread", full)
    assert "No space left" in refusal(parent.step_checkpoint(60), runs_dir)


def test_branch_on_the_command_line(
    parent: RunDirectory, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["branch", str(parent.step_checkpoint(60)), "--set", "tau=0.1", "--steps", "120"]
    assert app.main([*words, "--runs-dir", str(runs_dir), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["env_steps"] == 120
    words[1] = str(parent.last)
    assert app.main([*words, "--set", "buffer_size=5", "--runs-dir", str(runs_dir)]) == 2
    assert "buffer_size cannot change" in capsys.readouterr().err


def test_a_branch_with_a_seed_of_its_own_draws_anew_and_resumes_exactly(
    parent: RunDirectory, runs_dir: Path
) -> None:
    def tensors_of(seed: int, steps: int, **more: Any) -> dict[str, Any]:
        outcome, told = branched(
            parent.step_checkpoint(60), runs_dir, steps=steps, seed=seed, **more
        )
        assert isinstance(outcome, Ended), outcome
        assert not told.all(Warned)
        made = RunDirectory.open(outcome.run)
        assert made.config.seed == seed
        entry = next(e for e in made.journal() if e.get("event") == "branch")
        assert entry.get("seed", parent.config.seed) == seed
        return checkpoint.load(made.last).tensors

    own = parent.config.seed
    first, again, other = (tensors_of(seed, 90) for seed in (own + 7, own + 7, own + 8))
    assert all(a.tobytes() == again[n].tobytes() for n, a in first.items())
    generators = [name for name in first if name.startswith("generator.")]
    assert {"generator.replay", "generator.exploration", "generator.smoothing"} <= {*generators}
    assert all(first[n].tobytes() != other[n].tobytes() for n in generators if "warm" not in n)
    stopped, _ = branched(parent.step_checkpoint(60), runs_dir, steps=75, seed=own + 7)
    assert isinstance(stopped, Ended)
    go_on_well(stopped.run, steps=90)
    resumed = checkpoint.load(RunDirectory.open(stopped.run).last).tensors
    assert all(a.tobytes() == resumed[n].tobytes() for n, a in first.items())


def test_a_branch_with_the_same_seed_goes_on_as_its_run(
    parent: RunDirectory, runs_dir: Path
) -> None:
    ends = []
    for values in ({}, {"seed": parent.config.seed}):
        outcome, _ = branched(parent.step_checkpoint(60), runs_dir, steps=90, **values)
        assert isinstance(outcome, Ended)
        ends.append(checkpoint.load(RunDirectory.open(outcome.run).last).tensors)
    assert all(a.tobytes() == ends[1][n].tobytes() for n, a in ends[0].items())
