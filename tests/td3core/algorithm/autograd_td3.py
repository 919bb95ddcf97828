"""TD3 with modules and optimisers of torch, written apart from the package."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from td3core.buffer.rows import Batch
from td3core.config import RunConfig, Tunables

ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh}


class AutogradTD3:
    """The networks of an agent's state, trained by torch's own gradients and Adam."""

    def __init__(self, state: Mapping[str, Any], config: RunConfig, tunables: Tunables) -> None:
        self.tunables, self.updates = tunables, 0
        self.nets = {
            name: build(state, name, *form_of(name, config))
            for name in sorted({key.split(".")[0] for key in state if "_adam" not in key})
            if name != "generator"
        }
        self.critics = [name for name in ("critic1", "critic2") if name in self.nets]
        self.actor_adam = torch.optim.Adam(self.nets["actor"].parameters(), lr=tunables.actor_lr)
        parameters = [p for name in self.critics for p in self.nets[name].parameters()]
        self.critic_adam = torch.optim.Adam(parameters, lr=tunables.critic_lr)

    def act(self, name: str, obs: Tensor) -> Tensor:
        return torch.tanh(self.nets[name](obs))

    def value(self, name: str, obs: Tensor, action: Tensor) -> Tensor:
        found: Tensor = self.nets[name](torch.cat((obs, action), 1))
        return found

    def update(self, batch: Batch, noise: Any) -> None:
        self.updates += 1
        t = self.tunables
        obs, action, reward, next_obs, terminated = (torch.from_numpy(part) for part in batch)
        with torch.no_grad():
            smoothing = (torch.from_numpy(noise) * t.policy_noise).clamp(
                -t.noise_clip, t.noise_clip
            )
            next_action = (self.act("actor_target", next_obs) + smoothing).clamp(-1, 1)
            values = [self.value(f"{q}_target", next_obs, next_action) for q in self.critics]
            y = reward + t.gamma * (1 - terminated) * torch.stack(values).amin(0)
        self.critic_adam.zero_grad()
        losses = [F.mse_loss(self.value(q, obs, action), y) for q in self.critics]
        torch.stack(losses).sum().backward()
        self.critic_adam.step()
        if self.updates % t.policy_delay == 0:
            self._update_actor(obs)
            self._average()

    def _update_actor(self, obs: Tensor) -> None:
        action = self.act("actor", obs)
        loss = -self.value("critic1", obs, action).mean()
        loss = loss + self.tunables.action_penalty * (action**2).mean()
        parameters = list(self.nets["actor"].parameters())
        for parameter, gradient in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter.grad = gradient
        self.actor_adam.step()

    @torch.no_grad()
    def _average(self) -> None:
        for name in ("actor", *self.critics):
            pairs = zip(
                self.nets[f"{name}_target"].parameters(), self.nets[name].parameters(), strict=True
            )
            for slow, fast in pairs:
                slow.lerp_(fast, self.tunables.tau)

    def parts(self) -> Iterator[tuple[str, nn.Parameter]]:
        """Yield every weight and bias under its name in a checkpoint."""
        for name, net in self.nets.items():
            linear = [layer for layer in net if isinstance(layer, nn.Linear)]
            for i, layer in enumerate(linear):
                yield f"{name}.{i}.weight", layer.weight
                yield f"{name}.{i}.bias", layer.bias


def form_of(name: str, config: RunConfig) -> tuple[str, bool]:
    if name.startswith("actor"):
        return config.actor_activation, False
    return config.critic_activation, config.critic_layer_norm


def build(state: Mapping[str, Any], name: str, activation: str, norm: bool) -> nn.Sequential:
    """Build one network from its arrays."""
    modules: list[nn.Module] = []
    while f"{name}.{len(modules) // 3}.weight" in state:
        key = f"{name}.{len(modules) // 3}"
        weight, bias = state[f"{key}.weight"], state[f"{key}.bias"]
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict(
            {"weight": torch.from_numpy(weight.copy()), "bias": torch.from_numpy(bias.copy())}
        )
        normalise = nn.LayerNorm(len(bias), elementwise_affine=False) if norm else nn.Identity()
        modules += [layer, normalise, ACTIVATIONS[activation]()]
    return nn.Sequential(*modules[:-2])


def gradients(agent: Any) -> dict[str, Any]:
    """Return the gradients of an agent of ours, under the names of its weights."""
    return {
        name: part.numpy()
        for learner in (agent.actor, agent.critics)
        for name, part in learner.gradient.named()
    }


def target_value(agent: Any, data: Batch) -> Any:
    """Return y (batch, 1) of the torch update, with the noise that is next."""
    noise = agent._smoothing.standard_normal(data.action.shape, np.float32)
    tensors = Batch(*(torch.from_numpy(part) for part in data))
    return agent._target_value(tensors, torch.from_numpy(noise)).numpy()


def draw(generator: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return generator.standard_normal(shape, np.float32)
