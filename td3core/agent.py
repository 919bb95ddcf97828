"""TD3, in the order of the paper (Fujimoto et al., 2018, algorithm 1)."""

import copy
import math
from collections.abc import Mapping

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from td3core.config import RunConfig, Tunables
from td3core.networks import MLP, Actor, Critic
from td3core.normalise import Normaliser
from td3core.policy import Policy
from td3core.randomness import Purpose, generator, generator_state, restore_generator
from td3core.replay import Batch

Arrays = dict[str, NDArray[np.generic]]


class TD3:
    """Six networks (actor, two critics, a target of each) and the rule that improves them.

    With ``twin_critics`` off there is one critic and no minimum, as in DDPG.
    """

    def __init__(self, config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> None:
        init = generator(config.seed, Purpose.NETWORK_INIT)
        self.actor = Actor((obs_dim, *config.actor_hidden, act_dim), config.actor_activation, init)
        critic_widths = (obs_dim + act_dim, *config.critic_hidden, 1)
        self.critics = [
            Critic(critic_widths, config.critic_activation, init)
            for _ in range(2 if config.twin_critics else 1)
        ]
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_targets = [copy.deepcopy(q).requires_grad_(False) for q in self.critics]
        self._actor_parameters = list(self.actor.parameters())
        self._critic_parameters = [p for q in self.critics for p in q.parameters()]
        self.actor_optimizer = torch.optim.Adam(self._actor_parameters, fused=True)
        self.critic_optimizer = torch.optim.Adam(self._critic_parameters, fused=True)
        self._smoothing = generator(config.seed, Purpose.SMOOTHING)
        self._actor_activation = config.actor_activation
        self._metrics: list[Tensor] = []
        self.updates = 0
        self._lr_share = 1.0
        self.apply(tunables)

    def apply(self, tunables: Tunables) -> None:
        """Use these live settings from the next update on."""
        self.tunables = tunables
        self._set_learning_rates()

    def set_lr_share(self, share: float) -> None:
        """Use this share of both learning rates, for a schedule that lowers them."""
        self._lr_share = share
        self._set_learning_rates()

    def _set_learning_rates(self) -> None:
        t, share = self.tunables, self._lr_share
        self.actor_optimizer.param_groups[0]["lr"] = share * t.actor_lr
        self.critic_optimizer.param_groups[0]["lr"] = share * t.critic_lr

    def policy(self, normaliser: Normaliser | None = None) -> Policy:
        """Return the acting side; it shares the actor's weights and follows every update."""
        layers = [(m.weight.detach().numpy(), m.bias.detach().numpy()) for m in self.actor.layers()]
        return Policy(layers, self._actor_activation, normaliser)

    def update(self, batch: Batch) -> None:
        """Do one gradient update, and every ``policy_delay``-th time that of actor and targets."""
        self.updates += 1
        obs, action, reward, next_obs, terminated = (torch.from_numpy(part) for part in batch)
        y = self.target_value(reward, next_obs, terminated)

        # Both critics step on MSE(Q1(s, a), y) + MSE(Q2(s, a), y).
        values = [critic(obs, action) for critic in self.critics]
        losses = [F.mse_loss(value, y) for value in values]
        self.critic_optimizer.zero_grad(set_to_none=True)
        torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
        self.critic_optimizer.step()

        actor_loss = None
        if self.updates % self.tunables.policy_delay == 0:
            actor_loss = self._update_actor(obs)
            self._average_targets()
        self._note(values, y, losses, actor_loss)

    @torch.no_grad()
    def target_value(self, reward: Tensor, next_obs: Tensor, terminated: Tensor) -> Tensor:
        """Return y = r + γ (1 - terminated) min(Q1', Q2')(s', ã), shape (batch, 1).

        ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1): the target actor sees the *next* state.
        """
        t = self.tunables
        next_action = self.actor_target(next_obs)
        noise = torch.from_numpy(self._smoothing.standard_normal(next_action.shape, np.float32))
        noise = (noise * t.policy_noise).clamp(-t.noise_clip, t.noise_clip)
        next_action = (next_action + noise).clamp(-1.0, 1.0)
        next_values = [critic(next_obs, next_action) for critic in self.critic_targets]
        smallest = torch.stack(next_values).amin(dim=0)
        y: Tensor = reward + t.gamma * (1.0 - terminated) * smallest
        return y

    def _update_actor(self, obs: Tensor) -> Tensor:
        """Step the actor on -mean Q1(s, π(s)); no gradient is computed for the critic's weights."""
        loss: Tensor = -self.critics[0](obs, self.actor(obs)).mean()
        gradients = torch.autograd.grad(loss, self._actor_parameters)
        for parameter, gradient in zip(self._actor_parameters, gradients, strict=True):
            parameter.grad = gradient
        self.actor_optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def _average_targets(self) -> None:
        """All targets move: θ' ← τθ + (1 - τ)θ'."""
        pairs = [
            (self.actor_target, self.actor),
            *zip(self.critic_targets, self.critics, strict=True),
        ]
        for target, online in pairs:
            for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
                slow.lerp_(fast, self.tunables.tau)

    def _note(
        self, values: list[Tensor], y: Tensor, losses: list[Tensor], actor_loss: Tensor | None
    ) -> None:
        # Kept as tensors: reading a number out of each update would stall it.
        nan = y.new_tensor(math.nan)
        means = [value.detach().mean() for value in values]
        q1, q2 = means if len(means) == 2 else (means[0], nan)
        loss1, loss2 = losses if len(losses) == 2 else (losses[0], nan)
        row = [
            q1,
            q2,
            y.mean(),
            loss1.detach(),
            loss2.detach(),
            nan if actor_loss is None else actor_loss,
        ]
        self._metrics.append(torch.stack(row))

    def unsound_network(self) -> str | None:
        """Return the name of a network with a weight that is not a finite number, if any."""
        for name, network in self._networks().items():
            if not all(torch.isfinite(p).all() for p in network.parameters()):
                return name
        return None

    def take_metrics(self) -> NDArray[np.float64] | None:
        """Return means over the updates since the last call, in the order of ``METRICS``."""
        if not self._metrics:
            return None
        rows = torch.stack(self._metrics).double()
        self._metrics.clear()
        # Not nanmean over everything: a NaN that is not one of the two expected ones has to show.
        means = rows.mean(dim=0)
        means[-1] = rows[:, -1].nanmean()
        return means.numpy()

    def state(self) -> Arrays:
        """Return copies of all networks, targets, optimiser moments and the generator."""
        arrays: Arrays = {}
        for name, network in self._networks().items():
            for key, tensor in network.state_dict().items():
                arrays[f"{name}.{key}"] = tensor.numpy().copy()
        for name, (optimizer, parameters) in self._optimizers().items():
            for key, parameter in parameters.items():
                for moment, tensor in optimizer.state.get(parameter, {}).items():
                    arrays[f"{name}.{key}.{moment}"] = tensor.numpy().copy()
        arrays["generator.smoothing"] = generator_state(self._smoothing)
        return arrays

    def load_state(self, arrays: Mapping[str, NDArray[np.generic]], updates: int) -> None:
        """Put everything back that :meth:`state` returned, and the update counter."""
        for name, network in self._networks().items():
            keys = network.state_dict().keys()
            network.load_state_dict(
                {k: torch.from_numpy(arrays[f"{name}.{k}"].copy()) for k in keys}
            )
        for name, (optimizer, parameters) in self._optimizers().items():
            optimizer.state.clear()
            for key, parameter in parameters.items():
                moments = ("step", "exp_avg", "exp_avg_sq")
                found = {
                    m: arrays[f"{name}.{key}.{m}"] for m in moments if f"{name}.{key}.{m}" in arrays
                }
                if found:
                    optimizer.state[parameter] = {
                        m: torch.from_numpy(array.copy()) for m, array in found.items()
                    }
        restore_generator(self._smoothing, arrays["generator.smoothing"].astype(np.uint64))
        self.updates = updates
        self._metrics.clear()

    def _networks(self) -> dict[str, MLP]:
        named: dict[str, MLP] = {"actor": self.actor, "actor_target": self.actor_target}
        for i, (critic, target) in enumerate(
            zip(self.critics, self.critic_targets, strict=True), 1
        ):
            named |= {f"critic{i}": critic, f"critic{i}_target": target}
        return named

    def _optimizers(self) -> dict[str, tuple[torch.optim.Adam, dict[str, Tensor]]]:
        actor: dict[str, Tensor] = dict(self.actor.named_parameters())
        critics: dict[str, Tensor] = {
            f"critic{i}.{key}": parameter
            for i, critic in enumerate(self.critics, 1)
            for key, parameter in critic.named_parameters()
        }
        return {
            "actor_adam": (self.actor_optimizer, actor),
            "critic_adam": (self.critic_optimizer, critics),
        }
