"""One update, number by number, against stable-baselines3's TD3."""

import os
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import TD3 as PeerTD3
from stable_baselines3.common.logger import configure
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from torch import nn

from td3core.algorithm.td3 import TD3
from td3core.buffer.rows import Batch
from td3core.config import RunConfig, Tunables
from tests.td3core.algorithm.autograd_td3 import gradients
from tests.td3core.helpers import new_agent

OBS, ACT, SIZE = 3, 1, 64
TIGHT = {"rtol": 1e-5, "atol": 1e-7}
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


class Drawn:
    """Stands in for the smoothing generator: hands out noise drawn beforehand."""

    def __init__(self, noise: np.ndarray) -> None:
        self._noise = noise

    def standard_normal(self, shape, dtype):
        assert tuple(shape)[-2:] == self._noise.shape
        return self._noise.astype(dtype).reshape(shape)


def make_pair(activation: str, policy_delay: int) -> tuple[TD3, PeerTD3]:
    tunables = Tunables(
        policy_delay=policy_delay, batch_size=SIZE, tau=0.01, actor_lr=1e-3, critic_lr=1e-3
    )
    config = RunConfig(
        env="Pendulum-v1",
        actor_hidden=(24, 16),
        critic_hidden=(24, 16),
        actor_activation=activation,
        critic_activation=activation,
    )
    ours = new_agent(config, tunables, OBS, ACT)
    peer = PeerTD3(
        "MlpPolicy",
        gym.make("Pendulum-v1"),
        learning_rate=1e-3,
        tau=tunables.tau,
        gamma=tunables.gamma,
        batch_size=SIZE,
        policy_delay=policy_delay,
        target_policy_noise=tunables.policy_noise,
        target_noise_clip=tunables.noise_clip,
        policy_kwargs={"net_arch": [24, 16], "activation_fn": ACTIVATIONS[activation]},
        buffer_size=1000,
        device="cpu",
    )
    peer.set_logger(configure(None, []))
    state = ours.state()
    for name, theirs in networks(peer).items():
        pairs = zip(theirs.state_dict(), layers_of(name, state), strict=True)
        theirs.load_state_dict({key: torch.from_numpy(mine) for key, mine in pairs})
    return ours, peer


def networks(peer: PeerTD3) -> dict[str, nn.Module]:
    return {
        "actor": peer.actor.mu,
        "actor_target": peer.actor_target.mu,
        "critic1": peer.critic.qf0,
        "critic2": peer.critic.qf1,
        "critic1_target": peer.critic_target.qf0,
        "critic2_target": peer.critic_target.qf1,
    }


def layers_of(name: str, arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Weights and biases of one network, from input to output."""
    return [array for key, array in arrays.items() if key.startswith(f"{name}.")]


def make_batch() -> Batch:
    source = np.random.default_rng(5)
    rows = [source.standard_normal((SIZE, n)).astype(np.float32) for n in (OBS, ACT, 1, OBS)]
    rows[1] = np.tanh(rows[1])
    ended = (source.random((SIZE, 1)) < 0.2).astype(np.float32)
    return Batch(rows[0], rows[1], rows[2], rows[3], ended)


def update_both(ours: TD3, peer: PeerTD3, monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """Update both on one batch with one noise; return what the peer logged."""
    batch = make_batch()
    torch.manual_seed(7)
    noise = torch.zeros(SIZE, ACT).normal_(0.0, 1.0).numpy()
    monkeypatch.setattr(ours, "_smoothing", Drawn(noise))
    if ours.fused is not None:
        monkeypatch.setattr(ours.fused, "_smoothing", Drawn(noise))
    parts = {name: torch.from_numpy(part) for name, part in batch._asdict().items()}
    sample = ReplayBufferSamples(
        observations=parts["obs"],
        actions=parts["action"],
        next_observations=parts["next_obs"],
        dones=parts["terminated"],
        rewards=parts["reward"],
    )
    monkeypatch.setattr(peer.replay_buffer, "sample", lambda *_, **__: sample)
    torch.manual_seed(7)
    peer.train(gradient_steps=1, batch_size=SIZE)
    ours.update(batch)
    return dict(peer.logger.name_to_value)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("policy_delay", [1, 2], ids=["delay step", "no delay step"])
def test_one_update_equals_that_of_stable_baselines(activation, policy_delay, monkeypatch):
    ours, peer = make_pair(activation, policy_delay)
    logged = update_both(ours, peer, monkeypatch)
    metrics = ours.take_metrics()
    losses = metrics["critic1_loss"] + metrics["critic2_loss"]
    np.testing.assert_allclose(losses, logged["train/critic_loss"], rtol=1e-5)
    if policy_delay == 1:
        np.testing.assert_allclose(metrics["actor_loss"], logged["train/actor_loss"], rtol=1e-5)
    state, slopes = ours.actor.state() | ours.critics.state(), gradients(ours)
    for name, theirs in networks(peer).items():
        parameters = list(theirs.parameters())
        for index, (a, b) in enumerate(zip(layers_of(name, state), parameters, strict=True)):
            np.testing.assert_allclose(
                a, b.detach().numpy(), err_msg=f"{name}, tensor {index}", **TIGHT
            )
        # At a delay step the peer's actor loss adds to its critics' gradients, unused.
        if name == "actor" if policy_delay == 1 else name in ("critic1", "critic2"):
            for index, (a, b) in enumerate(zip(layers_of(name, slopes), parameters, strict=True)):
                where = f"gradient of {name}, tensor {index}"
                np.testing.assert_allclose(a, b.grad.numpy(), err_msg=where, **TIGHT)


def test_many_updates_stay_together(monkeypatch):
    ours, peer = make_pair("relu", 2)
    for _ in range(20):
        update_both(ours, peer, monkeypatch)
    state = ours.actor.state() | ours.critics.state()
    for name, theirs in networks(peer).items():
        for a, b in zip(layers_of(name, state), theirs.parameters(), strict=True):
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_the_log_of_the_peer_is_among_the_folders_that_tests_remove() -> None:
    _, peer = make_pair("relu", 2)
    folder = peer.logger.get_dir()
    assert folder is not None
    assert Path(folder).is_relative_to(os.environ["TD3_STUDIO_RUNS"])
