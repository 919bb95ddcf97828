"""The numbers of an episode, kept and read."""

import numpy as np
import pytest

from td3core.playing.numbers import (
    AgentSpec,
    EpisodeLog,
    EpisodeNumbers,
    Steps,
    discounted_returns,
)
from td3core.playing.step import RolloutStep


def test_an_endless_episode_keeps_its_latest_steps_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("td3core.playing.numbers._MOST_BYTES", 0)
    spec = AgentSpec(3, (-1.0,), (1.0,), 0.99, 1.0, -np.inf, 2)
    numbers = EpisodeNumbers(spec, 1)
    for step in range(1, 2201):
        row = np.full(1, float(step))
        obs = np.full((1, 3), step, np.float32)
        numbers.add(Steps(1, step, row, row, row, row[:, None], obs))
        assert numbers.last == step
    assert 500 <= numbers.count <= 1500
    assert numbers.obs[:, 0].tolist() == numbers.reward.tolist()
    assert numbers.reward[-1] == 2200
    assert numbers.discounted is None
    numbers.end(2200)
    assert numbers.discounted is not None
    assert numbers.discounted[-2] == pytest.approx(2199 + 0.99 * 2200)


def test_a_discounted_return_is_the_sum_of_all_later_rewards() -> None:
    rewards = np.random.default_rng(0).normal(size=50)
    powers = 0.9 ** np.arange(50)
    expected = [powers[: 50 - at] @ rewards[at:] for at in range(50)]
    np.testing.assert_allclose(discounted_returns(rewards, 0.9), expected, rtol=1e-12)
    assert len(discounted_returns(np.empty(0), 0.9)) == 0


def test_a_log_gives_the_steps_asked_for_and_forgets_the_oldest() -> None:
    log, all_of_it = EpisodeLog(1, most_bytes=1), EpisodeLog(1, most_bytes=None)
    assert log.after(0, 1, None) is None
    for number in range(1, 1501):
        row = np.full(1, number, np.float32)
        for each in (log, all_of_it):
            each.add(RolloutStep(number, 1.0, float(number), False, False), row, -row)
    few = log.after(600, 7, None, most=2)
    assert few is not None
    assert (few.playback_id, few.first, few.total.tolist()) == (7, 601, [601.0, 602.0])
    assert (few.obs.tolist(), few.action.tolist()) == ([[601], [602]], [[-601], [-602]])
    assert np.isnan(few.min_q).all()
    kept, complete = log.after(0, 7, None), all_of_it.after(0, 7, None)
    assert kept is not None
    assert complete is not None
    assert (kept.first, len(kept.reward)) == (501, 1000)
    assert (complete.first, len(complete.reward)) == (1, 1500)
    assert log.after(1500, 7, None) is None
