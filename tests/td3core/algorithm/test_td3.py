from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from td3core.algorithm import td3
from td3core.algorithm.td3 import TD3
from td3core.buffer.rows import Batch
from td3core.config import Tunables
from td3core.protocol.metrics import METRICS
from tests.td3core.algorithm.autograd_td3 import target_value
from tests.td3core.helpers import (
    FusedTD3,
    batch,
    differing,
    layers,
    make_agent,
    networks,
    same,
)

LAST = {metric.name for metric in METRICS if metric.last}
ONLINE = ("actor", "critic1", "critic2")
ALL = {"actor", "critic1", "critic2", "actor_target", "critic1_target", "critic2_target"}


def constant(agent: TD3, name: str, value: float) -> None:
    """Let a network answer ``value`` (before any squashing), whatever it is asked."""
    for weight, bias in layers(agent, name):
        weight.zero_()
        bias.zero_()
    layers(agent, name)[-1][1].fill_(value)


def first_action(agent: TD3, name: str) -> None:
    """Let a critic without hidden layers answer the first of two actions after three numbers."""
    constant(agent, name, 0.0)
    layers(agent, name)[0][0][0, 3] = 1.0


def flat(parts: Any) -> Any:
    """Return all weights and biases of a network in one vector of its own."""
    return np.concatenate(
        [each.numpy().astype(np.float64).ravel() for pair in parts for each in pair]
    )


def answer(parts: Any, x: Any) -> Any:
    """Return the output of a network with relu for ``x`` (batch, in)."""
    for weight, bias in parts[:-1]:
        x = np.maximum(x @ weight.numpy().T + bias.numpy(), 0.0)
    weight, bias = parts[-1]
    return x @ weight.numpy().T + bias.numpy()


def target(agent: TD3, data: Batch) -> Any:
    return target_value(agent, data)


def changed(agent: TD3, data: Batch) -> set[str]:
    """Do one update and return the networks that it changed."""
    before = networks(agent)
    agent.update(data)
    return differing(before, networks(agent))


def metrics(agent: TD3, data: Batch) -> Any:
    agent.update(data)
    return agent.take_metrics()


def test_both_implementations_are_tested(request: pytest.FixtureRequest) -> None:
    assert isinstance(make_agent(), FusedTD3) == ("numba" in request.node.name)


def test_the_target_takes_the_smaller_of_the_two_critics() -> None:
    agent, data = make_agent(gamma=0.5), batch()
    constant(agent, "critic1_target", 5.0)
    constant(agent, "critic2_target", 1.0)
    bootstrapped = data.reward + 0.5 * (1 - data.terminated) * 1.0
    np.testing.assert_allclose(target(agent, data), bootstrapped, rtol=1e-6)
    constant(agent, "critic1_target", -3.0)
    bootstrapped = data.reward + 0.5 * (1 - data.terminated) * -3.0
    np.testing.assert_allclose(target(agent, data), bootstrapped, rtol=1e-6)


def test_without_twin_critics_there_is_one_critic_and_no_minimum() -> None:
    agent, data = make_agent(twin_critics=False, gamma=0.5), batch()
    constant(agent, "critic1_target", 5.0)
    bootstrapped = data.reward + 0.5 * (1 - data.terminated) * 5.0
    np.testing.assert_allclose(target(agent, data), bootstrapped, rtol=1e-6)
    assert not any("critic2" in name for name in agent.state())
    assert not {"q2", "critic2_loss"} & metrics(agent, data).keys()


def test_a_terminal_state_has_no_value_and_every_other_state_has() -> None:
    agent, data = make_agent(), batch()
    ended = target(agent, data._replace(terminated=np.ones_like(data.terminated)))
    assert np.array_equal(ended, data.reward)
    continuing = target(agent, data._replace(terminated=np.zeros_like(data.terminated)))
    assert (continuing != data.reward).all()


def test_the_target_actor_is_asked_about_the_next_state() -> None:
    data, other = batch(seed=0), batch(seed=1)
    other_action = data._replace(obs=other.obs, action=other.action)
    other_next = data._replace(next_obs=other.next_obs)
    y, same_next, changed_next = (
        metrics(make_agent(), each)["target"] for each in (data, other_action, other_next)
    )
    assert same_next == y
    assert changed_next != y

    # A critic that answers with the first action alone shows which action it was asked about.
    agent = make_agent(critic_hidden=(), policy_noise=0.0, gamma=1.0)
    for name in ("critic1_target", "critic2_target"):
        first_action(agent, name)
    # Nothing has been learnt: the target is a copy of the actor.
    policy = agent.policy()
    first = np.stack([policy(obs) for obs in data.next_obs])[:, :1]
    expected = data.reward + (1 - data.terminated) * first
    np.testing.assert_allclose(target(agent, data), expected, rtol=1e-6)


def smoothed(**values: Any) -> Any:
    """Return the first target action for each of many equal states where the actor says 0.9."""
    agent = make_agent(critic_hidden=(), gamma=1.0, **values)
    constant(agent, "actor_target", float(np.arctanh(0.9)))
    for name in ("critic1_target", "critic2_target"):
        first_action(agent, name)
    return target(agent, Batch(*(np.zeros((2000, n), np.float32) for n in (3, 2, 1, 3, 1))))


def test_smoothing_noise_has_its_spread_and_its_bounds() -> None:
    quiet = smoothed(policy_noise=0.05, noise_clip=2.0)
    assert quiet.mean() == pytest.approx(0.9, abs=0.01)
    assert np.clip(quiet, 0, 0.89).std() < quiet.std() < 0.05
    clipped = smoothed(policy_noise=1.0, noise_clip=0.3)
    assert clipped.min() == pytest.approx(0.6, abs=1e-6)
    assert clipped.max() == 1.0
    assert smoothed(policy_noise=0.0) == pytest.approx(0.9)
    assert smoothed(policy_noise=1.0, noise_clip=0.0) == pytest.approx(0.9)


def test_an_update_between_delays_moves_the_critics_alone() -> None:
    agent = make_agent(policy_delay=3)
    assert changed(agent, batch(seed=1)) == {"critic1", "critic2"}
    assert changed(agent, batch(seed=2)) == {"critic1", "critic2"}
    assert changed(agent, batch(seed=3)) == ALL
    assert changed(agent, batch(seed=4)) == {"critic1", "critic2"}


@pytest.mark.parametrize("delay", [1, 2, 5])
def test_the_actor_moves_once_in_every_policy_delay_updates(delay: int) -> None:
    agent = make_agent(policy_delay=delay)
    moved = ["actor" in changed(agent, batch(seed=i)) for i in range(1, 11)]
    assert moved == [i % delay == 0 for i in range(1, 11)]
    assert agent.updates == 10


def test_with_tau_one_the_targets_are_the_learnt_networks() -> None:
    agent = make_agent(tau=1.0, policy_delay=1)
    agent.update(batch())
    found = networks(agent)
    for name in ("actor", "critic1", "critic2"):
        for key in (k for k in found if k.startswith(f"{name}.")):
            np.testing.assert_allclose(found[key.replace(name, f"{name}_target")], found[key])


def test_with_tau_nought_the_targets_stay_where_they_are() -> None:
    agent = make_agent(tau=0.0, policy_delay=1)
    assert changed(agent, batch()) == {"actor", "critic1", "critic2"}


@pytest.mark.parametrize(
    ("name", "still"), [("actor_lr", {"actor"}), ("critic_lr", {"critic1", "critic2"})]
)
def test_a_learning_rate_of_nought_holds_its_networks_still(name: str, still: set[str]) -> None:
    agent = make_agent(policy_delay=1, **{name: 0.0})
    assert not changed(agent, batch()) & still
    agent = make_agent(policy_delay=1)
    agent.apply(Tunables(**{name: 0.0}, policy_delay=1))
    assert not changed(agent, batch()) & still


def test_the_actor_follows_the_first_critic_only() -> None:
    agent, other = (
        make_agent(policy_delay=1, critic_lr=0.0),
        make_agent(policy_delay=1, critic_lr=0.0),
    )
    constant(other, "critic2", 100.0)
    agent.update(batch())
    other.update(batch())
    assert differing(networks(agent), networks(other)) == {"critic2", "critic2_target"}


def test_both_critics_start_apart_and_targets_start_as_copies() -> None:
    found = networks(make_agent())
    for key in (k for k in found if k.startswith("critic1.")):
        assert not np.array_equal(found[key], found[key.replace("critic1", "critic2")])
    for key in (k for k in found if "_target" in k):
        assert np.array_equal(found[key], found[key.replace("_target", "")])


def test_first_weights_depend_on_the_seed_alone_and_stay_within_the_published_bound() -> None:
    assert same(networks(make_agent(seed=1)), networks(make_agent(seed=1)))
    assert differing(networks(make_agent(seed=1)), networks(make_agent(seed=2))) == ALL
    found = layers(make_agent(actor_hidden=(400, 100)), "actor")
    for layer, fan_in in zip(found, (3, 400, 100), strict=True):
        for part in layer:
            assert part.abs().max() <= 1 / fan_in**0.5
    assert found[1][0].abs().max() > 0.99 / 400**0.5


def test_making_and_training_an_agent_draws_from_no_global_generator() -> None:
    before = torch.get_rng_state()
    make_agent().update(batch())
    assert torch.equal(before, torch.get_rng_state())


def test_metrics_are_means_since_they_were_last_taken() -> None:
    agent, again = make_agent(policy_delay=2), make_agent(policy_delay=2)
    each = [metrics(again, batch(seed=i)) for i in range(4)]
    for i in range(4):
        agent.update(batch(seed=i))
    found = agent.take_metrics()
    assert ["actor_loss" in row for row in each] == [False, True, False, True]
    for name, mean in found.items():
        if name in LAST:
            continue
        values = [row[name] for row in each if name in row]
        assert mean == pytest.approx(np.mean(values), rel=1e-6), name
    assert agent.take_metrics() == {}


def test_an_update_measures_what_the_schema_names_and_nothing_else() -> None:
    found = metrics(make_agent(policy_delay=1), batch())
    assert list(found) == [metric.name for metric in METRICS if metric.network]
    alone = metrics(make_agent(policy_delay=1, twin_critics=False), batch())
    second = {metric.name for metric in METRICS if metric.network == "critic2"}
    assert set(found) - set(alone) == second
    assert {"q2", "critic2_loss", "q_gap", "critic2_gradient"} < second


@pytest.mark.parametrize("twin", [True, False])
def test_gap_and_largest_error_are_those_of_the_critics_before_their_step(twin: bool) -> None:
    agent, data = make_agent(twin_critics=twin, policy_noise=0.0), batch()
    names = ["critic1", "critic2"][: 1 + twin]
    pair, y = np.hstack((data.obs, data.action)), target(agent, data)
    q = [answer(layers(agent, name), pair) for name in names]
    found = metrics(agent, data)
    assert found["td_max"] == pytest.approx(np.abs(np.stack(q) - y).max(), rel=1e-5)
    assert found.get("q_gap") == (
        pytest.approx(np.abs(q[0] - q[1]).mean(), rel=1e-5) if twin else None
    )


def test_the_percentiles_are_those_of_the_errors_of_the_last_batch() -> None:
    agent = make_agent(policy_noise=0.0)
    for seed, size in ((0, 40), (1, 30)):
        data = batch(size, seed=seed)
        q = answer(layers(agent, "critic1"), np.hstack((data.obs, data.action)))
        errors = np.sort(np.abs(q - target(agent, data)).ravel())
        agent.update(data)
    found = agent.take_metrics()
    for name, share in (("td_median", 0.5), ("td_p90", 0.9), ("td_p99", 0.99)):
        below = int(share * (len(errors) - 1))
        rest = share * (len(errors) - 1) - below
        expected = errors[below] + rest * (errors[below + 1] - errors[below])
        assert found[name] == pytest.approx(expected, rel=1e-4), name


@pytest.mark.parametrize("updates", [1, 3])
def test_the_norms_are_those_of_the_last_step_of_each_network(updates: int) -> None:
    agent = make_agent(policy_delay=1, actor_lr=1e-3, critic_lr=2e-3)
    for i in range(updates):
        before = {name: flat(layers(agent, name)) for name in ONLINE}
        agent.update(batch(seed=i))
    after = {name: flat(layers(agent, name)) for name in ONLINE}
    found = agent.take_metrics()
    for name in ONLINE:
        state = agent.actor if name == "actor" else agent.critics
        gradient = np.concatenate(
            [
                part.numpy().ravel()
                for key, part in state.gradient.named()
                if key.startswith(f"{name}.")
            ]
        )
        change = np.linalg.norm(after[name] - before[name]) / np.linalg.norm(after[name])
        assert found[f"{name}_gradient"] == pytest.approx(np.linalg.norm(gradient), rel=1e-5)
        assert found[f"{name}_weight"] == pytest.approx(np.linalg.norm(after[name]), rel=1e-5)
        assert found[f"{name}_update"] == pytest.approx(change, rel=1e-3)


def test_the_norms_come_with_the_first_update_and_every_so_many_from_then_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    every = 20
    monkeypatch.setattr(td3, "LAST_EVERY", every)
    agent, again = make_agent(policy_delay=2), make_agent(policy_delay=2)
    rows = [metrics(agent, batch()) for _ in range(2 * every + 2)]
    assert [i for i, row in enumerate(rows) if "critic1_update" in row] == [0, every, 2 * every]
    # An actor that the delay left alone has made no step.
    assert not any("actor_update" in row for row in rows)
    for _ in range(every + 2):
        again.update(batch())
    assert set(again.take_metrics()) > LAST


def test_a_restored_agent_measures_the_last_step_that_was_done_before() -> None:
    agent, other = make_agent(policy_delay=2), make_agent(policy_delay=2, seed=5)
    for i in range(2):
        agent.update(batch(seed=i))
    other.load_state(agent.state(), agent.updates)
    agent.apply(replace(agent.tunables, actor_lr=1e-5))
    other.apply(replace(other.tunables, actor_lr=1e-5))
    assert other.take_metrics() == agent.take_metrics()


def test_a_metric_that_a_checkpoint_does_not_know_is_absent_once() -> None:
    agent, older = make_agent(policy_delay=1), make_agent(policy_delay=1)
    agent.update(batch())
    state = agent.state()
    del state["tally.target"]
    older.load_state(state, agent.updates)
    assert set(agent.take_metrics()) - set(older.take_metrics()) == {"target"}
    assert "target" in metrics(older, batch())
    # Where none was pending, there is nothing to leave out.
    state = make_agent(policy_delay=1).state()
    del state["tally.target"]
    older.load_state(state, 0)
    assert "target" in metrics(older, batch())


def test_a_norm_that_a_checkpoint_does_not_know_is_there_once_it_is_measured_again() -> None:
    agent, older = make_agent(policy_delay=1), make_agent(policy_delay=1)
    agent.update(batch())
    state = agent.state()
    del state["tally.critic1_weight"]
    older.load_state(state, agent.updates)
    for each in (agent, older):
        each.update(batch(seed=1))
    assert older.take_metrics() == agent.take_metrics()


def test_the_metrics_of_a_checkpoint_of_version_0_1_are_read() -> None:
    agent, older = make_agent(policy_delay=1), make_agent(policy_delay=1)
    agent.update(batch())
    state = agent.state()
    kept = ("q1", "q2", "target", "critic1_loss", "critic2_loss", "actor_loss")
    state["tally.sums"] = np.concatenate([state[f"tally.{name}"] for name in kept])
    for metric in METRICS:
        state.pop(f"tally.{metric.name}", None)
    older.load_state(state, agent.updates)
    found = agent.take_metrics()
    # Metrics that this version did not measure are absent once.
    assert older.take_metrics() == {name: found[name] for name in kept}


@pytest.mark.parametrize("twin", [True, False])
def test_a_restored_agent_goes_on_bit_for_bit(twin: bool) -> None:
    agent = make_agent(seed=1, twin_critics=twin, policy_delay=2)
    for i in range(5):
        agent.update(batch(seed=i))
    other = make_agent(seed=2, twin_critics=twin, policy_delay=2)
    other.update(batch(seed=99))
    other.load_state(agent.state(), agent.updates)
    assert same(agent.state(), other.state())
    for i in range(5, 9):
        agent.update(batch(seed=i))
        other.update(batch(seed=i))
        assert same(agent.state(), other.state())
    assert agent.updates == other.updates == 9


def test_an_agent_restored_before_its_first_update_goes_on_bit_for_bit() -> None:
    agent, other = make_agent(seed=1), make_agent(seed=2)
    other.update(batch())
    other.update(batch())
    other.load_state(agent.state(), 0)
    for i in range(3):
        agent.update(batch(seed=i))
        other.update(batch(seed=i))
    assert same(agent.state(), other.state())


def test_a_saved_state_is_a_copy_that_later_updates_leave_alone() -> None:
    agent = make_agent(policy_delay=1)
    agent.update(batch())
    state = agent.state()
    kept = {name: array.copy() for name, array in state.items()}
    agent.update(batch(seed=1))
    assert same(state, kept)
    agent.load_state(state, 1)
    agent.update(batch(seed=1))
    assert same(state, kept)
