"""Traces of single updates, for display.

The update itself keeps no intermediate values. So the reference first does the next update on a
copy of the agent, with the same batch and noise, and is recorded; then the agent does the update
with its own engine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from td3core.algorithm.td3 import TD3, act
from td3core.algorithm.tqc import TQC
from td3core.algorithm.update_metrics import UpdateMetrics
from td3core.arrays import Doubles
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig, Tunables
from td3core.config.networks import Sizes
from td3core.config.run_config import TORCH
from td3core.protocol.events import NetworkChange, Traced


class _Watched(UpdateMetrics):
    """Keeps the measurements of a single update."""

    def __init__(self, networks: Sequence[str]) -> None:
        super().__init__(networks, torch.device("cpu"))
        self.q: tuple[float, ...] = ()
        self.y = 0.0
        self.critic_loss: tuple[float, ...] = ()
        self.actor_loss: float | None = None

    def add_critics(self, q: Sequence[Tensor], y: Tensor, losses: Sequence[Tensor]) -> None:
        super().add_critics(q, y, losses)
        self.q, self.y = tuple(_mean(each) for each in q), _mean(y)
        self.critic_loss = tuple(_mean(each) for each in losses)

    def add_actor(self, loss: Tensor) -> None:
        super().add_actor(loss)
        self.actor_loss = _mean(loss)


class _Reference(TD3):
    """The reference on the CPU; keeps the values of its last update."""

    def __init__(self, config: RunConfig, tunables: Tunables, sizes: Sizes) -> None:
        super().__init__(replace(config, engine=TORCH, device="cpu"), tunables, *sizes)
        self.metrics = self._metrics = _Watched(
            [*self.actor.group.names, *self.critics.group.names]
        )
        self.seen: dict[str, Any] = {}
        """Values by their names in ``Traced``."""

    def _smoothed_action(self, next_obs: Tensor, noise: Tensor) -> Tensor:
        action = super()._smoothed_action(next_obs, noise)
        drawn = (self._sigma * noise).abs()
        self.seen |= {
            "next_obs": _by_dimension(next_obs),
            "target_policy": _by_dimension(act(self.actor.target, next_obs)),
            "next_action": _by_dimension(action),
            "noise": _mean(drawn.clamp(max=self._clip)),
            "noise_clipped": _mean(drawn > self._clip),
        }
        return action

    def _target_value(self, batch: Batch[Tensor], noise: Tensor) -> Tensor:
        self.seen |= {
            "obs": _by_dimension(batch.obs),
            "action": _by_dimension(batch.action),
            "reward": _mean(batch.reward),
            "terminated": _mean(batch.terminated),
        }
        return super()._target_value(batch, noise)

    def _update_actor(self, obs: Tensor) -> None:
        with torch.no_grad():
            self.seen["policy"] = _by_dimension(act(self.actor.online, obs))
        super()._update_actor(obs)


class _WatchedTD3(_Reference):
    def _target_q(self, next_obs: Tensor, next_action: Tensor) -> list[Tensor]:
        q = super()._target_q(next_obs, next_action)
        smallest = torch.stack(q).amin(0)
        self.seen |= {
            "target_q": tuple(_mean(each) for each in q),
            "target_min": _mean(smallest),
            "first_smaller": _mean(q[0] == smallest),
        }
        return q


class _WatchedTQC(_Reference, TQC):
    def _target_quantiles(self, next_obs: Tensor, next_action: Tensor) -> list[Tensor]:
        found = super()._target_quantiles(next_obs, next_action)
        z, order = torch.cat(found, 1).sort(1)
        weights = self._weights(z)
        self.seen |= {
            "target_q": tuple(_mean(each) for each in found),
            "target_min": _mean(z @ weights),
            "first_smaller": _mean((order < found[0].shape[1]).to(z.dtype) @ weights),
        }
        return found


class TD3Tracer:
    """Does and traces single updates of an agent, with any engine and on any device."""

    _watched: type[_Reference] = _WatchedTD3

    def __init__(self, agent: TD3, config: RunConfig, sizes: Sizes) -> None:
        self._agent = agent
        self._reference = self._watched(config, agent.tunables, sizes)
        groups = agent.actor.group, agent.critics.group
        self._networks = [name for group in groups for name in (*group.names, *group.targets)]

    def update(self, draws: Draws, *, env_steps: int, single: bool) -> Traced:
        """Do the one update of ``draws``, and return its trace."""
        agent = self._agent
        before, tunables = agent.learned(), agent.tunables
        seen = self._watch(next(iter(draws)), before)
        agent.update_from(draws)
        after = agent.learned()
        return Traced(
            env_steps=env_steps,
            updates=agent.updates,
            tunables=tunables,
            moved_actor=agent.updates % tunables.policy_delay == 0,
            single=single,
            changes=tuple(_change(name, before, after) for name in self._networks),
            **seen,
        )

    def _watch(self, batch: Batch[Any], learned: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Let the reference do the next update; return the computed values."""
        reference, agent = self._reference, self._agent
        reference.apply(agent.tunables)
        reference.load_learned(learned, agent.updates)
        reference.seen = {"policy": np.zeros(0)}
        metrics = reference.metrics
        metrics.actor_loss = None
        reference.update(batch)
        return reference.seen | {
            "q": metrics.q,
            "y": metrics.y,
            "critic_loss": metrics.critic_loss,
            "actor_loss": metrics.actor_loss,
        }


class TQCTracer(TD3Tracer):
    """:class:`TD3Tracer` for :class:`~td3core.algorithm.tqc.TQC`."""

    _watched = _WatchedTQC


def _mean(values: Tensor) -> float:
    # Summed in float64, as the metrics of a run are averaged.
    return float(values.detach().mean(dtype=torch.float64))


def _by_dimension(values: Tensor) -> Doubles:
    means: Doubles = values.detach().mean(0, dtype=torch.float64).numpy()
    means.flags.writeable = False
    return means


def _change(
    name: str, before: Mapping[str, NDArray[Any]], after: Mapping[str, NDArray[Any]]
) -> NetworkChange:
    step = weight = 0.0
    for key, old in before.items():
        if key.startswith(f"{name}."):
            step += float(np.square(after[key] - old, dtype=np.float64).sum())
            weight += float(np.square(old, dtype=np.float64).sum())
    return NetworkChange(network=name, step=step**0.5, weight=weight**0.5)
