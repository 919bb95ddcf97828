from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.buffer.replay_buffer import ReplayBuffer
from tests.td3core.helpers import sample


def transition(number: int, obs_dim: int = 3, act_dim: int = 2) -> tuple[Any, ...]:
    """Return a transition in which every value tells its number and its column."""
    base = 100.0 * number
    obs = base + np.arange(obs_dim)
    action = base + 20 + np.arange(act_dim)
    next_obs = base + 40 + np.arange(obs_dim)
    return obs, action, base + 60, next_obs, number % 2 == 0


def filled(capacity: int, count: int) -> ReplayBuffer:
    buffer = ReplayBuffer(capacity, 3, 2)
    for number in range(count):
        buffer.add(*transition(number))
    return buffer


def test_an_empty_memory_refuses_to_be_sampled() -> None:
    with pytest.raises(ValueError, match="empty"):
        sample(ReplayBuffer(4, 3, 2), np.random.default_rng(0), 2)


@given(capacity=st.integers(1, 8), count=st.integers(1, 30))
def test_the_newest_transitions_are_kept_and_the_oldest_overwritten(
    capacity: int, count: int
) -> None:
    buffer = filled(capacity, count)
    found = sample(buffer, np.random.default_rng(0), 400).obs[:, 0]
    kept = range(max(0, count - capacity), count)
    assert buffer.size == len(kept)
    assert set(found.tolist()) == {100.0 * number for number in kept}


def test_a_sampled_transition_has_its_columns_in_place() -> None:
    batch = sample(filled(16, 10), np.random.default_rng(1), 64)
    assert [part.shape for part in batch] == [(64, 3), (64, 2), (64, 1), (64, 3), (64, 1)]
    for row in range(64):
        number = round(float(batch.obs[row, 0]) / 100)
        obs, action, reward, next_obs, terminated = transition(number)
        assert np.array_equal(batch.obs[row], obs)
        assert np.array_equal(batch.action[row], action)
        assert batch.reward[row] == reward
        assert np.array_equal(batch.next_obs[row], next_obs)
        assert batch.terminated[row] == float(terminated)


def test_everything_is_kept_in_single_precision() -> None:
    buffer = filled(4, 4)
    assert {part.dtype for part in sample(buffer, np.random.default_rng(0), 2)} == {np.dtype("f4")}
    assert buffer.layout.bytes == 4 * (3 + 2 + 1 + 3 + 1)


def test_every_stored_transition_is_drawn_equally_often() -> None:
    found = sample(filled(64, 50), np.random.default_rng(2), 50_000).obs[:, 0]
    counts = np.bincount((found / 100).astype(int), minlength=50)
    assert len(counts) == 50
    # The sum of squares is chi-squared with 49 degrees of freedom: 100 is far in its tail.
    assert (((counts - 1000) ** 2) / 1000).sum() < 100


def test_sampling_depends_only_on_the_generator_it_is_given() -> None:
    buffer = filled(64, 50)
    one, again, other = (sample(buffer, np.random.default_rng(s), 32).obs for s in (3, 3, 4))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_sample_stays_as_it_was_when_the_memory_is_overwritten() -> None:
    buffer = filled(4, 4)
    batch = sample(buffer, np.random.default_rng(0), 8)
    before = [part.copy() for part in batch]
    for number in range(4, 12):
        buffer.add(*transition(number))
    assert all(np.array_equal(a, b) for a, b in zip(batch, before, strict=True))


def test_a_stored_observation_is_a_copy() -> None:
    buffer, obs = ReplayBuffer(2, 3, 2), np.ones(3, np.float32)
    buffer.add(obs, np.zeros(2, np.float32), 0.0, obs, False)
    obs[:] = 9.0
    batch = sample(buffer, np.random.default_rng(0), 1)
    assert np.array_equal(batch.obs, np.ones((1, 3)))
    assert np.array_equal(batch.next_obs, np.ones((1, 3)))


def test_a_state_that_is_terminal_in_the_last_step_of_all_has_no_value() -> None:
    buffer, obs = ReplayBuffer(3, 3, 2), np.zeros(3, np.float32)
    for terminated, truncated in ((True, True), (False, True), (False, False)):
        buffer.add(obs, np.zeros(2, np.float32), 0.0, obs, terminated, truncated)
    found = buffer.layout.columns(buffer.rows).terminated[:, 0]
    assert found.tolist() == [1.0, 0.0, 0.0]
    assert np.signbit(found).tolist() == [False, True, False]


def test_a_transition_without_its_end_counts_until_it_cannot_be_drawn_any_more() -> None:
    buffer, found = ReplayBuffer(3, 3, 2, slack=2), []
    buffer.unmarked = 2
    for number in range(6):
        buffer.add(*transition(number))
        found.append(buffer.has_unmarked)
    assert found == [True, True, True, True, False, False]


def test_a_transition_that_is_not_there_yet_or_no_longer_is_refused() -> None:
    # Two rows more are held than are sampled from.
    buffer = ReplayBuffer(2, 3, 2, slack=2)
    for number in range(6):
        buffer.add(*transition(number))
    assert buffer.transitions(np.arange(2, 6)).obs[:, 0].tolist() == [200.0, 300.0, 400.0, 500.0]
    for number in (1, 6):
        with pytest.raises(IndexError, match="not in the replay buffer"):
            buffer.transitions(np.array([3, number]))
