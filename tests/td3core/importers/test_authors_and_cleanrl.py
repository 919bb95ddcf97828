"""CleanRL's and the authors' files: their forward passes are written out in foreign_files.py."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from td3core.checkpoint import Checkpoint
from td3core.checkpoint.agent import spec_of
from td3core.envs.make import check_env
from td3core.errors import RequestError
from td3core.importers import importing, registry
from td3core.importers.conversion import checkpoint_of, require_suitable
from td3core.playing.numbers import in_bounds
from tests.td3core.importers import foreign_files as files
from tests.td3core.importers.foreign_files import converted


def compare(agent: Checkpoint, actor: Any, critic: Any) -> None:
    """Compare with networks that act and value in the environment's bounds."""
    obs = files.observations()
    unit = np.linspace(-1, 1, len(obs), dtype=np.float32)[:, None]
    with torch.no_grad():
        expected = actor(torch.from_numpy(obs)).numpy()
        values = critic(torch.from_numpy(obs), torch.from_numpy(unit * files.HIGH))
    found = in_bounds(agent.policy()(obs), spec_of(agent.header, None))
    assert np.abs(found - expected).max() <= 1e-6 * files.HIGH
    ours = agent.critic()
    assert ours is not None
    assert np.abs(ours(obs, unit) - [each[:, 0].numpy() for each in values]).max() < 1e-5
    slow = agent.target_critic()
    assert slow is not None
    assert np.array_equal(slow(obs, unit), ours(obs, unit))


def test_an_agent_of_cleanrl_acts_and_values_as_its_networks(cleanrl: Path) -> None:
    foreign, agent = converted(cleanrl)
    actor, critics = files.read_cleanrl(cleanrl)
    compare(agent, actor, lambda s, a: [critic(s, a) for critic in critics])
    assert foreign.kind == "CleanRL TD3"
    assert foreign.likely_env == "Pendulum-v1"


def test_a_folder_of_any_name_is_no_environment(cleanrl: Path, tmp_path: Path) -> None:
    for folder in ("Downloads", "mine__too"):
        path = tmp_path / folder / cleanrl.name
        path.parent.mkdir()
        shutil.copy(cleanrl, path)
        assert importing.examine(path).likely[0] == "Pendulum-v1"
    assert "Downloads" not in importing.examine(tmp_path / "Downloads" / cleanrl.name).likely


def test_a_single_critic_of_cleanrl_is_ddpg(tmp_path: Path) -> None:
    foreign, agent = converted(files.write_cleanrl(tmp_path, critics=1))
    assert foreign.kind == "CleanRL DDPG"
    assert not agent.header.config.twin_critics
    assert agent.header.tunables.policy_delay == 1


def test_the_bounds_of_cleanrl_must_be_those_of_the_environment(cleanrl: Path) -> None:
    parts = torch.load(cleanrl, weights_only=True)
    parts[0]["action_bias"] += 0.5
    torch.save(parts, cleanrl)
    with pytest.raises(RequestError, match=r"low bounds -1.5; those of Pendulum-v1 are -2"):
        converted(cleanrl)


def test_bounds_of_cleanrl_repeated_in_rows_are_those_of_the_first_unless_they_differ(
    cleanrl: Path,
) -> None:
    parts = torch.load(cleanrl, weights_only=True)
    scale = parts[0]["action_scale"].reshape(1, -1)
    parts[0]["action_scale"] = scale.repeat(3, 1)
    torch.save(parts, cleanrl)
    assert converted(cleanrl)[1].header.env.action_high == (files.HIGH,)
    parts[0]["action_scale"][2] += 1.0
    torch.save(parts, cleanrl)
    with pytest.raises(RequestError, match="action_scale is not a number for each action"):
        converted(cleanrl)


def test_bounds_of_cleanrl_that_differ_by_rounding_are_those_of_the_environment(
    cleanrl: Path,
) -> None:
    foreign = registry.read(cleanrl)
    low, high = np.float32(0.1), np.float32(10)
    scale, bias = (high - low) / 2, (high + low) / 2
    agent = replace(foreign, low=np.array([bias - scale]), high=np.array([bias + scale]))
    assert agent.low is not None
    assert agent.low[0] != low
    info = replace(check_env("Pendulum-v1"), action_low=(float(low),), action_high=(float(high),))
    require_suitable(agent, info)
    with pytest.raises(RequestError, match="low bounds"):
        require_suitable(agent, replace(info, action_low=(0.1001,)))


def test_an_agent_of_the_authors_acts_and_values_as_its_networks(authors: Path) -> None:
    foreign, agent = converted(Path(f"{authors}_critic"))
    compare(agent, *files.read_authors(authors))
    assert foreign.kind == "sfujim/TD3"
    assert foreign.likely_env == "Pendulum-v1"


@pytest.mark.parametrize("end", ["", "_actor", "_critic_optimizer"])
def test_any_of_the_four_files_stands_for_all(authors: Path, end: str) -> None:
    assert len(converted(Path(f"{authors}{end}"))[0].sources) == 4


def test_moments_of_the_authors_are_those_of_the_scaled_weights(authors: Path) -> None:
    """The gradient by W·m is the one by W, divided by m."""
    _, agent = converted(authors)
    state = torch.load(f"{authors}_critic_optimizer", weights_only=True)["state"]
    for network, at in (("critic1", 0), ("critic2", 6)):
        first, second = (state[at][name].numpy() for name in ("exp_avg", "exp_avg_sq"))
        scale = np.array([1, 1, 1, files.HIGH], np.float32)
        name = f"critic_adam.{network}.0.weight"
        assert agent.tensors[f"{name}.exp_avg"] == pytest.approx(first / scale, rel=1e-6)
        assert agent.tensors[f"{name}.exp_avg_sq"] == pytest.approx(second / scale**2, rel=1e-6)
        assert first[:, 3].any()
    actor = torch.load(f"{authors}_actor_optimizer", weights_only=True)["state"]
    found = agent.tensors["actor_adam.actor.1.weight.exp_avg"]
    assert np.array_equal(found, actor[2]["exp_avg"].numpy())
    assert agent.tensors["actor_adam.step"] == [1.0]


def test_without_optimisers_it_is_said(tmp_path: Path) -> None:
    foreign, agent = converted(files.write_authors(tmp_path, optimisers=False))
    assert any("no optimiser state" in str(note) for note in foreign.notes)
    assert not agent.tensors["critic_adam.critic1.0.weight.exp_avg"].any()


@pytest.mark.parametrize(
    ("network", "key"), [("_actor", "l4.weight"), ("_critic", "l7.bias"), ("_actor", "bn.weight")]
)
def test_a_layer_too_many_is_refused_with_its_key(authors: Path, network: str, key: str) -> None:
    file = f"{authors}{network}"
    found = torch.load(file, weights_only=True)
    torch.save(found | {key: torch.zeros(3)}, file)
    with pytest.raises(RequestError, match=rf"there is {key}"):
        converted(authors)


def test_a_missing_file_is_named(authors: Path) -> None:
    Path(f"{authors}_critic").unlink()
    with pytest.raises(
        RequestError, match=r"TD3_Pendulum-v1_0_critic cannot be imported: the file"
    ):
        converted(authors)


def test_one_largest_action_suits_no_environment_with_several(authors: Path) -> None:
    from dataclasses import replace

    foreign, _ = converted(authors)
    with pytest.raises(RequestError, match="differ in their bounds"):
        checkpoint_of(foreign, replace(files.pendulum(), action_low=(-1.0,)))
