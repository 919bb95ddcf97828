"""Transitions of several steps: summed rewards, the state after them, cut where an episode ends."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm.fused import kernel_cache
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from tests.support.scripted import Script
from tests.td3core.helpers import finish, tiny

GAMMA = 0.9


class Episodes:
    """A buffer filled by environments that take turns, and a plain record of each episode."""

    def __init__(self, ends: list[list[tuple[int, bool]]], capacity: int = 1000) -> None:
        """``ends``: for each environment its episodes' lengths, and whether they terminate."""
        self.buffer = ReplayBuffer(capacity, obs_dim=2, act_dim=1)
        self.steps: list[tuple[Any, int]] = []
        self.stride = len(ends)
        source = np.random.default_rng(0)
        streams = [self._stream(episodes, source) for episodes in ends]
        for turn in zip(*streams, strict=False):
            for episode, i in turn:
                obs, rewards, terminates = episode
                last = terminates and i == len(rewards) - 1
                self.buffer.add(obs[i], np.zeros(1), rewards[i], obs[i + 1], last)
                self.steps.append((episode, i))

    @staticmethod
    def _stream(episodes: list[tuple[int, bool]], source: np.random.Generator) -> Any:
        for length, terminates in episodes:
            obs = source.normal(size=(length + 1, 2)).astype(np.float32)
            rewards = source.normal(size=length).astype(np.float32)
            for i in range(length):
                yield (obs, rewards, terminates), i

    def expected(self, number: int, steps: int) -> tuple[float, Any, float]:
        """Return reward, last state and discount of its value, from the plain record."""
        (obs, rewards, terminates), i = self.steps[number]
        mine = [n for n, (episode, _) in enumerate(self.steps) if episode[0] is obs]
        known = self.steps[mine[-1]][1] + 1  # the newest episode may be under way
        end = min(i + steps, known)
        total = sum(GAMMA**k * rewards[i + k] for k in range(end - i))
        over = terminates and end == len(rewards)
        return total, obs[end], 0.0 if over else GAMMA ** (end - i)


lengths = st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=4)


@given(envs=st.lists(lengths, min_size=1, max_size=3), steps=st.integers(2, 5))
def test_the_rows_are_those_of_a_plain_record(
    envs: list[list[tuple[int, bool]]], steps: int
) -> None:
    made = Episodes(envs)
    index = np.arange(made.buffer.stored)
    rows = made.buffer.columns(made.buffer.n_step_rows(index, steps, GAMMA, made.stride))
    for number in index:
        reward, after, discount = made.expected(number, steps)
        assert rows.reward[number, 0] == pytest.approx(reward, abs=1e-5)
        assert np.array_equal(rows.next_obs[number], after)
        assert GAMMA * (1.0 - rows.terminated[number, 0]) == pytest.approx(discount, abs=1e-6)


def test_a_row_of_one_step_is_what_was_stored() -> None:
    made = Episodes([[(4, True), (3, False)]])
    index = np.arange(7)
    assert np.array_equal(made.buffer.n_step_rows(index, 1, GAMMA), made.buffer.rows[:7])


def test_steps_do_not_reach_over_the_end_of_the_ring() -> None:
    made = Episodes([[(20, False)]], capacity=8)
    oldest, newest = 12, 19
    rows = made.buffer.n_step_rows(np.array([newest % 8, oldest % 8]), 3, GAMMA)
    for row, number in zip(rows, (newest, oldest), strict=True):
        reward, after, discount = made.expected(number, 3)
        assert row[3] == pytest.approx(reward, abs=1e-5)
        assert np.array_equal(row[4:6], after)
        assert GAMMA * (1.0 - row[-1]) == pytest.approx(discount, abs=1e-6)


def test_the_buffer_itself_is_not_changed() -> None:
    made = Episodes([[(5, True)]])
    before = made.buffer.rows.copy()
    made.buffer.n_step_rows(np.arange(5), 3, GAMMA)
    assert np.array_equal(made.buffer.rows, before)


@pytest.mark.parametrize("values", [{"num_envs": 2, "updates_per_step": 2}, {}])
def test_an_agent_learns_from_the_same_rows_with_torch_and_compiled(
    values: dict[str, Any],
) -> None:
    states = []
    for compiled in (False, True):
        agent = TD3(*tiny(n_step=3, gamma=GAMMA, **values), 2, 1)
        if compiled:
            kernel_cache.provide()
            agent.use_fused()
        made = Episodes([[(6, True), (9, False)], [(4, False), (11, True)]])
        index = np.random.default_rng(0).integers(0, made.buffer.stored, (4, 8))
        agent.update_from(made.buffer, index, None, 2)
        states.append(agent.state() | {"q": np.array(list(agent.take_metrics().values()))})
    for name, value in states[0].items():
        np.testing.assert_allclose(value, states[1][name], rtol=1e-3, atol=1e-6, err_msg=name)


def test_a_run_learns_from_rows_of_the_length_that_was_set(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes of two environments alternate in the buffer; a step of one is two rows."""
    asked = []
    made = ReplayBuffer.n_step_rows

    def watched(buffer: ReplayBuffer, index: Any, *arguments: Any) -> Any:
        asked.append(arguments)
        return made(buffer, index, *arguments)

    monkeypatch.setattr(ReplayBuffer, "n_step_rows", watched)
    finish(runs_dir, scripted(Script([(5, "terminated")])), steps=60, n_step=3, num_envs=2)
    assert set(asked) == {(3, 0.99, 2)}
