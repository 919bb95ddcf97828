"""Transitions of several steps: summed rewards, the state after them, cut where an episode ends."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm.fused import kernel_cache
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.checkpoint import load, read_header, save
from td3core.config import Tunables, make_settings
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Warned
from td3core.runs.directory import RunDirectory
from td3core.training.trainer import UNMARKED
from td3core.training.verify_resume import verify
from tests.support.scripted import STEPS, Script
from tests.td3core.helpers import finish, learn, run, same, tiny
from tests.td3core.training.resuming import go_on

GAMMA = 0.9


def rows_of(buffer: ReplayBuffer, index: Any, steps: int, gamma: float, stride: int = 1) -> Any:
    """Return the rows that an update of these transitions would take."""
    sampler = Sampler(buffer, np.random.default_rng(0), stride=stride)
    draws = sampler.take(index[None], Tunables(n_step=steps, gamma=gamma))
    return draws.rows[draws.index[0]]


class Episodes:
    """A buffer filled by environments that take turns, and a plain record of each episode."""

    def __init__(
        self, ends: list[list[tuple[int, bool]]], capacity: int = 1000, *, moves: bool = True
    ) -> None:
        """Fill the buffer.

        Args:
            ends: for each environment its episodes' lengths, and whether they terminate.
            capacity: of the buffer.
            moves: observations differ; False makes all of them the same.
        """
        self._moves = moves
        self.buffer = ReplayBuffer(capacity, obs_dim=2, act_dim=1)
        self.steps: list[tuple[Any, int]] = []
        self.stride = len(ends)
        source = np.random.default_rng(0)
        streams = [self._stream(episodes, source) for episodes in ends]
        for turn in zip(*streams, strict=False):
            for episode, i in turn:
                obs, rewards, terminates = episode
                last = i == len(rewards) - 1
                ends = (terminates and last, not terminates and last)
                self.buffer.add(obs[i], np.zeros(1), rewards[i], obs[i + 1], *ends)
                self.steps.append((episode, i))

    def rows(self, index: Any, steps: int) -> Any:
        """Return the rows that an update of these transitions would take."""
        return rows_of(self.buffer, index, steps, GAMMA, self.stride)

    def _stream(self, episodes: list[tuple[int, bool]], source: np.random.Generator) -> Any:
        for length, terminates in episodes:
            obs = source.normal(size=(length + 1, 2)).astype(np.float32) * self._moves
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


@given(
    envs=st.lists(lengths, min_size=1, max_size=3),
    steps=st.integers(2, 5),
    moves=st.booleans(),
    capacity=st.sampled_from([5, 1000]),
)
def test_the_rows_are_those_of_a_plain_record(
    envs: list[list[tuple[int, bool]]], steps: int, moves: bool, capacity: int
) -> None:
    made = Episodes(envs, capacity, moves=moves)
    numbers = np.arange(max(made.buffer.stored - capacity, 0), made.buffer.stored)
    named = made.buffer.layout.columns(made.rows(numbers % capacity, steps))
    for row, number in enumerate(numbers):
        reward, after, discount = made.expected(number, steps)
        assert named.reward[row, 0] == pytest.approx(reward, abs=1e-5)
        assert np.array_equal(named.next_obs[row], after)
        assert GAMMA * (1.0 - named.terminated[row, 0]) == pytest.approx(discount, abs=1e-6)


def test_a_return_stops_where_an_episode_is_truncated_and_the_next_begins_the_same() -> None:
    buffer, obs = ReplayBuffer(10, 2, 1), np.zeros(2, np.float32)
    for reward in (1.0, 10.0, 100.0):
        buffer.add(obs, np.zeros(1, np.float32), reward, obs, terminated=False, truncated=True)
    rows = buffer.layout.columns(rows_of(buffer, np.arange(3), 3, 1.0))
    assert rows.reward[:, 0].tolist() == [1.0, 10.0, 100.0]
    # A time limit is no terminal state: the value of the last state counts.
    assert rows.terminated.tolist() == [[0.0]] * 3


def test_a_return_stops_where_an_episode_was_given_up_or_its_end_is_not_marked() -> None:
    made = Episodes([[(3, False), (4, True)]])
    rows, at = made.buffer.rows, made.buffer.layout
    # As a version before stored a time limit.
    rows[:, at.terminated] = np.abs(rows[:, at.terminated])
    found = at.columns(made.rows(np.arange(7), 3))
    for number in range(7):
        reward, after, _ = made.expected(number, 3)
        assert found.reward[number, 0] == pytest.approx(reward, abs=1e-5)
        assert np.array_equal(found.next_obs[number], after)


@pytest.mark.parametrize("compiled", [False, True])
def test_one_step_learns_the_same_bits_with_and_without_the_ends(compiled: bool) -> None:
    states = []
    for marked in (False, True):
        kernel_cache.provide()
        agent = TD3(*tiny(engine="compiled" if compiled else "torch"), 2, 1)
        buffer = Episodes([[(3, False), (4, True), (5, False)]]).buffer
        if not marked:
            buffer.rows[:, -1] = np.abs(buffer.rows[:, -1])
        assert np.signbit(buffer.rows[:, -1]).any() == marked
        learn(agent, buffer, np.random.default_rng(0).integers(0, buffer.stored, (4, 8)))
        states.append(agent.state())
    assert same(*states)


def test_a_row_of_one_step_is_what_was_stored() -> None:
    made = Episodes([[(4, True), (3, False)]])
    index = np.arange(7)
    assert np.array_equal(made.rows(index, 1), made.buffer.rows[:7])


def test_steps_do_not_reach_over_the_end_of_the_ring() -> None:
    made = Episodes([[(20, False)]], capacity=8)
    oldest, newest = 12, 19
    rows = made.rows(np.array([newest % 8, oldest % 8]), 3)
    for row, number in zip(rows, (newest, oldest), strict=True):
        reward, after, discount = made.expected(number, 3)
        assert row[3] == pytest.approx(reward, abs=1e-5)
        assert np.array_equal(row[4:6], after)
        assert GAMMA * (1.0 - row[-1]) == pytest.approx(discount, abs=1e-6)


def test_the_buffer_itself_is_not_changed() -> None:
    made = Episodes([[(5, True)]])
    before = made.buffer.rows.copy()
    made.rows(np.arange(5), 3)
    assert np.array_equal(made.buffer.rows, before)


@pytest.mark.parametrize("values", [{"num_envs": 2, "updates_per_step": 2}, {}])
def test_an_agent_learns_from_the_same_rows_with_torch_and_compiled(
    values: dict[str, Any],
) -> None:
    states = []
    for compiled in (False, True):
        kernel_cache.provide()
        engine = "compiled" if compiled else "torch"
        agent = TD3(*tiny(n_step=3, gamma=GAMMA, engine=engine, **values), 2, 1)
        made = Episodes([[(6, True), (9, False)], [(4, False), (11, True)]])
        index = np.random.default_rng(0).integers(0, made.buffer.stored, (4, 8))
        learn(agent, made.buffer, index, None, 2)
        states.append(agent.state() | {"q": np.array(list(agent.take_metrics().values()))})
    for name, value in states[0].items():
        np.testing.assert_allclose(value, states[1][name], rtol=1e-3, atol=1e-6, err_msg=name)


def test_a_run_learns_from_rows_of_the_length_that_was_set(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Episodes of two environments alternate in the buffer; a step of one is two rows."""
    asked = []
    made = Sampler.take

    def watched(sampler: Sampler, index: Any, tunables: Tunables) -> Any:
        # The probe has a buffer of its own.
        if sampler.buffer.capacity == 1000:
            asked.append((tunables.n_step, tunables.gamma, sampler.stride))
        return made(sampler, index, tunables)

    monkeypatch.setattr(Sampler, "take", watched)
    finish(runs_dir, scripted(Script([(5, "terminated")])), steps=60, n_step=3, num_envs=2)
    assert set(asked) == {(3, 0.99, 2)}


def test_a_run_stores_where_its_episodes_are_truncated(runs_dir: Path, scripted: Any) -> None:
    ended = finish(runs_dir, scripted(Script([(5, "truncated"), (4, "terminated")])), steps=18)
    rows = np.fromfile(ended.run / "replay.f32", np.float32).reshape(18, -1)
    ends = rows[:, -1]
    assert np.flatnonzero((ends == 0) & np.signbit(ends)).tolist() == [4, 13]
    assert np.flatnonzero(ends == 1).tolist() == [8, 17]
    assert ended.last_checkpoint is not None
    assert read_header(ended.last_checkpoint).counters.unmarked == 0


def test_a_run_that_has_marked_all_its_ends_warns_of_none(runs_dir: Path) -> None:
    _, told = run(runs_dir, n_step=3)
    assert told.all(Warned) == []


@pytest.fixture
def old_run(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return what makes a run that stopped at step 40, as the version before wrote it."""
    add = ReplayBuffer.add

    def make(**values: Any) -> Path:
        with monkeypatch.context() as earlier:
            earlier.setattr(ReplayBuffer, "add", lambda *step: add(*step[:6]))
            ended, _ = run(runs_dir, control=Control.stopping_at(40), steps=90, **values)
        assert isinstance(ended, Ended)
        path = RunDirectory.open(ended.run).last
        header, tensors = read_header(path), load(path).tensors
        counters = replace(header.counters, unmarked=40)
        save(path, replace(header, counters=counters), tensors)
        return ended.run

    return make


def test_a_buffer_without_ends_is_read_by_the_old_rule_and_the_run_says_so(
    old_run: Callable[..., Path],
) -> None:
    path = old_run(n_step=3, buffer_size=30)
    assert verify(path, steps=4).exact
    _, told = go_on(path, control=Control.stopping_at(75))
    assert [event.message for event in told.all(Warned)] == [UNMARKED]
    assert read_header(RunDirectory.open(path).last).counters.unmarked == 40
    # Until they are overwritten.
    _, told = go_on(path)
    assert told.all(Warned) == []


def test_a_longer_return_set_while_an_old_run_trains_says_so_once(
    old_run: Callable[..., Path],
) -> None:
    control = Control()
    control.tune(make_settings({"env": STEPS, "n_step": 2, "batch_size": 8})[1])
    _, told = go_on(old_run(), control=control)
    assert [event.message for event in told.all(Warned)] == [UNMARKED]
