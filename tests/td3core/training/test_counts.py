"""A run step by step, against scripted environments where everything can be counted."""

import itertools
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.protocol.events import (
    Ended,
    Evaluated,
    Phase,
    Progress,
    Saved,
    Started,
    Warned,
)
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.randomness import Purpose, episode_seed
from td3core.runs.directory import RunDirectory
from td3core.runs.tables import read_table
from td3core.system import numerics
from tests.support.scripted import Script
from tests.td3core.helpers import TINY, finish, run, tiny

MIXED = [(3, "terminated"), (4, "truncated"), (5, "terminated")]  # 12 steps a round


def test_every_step_is_stored_once_with_what_really_followed(
    runs_dir: Path, scripted: Any, stored: list[Any]
) -> None:
    script = Script(MIXED, reward=lambda step, _: step / 10)
    finish(runs_dir, scripted(script), steps=30)
    assert len(stored) == script.steps == 30
    lengths, number = [3, 4, 5] * 3, 0
    for episode, length in enumerate(lengths):
        for step in range(length):
            if number == 30:
                return
            obs, action, reward, next_obs, *_ = stored[number]
            assert obs.tolist() == [episode, step]
            assert next_obs.tolist() == [episode, step + 1]
            assert reward == pytest.approx((number + 1) / 10)
            np.testing.assert_allclose(script.actions[number], 2.0 * action, rtol=1e-6)
            number += 1


def test_a_truncated_episode_keeps_bootstrapping_and_a_terminated_one_does_not(
    runs_dir: Path, scripted: Any, stored: list[Any]
) -> None:
    finish(runs_dir, scripted(Script(MIXED)), steps=24)
    terminal = [number + 1 for number, (*_, terminated, _) in enumerate(stored) if terminated]
    assert terminal == [3, 12, 15, 24]
    assert [number + 1 for number, row in enumerate(stored) if row[-1]] == [7, 19]


def test_a_step_that_is_both_terminal_and_cut_short_counts_as_terminal(
    runs_dir: Path, scripted: Any, stored: list[Any]
) -> None:
    both = {3: lambda outcome: (*outcome[:2], True, True, {})}
    outcome = finish(runs_dir, scripted(Script([(9, "truncated")], faults=both)), steps=9)
    assert [bool(row[-2]) for row in stored] == [n == 3 for n in range(1, 10)]
    assert outcome.episodes == 1


def test_episodes_are_counted_and_recorded_as_they_ended(runs_dir: Path, scripted: Any) -> None:
    outcome, told = run(runs_dir, scripted(Script(MIXED, reward=lambda *_: 0.5)), steps=30)
    assert isinstance(outcome, Ended)
    ended = [e for progress in told.all(Progress) for e in progress.ended]
    expected = [(0, 3, 1.5, 3), (1, 7, 2.0, 4), (2, 12, 2.5, 5), (3, 15, 1.5, 3)]
    expected += [(4, 19, 2.0, 4), (5, 24, 2.5, 5), (6, 27, 1.5, 3)]
    assert [(e.episode, e.env_steps, e.episode_return, e.length) for e in ended] == expected
    assert [e.terminated for e in ended] == [True, False, True, True, False, True, True]
    rows = read_table(outcome.run / "episodes.csv")
    names = ("episode", "env_steps", "return", "length")
    assert [tuple(float(row[name]) for name in names) for row in rows] == expected
    assert [row["terminated"] for row in rows] == ["1", "0", "1", "1", "0", "1", "1"]
    assert outcome.episodes == 7


def test_each_episode_starts_fresh_from_a_seed_of_its_own(runs_dir: Path, scripted: Any) -> None:
    script = Script(MIXED)
    finish(runs_dir, scripted(script), steps=12, seed=5)
    assert script.seeds == [episode_seed(5, Purpose.ENVIRONMENT, i) for i in range(4)]
    # One instance to look at its spaces, one for each episode; and all are closed again.
    assert (script.made, script.closed) == (5, 5)


@pytest.mark.parametrize("each", [0, 1, 3])
def test_updates_are_one_for_each_step_after_the_warm_up_times_updates_per_step(
    runs_dir: Path, each: int
) -> None:
    outcome = finish(runs_dir, steps=60, learning_starts=20, updates_per_step=each)
    assert (outcome.env_steps, outcome.updates) == (60, 40 * each)
    assert checkpoint.read_header(outcome.run / "checkpoints/last.safetensors").counters == (
        checkpoint.Counters(
            env_steps=60,
            updates=40 * each,
            sampled=40 * each * TINY["batch_size"],
            episodes=6,
            exploration_noise=0.1,
            stored=60,
        )
    )


@pytest.mark.parametrize(("starts", "updates"), [(0, 10), (9, 1), (10, 0), (50, 0)])
def test_the_first_update_comes_after_the_first_step_beyond_the_warm_up(
    runs_dir: Path, starts: int, updates: int
) -> None:
    assert finish(runs_dir, steps=10, learning_starts=starts).updates == updates


def test_warm_up_actions_are_uniform_and_later_ones_are_the_actors(
    runs_dir: Path, scripted: Any
) -> None:
    script = Script([(2000, "truncated")], echo=0.5)
    values = {"learning_starts": 1000, "steps": 1040, "exploration_noise": 0.0}
    outcome = finish(runs_dir, scripted(script), **values, updates_per_step=0)
    actions = np.ravel(script.actions)
    counts, _ = np.histogram(actions[:1000], bins=10, range=(-2.0, 2.0))
    assert counts.sum() == 1000
    assert counts.min() > 60
    assert outcome.last_checkpoint is not None
    policy = checkpoint.load(outcome.last_checkpoint).policy()
    for before, action in itertools.pairwise(actions[999:]):
        seen = np.full(2, 0.5 * before, np.float32)
        assert action == pytest.approx(2.0 * policy(seen)[0], rel=1e-6)


def test_exploration_noise_has_its_spread_and_its_decay(runs_dir: Path, scripted: Any) -> None:
    still = {"updates_per_step": 0, "learning_starts": 0, "steps": 400}
    # An observation next to nothing: the actor always says about the same.
    quiet, loud = (Script([(500, "truncated")], echo=1e-4) for _ in range(2))
    finish(runs_dir, scripted(quiet), **still, exploration_noise=0.0)
    finish(runs_dir, scripted(loud), **still, exploration_noise=0.2)
    # Actions range over [-2, 2]: half of that range is the unit of the noise.
    noise = (np.ravel(loud.actions) - np.ravel(quiet.actions))[1:] / 2.0
    assert noise.std() == pytest.approx(0.2, rel=0.1)
    assert noise.mean() == pytest.approx(0.0, abs=0.03)
    fading = {"exploration_noise": 0.2, "exploration_noise_decay": 0.99}
    outcome = finish(runs_dir, **still | {"learning_starts": 300}, **fading)
    noise_now = checkpoint.read_header(outcome.last_checkpoint).counters.exploration_noise
    assert noise_now == pytest.approx(0.2 * 0.99**100)
    outcome = finish(runs_dir, **still, **fading, exploration_noise_min=0.15)
    noise_now = checkpoint.read_header(outcome.last_checkpoint).counters.exploration_noise
    assert noise_now == 0.15


@pytest.mark.slow
def test_correlated_noise_keeps_its_spread_and_begins_anew_with_each_episode(
    runs_dir: Path, scripted: Any
) -> None:
    still = {"updates_per_step": 0, "learning_starts": 0, "steps": 3000}

    def actions(**values: Any) -> Any:
        script = Script([(10, "truncated")], echo=1e-4, first_obs=np.zeros_like)
        finish(runs_dir, scripted(script), **still, **values)
        return np.reshape(script.actions, (-1, 10))

    quiet, loud = actions(exploration_noise=0.0), {"exploration_noise": 0.05}
    white = (actions(**loud) - quiet) / 2.0
    found = (actions(**loud, noise_correlation=0.8) - quiet) / 2.0
    # The same draws, so that the first of each episode is the same; the others follow from these.
    expected = white.copy()
    for step in range(1, 10):
        expected[:, step] = 0.8 * expected[:, step - 1] + 0.6 * white[:, step]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(found.std(axis=0), 0.05, rtol=0.15)
    assert np.corrcoef(found[:-1, -1], found[1:, 0])[0, 1] == pytest.approx(0.0, abs=0.15)


@pytest.mark.parametrize(
    ("steps", "interval", "expected"),
    [(60, 10, [30, 40, 50, 60]), (55, 10, [30, 40, 50, 55]), (60, 0, []), (15, 10, [15])],
)
def test_evaluations_come_at_their_steps_after_the_warm_up_and_at_the_end(
    runs_dir: Path, steps: int, interval: int, expected: list[int]
) -> None:
    outcome, told = run(runs_dir, steps=steps, eval_interval=interval, eval_episodes=3)
    assert isinstance(outcome, Ended)
    found = told.all(Evaluated)
    assert [e.env_steps for e in found] == expected
    assert all(len(e.returns) == 3 and e.lengths == (10, 10, 10) for e in found)
    rows = read_table(outcome.run / "evaluations.csv")
    assert [int(row["env_steps"]) for row in rows] == expected
    for event, row in zip(found, rows, strict=True):
        assert tuple(map(float, row["returns"].split())) == event.returns
        assert (float(row["mean"]), float(row["std"])) == (event.mean, event.std)
        assert row["best"] == str(int(event.is_best))
    best = [e.mean for e in found if e.is_best]
    assert best == sorted(best)
    means = [e.mean for e in found]
    assert outcome.best_eval_return == max(means, default=None)
    assert outcome.last_eval_return == (means[-1] if means else None)
    assert (outcome.best_checkpoint is None) == (not means)


def test_the_best_checkpoint_is_the_one_of_the_best_evaluation(runs_dir: Path) -> None:
    outcome, told = run(runs_dir, steps=100, eval_interval=10, actor_lr=0.1, critic_lr=0.1)
    assert isinstance(outcome, Ended)
    best = max(told.all(Evaluated), key=lambda e: e.mean)
    assert best.env_steps < 100, "chosen so that the best is not the last"
    header = checkpoint.read_header(outcome.run / "checkpoints/best.safetensors")
    assert header.counters.env_steps == best.env_steps
    assert header.evaluation is not None
    assert header.evaluation.returns == best.returns
    saved = [s for s in told.all(Saved) if s.path.stem == "best"]
    assert [s.env_steps for s in saved] == [e.env_steps for e in told.all(Evaluated) if e.is_best]


def test_checkpoints_come_at_their_steps_and_at_the_end(runs_dir: Path) -> None:
    outcome, told = run(runs_dir, steps=60, checkpoint_interval=25)
    assert isinstance(outcome, Ended)
    names = ["step_000000025", "step_000000050", "last"]
    assert [s.path.stem for s in told.all(Saved)] == names
    assert [s.env_steps for s in told.all(Saved)] == [25, 50, 60]
    saved = RunDirectory.open(outcome.run).saved()
    assert [path.stem for path in saved] == names
    assert [checkpoint.read_header(path).counters.env_steps for path in saved] == [25, 50, 60]
    assert outcome.last_checkpoint == saved[-1]


def test_a_run_says_that_it_started_then_how_it_goes_then_that_it_ended(runs_dir: Path) -> None:
    outcome, told = run(runs_dir, steps=60, eval_interval=20)
    assert isinstance(told.events[0], Started)
    assert told.events[0].run == outcome.run
    assert told.events[-1] is outcome
    assert sum(isinstance(e, (Started, Ended)) for e in told.events) == 2
    assert not told.all(Warned)
    reports = told.all(Progress)
    assert [r.env_steps for r in reports] == sorted(r.env_steps for r in reports)
    assert (reports[-1].env_steps, reports[-1].updates, reports[-1].phase) == (60, 40, "learning")
    assert Phase.EVALUATING in {r.phase for r in reports}
    for report in reports:
        assert not report.training.flags.writeable
        assert report.training.shape[1] == len(TRAINING_COLUMNS)


def test_training_statistics_go_to_the_reports_and_to_the_table_alike(runs_dir: Path) -> None:
    outcome, told = run(runs_dir, steps=200, learning_starts=100)
    rows = np.concatenate([r.training for r in told.all(Progress)])
    assert rows[:, :2].tolist() == [[150, 50], [200, 100]]
    table = read_table(outcome.run / "training.csv")
    written = [[float(row[name]) for name in TRAINING_COLUMNS] for row in table]
    np.testing.assert_allclose(written, rows, rtol=1e-5)


def test_the_updates_after_the_last_full_row_are_put_on_record_too(runs_dir: Path) -> None:
    outcome = finish(runs_dir, steps=75, learning_starts=20)
    assert int(read_table(outcome.run / "training.csv")[-1]["updates"]) == outcome.updates == 55


def test_a_run_writes_down_what_it_was_asked(runs_dir: Path) -> None:
    outcome = finish(runs_dir, seed=7, tau=0.25)
    found = tomllib.loads((outcome.run / "run.toml").read_text())
    config, tunables = tiny(seed=7, tau=0.25)
    again = RunDirectory.open(outcome.run)
    assert again.first_tunables == tunables
    # What stands for "whatever is best here" is on record by its name.
    assert again.config == replace(config, numerics=numerics.current(), engine="compiled")
    assert {"python", "torch", "gymnasium", "numpy", "td3-studio"} <= set(found["versions"])
    assert found["config"]["actor_hidden"] == list(TINY["actor_hidden"])
    assert found["machine"]["cores"] >= 1
    assert not (outcome.run / "journal.jsonl").exists(), "nobody changed anything"


@pytest.mark.parametrize(
    ("values", "updates"),
    [
        ({"update_interval": 4}, 5),
        ({"update_interval": 4, "updates_per_step": 3}, 15),
        ({"update_interval": 3, "num_envs": 2}, 7),
        ({"update_interval": 1, "num_envs": 2}, 20),
    ],
)
def test_updates_come_at_every_multiple_of_their_interval(
    runs_dir: Path, scripted: Any, values: dict[str, Any], updates: int
) -> None:
    made = scripted(Script(MIXED))
    outcome = finish(runs_dir, made, steps=40, learning_starts=20, **values)
    # Of steps 21 to 40.
    assert outcome.updates == updates
