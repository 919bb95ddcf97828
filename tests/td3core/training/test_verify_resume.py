"""Verify tries on copies whether a run resumes exactly."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.errors import RequestError, RunError
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import CHECKPOINTS, LAST
from td3core.training.verify_resume import differences_of, verify
from tests.support.scripted import Script
from tests.td3core.helpers import finish, tiny
from tests.td3core.training.resuming import branched, contents

pytestmark = pytest.mark.slow

VALUES: dict[str, Any] = {"steps": 97, "eval_interval": 30, "checkpoint_interval": 20}


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [{}, {"num_envs": 3}, {"eval_interval": 0}, {"critic_layer_norm": True}, {"algorithm": "tqc"}],
    ids=str,
)
def test_a_good_run_resumes_exactly_and_stays_untouched(
    runs_dir: Path, values: dict[str, Any]
) -> None:
    ended = finish(runs_dir, **VALUES | values)
    before, said = contents(ended.run), []
    verdict = verify(ended.run, steps=60, announce=said.append)
    assert verdict.differences == ()
    assert verdict.exact
    assert (verdict.from_step, verdict.steps) == (ended.env_steps, 60)
    assert contents(ended.run) == before
    assert len(said) == 2


def test_an_environment_that_is_never_the_same_is_told_of(runs_dir: Path, scripted: Any) -> None:
    source = np.random.default_rng(0)
    script = Script(reward=lambda step, action: float(source.normal()))
    ended = finish(runs_dir, scripted(script), **VALUES | {"steps": 60})
    before = contents(ended.run)
    verdict = verify(ended.run, steps=40)
    assert not verdict.exact
    text = " ".join(map(str, verdict.differences))
    assert "tensors differ" in text
    assert "episodes.csv differs." in text
    assert "training.csv differs." in text
    assert "The replay buffer differs." in text
    assert contents(ended.run) == before


def test_a_state_that_only_one_of_the_runs_has_is_a_difference(
    runs_dir: Path, scripted: Any
) -> None:
    # One of the two ends between two episodes, where noise that is correlated in time has no state.
    script = Script([(7, "truncated"), (11, "truncated")])
    correlated = {"noise_correlation": 0.5, "exploration_noise": 0.2, "steps": 62}
    ended = finish(runs_dir, scripted(script), **VALUES | correlated)
    assert not any(verify(ended.run, steps=steps).exact for steps in range(10, 22))


def test_a_single_tensor_that_differs_is_named(runs_dir: Path, tmp_path: Path) -> None:
    run, other = finish(runs_dir, **VALUES).run, tmp_path / "other"
    shutil.copytree(run, other)
    last = other / CHECKPOINTS / LAST
    saved = checkpoint.load(last)
    saved.tensors["actor.0.bias"] = saved.tensors["actor.0.bias"] + 1
    checkpoint.save(last, saved.header, saved.tensors)
    assert list(map(str, differences_of(run, other))) == ["The tensor actor.0.bias differs."]


def test_a_warning_counts_as_a_difference(runs_dir: Path) -> None:
    ended = finish(runs_dir, **VALUES | {"keep_replay": False})
    verdict = verify(ended.run, steps=40)
    assert not verdict.exact
    assert any("keep_replay is off" in str(text) for text in verdict.differences)


def test_a_run_without_a_checkpoint_cannot_be_verified(runs_dir: Path) -> None:
    run = RunDirectory.create(runs_dir, *tiny(**VALUES))
    with pytest.raises(RequestError, match="no checkpoint yet"):
        verify(run.path)


def test_a_check_that_is_stopped_says_so(runs_dir: Path) -> None:
    ended = finish(runs_dir, **VALUES)
    with pytest.raises(RunError, match="stopped"):
        verify(ended.run, stopped=lambda: True)


def test_verify_on_the_command_line(runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = finish(runs_dir, **VALUES).run
    assert app.main(["verify", str(good), "--steps", "40"]) == 0
    assert "resumes exactly (steps 97 to 137)" in capsys.readouterr().out
    bad = finish(runs_dir, **VALUES | {"keep_replay": False}).run
    assert app.main(["verify", str(bad), "--steps", "40", "--json"]) == 1
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (found["exact"], found["from_step"]) == (False, 97)
    assert app.main(["verify", str(runs_dir)]) == 2


def test_a_sparse_buffer_is_copied_sparsely(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ended = finish(runs_dir, steps=60)
    with (ended.run / "replay.f32").open("r+b") as file:
        file.truncate(2**30)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert verify(ended.run, steps=10).exact
    outcome, _ = branched(RunDirectory.open(ended.run).last, runs_dir, steps=70)
    assert isinstance(outcome, Ended), outcome
    assert (outcome.run / "replay.f32").stat().st_blocks < 2**15
