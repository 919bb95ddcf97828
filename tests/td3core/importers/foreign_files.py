"""Writes files as other programs do: by those programs, or by their statements copied here."""

import io
import json
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F
import yaml
from torch import nn

from td3core.checkpoint import Checkpoint
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.importers import registry
from td3core.importers.conversion import checkpoint_of
from td3core.importers.foreign import ForeignAgent

HIGH = 2.0
"""The largest torque of a pendulum."""


def pendulum() -> EnvInfo:
    return check_env("Pendulum-v1")


def converted(path: Path) -> tuple[ForeignAgent, Checkpoint]:
    found = registry.read(path)
    assert isinstance(found, ForeignAgent)
    return found, checkpoint_of(found, pendulum())


def observations(count: int = 1000) -> Any:
    """Return observations of a pendulum, shape (count, 3)."""
    source = np.random.default_rng(7)
    angle, speed = source.uniform(-np.pi, np.pi, count), source.uniform(-8, 8, count)
    return np.stack([np.cos(angle), np.sin(angle), speed], 1).astype(np.float32)


# stable-baselines3 -------------------------------------------------------------------------------


class Peers(dict[str, Path]):
    """The zips that stable-baselines3 saves, by kind; each is made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    def __missing__(self, kind: str) -> Path:
        model = _peer(kind)
        model.learn(60)
        path = self[kind] = self._folder / f"{kind}.zip"
        model.save(path)
        return path


def _peer(kind: str) -> Any:
    from stable_baselines3 import DDPG, SAC, TD3
    from stable_baselines3.common.noise import NormalActionNoise

    small: dict[str, Any] = {"buffer_size": 10_000, "learning_starts": 40, "batch_size": 16}
    small |= {"seed": 3, "device": "cpu"}
    where = "MlpPolicy", "Pendulum-v1"
    match kind:
        case "td3":
            return TD3(*where, policy_kwargs={"net_arch": [32, 32]}, **small)
        case "ddpg":
            return DDPG(*where, policy_kwargs={"net_arch": {"pi": [16], "qf": [24, 8]}}, **small)
        case "sac":
            return SAC(*where, policy_kwargs={"net_arch": [32, 24]}, **small)
    return TD3(
        *where,
        policy_kwargs={"net_arch": [32, 24], "activation_fn": nn.Tanh},
        action_noise=NormalActionNoise(np.zeros(1), 0.3 * np.ones(1)),
        train_freq=2,
        gradient_steps=-1,
        policy_delay=3,
        gamma=0.97,
        tau=0.01,
        learning_rate=5e-4,
        **small,
    )


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_zip(path: Path, contents: Mapping[str, bytes], kind: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return path


def changed(path: Path, target: Path, **replaced: bytes) -> Path:
    """Copy a zip, with other contents of the members that are named with _ for a dot."""
    found = members(path)
    new = {name: replaced.get(name.replace(".", "_"), data) for name, data in found.items()}
    return write_zip(target, new)


def with_data(path: Path, target: Path, **values: Any) -> Path:
    """Copy a zip, with other values in its description."""
    data = json.loads(members(path)["data"]) | values
    return changed(path, target, data=json.dumps(data).encode())


def tensors_of(data: bytes) -> Any:
    return torch.load(io.BytesIO(data), weights_only=True)


def saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def with_tensors(path: Path, target: Path, **more: torch.Tensor) -> Path:
    """Copy a zip, with more or other tensors in its policy; _ stands for a dot."""
    policy = tensors_of(members(path)["policy.pth"])
    policy |= {name.replace("__", "."): tensor for name, tensor in more.items()}
    return changed(path, target, policy_pth=saved(policy))


def write_zoo(folder: Path, **normalise: Any) -> Path:
    """Train with VecNormalize, and write the folder as RL Zoo does."""
    from stable_baselines3 import TD3
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

    run = folder / "Pendulum-v1_1"
    settings = run / "Pendulum-v1"
    settings.mkdir(parents=True)
    vec = VecNormalize(DummyVecEnv([lambda: gym.make("Pendulum-v1")]), **normalise)
    model = TD3(
        "MlpPolicy",
        vec,
        policy_kwargs={"net_arch": [16, 16]},
        buffer_size=500,
        learning_starts=30,
        seed=5,
        device="cpu",
    )
    model.learn(60)
    model.save(run / "Pendulum-v1.zip")
    vec.save(str(settings / "vecnormalize.pkl"))
    args = {"algo": "td3", "env": "Pendulum-v1", "env_kwargs": {"g": 9.5}, "seed": 5}
    config = {"gamma": 0.98, "normalize": True, "policy": "MlpPolicy"}
    for name, found in (("args.yml", args), ("config.yml", config)):
        (settings / name).write_text(yaml.dump(OrderedDict(found)))
    np.savez(
        run / "evaluations.npz",
        timesteps=[20, 40],
        results=[[-900.0, -1000.0], [-500.0, -700.0]],
        ep_lengths=[[200, 200], [200, 200]],
    )
    (run / "0.monitor.csv").write_text(monitor([(-1000.0, 200, 1.5), (-800.0, 200, 3.0)]))
    return run


def monitor(rows: list[tuple[float, int, float]]) -> str:
    lines = [f"{r},{length},{t}" for r, length, t in rows]
    head = ['#{"t_start": 1700000000.0, "env_id": "Pendulum-v1"}', "r,l,t"]
    return "\n".join([*head, *lines]) + "\n"


# CleanRL: the networks of td3_continuous_action.py ------------------------------------------------


class QNetwork(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(3 + 1, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc3 = nn.Linear(256, 1)

    def forward(self, x: Any, a: Any) -> Any:
        x = torch.cat([x, a], 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


class Actor(nn.Module):
    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.fc1 = nn.Linear(3, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc_mu = nn.Linear(256, 1)
        scale, bias = (high - low) / 2.0, (high + low) / 2.0
        self.register_buffer("action_scale", torch.tensor([[scale]], dtype=torch.float32))
        self.register_buffer("action_bias", torch.tensor([[bias]], dtype=torch.float32))

    def forward(self, x: Any) -> Any:
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        x = torch.tanh(self.fc_mu(x))
        return x * self.action_scale + self.action_bias


def write_cleanrl(folder: Path, critics: int = 2) -> Path:
    torch.manual_seed(1)
    networks = Actor(-HIGH, HIGH), *(QNetwork() for _ in range(critics))
    path = folder / "Pendulum-v1__td3_continuous_action__1__1700000000"
    path.mkdir(parents=True)
    file = path / "td3_continuous_action.cleanrl_model"
    torch.save(tuple(network.state_dict() for network in networks), file)
    return file


def read_cleanrl(file: Path) -> tuple[Any, list[Any]]:
    """Return actor and critics."""
    parts = torch.load(file, weights_only=True)
    networks = Actor(-HIGH, HIGH), *(QNetwork() for _ in parts[1:])
    for network, part in zip(networks, parts, strict=True):
        network.load_state_dict(part)
    return networks[0], list(networks[1:])


# sfujim/TD3: the networks of TD3.py ---------------------------------------------------------------


class AuthorsActor(nn.Module):
    def __init__(self, max_action: float) -> None:
        super().__init__()
        self.l1 = nn.Linear(3, 256)
        self.l2 = nn.Linear(256, 256)
        self.l3 = nn.Linear(256, 1)
        self.max_action = max_action

    def forward(self, state: Any) -> Any:
        a = F.relu(self.l1(state))
        a = F.relu(self.l2(a))
        return self.max_action * torch.tanh(self.l3(a))


class AuthorsCritic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l1 = nn.Linear(3 + 1, 256)
        self.l2 = nn.Linear(256, 256)
        self.l3 = nn.Linear(256, 1)
        self.l4 = nn.Linear(3 + 1, 256)
        self.l5 = nn.Linear(256, 256)
        self.l6 = nn.Linear(256, 1)

    def forward(self, state: Any, action: Any) -> Any:
        sa = torch.cat([state, action], 1)
        q1 = F.relu(self.l1(sa))
        q1 = F.relu(self.l2(q1))
        q1 = self.l3(q1)
        q2 = F.relu(self.l4(sa))
        q2 = F.relu(self.l5(q2))
        q2 = self.l6(q2)
        return q1, q2


def write_authors(folder: Path, *, optimisers: bool = True) -> Path:
    """Write the files after an update of each optimiser."""
    torch.manual_seed(2)
    actor, critic = AuthorsActor(HIGH), AuthorsCritic()
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=3e-4)
    state, action = torch.from_numpy(observations(32)), torch.rand(32, 1) * 2 * HIGH - HIGH
    q1, q2 = critic(state, action)
    loss = (q1 - 1.0).square().mean() + (q2 - 1.0).square().mean()
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    actor_optimizer.zero_grad()
    (-critic(state, actor(state))[0].mean()).backward()
    actor_optimizer.step()
    name = folder / "TD3_Pendulum-v1_0"
    parts = {"_critic": critic, "_actor": actor}
    if optimisers:
        parts |= {"_critic_optimizer": critic_optimizer, "_actor_optimizer": actor_optimizer}
    for end, part in parts.items():
        torch.save(part.state_dict(), f"{name}{end}")
    return name


def read_authors(name: Path) -> tuple[Any, Any]:
    actor, critic = AuthorsActor(HIGH), AuthorsCritic()
    actor.load_state_dict(torch.load(f"{name}_actor", weights_only=True))
    critic.load_state_dict(torch.load(f"{name}_critic", weights_only=True))
    return actor, critic
