"""Shaped rewards, normalised observations and falling learning rates."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from td3core import checkpoint
from td3core.algorithm.td3 import TD3
from td3core.errors import RequestError
from td3core.evaluation.evaluate import evaluate
from td3core.exporters import weights
from td3core.inference.normaliser import Normaliser
from td3core.protocol.events import Progress
from td3core.runs.tables import read_table
from tests.support.scripted import Script
from tests.td3core.helpers import finish, run

EVALUATED = {"eval_interval": 50, "eval_episodes": 2}


@given(arrays(np.float32, (20, 3), elements=st.floats(-100, 100, width=32)))
def test_the_statistics_are_the_mean_and_variance_of_what_was_seen(rows: np.ndarray) -> None:
    normalise = Normaliser(3)
    for row in rows:
        normalise.observe(row)
    wide = rows.astype(np.float64)
    expected = np.clip((wide - wide.mean(0)) / np.sqrt(wide.var(0) + 1e-8), -10, 10)
    spread = 1.0 / np.sqrt(wide.var(0) + 1e-8)
    # float32 keeps about seven digits of the mean, whatever the spread around it.
    tolerance = 1e-3 + 3e-7 * np.abs(wide).max() * spread
    assert np.all(np.abs(normalise(rows) - expected) <= tolerance)


def test_statistics_go_into_a_checkpoint_and_come_back_the_same() -> None:
    normalise = Normaliser(2)
    for row in np.random.default_rng(0).normal(3, 2, (50, 2)).astype(np.float32):
        normalise.observe(row)
    again = Normaliser.from_tensors(normalise.state(), 2)
    probe = np.array([1.0, 9.0], dtype=np.float32)
    assert np.array_equal(again(probe), normalise(probe))
    again.observe(probe)
    normalise.observe(probe)
    assert np.array_equal(again(probe), normalise(probe))


def test_a_normalising_agent_acts_the_same_from_its_file(runs_dir: Path) -> None:
    ended = finish(runs_dir, "Pendulum-v1", normalize_observations=True, **EVALUATED)
    best = checkpoint.load(ended.best_checkpoint)
    logged = [r for r in read_table(ended.run / "evaluations.csv") if r["best"] == "1"][-1]
    result = evaluate(best.policy(), "Pendulum-v1", episodes=2, seed=int(logged["seed"]))
    assert [str(value) for value in result.returns] == logged["returns"].split()


def test_a_normalising_agent_without_its_statistics_is_refused(runs_dir: Path) -> None:
    ended = finish(runs_dir, normalize_observations=True)
    found = checkpoint.load(ended.last_checkpoint)
    bare = {k: v for k, v in found.tensors.items() if not k.startswith("obs_norm")}
    checkpoint.save(ended.last_checkpoint, found.header, bare)
    with pytest.raises(RequestError, match="obs_norm"):
        checkpoint.load(ended.last_checkpoint)


def test_an_exported_normalising_agent_keeps_its_statistics(runs_dir: Path, tmp_path: Path) -> None:
    ended = finish(runs_dir, normalize_observations=True)
    weights.export(ended.last_checkpoint, tmp_path / "slim.safetensors")
    full, slim = (
        checkpoint.load(ended.last_checkpoint),
        checkpoint.load(tmp_path / "slim.safetensors"),
    )
    obs = np.full(full.header.env.obs_dim, 0.3, dtype=np.float32)
    assert np.array_equal(full.policy()(obs), slim.policy()(obs))


def test_rewards_are_scaled_and_floored_for_learning_but_logged_as_they_are(
    runs_dir: Path, scripted
) -> None:
    script = Script(reward=lambda step, _: -100.0 if step % 10 == 0 else 0.5)
    ended, told = run(runs_dir, scripted(script), steps=30, reward_scale=5.0, reward_floor=-5.0)
    episodes = [e for p in told.all(Progress) for e in p.ended]
    assert episodes[0].episode_return == -100.0 + 9 * 0.5
    assert episodes[0].shaped_return == -5.0 + 9 * 2.5
    row = read_table(ended.run / "episodes.csv")[0]
    assert (float(row["return"]), float(row["shaped_return"])) == (-95.5, 17.5)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_both_learning_rates_fall_to_their_final_share_with_the_digits_of_earlier_versions(
    runs_dir: Path, monkeypatch, num_envs: int
) -> None:
    rates = []
    original = TD3.update_from

    def note(self: TD3, draws) -> None:
        rates.append((self.tunables.actor_lr, self.tunables.critic_lr))
        assert float(self.actor.lr) == np.float32(self.tunables.actor_lr)
        original(self, draws)

    monkeypatch.setattr(TD3, "update_from", note)
    values = {"actor_lr": 1e-3, "critic_lr": 7e-4, "lr_final": 0.1, "learning_starts": 50}
    finish(runs_dir, steps=100, num_envs=num_envs, **values)
    steps = range(num_envs, 100 + num_envs, num_envs)
    learning = [min(step, 100) / 100 for step in steps if step - num_envs >= 50]
    # The very expression that they were computed with.
    shares = [1.0 + (0.1 - 1.0) * done for done in learning]
    # Loading the compiled update does an update of its own.
    assert rates[-len(shares) :] == [(share * 1e-3, share * 7e-4) for share in shares]
