"""The zip: stable-baselines3 loads it, predicts the agent's actions, and learns on."""

import dataclasses
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from td3core import checkpoint
from td3core.errors import RequestError
from td3core.exporters import stable_baselines3_zip
from td3core.importers.stable_baselines3 import read
from tests.td3core.exporters.actors import BUNDLED, KINDS, expected, replayed, trained
from tests.td3core.helpers import finish


@pytest.fixture
def peer() -> Any:
    return pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")


def notes(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("td3_studio.json"))


def tensors(path: Path, member: str) -> Any:
    with zipfile.ZipFile(path) as archive:
        return torch.load(io.BytesIO(archive.read(member)), weights_only=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_the_peer_predicts_the_actions_of_the_networks_written_out(
    runs_dir: Path, tmp_path: Path, kind: str, peer: Any
) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "agent.zip"
    said = stable_baselines3_zip.export(source, target)
    assert str(said).startswith("largest error ")
    model, obs = peer.TD3.load(target, device="cpu"), replayed(source)
    found, _ = model.predict(obs, deterministic=True)
    assert found == pytest.approx(expected(source, obs, kind), abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_its_critics_value_as_those_of_the_agent(
    runs_dir: Path, tmp_path: Path, kind: str, peer: Any
) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "agent.zip"
    stable_baselines3_zip.export(source, target)
    model, obs = peer.TD3.load(target, device="cpu"), replayed(source)
    action = np.linspace(-1, 1, len(obs), dtype=np.float32)[:, None]
    saved = checkpoint.load(source)
    for theirs, ours in (
        (model.critic, saved.critic()),
        (model.critic_target, saved.target_critic()),
    ):
        assert ours is not None
        with torch.no_grad():
            values = theirs(torch.from_numpy(obs), torch.from_numpy(action))
        found = torch.stack(values)[..., 0].numpy()
        assert found == pytest.approx(ours(obs, action), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_peer_learns_on_from_where_the_agent_was(
    runs_dir: Path, tmp_path: Path, kind: str, peer: Any
) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "agent.zip"
    stable_baselines3_zip.export(source, target)
    header = checkpoint.read_header(source)
    model = peer.TD3.load(target, env=gym.make("Pendulum-v1"), device="cpu")
    assert (model.num_timesteps, model._n_updates) == (60, header.counters.updates)
    assert str(model.action_noise) == "NormalActionNoise(mu=[0.], sigma=[0.1])"
    before = [each.detach().clone() for each in model.critic.parameters()]
    model.learn(20, reset_num_timesteps=False)
    assert model.num_timesteps == 80
    assert model._n_updates == header.counters.updates + 20
    moved = [not torch.equal(a, b) for a, b in zip(before, model.critic.parameters(), strict=True)]
    assert all(moved)
    model.save(tmp_path / "again.zip")
    peer.TD3.load(tmp_path / "again.zip", device="cpu")


def test_moments_of_adam_come_with_the_weights(runs_dir: Path, tmp_path: Path, peer: Any) -> None:
    source, target = trained(runs_dir, "relu"), tmp_path / "agent.zip"
    stable_baselines3_zip.export(source, target)
    saved = checkpoint.load(source).tensors
    model = peer.TD3.load(target, device="cpu")
    states = model.critic.optimizer.state_dict()["state"]
    assert len(states) == 12
    for at, name in ((0, "critic1.0.weight"), (5, "critic1.2.bias"), (6, "critic2.0.weight")):
        for moment in ("exp_avg", "exp_avg_sq"):
            assert np.array_equal(states[at][moment], saved[f"critic_adam.{name}.{moment}"])
        assert float(states[at]["step"]) == saved["critic_adam.step"][0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"exploration_noise_decay": 0.99}, "Exploration noise stays as it is"),
        (
            {"exploration_noise": "0.3@0, 0.1@100", "tau": "0.02@0, 0.005@100%"},
            "Schedules are not carried over: exploration_noise, tau.",
        ),
        ({"num_envs": 2}, "The agent learned in 2 environments at once"),
        ({"env_args": '{"action_repeat": 2}'}, "Take each action 2 times."),
        ({"action_penalty": 0.5}, "The penalty on the actor's actions is not carried over."),
        ({"reward_floor": -10.0}, "The critics learned from max(reward × 1, -10)."),
    ],
)
def test_what_the_peer_cannot_do_is_said(
    runs_dir: Path, tmp_path: Path, values: dict[str, Any], said: str
) -> None:
    source = finish(runs_dir, "Pendulum-v1", steps=40, **values).last_checkpoint
    assert source is not None
    stable_baselines3_zip.export(source, tmp_path / "agent.zip")
    assert any(each.startswith(said) for each in notes(tmp_path / "agent.zip")["notes"])
    # The noise that is left after all decay.
    left = checkpoint.read_header(source).counters.exploration_noise
    found = read(tmp_path / "agent.zip")
    assert found.settings["exploration_noise"] == pytest.approx(left)
    # Whoever imports it again is told as well: a branch trains without it.
    if "env_args" not in values:
        assert any(str(note).startswith(f"The export says: {said}") for note in found.notes)


def test_a_bundled_agent_says_what_its_file_lacks(tmp_path: Path, peer: Any) -> None:
    target = tmp_path / "agent.zip"
    stable_baselines3_zip.export(BUNDLED / "BipedalWalker-v3.safetensors", target)
    told = notes(target)
    assert (told["action_repeat"], told["control_rate_hz"]) == (1, 50.0)
    assert "The optimiser state is reset: the file was that of an agent only." in told["notes"]
    assert "The targets start as copies: the file was that of an agent only." in told["notes"]
    policy = tensors(target, "policy.pth")
    assert torch.equal(policy["critic.qf1.0.weight"], policy["critic_target.qf1.0.weight"])


def test_normalisation_that_is_clipped_is_refused_with_its_observation(
    runs_dir: Path, tmp_path: Path
) -> None:
    source = trained(runs_dir, "normalised")
    saved = checkpoint.load(source)
    narrow = saved.tensors | {"obs_norm.squares": np.array([60.0, 60.0, 1e-5])}
    checkpoint.save(source, saved.header, narrow)
    with pytest.raises(RequestError, match="Observation 2 is clipped at 10 standard deviations"):
        stable_baselines3_zip.export(source, tmp_path / "agent.zip")
    assert not (tmp_path / "agent.zip").exists()


def test_what_the_peer_has_not_is_refused(runs_dir: Path, tmp_path: Path) -> None:
    mixed = finish(runs_dir, "Pendulum-v1", steps=30, critic_activation="tanh").last_checkpoint
    assert mixed is not None
    with pytest.raises(RequestError, match="actor has relu, its critics have tanh"):
        stable_baselines3_zip.export(mixed, tmp_path / "agent.zip")
    normal = finish(runs_dir, "Pendulum-v1", steps=30, critic_layer_norm=True).last_checkpoint
    assert normal is not None
    with pytest.raises(RequestError, match="no layer normalisation in its critics"):
        stable_baselines3_zip.export(normal, tmp_path / "agent.zip")
    quantiles = finish(runs_dir, "Pendulum-v1", steps=30, algorithm="tqc").last_checkpoint
    assert quantiles is not None
    with pytest.raises(RequestError, match="this agent's critics output 25 quantiles"):
        stable_baselines3_zip.export(quantiles, tmp_path / "agent.zip")
    saved = checkpoint.load(trained(runs_dir, "relu"))
    lonely = {name: each for name, each in saved.tensors.items() if name.startswith("actor.")}
    alone = tmp_path / "alone.safetensors"
    checkpoint.save(alone, dataclasses.replace(saved.header, complete=False), lonely)
    with pytest.raises(RequestError, match="holds the actor only"):
        stable_baselines3_zip.export(alone, tmp_path / "agent.zip")


def test_the_export_needs_neither_torch_nor_the_peer(root: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path;"
        "from td3core.exporters.stable_baselines3_zip import export;"
        f"export(Path({str(BUNDLED / 'Pendulum-v1.safetensors')!r}),"
        f" Path({str(tmp_path / 'a.zip')!r}));"
        "print(sorted({'torch', 'stable_baselines3', 'cloudpickle'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "torch" not in done.stdout
    assert "stable_baselines3" not in done.stdout
