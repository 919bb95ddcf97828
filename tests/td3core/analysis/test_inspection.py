"""The inspection of a saved agent's replay buffer matches its own update."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.analysis.inspection import Inspection, inspect
from td3core.buffer.buffer_file import BufferFile
from td3core.buffer.replay_buffer import SLACK, ReplayBuffer
from td3core.errors import RequestError
from td3core.inference.normaliser import Normaliser
from td3core.runs.layout import buffer_file_of
from tests.support.scripted import IDENTITY
from tests.td3core.helpers import finish, learn, new_agent

RUN: dict[str, Any] = {
    "env": "Reacher-v5",
    "steps": 160,
    "learning_starts": 40,
    "batch_size": 16,
    "policy_noise": 0.0,
    "gamma": 0.9,
}


def own_update(found: Inspection) -> dict[str, float]:
    """Let the agent itself do one update with the inspected transitions; return what it says."""
    saved = checkpoint.load(found.path)
    config, env = saved.header.config, saved.header.env
    agent = new_agent(config, saved.header.tunables, env.obs_dim, env.act_dim)
    agent.load_state(saved.tensors, saved.header.counters.updates)
    agent.take_metrics()
    buffer = ReplayBuffer(config.buffer_size, env.obs_dim, env.act_dim, SLACK)
    file = BufferFile(buffer_file_of(found.path), buffer)
    file.load(saved.header.counters.stored, saved.tensors["replay.sums"])
    normaliser = None
    if config.normalize_observations:
        normaliser = Normaliser.from_tensors(saved.tensors, env.obs_dim)
    learn(agent, buffer, found.numbers[None] % len(buffer.rows), normaliser, config.num_envs)
    return agent.take_metrics()


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"n_step": 3, "num_envs": 2},
        {"normalize_observations": True, "reward_floor": -0.5, "reward_scale": 3.0},
        {"twin_critics": False, "buffer_size": 100},
    ],
    ids=str,
)
def test_values_targets_and_errors_are_those_of_the_update(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    outcome = finish(tmp_path, **{**RUN, **values})
    assert outcome.last_checkpoint is not None
    found = inspect(outcome.last_checkpoint, count=32, seed=3)
    told = own_update(found)
    assert len(found.target) == 32
    names = ("q1", "q2")[: len(found.values)]
    for name, own in zip(names, found.values, strict=True):
        assert own.mean() == pytest.approx(told[name], rel=1e-5)
    assert found.target.mean() == pytest.approx(told["target"], rel=1e-5)
    for name, errors in zip(("critic1_loss", "critic2_loss"), found.errors, strict=False):
        assert np.square(errors).mean() == pytest.approx(told[name], rel=1e-4)
    assert ("q2" in told) == (len(found.values) == 2)


def test_the_same_seed_draws_the_same_batch_and_another_one_another(tmp_path: Path) -> None:
    outcome = finish(tmp_path, **{**RUN, "policy_noise": 0.2})
    assert outcome.last_checkpoint is not None
    first, again, other = (inspect(outcome.last_checkpoint, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.target, again.target)
    assert not np.array_equal(first.numbers, other.numbers)
    assert (first.numbers < 160).all()


def test_the_landscape_has_the_values_of_the_critic_and_its_largest(tmp_path: Path) -> None:
    outcome = finish(tmp_path, **RUN)
    assert outcome.last_checkpoint is not None
    found = inspect(outcome.last_checkpoint, count=4)
    plane = found.landscape(2, 0, 1)
    obs = found.batch.obs[2]
    for i, j in ((0, 0), (60, 3), (17, 41)):
        action = np.float32([plane.axis[i], plane.axis[j]])
        assert plane.values[i, j] == pytest.approx(float(found.critic(obs, action)[0]), rel=1e-5)
    assert plane.policy == pytest.approx(tuple(found.policy(obs)))
    assert plane.best_value >= plane.policy_value
    assert plane.best_value == pytest.approx(max(plane.values.max(), plane.policy_value))
    # The other way round it is the same plane, turned.
    assert np.allclose(found.landscape(2, 1, 0).values, plane.values.T, rtol=1e-5)


def test_one_action_has_a_landscape_of_one_column(tmp_path: Path) -> None:
    outcome = finish(tmp_path, IDENTITY, steps=60, learning_starts=20)
    assert outcome.last_checkpoint is not None
    found = inspect(outcome.last_checkpoint, count=4)
    assert found.act_dim == 1
    plane = found.landscape(0, 0, 0)
    assert plane.values.shape == (len(plane.axis), 1)
    at = int(plane.values.argmax())
    if plane.best_value > plane.policy_value:
        assert plane.best[0] == pytest.approx(float(plane.axis[at]))


def test_what_cannot_be_inspected_is_refused_with_a_sentence(tmp_path: Path) -> None:
    without = finish(tmp_path / "a", **RUN, keep_replay=False)
    assert without.last_checkpoint is not None
    with pytest.raises(RequestError, match=r"replay buffer of last\.safetensors cannot be read"):
        inspect(without.last_checkpoint)
    cut = finish(tmp_path / "b", **RUN)
    assert cut.last_checkpoint is not None
    file = buffer_file_of(cut.last_checkpoint)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(RequestError, match="it is shorter than it was"):
        inspect(cut.last_checkpoint)
