"""TD3, in the order of the paper (Fujimoto et al., 2018, algorithm 1).

Gradients are written by hand: an update is a fixed sequence of products into preallocated arrays.
Live settings enter the arithmetic as 0-dim tensors, so that a CUDA graph can follow them.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from td3core.algorithm.cuda_graphs import Graphs
from td3core.algorithm.device_batches import DeviceBatches
from td3core.algorithm.train_state import TrainState
from td3core.algorithm.update_metrics import UpdateMetrics
from td3core.algorithm.workspace import UpdateWorkspace
from td3core.arrays import Arrays, Floats
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig, Tunables
from td3core.config.algorithms import networks
from td3core.config.networks import ACTOR, CRITIC, Sizes
from td3core.config.run_config import COMPILED
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.randomness import Purpose, generator, generator_state, restore_generator

if TYPE_CHECKING:
    from td3core.algorithm.fused.update import FusedUpdate


class TD3:
    """Six networks (an actor, two critics, a target of each) and the update that trains them.

    With ``twin_critics`` off there is one critic and no minimum, as in DDPG.
    """

    def __init__(self, config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> None:
        self._config = config
        self.device = device = torch.device(config.device)
        source = generator(config.seed, Purpose.NETWORK_INIT)
        groups = networks(config, Sizes(obs_dim, act_dim))
        self.actor, self.critics = (
            TrainState(role, groups[role], source, device) for role in (ACTOR, CRITIC)
        )
        # With the networks on a GPU, acting uses a copy of the actor on the CPU.
        self._acting = self.actor.online
        if self._acting.flat.is_cuda:
            self._acting = self._acting.like(self._acting.flat.cpu())
        self._smoothing = generator(config.seed, Purpose.SMOOTHING)
        self._workspace = UpdateWorkspace(config, self.actor, self.critics, tunables.batch_size)
        # Always explicit: an environment may change torch's default data type or device.
        live = torch.zeros(4, dtype=torch.float32, device=device)
        self._gamma, self._tau, self._sigma, self._clip = live.unbind()
        self._lr_share = 1.0
        self.updates = 0
        self._metrics = UpdateMetrics(
            [name for group in groups.values() for name in group.names], device
        )
        self._graphs = Graphs(self._improve) if live.is_cuda else None
        self.fused = self._compiled_update() if config.engine == COMPILED else None
        """The compiled update, if that is the engine of the run."""
        self._batches = DeviceBatches(device)
        self.apply(tunables)

    def apply(self, tunables: Tunables) -> None:
        """Use these live settings from the next update on."""
        self.tunables = tunables
        self._gamma.fill_(tunables.gamma)
        self._tau.fill_(tunables.tau)
        self._sigma.fill_(tunables.policy_noise)
        self._clip.fill_(tunables.noise_clip)
        self._set_learning_rates()

    def set_lr_share(self, share: float) -> None:
        """Scale both learning rates by ``share``, for a schedule that lowers them."""
        self._lr_share = share
        self._set_learning_rates()

    def _set_learning_rates(self) -> None:
        share = self._lr_share
        self.actor.lr.fill_(share * self.tunables.actor_lr)
        self.critics.lr.fill_(share * self.tunables.critic_lr)

    def policy(self, normaliser: Normaliser | None = None) -> Policy:
        """Return the actor as a NumPy policy; it shares the weights and follows every update."""
        layers = [(w[0].numpy(), b[0, 0].numpy()) for w, b in self._acting.layers]
        return Policy(layers, self.actor.group.activation, normaliser)

    # The algorithm ------------------------------------------------------------------------------

    def update(self, batch: Batch[Floats] | Batch[Tensor]) -> None:
        """Update the critics, and every ``policy_delay``-th time the actor and all targets."""
        self.updates += 1
        moves_actor = self.updates % self.tunables.policy_delay == 0
        self._load(batch)
        if self._graphs is None:
            self._improve(moves_actor)
        else:
            self._graphs.replay(moves_actor, self._tensors)
        self._metrics.count(1, int(moves_actor))
        if moves_actor and self._acting is not self.actor.online:
            self._acting.flat.copy_(self.actor.online.flat)

    def update_from(self, draws: Draws) -> None:
        """Do the updates of ``draws``; the compiled update does all of them in one call."""
        if self.fused is None:
            for batch in self._batches(draws):
                self.update(batch)
            return
        moved = self.fused(draws, self.tunables, self._lr_share, self.updates)
        self.updates += len(draws)
        self._metrics.count(len(draws), moved)

    def _compiled_update(self) -> "FusedUpdate":
        # Numba takes half a second to load.
        from td3core.algorithm.fused.update import FusedUpdate

        sums = self._metrics.sums.numpy()
        return FusedUpdate(self._config, self.actor, self.critics, self._smoothing, sums)

    def _improve(self, moves_actor: bool) -> None:
        self._update_critics(self._target_value())
        if moves_actor:
            self._update_actor()
            self.actor.average_target(self._tau)
            self.critics.average_target(self._tau)

    def _target_value(self) -> Tensor:
        """Return y = r + γ (1 - terminated) min(Q1', Q2')(s', ã), shape (batch, 1).

        ã = clip(π'(s') + clip(N(0, σ̃), -c, c), -1, 1): the target actor sees the *next* state.
        """
        w = self._workspace
        noise = w.next_action.mul_(self._sigma).clamp_(-self._clip, self._clip)
        noise.add_(torch.tanh_(w.actor_target.forward(w.next_obs)[0])).clamp_(-1.0, 1.0)
        smallest = torch.amin(w.critic_targets.forward(w.next_pair), dim=0)
        return smallest.mul_(1.0 - w.terminated).mul_(self._gamma).add_(w.reward)

    def _update_critics(self, y: Tensor) -> None:
        """Step both critics on L = MSE(Q1(s, a), y) + MSE(Q2(s, a), y): ∂L/∂Q = 2 (Q - y) / N."""
        w = self._workspace
        q = w.critics.forward(w.pair)
        error = q - y
        w.critics.backward(error * (2.0 / len(y)), self.critics.gradient)
        self.critics.step()
        self._metrics.add_critics(q, y, error)

    def _update_actor(self) -> None:
        """Step the actor on L = -mean Q1(s, π(s)) through ∂L/∂a; the critics get no gradient."""
        w = self._workspace
        w.own_obs.copy_(w.obs)
        action = torch.tanh(w.actor.forward(w.own_obs)[0], out=w.own_action)
        q1 = w.q1.forward(w.own_pair)
        grad_output = w.q1.input_gradient(
            torch.full_like(q1, -1.0 / len(action)), columns=w.actions
        )
        w.actor.backward(grad_output * (1.0 - action.square()), self.actor.gradient)
        self.actor.step()
        self._metrics.add_actor(q1)

    def _load(self, batch: Batch[Floats] | Batch[Tensor]) -> None:
        if len(batch.reward) != self._workspace.size:
            self._workspace = UpdateWorkspace(
                self._config, self.actor, self.critics, len(batch.reward)
            )
            self._graphs = Graphs(self._improve) if self._graphs else None
        noise = self._smoothing.standard_normal(batch.action.shape, np.float32)
        self._workspace.load(batch, noise)

    def _tensors(self) -> list[Tensor]:
        """Return all tensors that an update changes."""
        return [
            *self.actor.tensors(),
            *self.critics.tensors(),
            self._metrics.sums,
            self._workspace.rows,
        ]

    # Metrics and state --------------------------------------------------------------------------

    def take_metrics(self) -> dict[str, float]:
        """Return means over the updates since the last call by name; none without an update."""
        return self._metrics.take()

    def pending_metrics(self) -> dict[str, NDArray[Any]]:
        """Return what the next :meth:`take_metrics` is made of, as :meth:`state` has it."""
        return self._metrics.state()

    def diverged_network(self) -> str | None:
        """Return the name of a network with a weight that is not finite, if there is one."""
        return self.actor.diverged() or self.critics.diverged()

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of networks, targets, Adam moments, generator and pending metrics."""
        smoothing = {"generator.smoothing": generator_state(self._smoothing)}
        return self.actor.state() | self.critics.state() | smoothing | self._metrics.state()

    def load_state(self, arrays: Arrays, updates: int) -> None:
        """Restore what :meth:`state` returned, and the update counter."""
        self.actor.load_state(arrays)
        self.critics.load_state(arrays)
        self._acting.flat.copy_(self.actor.online.flat)
        restore_generator(self._smoothing, arrays["generator.smoothing"].astype(np.uint64))
        self._metrics.load_state(arrays)
        self.updates = updates
