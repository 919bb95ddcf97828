"""TD3 with truncated quantile critics, in plain torch.

Kuznetsov, Shvechikov, Grishin and Vetrov, *Controlling Overestimation Bias with Truncated Mixture
of Continuous Distributional Quantile Critics*, ICML 2020. The paper extends SAC; this extends TD3,
whose actor, target policy smoothing and policy delay are unchanged.
"""

import torch
from torch import Tensor

from td3core.algorithm.td3 import TD3, act
from td3core.buffer.rows import Batch
from td3core.config import RunConfig, Tunables


class TQC(TD3):
    """:class:`~td3core.algorithm.td3.TD3` whose critics estimate quantiles of the return.

    A critic's value is their mean. Instead of the smaller of two values, the target uses the pooled
    quantiles of both critics without the largest ones.
    """

    def __init__(self, config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> None:
        # A tensor, as a captured update needs; created before the settings are applied.
        device = torch.device(config.device)
        self._dropped = torch.zeros((), dtype=torch.float32, device=device)
        count = config.quantiles
        order = torch.arange(count, dtype=torch.float32, device=device)
        self._levels = ((order + 0.5) / count)[:, None]
        super().__init__(config, tunables, obs_dim, act_dim)

    def apply(self, tunables: Tunables) -> None:
        """Use these live settings from the next update on."""
        super().apply(tunables)
        self._dropped.fill_(tunables.dropped_quantiles)

    @torch.no_grad()
    def _target_value(self, batch: Batch[Tensor], noise: Tensor) -> Tensor:
        """Return y_i = r + γ (1 - terminated) z_(i), shape (batch, atoms), in ascending order.

        z_(i) are the quantiles of all target critics at (s', ã); :meth:`_weights` selects the kept.
        """
        next_action = self._smoothed_action(batch.next_obs, noise)
        z = torch.cat(self._target_quantiles(batch.next_obs, next_action), 1).sort(1).values
        return batch.reward + self._gamma * (1.0 - batch.terminated) * z

    def _target_quantiles(self, next_obs: Tensor, next_action: Tensor) -> list[Tensor]:
        """Return the quantiles of each target critic at (s', ã), shape (batch, quantiles)."""
        pair = torch.cat((next_obs, next_action), 1)
        return [critic(pair) for critic in self.critics.target.networks]

    def _weights(self, y: Tensor) -> Tensor:
        """Return the weight of each target, shape (atoms,): 1 / kept, and 0 if it is dropped.

        ``dropped_quantiles`` are dropped per critic, but at least one is kept.
        """
        members, quantiles = len(self.critics.group.names), len(self._levels)
        kept = members * (quantiles - self._dropped).clamp(min=1.0)
        return (torch.arange(y.shape[1], device=y.device) < kept).to(y.dtype) / kept

    def _update_critics(self, batch: Batch[Tensor], y: Tensor) -> None:
        """Step both critics on the sum of their quantile Huber losses."""
        pair, weights = torch.cat((batch.obs, batch.action), 1), self._weights(y)
        theta = [critic(pair) for critic in self.critics.online.networks]
        losses = [quantile_huber_loss(each, y, self._levels, weights) for each in theta]
        self.critics.descend(torch.stack(losses).sum())
        q = [each.detach().mean(1, keepdim=True) for each in theta]
        target = (y @ weights)[:, None]
        self._errors.copy_((q[0] - target).abs())
        self._metrics.add_critics(q, target, losses)

    def _update_actor(self, obs: Tensor) -> None:
        """Step the actor to increase all quantiles at (s, π(s)); critics get no gradient."""
        action = act(self.actor.online, obs)
        pair = torch.cat((obs, action), 1)
        quantiles = torch.cat([critic(pair) for critic in self.critics.online.networks], 1)
        self._step_actor(quantiles, action)


def quantile_huber_loss(theta: Tensor, y: Tensor, levels: Tensor, weights: Tensor) -> Tensor:
    """Return the mean over the batch and the quantiles of Σ_i w_i |τ - 1{u < 0}| H(u), 0-dim.

    Here u = y_i - θ, and H is the Huber loss with κ = 1: u² / 2, and |u| - 1/2 for |u| > 1 (Dabney
    et al., *Distributional Reinforcement Learning with Quantile Regression*, 2018, equation 10).

    Args:
        theta: Quantiles θ, shape (batch, quantiles).
        y: Samples of the estimated distribution, shape (batch, atoms).
        levels: The level τ of each quantile, shape (quantiles, 1).
        weights: The weight w of each sample, shape (atoms,); they sum to 1.
    """
    error = y[:, None, :] - theta[:, :, None]
    bounded = error.detach().clamp(-1.0, 1.0)
    huber = bounded * (error - 0.5 * bounded)
    weight = (levels - (bounded < 0.0).to(theta.dtype)).abs()
    return (weight * huber @ weights).mean()
