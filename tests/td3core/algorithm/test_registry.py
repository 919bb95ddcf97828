"""Algorithms are entries: what a run needs to know of one, and how to add one."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from td3core import checkpoint
from td3core.algorithm import engine
from td3core.algorithm.agent import make_agent, make_tracer
from td3core.algorithm.td3 import TD3 as TD3Agent
from td3core.algorithm.td3 import act
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.checkpoint.shapes import network_shapes
from td3core.config import Tunables, algorithms, check_together, make_settings, title_of
from td3core.config.algorithms import ALGORITHMS, DDPG, TD3
from td3core.config.network_size import network_bytes
from td3core.config.networks import CRITIC, NetworkGroup, Sizes, actor_and_critics, networks
from td3core.config.presets import compose
from td3core.config.run_config import RunConfig
from td3core.errors import RequestError
from td3core.runs.new_run import new_folder
from tests.support.scripted import STEPS
from tests.td3core.helpers import finish, learn, make_header, same, tensors, tiny

SIZES = Sizes(3, 2)


def three_critics(config: RunConfig, sizes: Sizes) -> dict[str, NetworkGroup]:
    """Return the networks of TD3 with one critic more."""
    found = actor_and_critics(config, sizes)
    critics = found[CRITIC]
    return found | {CRITIC: critics._replace(names=(*critics.names, "critic3"))}


def with_values(config: RunConfig, sizes: Sizes) -> dict[str, NetworkGroup]:
    """Return the networks of TD3, and a value network beside them."""
    value = NetworkGroup(("value",), (sizes.obs_dim, 8, 1), "relu")
    return {**actor_and_critics(config, sizes), "value": value}


class Valued(TD3Agent):
    """TD3 with a value network V(s) that learns Q1(s, π(s)) beside it."""

    def apply(self, tunables: Tunables) -> None:
        """Use the critics' learning rate for it."""
        super().apply(tunables)
        self._states["value"].lr.fill_(tunables.critic_lr)

    def _update_actor(self, obs: Tensor) -> None:
        super()._update_actor(obs)
        pair = torch.cat((obs, act(self.actor.online, obs)), 1).detach()
        value = self._states["value"]
        error = value.online.networks[0](obs) - self.critics.online.networks[0](pair).detach()
        value.descend(error.square().mean())


def test_every_entry_makes_an_agent_with_the_networks_it_declares() -> None:
    for name in ALGORITHMS:
        config, tunables = tiny(algorithm=name)
        agent = make_agent(config, tunables, SIZES)
        shapes = {key: array.shape for key, array in agent.state().items()}
        for group in networks(config, SIZES).values():
            for network in (*group.names, *group.targets):
                assert group.shapes(network).items() <= shapes.items()


def test_entries_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        ALGORITHMS[TD3].title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        ALGORITHMS["other"] = ALGORITHMS[TD3]  # type: ignore[index]


def test_ddpg_is_td3_without_its_tricks_bit_for_bit(runs_dir: Path) -> None:
    named = finish(runs_dir / "named", algorithm=DDPG)
    off = {"twin_critics": False, "policy_delay": 1, "policy_noise": 0.0}
    spelt = finish(runs_dir / "spelt", **off)
    assert same(tensors(named.last_checkpoint), tensors(spelt.last_checkpoint))
    for ended in (named, spelt):
        assert ended.last_checkpoint is not None
        header = checkpoint.read_header(ended.last_checkpoint)
        assert title_of(header.config, header.tunables) == "DDPG"
        assert "_ddpg_" in ended.run.name


@pytest.mark.parametrize(
    "values", [{"twin_critics": True}, {"policy_delay": 2}, {"policy_noise": 0.1}], ids=str
)
def test_what_an_algorithm_fixes_cannot_be_set_otherwise(values: dict[str, Any]) -> None:
    (name,) = values
    with pytest.raises(RequestError, match=f"{name} must be .* with algorithm ddpg"):
        check_together(*tiny(algorithm=DDPG, **values))


def test_a_preset_gives_way_to_what_an_algorithm_fixes() -> None:
    config, tunables = compose("BipedalWalker-v3", ["TD3 without delay"], {"algorithm": DDPG})
    check_together(config, tunables)
    assert not config.twin_critics


def test_settings_written_before_there_was_a_choice_are_td3() -> None:
    assert make_settings({"env": STEPS})[0].algorithm == TD3


def test_an_algorithm_with_a_network_more_needs_an_entry_and_its_agent_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    entry = replace(ALGORITHMS[TD3], title="TD3 of three", networks=f"{__name__}:three_critics")
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**ALGORITHMS, "three": entry})
    header = make_header(Path())
    usual = network_bytes(header.config, header.tunables, SIZES)
    one_critic = networks(header.config, SIZES)[CRITIC].parameters
    # The form and the files offer what was there when the settings were declared.
    object.__setattr__(header.config, "algorithm", "three")
    assert title_of(header.config, header.tunables) == "TD3 of three"
    assert "_td3-of-three_s" in new_folder(tmp_path, header.config, header.tunables).name
    agent = make_agent(header.config, header.tunables, SIZES)
    before = agent.state()
    learn(agent, filled(), np.zeros((2, 8), np.int64))
    state = agent.state()
    for name in ("critic3", "critic3_target"):
        assert not np.array_equal(state[f"{name}.0.weight"], before[f"{name}.0.weight"])
    assert {"critic_adam.critic3.1.bias.exp_avg_sq"} <= state.keys()
    assert network_shapes(header).keys() <= state.keys()
    assert network_bytes(header.config, header.tunables, SIZES) > usual + 4 * 5 * one_critic
    critic = checkpoint.Checkpoint(header=header, tensors=state).critic()
    assert critic is not None
    assert critic.count == 3


def test_a_network_beside_actor_and_critics_is_kept_restored_and_checked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"agent": f"{__name__}:Valued", "networks": f"{__name__}:with_values"}
    monkeypatch.setattr(
        algorithms, "ALGORITHMS", {**ALGORITHMS, "valued": replace(ALGORITHMS[TD3], **own)}
    )
    config, tunables = tiny(policy_delay=1)
    plain = make_agent(config, tunables, SIZES)
    object.__setattr__(config, "algorithm", "valued")
    agent, other = (make_agent(config, tunables, SIZES) for _ in range(2))
    before = agent.state()
    index = np.random.default_rng(1).integers(0, 4, (3, 8))
    for each in (agent, plain):
        learn(each, filled(), index)
    state = agent.state()
    assert not np.array_equal(state["value.0.weight"], before["value.0.weight"])
    assert same({name: state[name] for name in plain.state()}, plain.state())
    other.load_state(state, agent.updates)
    assert same(other.state(), state)
    state["value.1.bias"] = np.array([np.nan], np.float32)
    other.load_state(state, agent.updates)
    assert other.diverged_network() == "value"


def test_an_algorithm_without_a_tracer_shows_no_update(monkeypatch: pytest.MonkeyPatch) -> None:
    config, tunables = tiny()
    agent = make_agent(config, tunables, SIZES)
    assert make_tracer(agent, config, SIZES) is not None
    entry = replace(ALGORITHMS[TD3], tracer="")
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**ALGORITHMS, TD3: entry})
    assert make_tracer(agent, config, SIZES) is None


def test_another_algorithm_is_not_called_ddpg_for_having_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = replace(ALGORITHMS[TD3], title="Other", agent="elsewhere:Agent")
    monkeypatch.setattr(algorithms, "ALGORITHMS", {**ALGORITHMS, "other": entry})
    config, tunables = tiny(twin_critics=False, policy_delay=1, policy_noise=0.0)
    assert title_of(config, tunables) == "DDPG"
    object.__setattr__(config, "algorithm", "other")
    assert title_of(config, tunables) == "Other"


def test_an_engine_is_taken_for_the_algorithms_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "COMPILED_ALGORITHMS", (TD3,))
    assert engine.resolve(tiny()[0]).engine == "compiled"
    assert engine.resolve(tiny(algorithm=DDPG)[0]).engine == "torch"
    with pytest.raises(RequestError, match="engine cannot be compiled: it has no ddpg"):
        engine.resolve(tiny(algorithm=DDPG, engine="compiled")[0])


def filled() -> ReplayBuffer:
    buffer = ReplayBuffer(4, *SIZES)
    buffer.rows[:] = np.random.default_rng(0).uniform(-1.0, 1.0, buffer.rows.shape)
    buffer.stored = 4
    return buffer
