"""The bias of critics against returns that are known."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.checkpoint import load, save
from td3core.checkpoint.agent import value_networks
from td3core.cli.app import main
from td3core.config import EnvChoice
from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.overestimation import (
    EpisodeValues,
    ValueNetworks,
    overestimation,
)
from td3core.evaluation.result import Overestimation
from td3core.exporters.report.run_facts import read_facts
from td3core.inference.critic import Critic
from td3core.inference.policy import Policy
from td3core.runs.directory import RunDirectory
from td3core.runs.tables import read_table
from tests.support.scripted import Script
from tests.td3core.helpers import finish

STILL = Policy([(np.zeros((1, 2), np.float32), np.zeros(1, np.float32))], "relu")
LIMIT = [(4, "truncated")]
"""An episode of four steps, cut by a limit; observations are (episode, step)."""


def linear(weight_of_step: float, constant: float) -> list[tuple[Any, Any]]:
    """Return the layers of Q(s, a) = weight_of_step × step + constant."""
    weight = np.array([[0.0, weight_of_step, 0.0]], np.float32)
    return [(weight, np.array([constant], np.float32))]


def critics(
    *layers: Any, target: Any = None, gamma: float = 0.5, **rewards: float
) -> ValueNetworks:
    shaping = {"reward_scale": 1.0, "reward_floor": -np.inf} | rewards
    slow = None if target is None else Critic([target], "relu")
    return ValueNetworks(Critic(layers, "relu"), slow, gamma, **shaping)


def measured(env: Any, networks: ValueNetworks, episodes: int = 1) -> Overestimation:
    found = evaluate(STILL, env, episodes=episodes, seed=3, critics=networks)
    assert found is not None
    assert found.overestimation is not None
    return found.overestimation


def by_hand(
    rewards: list[float], steps: int, q: Callable[[int], float], gamma: float, end: float = 0.0
) -> tuple[float, float]:
    """Return mean and deviation of the bias; ``end`` is the value after the last reward."""
    returns = [
        sum(gamma ** (k - t) * r for k, r in enumerate(rewards) if k >= t)
        + gamma ** (len(rewards) - t) * end
        for t in range(steps)
    ]
    bias = np.array([q(t) - returns[t] for t in range(steps)])
    scale = max(abs(float(np.mean(returns))), 1.0)
    return float(bias.mean()) / scale, float(bias.std()) / scale


def test_an_episode_that_terminates_is_judged_by_its_own_rewards(scripted: Any) -> None:
    env = scripted(Script([(3, "terminated")], reward=lambda step, _: float(step)))
    found = measured(env, critics(linear(0.0, 10.0), linear(1.0, 2.0), target=linear(0.0, 3.0)))
    # G = 1 + 2/2 + 3/4, 2 + 3/2, 3; the second critic says 2, 3, 4.
    mean, std = by_hand([1.0, 2.0, 3.0], 3, lambda t: 2.0 + t, 0.5)
    assert (found.mean, found.std) == pytest.approx((mean, std))
    assert (found.q, found.returns) == pytest.approx((3.0, (2.75 + 3.5 + 3.0) / 3))
    assert found.critics == pytest.approx(((10.0 - 9.25 / 3) / (9.25 / 3), mean))
    assert found.target == pytest.approx((3.0 - 9.25 / 3) / (9.25 / 3))
    assert (found.states, found.open) == (3, 0.0)


def test_an_episode_that_a_limit_cuts_is_played_on_without_counting_for_the_return(
    scripted: Any,
) -> None:
    script = Script(LIMIT, reward=lambda step, _: float(step))
    plain = evaluate(STILL, scripted(Script(LIMIT, reward=script.reward)), episodes=1, seed=3)
    found = evaluate(STILL, scripted(script), episodes=1, seed=3, critics=critics(linear(1.0, 0.0)))
    assert plain is not None
    assert found is not None
    assert (found.returns, found.lengths) == (plain.returns, plain.lengths) == ((10.0,), (4,))
    # 0.5^7 is the first weight below a hundredth.
    assert script.steps == 4 + 7
    rewards = [float(step) for step in range(1, 12)]
    mean, std = by_hand(rewards, 4, float, 0.5, end=11.0)
    assert found.overestimation is not None
    assert (found.overestimation.mean, found.overestimation.std) == pytest.approx((mean, std))
    assert found.overestimation.open == pytest.approx(np.mean([0.5**n for n in (11, 10, 9, 8)]))


def test_rewards_are_those_that_the_critics_learn_from(scripted: Any) -> None:
    env = scripted(Script([(2, "terminated")], reward=lambda step, _: -10.0 * step))
    found = measured(env, critics(linear(0.0, 0.0), reward_scale=0.1, reward_floor=-1.5))
    mean, std = by_hand([-1.0, -1.5], 2, lambda t: 0.0, 0.5)
    assert (found.mean, found.std) == pytest.approx((mean, std))


TWICE = '{"action_repeat": 2}'


def test_a_decision_that_is_repeated_counts_once_with_the_sum_of_its_rewards(
    scripted: Any,
) -> None:
    script = Script([(5, "terminated")], reward=lambda step, _: -float(step))
    shaping = {"reward_scale": 0.5, "reward_floor": -3.0}
    networks = critics(linear(1.0, -2.0), gamma=0.9, **shaping)
    found = measured(EnvChoice(scripted(script), TWICE), networks)
    # The floor holds for the sum of a decision, -1.5, -3.5 and -2.5, not for single steps; the
    # discount, too, goes by decisions. The states are those after 0, 2 and 4 steps.
    mean, std = by_hand([-1.5, -3.0, -2.5], 3, lambda t: 2.0 * t - 2.0, 0.9)
    assert (found.mean, found.std) == pytest.approx((mean, std))
    assert (found.states, found.open, script.steps) == (3, 0.0, 5)


def test_an_episode_of_repeated_decisions_that_a_limit_cuts_is_played_on_by_decisions(
    scripted: Any,
) -> None:
    script = Script([(3, "truncated")], reward=lambda step, _: -float(step))
    shaping = {"reward_scale": 1.0, "reward_floor": -20.0}
    networks = critics(linear(1.0, 0.0), gamma=0.5, **shaping)
    found = measured(EnvChoice(scripted(script), TWICE), networks)
    # The limit cuts the second decision after one step. Seven more weigh less than a hundredth.
    assert script.steps == 3 + 2 * 7
    rewards = [-3.0, -3.0, -9.0, -13.0, -17.0, *[-20.0] * 4]
    mean, std = by_hand(rewards, 2, lambda t: 2.0 * t, 0.5, end=17.0)
    assert (found.mean, found.std) == pytest.approx((mean, std))
    assert found.open == pytest.approx((0.5**9 + 0.5**8) / 2)


def refuse_after(limit: int) -> Callable[[int], None]:
    def on_step(step: int) -> None:
        if step > limit:
            raise RuntimeError("the episode is over")

    return on_step


def test_a_value_takes_the_place_of_rewards_that_an_environment_refuses(scripted: Any) -> None:
    env = scripted(Script(LIMIT, on_step=refuse_after(5)))
    found = measured(env, critics(linear(0.0, 8.0)))
    mean, std = by_hand([1.0] * 5, 4, lambda t: 8.0, 0.5, end=8.0)
    assert (found.mean, found.std) == pytest.approx((mean, std))
    assert found.open == pytest.approx(np.mean([0.5**n for n in (5, 4, 3, 2)]))


def test_states_whose_return_is_mostly_a_value_are_left_out(scripted: Any) -> None:
    env = scripted(Script(LIMIT, on_step=refuse_after(4)))
    found = measured(env, critics(linear(0.0, 8.0), gamma=0.8))
    # 0.8³ = 0.512: only the first state sees more of rewards than of the critics themselves.
    assert found.states == 1
    assert found.returns == pytest.approx(sum(0.8**k for k in range(4)) + 0.8**4 * 8.0)


def test_without_discount_a_cut_episode_leaves_nothing_to_measure(scripted: Any) -> None:
    env = scripted(Script(LIMIT, on_step=refuse_after(4)))
    found = evaluate(STILL, env, episodes=1, seed=3, critics=critics(linear(0, 8), gamma=1.0))
    assert found is not None
    assert found.overestimation is None


def test_a_measure_that_is_called_off_has_no_result(scripted: Any) -> None:
    script = Script(LIMIT)
    found = evaluate(
        STILL,
        scripted(script),
        episodes=3,
        seed=0,
        keep_going=lambda: script.steps < 6,
        critics=critics(linear(0, 1)),
    )
    assert found is None
    assert (script.made, script.closed) == (1, 1)


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    shift=st.floats(-50, 50),
    seed=st.integers(0, 2**31),
)
def test_the_interval_holds_a_bias_that_is_the_same_everywhere(
    sizes: list[int], shift: float, seed: int
) -> None:
    source = np.random.default_rng(seed)
    episodes = []
    for size in sizes:
        returns = source.normal(size=size)
        q = (returns + shift)[None].astype(np.float32)
        episodes.append(EpisodeValues(q, q.min(axis=0), None, returns, np.zeros(size)))
    found = overestimation(episodes, seed)
    assert found is not None
    assert found.mean == pytest.approx(shift / max(abs(found.returns), 1.0), abs=1e-4)
    assert found.std < 1e-4
    assert found == overestimation(episodes, seed), "the same episodes give the same interval"
    if len(sizes) == 1:
        assert (found.low, found.high) == (None, None)


def test_the_interval_is_that_of_drawing_episodes_again() -> None:
    biases = (1.0, 2.0, 6.0)
    episodes = [
        EpisodeValues(
            np.full((1, 5), b, np.float32),
            np.full(5, b, np.float32),
            None,
            np.zeros(5),
            np.zeros(5),
        )
        for b in biases
    ]
    found = overestimation(episodes, 0)
    assert found is not None
    assert (found.mean, found.states) == (3.0, 15)
    # Three draws of three: 1/27 of them are three times the same episode.
    assert (found.low, found.high) == (1.0, 6.0)


def test_an_evaluation_in_another_process_measures_the_same(runs_dir: Path) -> None:
    values = {"steps": 120, "eval_interval": 60, "learning_starts": 20, "bias_interval": 1}
    rows = []
    for background in (True, False):
        ended = finish(
            runs_dir / str(background), "Pendulum-v1", background_evaluation=background, **values
        )
        rows.append([_without_time(row) for row in read_table(ended.run / "evaluations.csv")])
    assert rows[0] == rows[1]
    assert [row["bias"] != "" for row in rows[0]] == [True, True]
    assert float(rows[0][0]["bias_low"]) <= float(rows[0][0]["bias"])
    # The agent of a file is the one that was measured.
    saved = load(RunDirectory.open(ended.run).last)
    again = evaluate(
        saved.policy(),
        saved.header.config.choice,
        episodes=saved.header.config.eval_episodes,
        seed=saved.header.config.seed,
        critics=value_networks(saved),
    )
    assert again is not None
    assert again.overestimation is not None
    assert str(again.overestimation.mean) == rows[0][-1]["bias"]


def _without_time(row: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if name != "time_s"}


@pytest.mark.parametrize("interval", [0, 2])
@pytest.mark.slow
def test_measuring_changes_nothing_that_is_learnt(runs_dir: Path, interval: int) -> None:
    values = {"steps": 90, "eval_interval": 30, "learning_starts": 20}
    always = finish(runs_dir / "always", "Pendulum-v1", bias_interval=1, **values)
    rarely = finish(runs_dir / "rarely", "Pendulum-v1", bias_interval=interval, **values)
    ends = [load(RunDirectory.open(ended.run).last).tensors for ended in (always, rarely)]
    # Check sums of the buffer go by how its file is written.
    names = [name for name in ends[0] if not name.startswith("replay.")]
    assert all(np.array_equal(ends[0][name], ends[1][name]) for name in names)
    measured = [row["bias"] != "" for row in read_table(rarely.run / "evaluations.csv")]
    assert measured == ([False, True, False] if interval else [False] * 3)


def test_eval_measures_a_saved_agent_and_says_so(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = finish(runs_dir, "Pendulum-v1", steps=60, learning_starts=20)
    words = ["eval", str(ended.last_checkpoint), "--episodes", "2", "--bias"]
    assert main([*words, "--json"]) == 0
    bias = json.loads(capsys.readouterr().out)["bias"]
    assert bias["states"] == 400
    assert bias["low"] <= bias["mean"] <= bias["high"]
    assert main(words) == 0
    assert "400 states" in capsys.readouterr().out


def test_one_episode_has_no_interval(runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"steps": 60, "eval_interval": 60, "eval_episodes": 1, "bias_interval": 1}
    ended = finish(runs_dir, "Pendulum-v1", learning_starts=20, **values)
    (row,) = read_table(ended.run / "evaluations.csv")
    assert (row["bias_low"], row["bias_high"]) == ("", "")
    assert row["bias"] != ""
    assert read_facts(ended.run).results.bias.shape == (1, 4)
    words = ["eval", str(ended.last_checkpoint), "--episodes", "1", "--bias"]
    assert main([*words, "--json"]) == 0
    bias = json.loads(capsys.readouterr().out)["bias"]
    assert (bias["low"], bias["high"]) == (None, None)
    assert main(words) == 0
    said = capsys.readouterr().out
    assert f"bias of the critics {bias['mean']:+.3f}, deviation" in said


def test_an_agent_without_critics_is_refused(
    runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = finish(runs_dir, "Pendulum-v1", steps=60, learning_starts=20)
    assert ended.last_checkpoint is not None
    saved, actor = load(ended.last_checkpoint), tmp_path / "actor.safetensors"
    alone = {name: array for name, array in saved.tensors.items() if name.startswith("actor.")}
    save(actor, replace(saved.header, complete=False), alone)
    assert main(["eval", str(actor), "--bias"]) == 2
    assert "holds no critics to measure" in capsys.readouterr().err
