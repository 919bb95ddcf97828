"""The trace of a single update, compared with the paper in NumPy and with the agent itself."""

from typing import Any

import numpy as np
import pytest
import torch

from td3core.algorithm.agent import make_agent as make
from td3core.algorithm.agent import make_tracer
from td3core.algorithm.td3 import TD3, act
from td3core.algorithm.trace import TD3Tracer
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Draws, Sampler
from td3core.config.networks import Sizes
from tests.td3core.algorithm.numpy_td3 import ReferenceTD3
from tests.td3core.algorithm.test_td3_reference import COUNT, prepared
from tests.td3core.helpers import batch, make_agent, same, tiny

SIZES = Sizes(3, 2)
CASES: dict[str, dict[str, Any]] = {
    "TD3": {},
    "DDPG": {"twin_critics": False, "policy_delay": 1, "policy_noise": 0.0},
    "strong smoothing": {"policy_noise": 2.0, "noise_clip": 0.5, "policy_delay": 3},
}

TQC_CASES: dict[str, dict[str, Any]] = {
    "TQC": {"algorithm": "tqc", "quantiles": 5, "dropped_quantiles": 2},
    "TQC, one critic": {"algorithm": "tqc", "quantiles": 4, "twin_critics": False},
}


def draws_of(agent: TD3, seed: int = 0) -> Draws:
    buffer = ReplayBuffer(COUNT, *SIZES)
    buffer.rows[:] = np.concatenate(batch(COUNT, seed=seed), axis=1)
    return Sampler(buffer, np.random.default_rng(0)).take(np.arange(COUNT)[None], agent.tunables)


def tracer_of(agent: TD3, **values: Any) -> TD3Tracer:
    tracer = make_tracer(agent, tiny(**values)[0], SIZES)
    assert isinstance(tracer, TD3Tracer)
    return tracer


def agent_of(**values: Any) -> TD3:
    config, tunables = tiny(**values)
    agent = make(config, tunables, SIZES)
    assert isinstance(agent, TD3)
    return agent


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_numbers_are_those_of_the_paper_through_two_cycles_of_the_delay(
    case: dict[str, Any],
) -> None:
    agent, reference, noise = prepared(**case)
    tracer = tracer_of(agent, seed=3, **case)
    delay = agent.tunables.policy_delay
    for number in range(1, 2 * delay + 1):
        data, drawn = batch(COUNT, seed=number), noise()
        expected = expected_of(reference, data, drawn)
        found = tracer.update(draws_of(agent, number), env_steps=number, single=True)
        told = reference.update(data, drawn)
        assert (found.updates, found.moved_actor) == (number, number % delay == 0)
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(found, name), value, rtol=2e-3, atol=2e-4)
        if found.moved_actor:
            assert found.actor_loss == pytest.approx(told["actor_loss"], rel=2e-3)
        assert (found.actor_loss is None) == (not found.moved_actor)
        assert (len(found.policy) == 0) == (not found.moved_actor)


def expected_of(reference: ReferenceTD3, data: Any, noise: Any) -> dict[str, Any]:
    """Return NumPy's values for the coming update in double precision."""
    obs, action, reward, next_obs, terminated = (np.float64(part) for part in data)
    live, critics = reference.settings, reference.critics
    policy = reference.act("actor_target", next_obs)
    wanted = noise * live.policy_noise
    cut = np.clip(wanted, -live.noise_clip, live.noise_clip)
    next_action = np.clip(policy + cut, -1.0, 1.0)
    target_q = [reference.value(f"{name}_target", next_obs, next_action) for name in critics]
    y = reference.target(data, noise)
    q = [reference.value(name, obs, action) for name in critics]
    return {
        "obs": obs.mean(0),
        "action": action.mean(0),
        "next_obs": next_obs.mean(0),
        "target_policy": policy.mean(0),
        "next_action": next_action.mean(0),
        "reward": reward.mean(),
        "terminated": terminated.mean(),
        "noise": np.abs(cut).mean(),
        "noise_clipped": (np.abs(wanted) > live.noise_clip).mean(),
        "target_q": [each.mean() for each in target_q],
        "target_min": np.min(target_q, axis=0).mean(),
        "first_smaller": (target_q[0] <= target_q[-1]).mean(),
        "y": y.mean(),
        "q": [each.mean() for each in q],
        "critic_loss": [np.square(each - y).mean() for each in q],
    }


@pytest.mark.parametrize("case", TQC_CASES.values(), ids=TQC_CASES)
def test_the_numbers_of_tqc_are_those_of_its_quantiles(case: dict[str, Any]) -> None:
    agent = agent_of(policy_noise=0.0, engine="torch", **case)
    draws = draws_of(agent)
    (data,) = draws
    obs, action, reward, next_obs, terminated = map(torch.from_numpy, data)
    with torch.no_grad():
        next_action = act(agent.actor.target, next_obs)
        ahead, now = (
            torch.stack([critic(torch.cat(pair, 1)) for critic in networks], 1)
            for networks, pair in (
                (agent.critics.target.networks, (next_obs, next_action)),
                (agent.critics.online.networks, (obs, action)),
            )
        )
    members, quantiles = ahead.shape[1:]
    kept = members * (quantiles - agent.tunables.dropped_quantiles)
    values = ahead.reshape(COUNT, -1)
    order = values.argsort(1)[:, :kept]
    z = values.gather(1, order)
    y = reward + agent.tunables.gamma * (1.0 - terminated) * z
    found = tracer_of(agent, **case).update(draws, env_steps=1, single=True)
    assert found.target_q == pytest.approx(ahead.mean((0, 2)).tolist(), rel=1e-4)
    assert found.q == pytest.approx(now.mean((0, 2)).tolist(), rel=1e-4)
    assert found.target_min == pytest.approx(float(z.mean()), rel=1e-4)
    assert found.first_smaller == pytest.approx(float((order < quantiles).double().mean()))
    assert found.y == pytest.approx(float(y.mean()), rel=1e-4)
    assert found.target_min < sum(found.target_q) / members


@pytest.mark.parametrize("case", (CASES | TQC_CASES).values(), ids=CASES | TQC_CASES)
def test_a_traced_agent_is_the_untraced_one_bit_for_bit(case: dict[str, Any]) -> None:
    watched, alone = agent_of(**case), agent_of(**case)
    tracer = tracer_of(watched, **case)
    for number in range(4):
        before = watched.learned()
        found = tracer.update(draws_of(watched, number), env_steps=number, single=False)
        alone.update_from(draws_of(alone, number))
        assert same(watched.state(), alone.state())
        after = watched.learned()
        for change in found.changes:
            parts = [name for name in before if name.startswith(f"{change.network}.")]
            moved = [(after[name].astype(float) - before[name]).ravel() for name in parts]
            assert change.step == pytest.approx(np.linalg.norm(np.concatenate(moved)), rel=1e-4)
            weights = np.concatenate([before[name].ravel() for name in parts])
            assert change.weight == pytest.approx(np.linalg.norm(weights), rel=1e-4)
        targets = {each.network for each in found.changes if each.step and "_t" in each.network}
        assert bool(targets) == found.moved_actor
    assert watched.take_metrics() == alone.take_metrics()


def test_what_the_settings_are_now_holds_for_the_reference_too() -> None:
    agent = make_agent()
    tracer = tracer_of(agent)
    first = tracer.update(draws_of(agent), env_steps=1, single=False)
    agent.apply(tiny(gamma=0.5, policy_noise=0.0)[1])
    second = tracer.update(draws_of(agent), env_steps=2, single=False)
    assert (first.tunables.gamma, second.tunables.gamma) == (0.99, 0.5)
    assert first.noise > 0.0
    assert second.noise == 0.0
    np.testing.assert_array_equal(second.next_action, second.target_policy)


def test_the_tracer_of_an_algorithm_is_named_in_its_entry() -> None:
    agent = make_agent()
    assert isinstance(make_tracer(agent, tiny()[0], SIZES), TD3Tracer)
