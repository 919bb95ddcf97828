"""Finished batches: drawn from the buffer, n steps long, normalised."""

import numpy as np
import pytest

from td3core.buffer import sampler as module
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.config import Tunables
from td3core.config.tunables import NO_FLOOR
from td3core.inference.normaliser import Normaliser

OBS, ACT = 3, 2


def filled(count: int = 40) -> ReplayBuffer:
    """Return one long episode; each observation follows from the one before."""
    buffer, source = ReplayBuffer(100, OBS, ACT), np.random.default_rng(0)
    seen = source.normal(3.0, 2.0, (count + 1, OBS)).astype(np.float32)
    for i in range(count):
        action = source.uniform(-1.0, 1.0, ACT).astype(np.float32)
        buffer.add(seen[i], action, float(i), seen[i + 1], terminated=False)
    return buffer


def statistics(buffer: ReplayBuffer) -> Normaliser:
    found = Normaliser(OBS)
    for obs in buffer.layout.columns(buffer.rows[: buffer.stored]).obs:
        found.observe(obs)
    return found


def test_a_finished_batch_is_n_steps_long_and_normalised() -> None:
    buffer = filled()
    normaliser = statistics(buffer)
    index = np.array([[0, 5, 36], [7, 8, 39]])
    sampler = Sampler(buffer, np.random.default_rng(0), normaliser)
    draws = sampler.take(index, Tunables(n_step=3, gamma=0.5))
    stored = buffer.layout.columns(buffer.rows)
    assert len(draws) == 2
    for rows, batch in zip(index, draws, strict=True):
        ends = np.minimum(rows + 2, buffer.stored - 1)
        np.testing.assert_array_equal(batch.obs, normaliser(stored.obs[rows]))
        np.testing.assert_array_equal(batch.next_obs, normaliser(stored.next_obs[ends]))
        np.testing.assert_array_equal(batch.action, stored.action[rows])
        rewards = [
            sum(0.5**k * (row + k) for k in range(end - row + 1))
            for row, end in zip(rows, ends, strict=True)
        ]
        np.testing.assert_allclose(batch.reward[:, 0], rewards)
    assert not draws.are_stored


def test_only_rows_as_the_buffer_holds_them_are_stored_ones() -> None:
    buffer, index = filled(), np.array([[0, 5]])
    plain = Sampler(buffer, np.random.default_rng(0))
    assert plain.take(index, Tunables()).are_stored
    assert not plain.take(index, Tunables(n_step=3)).are_stored
    normalised = Sampler(buffer, np.random.default_rng(0), statistics(buffer))
    assert not normalised.take(index, Tunables()).are_stored


def test_the_floor_of_the_moment_bounds_every_reward_that_is_drawn() -> None:
    buffer = ReplayBuffer(10, OBS, ACT)
    obs = np.arange((6) * OBS, dtype=np.float32).reshape(6, OBS)
    rewards = (1.0, -100.0, 2.0, -3.0, -100.0)
    for i, reward in enumerate(rewards):
        buffer.add(obs[i], np.zeros(ACT, np.float32), reward, obs[i + 1], terminated=i == 4)
    sampler, index = Sampler(buffer, np.random.default_rng(0)), np.arange(5)[None]
    before = buffer.rows.copy()
    for floor in (-10.0, -200.0, NO_FLOOR, 0.0):
        (batch,) = sampler.take(index, Tunables(reward_floor=floor))
        bounded = np.maximum(rewards, floor)
        np.testing.assert_array_equal(batch.reward[:, 0], bounded)
        (batch,) = sampler.take(index, Tunables(reward_floor=floor, n_step=3, gamma=0.5))
        sums = [sum(r * 0.5**k for k, r in enumerate(bounded[i : i + 3])) for i in range(5)]
        np.testing.assert_allclose(batch.reward[:, 0], sums)
    # What was experienced stays as it was.
    np.testing.assert_array_equal(buffer.rows, before)


def test_a_buffer_is_drawn_from_alike_in_one_go_and_by_and_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffer, tunables = filled(), Tunables(batch_size=8)
    (whole,) = Sampler(buffer, np.random.default_rng(4)).draw(7, tunables)
    monkeypatch.setattr(module, "_LARGEST_DRAW", 16)
    parts = list(Sampler(buffer, np.random.default_rng(4)).draw(7, tunables))
    assert [len(part) for part in parts] == [2, 2, 2, 1]
    assert np.array_equal(whole.index, np.concatenate([part.index for part in parts]))


def test_rows_of_several_steps_are_made_in_parts_that_stay_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffer, tunables = filled(), Tunables(batch_size=8, n_step=3)
    (whole,) = Sampler(buffer, np.random.default_rng(4)).draw(7, tunables)
    monkeypatch.setattr(module, "_LARGEST_DRAW", 16 * buffer.layout.end)
    parts = list(Sampler(buffer, np.random.default_rng(4)).draw(7, tunables))
    assert [part.rows.shape for part in parts] == [(16, buffer.layout.end)] * 3 + [
        (8, buffer.layout.end)
    ]
    assert np.array_equal(whole.rows, np.concatenate([part.rows for part in parts]))


def test_a_restored_sampler_goes_on_with_the_same_draws() -> None:
    buffer, tunables = filled(), Tunables(batch_size=8)
    sampler = Sampler(buffer, np.random.Generator(np.random.PCG64(1)))
    list(sampler.draw(3, tunables))
    other = Sampler(buffer, np.random.Generator(np.random.PCG64(2)))
    other.load_state(sampler.state())
    (one,), (two,) = sampler.draw(5, tunables), other.draw(5, tunables)
    assert np.array_equal(one.index, two.index)
