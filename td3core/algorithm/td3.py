"""TD3 in plain torch, in the order of the paper (Fujimoto et al., 2018, algorithm 1).

This is the reference: on a GPU it is captured as a whole, and tests compare the compiled update
with it number by number. Live settings are 0-dim tensors, so that a captured update uses their
current values.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from td3core.algorithm.cuda_graphs import CapturedUpdate
from td3core.algorithm.device_batches import DeviceBatches
from td3core.algorithm.perceptron import Parameters, Perceptron
from td3core.algorithm.train_state import TrainState
from td3core.algorithm.update_metrics import UpdateMetrics
from td3core.arrays import Arrays, Doubles, Floats
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig, Tunables
from td3core.config.networks import (
    ACTOR,
    CRITIC,
    LAST_LR,
    Sizes,
    networks,
    optimizer_of,
)
from td3core.config.run_config import COMPILED
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.randomness import Purpose, generator, generator_state, restore_generator

if TYPE_CHECKING:
    from td3core.algorithm.fused.update import FusedUpdate


LAST_EVERY = 500
"""Updates between measurements of norms and TD errors, from the first update on.

They take as long as two steps of Adam; for every row of ``training.csv`` that would be 2 % of the
time.
"""
_PERCENTILES = {"td_median": 50, "td_p90": 90, "td_p99": 99}


class TD3:
    """Six networks (an actor, two critics and a target for each) and the update that trains them.

    With ``twin_critics`` off there is a single critic and no minimum, as in DDPG.
    """

    def __init__(self, config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> None:
        device = torch.device(config.device)
        groups = networks(config, Sizes(obs_dim, act_dim))
        source = generator(config.seed, Purpose.NETWORK_INIT)
        self._states = {
            role: TrainState(role, group, source, device) for role, group in groups.items()
        }
        """By role, for each group that the algorithm declares; a subclass may declare more."""
        self.actor, self.critics = self._states[ACTOR], self._states[CRITIC]
        self._smoothing = generator(config.seed, Purpose.SMOOTHING)
        self._metrics = UpdateMetrics([n for each in groups.values() for n in each.names], device)
        # Always explicit: an environment may change torch's default data type or device.
        live = torch.zeros(5, dtype=torch.float32, device=device)
        self._gamma, self._tau, self._sigma, self._clip, self._penalty = live.unbind()
        self._stepped_at: dict[str, float] = {}
        """By role, learning rate of the last step."""
        self._unmeasured = set[str]()
        """Roles whose last step is still to be measured."""
        self._errors = live.new_zeros(0, 1)
        """|Q1(s, a) - y| of the last batch, (batch, 1); unused with the compiled update."""
        self.updates = 0
        # With the networks on a GPU, acting uses a copy of the actor on the CPU.
        self._acting = self.actor.online
        if live.is_cuda:
            self._acting = Parameters(self.actor.group, self.actor.online.flat.cpu())
        self._batches = DeviceBatches(device)
        changed = [t for each in self._states.values() for t in each.tensors()]
        changed.append(self._metrics.sums)
        self._improve = CapturedUpdate(self._update, changed) if live.is_cuda else self._update
        self.fused = self._compiled_update(config) if config.engine == COMPILED else None
        """The compiled update, if it is the engine of the run."""
        self.apply(tunables)

    def apply(self, tunables: Tunables) -> None:
        """Use these live settings from the next update on."""
        self.tunables = tunables
        self._gamma.fill_(tunables.gamma)
        self._tau.fill_(tunables.tau)
        self._sigma.fill_(tunables.policy_noise)
        self._clip.fill_(tunables.noise_clip)
        self._penalty.fill_(tunables.action_penalty)
        self.actor.lr.fill_(tunables.actor_lr)
        self.critics.lr.fill_(tunables.critic_lr)

    def policy(self, normaliser: Normaliser | None = None) -> Policy:
        """Return the actor as a NumPy policy; it shares the weights and reflects every update."""
        (actor,) = self._acting.networks
        layers = [(w.detach().numpy(), b.detach().numpy()) for w, b in actor.layers]
        return Policy(layers, self.actor.group.activation, normaliser)

    # The algorithm ------------------------------------------------------------------------------

    def update(self, batch: Batch[Floats] | Batch[Tensor]) -> None:
        """Update the critics, and every ``policy_delay``-th time the actor and all targets."""
        self.updates += 1
        if len(self._errors) != len(batch.reward):
            # An update with another batch size is captured again, too.
            self._errors = self._gamma.new_zeros(len(batch.reward), 1)
        moves_actor = self.updates % self.tunables.policy_delay == 0
        noise = self._smoothing.standard_normal(batch.action.shape, np.float32)
        self._improve(_as_tensors(batch), torch.from_numpy(noise), moves_actor)
        self._count(1, int(moves_actor))
        if moves_actor and self._acting is not self.actor.online:
            self._acting.flat.copy_(self.actor.online.flat)

    @torch.enable_grad()
    def _update(self, batch: Batch[Tensor], noise: Tensor, moves_actor: bool) -> None:
        self._update_critics(batch, self._target_value(batch, noise))
        if moves_actor:
            self._update_actor(batch.obs)
            self.actor.average_target(self._tau)
            self.critics.average_target(self._tau)

    @torch.no_grad()
    def _target_value(self, batch: Batch[Tensor], noise: Tensor) -> Tensor:
        """Return y = r + γ (1 - terminated) min(Q1', Q2')(s', ã), shape (batch, 1)."""
        next_action = self._smoothed_action(batch.next_obs, noise)
        q = self._target_q(batch.next_obs, next_action)
        return batch.reward + self._gamma * (1.0 - batch.terminated) * torch.stack(q).amin(0)

    def _smoothed_action(self, next_obs: Tensor, noise: Tensor) -> Tensor:
        """Return ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1), shape (batch, act_dim).

        The target actor sees the *next* state.
        """
        smoothing = (self._sigma * noise).clamp(-self._clip, self._clip)
        return (act(self.actor.target, next_obs) + smoothing).clamp(-1.0, 1.0)

    def _target_q(self, next_obs: Tensor, next_action: Tensor) -> list[Tensor]:
        """Return Q'(s', ã) of each critic, shape (batch, 1)."""
        return [_value(critic, next_obs, next_action) for critic in self.critics.target.networks]

    def _update_critics(self, batch: Batch[Tensor], y: Tensor) -> None:
        """Step both critics on L = MSE(Q1(s, a), y) + MSE(Q2(s, a), y)."""
        q = [_value(critic, batch.obs, batch.action) for critic in self.critics.online.networks]
        losses = [F.mse_loss(each, y) for each in q]
        self.critics.descend(torch.stack(losses).sum())
        self._errors.copy_((q[0].detach() - y).abs())
        self._metrics.add_critics(q, y, losses)

    def _update_actor(self, obs: Tensor) -> None:
        """Step the actor to increase Q1(s, π(s)); the critics get no gradient."""
        action = act(self.actor.online, obs)
        self._step_actor(_value(self.critics.online.networks[0], obs, action), action)

    def _step_actor(self, value: Tensor, action: Tensor) -> None:
        """Step the actor on L = -mean Q(s, π(s)) + λ mean π(s)², over batch and dimensions.

        The metric leaves out the penalty.
        """
        expected = value.mean()
        self.actor.descend(self._penalty * action.square().mean() - expected)
        self._metrics.add_actor(-expected)

    # Other engines, metrics and state -----------------------------------------------------------

    def update_from(self, draws: Draws) -> None:
        """Do the updates of ``draws``; the compiled update does all of them in one call."""
        if self.fused is None:
            for batch in self._batches(draws):
                self.update(batch)
            return
        count, moved = len(draws), self.fused(draws, self.tunables, self.updates)
        self.updates += count
        self._count(count, moved)

    def _count(self, updates: int, actor_updates: int) -> None:
        self._metrics.count(updates, actor_updates)
        self._stepped_at[CRITIC] = self.tunables.critic_lr
        self._unmeasured.add(CRITIC)
        if actor_updates:
            self._stepped_at[ACTOR] = self.tunables.actor_lr
            self._unmeasured.add(ACTOR)

    def _take_last(self) -> None:
        """Measure the last step of each group that stepped since its last measurement."""
        if CRITIC in self._unmeasured:
            found = np.percentile(self._td_errors(), list(_PERCENTILES.values()))
            self._metrics.set_last(dict(zip(_PERCENTILES, found.tolist(), strict=True)))
        for role, state in self._states.items():
            if role in self._unmeasured:
                self._metrics.set_last(state.norms(self._stepped_at[role]))
        self._unmeasured.clear()

    def _td_errors(self) -> Doubles:
        """Return |Q1(s, a) - y| of the last batch, shape (batch,); requires at least one update."""
        if self.fused is not None:
            return self.fused.td_errors()
        errors: Doubles = self._errors.numpy(force=True)[:, 0].astype(np.float64)
        return errors

    def _compiled_update(self, config: RunConfig) -> "FusedUpdate":
        # Imported on demand: Numba takes half a second to load.
        from td3core.algorithm.fused.update import FusedUpdate

        sums = self._metrics.sums.numpy()
        return FusedUpdate(config, self.actor, self.critics, self._smoothing, sums)

    def take_metrics(self) -> dict[str, float]:
        """Return means over the updates since the last call, by name; empty without an update."""
        since = self.updates - self._metrics.updates
        due = (since - 1) // LAST_EVERY != (self.updates - 1) // LAST_EVERY
        if due:
            self._take_last()
        return self._metrics.take(last=due)

    def pending_metrics(self) -> dict[str, NDArray[Any]]:
        """Return the sums behind the next :meth:`take_metrics`, in the form of :meth:`state`."""
        self._take_last()
        return self._metrics.state()

    def diverged_network(self) -> str | None:
        """Return the name of a network with a weight that is not finite, if there is one."""
        return next(filter(None, (each.diverged() for each in self._states.values())), None)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of networks, targets, Adam moments, generator and pending metrics."""
        found = self.learned() | self.pending_metrics()
        lr = self.tunables.actor_lr
        last = self._stepped_at.get(ACTOR, lr)
        # Omitted if it is that of the settings, so that most files are as in earlier versions.
        return found if last == lr else found | {LAST_LR: np.array([last])}

    def learned(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything the next update depends on: :meth:`state` without metrics."""
        arrays: dict[str, NDArray[Any]] = {}
        for each in self._states.values():
            arrays |= each.state()
        return arrays | {"generator.smoothing": generator_state(self._smoothing)}

    def load_state(self, arrays: Arrays, updates: int) -> None:
        """Restore what :meth:`state` returned, and the update counter."""
        self.load_learned(arrays, updates)
        self._metrics.load_state(arrays)
        if arrays[f"{optimizer_of(ACTOR)}.step"].any():
            last = arrays.get(LAST_LR, [self.tunables.actor_lr])
            self._stepped_at[ACTOR] = float(last[0])

    def load_learned(self, arrays: Arrays, updates: int) -> None:
        """Restore what :meth:`learned` returned, and the update counter."""
        for each in self._states.values():
            each.load_state(arrays)
        self._acting.flat.copy_(self.actor.online.flat)
        restore_generator(self._smoothing, arrays["generator.smoothing"].astype(np.uint64))
        self._stepped_at.clear()
        self._unmeasured.clear()
        self.updates = updates


def _as_tensors(batch: Batch[Floats] | Batch[Tensor]) -> Batch[Tensor]:
    # Not torch.as_tensor: an environment may change torch's default device.
    parts = (part if isinstance(part, Tensor) else torch.from_numpy(part) for part in batch)
    return Batch(*parts)


def act(actor: Parameters, obs: Tensor) -> Tensor:
    """Return π(s), shape (batch, act_dim)."""
    return torch.tanh(actor.networks[0](obs))


def _value(critic: Perceptron, obs: Tensor, action: Tensor) -> Tensor:
    """Return Q(s, a), shape (batch, 1)."""
    return critic(torch.cat((obs, action), 1))
