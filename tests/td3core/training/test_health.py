"""Health metrics of networks and buffer, against calculations that share no code with them."""

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.checkpoint import read_header
from td3core.protocol.events import Ended
from td3core.runs.tables import read_table
from td3core.training.health import HEALTH_STEPS, measure, rank
from tests.td3core.helpers import batch, finish, layers, make_agent, same, tiny
from tests.td3core.training.resuming import branched, go_on_well, stopped

OBS, ACT = 3, 2
RARE_STEPS = {"steps": HEALTH_STEPS, "learning_starts": 100, "policy_delay": 99}
"""The actor makes no step shortly before the measurement."""


def filled(count: int = 700, capacity: int = 1000, slack: int = 0) -> ReplayBuffer:
    buffer, source = ReplayBuffer(capacity, OBS, ACT, slack), np.random.default_rng(4)
    for _ in range(count):
        obs, after = source.normal(size=(2, OBS)).astype(np.float32)
        action = source.uniform(-1, 1, ACT).astype(np.float32)
        buffer.add(obs, action, float(source.normal(-1.0)), after, terminated=False)
    return buffer


def health(agent: TD3, buffer: ReplayBuffer, **values: Any) -> dict[str, float]:
    config, _ = tiny(**values)
    return measure(agent, config, buffer, Sampler(buffer, np.random.default_rng(0)))


def test_a_dead_and_a_dormant_unit_of_the_actor_are_counted() -> None:
    agent, buffer = make_agent(), filled()
    for weight, bias in layers(agent, "actor")[:-1]:
        weight.zero_()
        bias.fill_(5.0)
    before = health(agent, buffer)
    assert before["actor_dead"] == before["actor_dormant"] == 0.0
    _, bias = layers(agent, "actor")[0]
    # The limit is 0.025 of the mean of the layer: one unit is below it, and one above.
    mean = 5 * 5.0 / (8 - 0.02 - 0.03)
    bias[:3] = torch.tensor([-1.0, 0.02 * mean, 0.03 * mean])
    found = health(agent, buffer)
    assert found["actor_dead"] == pytest.approx(1 / 16)
    assert found["actor_dormant"] == pytest.approx(2 / 16)
    assert found["critic_dead"] == before["critic_dead"]


def test_units_of_both_critics_are_counted_together() -> None:
    agent, buffer = make_agent(), filled()
    for name in ("critic1", "critic2"):
        for _, bias in layers(agent, name)[:-1]:
            bias.fill_(5.0)
    before = health(agent, buffer)
    weight, bias = layers(agent, "critic2")[0]
    weight[:3] = 0.0
    bias[:3] = torch.tensor([-1.0, -2.0, 1e-4])
    hidden = sum(len(bias) for _, bias in layers(agent, "critic1")[:-1])
    found = health(agent, buffer)
    assert found["critic_dead"] - before["critic_dead"] == pytest.approx(2 / (2 * hidden))
    assert found["critic_dormant"] - before["critic_dormant"] == pytest.approx(3 / (2 * hidden))


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_rank_is_that_of_the_last_features_of_q1_where_the_policy_acts(
    layer_norm: bool,
) -> None:
    form = {"critic_hidden": (24, 16), "critic_layer_norm": layer_norm}
    agent, buffer = make_agent(**form), filled()
    states = torch.from_numpy(buffer.layout.columns(buffer.rows[:700]).obs)
    states = states[np.linspace(0, 699, 512).astype(np.int64)]
    with torch.no_grad():
        features = torch.cat((states, torch.tanh(agent.actor.online.networks[0](states))), 1)
        for weight, bias in layers(agent, "critic1")[:-1]:
            features = features @ weight.T + bias
            if layer_norm:
                features = torch.nn.functional.layer_norm(features, features.shape[1:])
            features = torch.relu(features)
    singular = torch.linalg.svdvals(features.double())
    shares = torch.cumsum(singular, 0) / singular.sum()
    expected = int((shares < 0.99).sum()) + 1
    assert 1 < expected < 16
    assert health(agent, buffer, **form)["critic_rank"] == expected / 16


def test_the_saturated_dimension_is_told_from_the_mean() -> None:
    agent, buffer = make_agent(), filled()
    weight, bias = layers(agent, "actor")[-1]
    weight.zero_()
    bias.copy_(torch.tensor([0.0, 9.0]))
    found = health(agent, buffer)
    assert (found["saturated"], found["saturated_most"]) == (0.5, 1.0)


@pytest.mark.parametrize("kept", [1, 5, 20])
def test_the_rank_is_that_of_the_singular_values(kept: int) -> None:
    source = np.random.default_rng(kept)
    features = source.normal(size=(512, kept)) @ source.normal(size=(kept, 64))
    features += 1e-3 * source.normal(size=features.shape)
    values = np.linalg.svd(features.astype(np.float32), compute_uv=False)
    shares = [values[:k].sum() / values.sum() for k in range(1, 65)]
    expected = next(k for k, share in enumerate(shares, 1) if share >= 0.99)
    assert rank(features.astype(np.float32)) == expected
    assert rank(np.zeros((8, 4), np.float32)) == 0
    assert math.isnan(rank(np.full((8, 4), np.nan, np.float32)))


def test_the_lag_is_the_distance_of_the_target_from_its_network() -> None:
    agent, buffer = make_agent(), filled()
    assert health(agent, buffer)["critic1_lag"] == 0.0
    for parts in layers(agent, "critic1_target"):
        for part in parts:
            part.mul_(1.25)
    found = health(agent, buffer)
    assert found["critic1_lag"] == pytest.approx(0.25, rel=1e-5)
    assert found["critic2_lag"] == found["actor_lag"] == 0.0


@pytest.mark.parametrize("larger", ["critic1", "critic2"])
@pytest.mark.parametrize("form", [{}, {"algorithm": "tqc", "quantiles": 3}], ids=["td3", "tqc"])
def test_q_is_measured_against_what_the_rewards_permit(form: dict[str, Any], larger: str) -> None:
    agent, buffer = make_agent(gamma=0.9, **form), filled()
    for name in ("critic1", "critic2"):
        weight, bias = layers(agent, name)[-1]
        weight.zero_()
        # The mean of quantiles is the value.
        spread = torch.linspace(-100.0, 100.0, len(bias)) if len(bias) > 1 else 0.0
        bias.copy_(spread + (-300.0 if name == larger else 10.0))
    most = max(abs(float(row[buffer.layout.reward])) for row in buffer.rows[:700])
    found = health(agent, buffer, **form)
    assert found["reward_most"] == pytest.approx(most)
    assert found["q_to_bound"] == pytest.approx(300.0 / (10.0 * most), rel=1e-5)


def test_age_and_rewards_are_those_of_a_full_buffer_too() -> None:
    agent, buffer = make_agent(), filled(count=130, capacity=50)
    found = health(agent, buffer)
    assert found["buffer_age"] == np.arange(50).mean()
    rewards = buffer.layout.columns(buffer.rows).reward
    assert found["reward_mean"] == pytest.approx(rewards.astype(float).mean())
    agent.apply(replace(agent.tunables, reward_floor=0.0))
    bounded = np.maximum(rewards, 0.0)
    assert health(agent, buffer)["reward_mean"] == pytest.approx(bounded.astype(float).mean())


def test_rewards_are_of_what_can_be_drawn_not_of_all_the_rows_that_are_held() -> None:
    agent, buffer = make_agent(), ReplayBuffer(50, OBS, ACT, slack=30)
    for number in range(130):
        obs, action = np.zeros(OBS, np.float32), np.zeros(ACT, np.float32)
        buffer.add(obs, action, float(number), obs, terminated=False)
    assert buffer.rewards().tolist() == list(range(80, 130))
    found = health(agent, buffer)
    assert (found["reward_mean"], found["reward_most"]) == (104.5, 129.0)


def test_measuring_does_not_copy_a_buffer_whose_oldest_rows_were_overwritten() -> None:
    agent, buffer = make_agent(), ReplayBuffer(500_000, OBS, ACT)
    buffer.rows[:] = 1.0
    buffer.stored = 700_000
    tracemalloc.start()
    try:
        health(agent, buffer)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < buffer.rows.nbytes / 2


def test_one_critic_has_no_second_lag() -> None:
    found = health(make_agent(twin_critics=False), filled(), twin_critics=False)
    assert "critic2_lag" not in found
    assert {"critic1_lag", "critic_rank"} < found.keys()


def test_a_run_has_its_health_on_record_every_so_many_steps(runs_dir: Path) -> None:
    ended = finish(runs_dir, steps=2 * HEALTH_STEPS, learning_starts=100)
    rows = read_table(ended.run / "training.csv")
    measured = [
        int(row["env_steps"]) for row in rows if np.isfinite(float(row["critic_rank"] or "nan"))
    ]
    assert measured == [HEALTH_STEPS, 2 * HEALTH_STEPS]
    assert len(rows) == len({row["env_steps"] for row in rows})


@pytest.mark.parametrize(
    ("interval", "num_envs", "measured"),
    [
        (30, 1, [1000, 2000, 3000]),
        (128, 1, [1050, 2050]),
        (700, 1, [1400, 2100]),
        (700, 3, [1401, 2100]),
        (1, 64, [1024, 2048, 3008]),
    ],
)
def test_rare_updates_are_measured_at_the_first_after_so_many_steps(
    runs_dir: Path, interval: int, num_envs: int, measured: list[int]
) -> None:
    values = {"steps": 3000, "update_interval": interval, "num_envs": num_envs}
    rows = read_table(finish(runs_dir, learning_starts=100, **values).run / "training.csv")
    found = [int(row["env_steps"]) for row in rows if row["critic_rank"] not in ("", "nan")]
    assert found == measured


@pytest.mark.slow
def test_the_replay_ratio_counts_every_transition_drawn(runs_dir: Path) -> None:
    steps = 2 * HEALTH_STEPS
    sizes = {"batch_size": f"4@{HEALTH_STEPS}, 16@{HEALTH_STEPS}"}
    ended = finish(runs_dir, steps=steps, learning_starts=HEALTH_STEPS // 2, **sizes)
    drawn = 4 * HEALTH_STEPS // 2 + 16 * HEALTH_STEPS
    assert read_header(ended.last_checkpoint).counters.sampled == drawn
    assert float(read_table(ended.run / "training.csv")[-1]["replay_ratio"]) == drawn / steps


@pytest.mark.parametrize("count", [700, 1500])
def test_the_policy_change_is_that_of_one_step_on_the_same_oldest_states(count: int) -> None:
    agent, buffer = make_agent(policy_delay=1, actor_lr=0.01), filled(count, slack=300)
    assert "policy_change" not in health(agent, buffer)
    oldest = max(count - 1000, 0)
    states = torch.from_numpy(buffer.transitions(np.arange(oldest, oldest + 512)).obs)
    for seed in range(3):
        with torch.no_grad():
            before = torch.tanh(agent.actor.online.networks[0](states))
        agent.update(batch(seed=seed))
        with torch.no_grad():
            after = torch.tanh(agent.actor.online.networks[0](states))
        moved = float((after - before).norm(dim=1).mean())
        assert health(agent, buffer)["policy_change"] == pytest.approx(moved, rel=1e-3)


def test_the_policy_change_is_that_of_the_last_step_though_its_rate_changed_since() -> None:
    values = {"policy_delay": 2, "actor_lr": 0.01}
    agent, buffer = make_agent(**values), filled()
    for seed in range(3):
        agent.update(batch(seed=seed))
    before = health(agent, buffer)["policy_change"]
    agent.apply(replace(agent.tunables, actor_lr=1e-4))
    assert health(agent, buffer)["policy_change"] == before
    resumed = make_agent(**values | {"actor_lr": 1e-4})
    resumed.load_state(agent.state(), agent.updates)
    assert same(resumed.state(), agent.state())
    assert health(resumed, buffer)["policy_change"] == before
    agent.update(batch(seed=3))
    assert health(agent, buffer)["policy_change"] < before / 10
    assert agent.state().keys() == make_agent().state().keys()


@pytest.mark.slow
def test_a_run_resumed_between_steps_of_the_actor_has_the_same_policy_change(
    runs_dir: Path,
) -> None:
    values = RARE_STEPS | {"actor_lr": f"1e-2@0, 1e-4@{HEALTH_STEPS}"}
    whole = finish(runs_dir / "whole", **values)
    parted = go_on_well(stopped(runs_dir / "parted", HEALTH_STEPS - 5, **values).run)
    found = [read_table(ended.run / "training.csv")[-1] for ended in (whole, parted)]
    assert np.isfinite(float(found[0]["policy_change"]))
    assert found[0]["policy_change"] == found[1]["policy_change"]


def test_a_branch_with_another_rate_has_the_policy_change_of_the_last_step_of_its_parent(
    runs_dir: Path,
) -> None:
    values = RARE_STEPS | {"actor_lr": 1e-2}
    parent = stopped(runs_dir / "parent", HEALTH_STEPS - 5, **values)
    assert parent.last_checkpoint is not None
    outcome, _ = branched(parent.last_checkpoint, runs_dir / "branch", actor_lr=1e-4)
    assert isinstance(outcome, Ended)
    whole = go_on_well(parent.run)
    found = [read_table(ended.run / "training.csv")[-1] for ended in (whole, outcome)]
    assert np.isfinite(float(found[0]["policy_change"]))
    assert found[0]["policy_change"] == found[1]["policy_change"]
