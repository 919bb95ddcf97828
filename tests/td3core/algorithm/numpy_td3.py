"""TD3 once more, in NumPy and double precision, written from the paper and not from the package.

Fujimoto, van Hoof and Meger (2018), algorithm 1; Adam from Kingma and Ba (2015), algorithm 1.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Layers = list[list[Array]]  # [weight (out, in), bias (out,)] of each layer


def relu(x: Array) -> Array:
    return np.where(x > 0, x, 0.0)


# Each activation with its derivative, told from the activation's own output.
ACTIVATIONS: dict[str, tuple[Any, Any]] = {
    "relu": (relu, lambda y: (y > 0).astype(float)),
    "tanh": (np.tanh, lambda y: 1.0 - y**2),
}


def normalised(z: Array) -> Array:
    """Ba, Kiros and Hinton (2016), equation 3, without gain and bias."""
    return (z - z.mean(1, keepdims=True)) / np.sqrt(z.var(1, keepdims=True) + 1e-5)


def forward(layers: Layers, x: Array, activation: str, norm: bool = False) -> list[Array]:
    """Return the input of each layer, and last the output (before any squashing)."""
    flow = [x]
    for index, (weight, bias) in enumerate(layers):
        z = flow[-1] @ weight.T + bias
        hidden = index < len(layers) - 1
        z = normalised(z) if norm and hidden else z
        flow.append(ACTIVATIONS[activation][0](z) if hidden else z)
    return flow


def backward(
    layers: Layers, flow: list[Array], slope: Array, activation: str, norm: bool = False
) -> Any:
    """Return the gradient of each weight and bias, and that of the input."""
    gradients: Layers = []
    for index in reversed(range(len(layers))):
        if index < len(layers) - 1:
            slope = slope * ACTIVATIONS[activation][1](flow[index + 1])
            if norm:
                weight, bias = layers[index]
                slope = through_normalisation(flow[index] @ weight.T + bias, slope)
        gradients.insert(0, [slope.T @ flow[index], slope.sum(axis=0)])
        slope = slope @ layers[index][0]
    return gradients, slope


def through_normalisation(z: Array, slope: Array) -> Array:
    """Return the gradient at ``z``, row by row with the matrix of all derivatives."""
    found, count = np.empty_like(z), z.shape[1]
    for row, (values, each) in enumerate(zip(z, slope, strict=True)):
        centred = values - values.mean()
        deviation = np.sqrt(values.var() + 1e-5)
        jacobian = (np.eye(count) - 1.0 / count) / deviation
        jacobian -= np.outer(centred, centred) / (count * deviation**3)
        found[row] = each @ jacobian
    return found


@dataclass
class Adam:
    """Adam with its published constants, over all the arrays of one network."""

    step: int = 0
    moments: dict[tuple[int, int], tuple[Any, Any]] = field(default_factory=dict)

    def descend(self, layers: Layers, gradients: Layers, rate: float) -> None:
        self.step += 1
        for i, layer in enumerate(layers):
            for j in range(2):
                g = gradients[i][j]
                m, v = self.moments.get((i, j), (0.0, 0.0))
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
                self.moments[i, j] = m, v
                m_hat, v_hat = m / (1 - 0.9**self.step), v / (1 - 0.999**self.step)
                layer[j] = layer[j] - rate * m_hat / (np.sqrt(v_hat) + 1e-8)


def layers_of(state: dict[str, Any], name: str) -> Layers:
    """Collect one network from the arrays of a checkpoint."""
    count = sum(1 for key in state if key.startswith(f"{name}.") and key.endswith(".weight"))
    kinds = ("weight", "bias")
    return [
        [state[f"{name}.{i}.{kind}"].astype(np.float64) for kind in kinds] for i in range(count)
    ]


class ReferenceTD3:
    """The networks of an agent, and what the paper says happens to them."""

    def __init__(self, state: dict[str, Any], config: Any, settings: Any) -> None:
        self.config, self.settings = config, settings
        self.critic = config.critic_activation, config.critic_layer_norm
        names = ["actor", "critic1"] + (["critic2"] if config.twin_critics else [])
        names += [f"{name}_target" for name in names]
        self.nets = {name: layers_of(state, name) for name in names}
        self.critics = [name for name in names if name in ("critic1", "critic2")]
        self.adams = {name: Adam() for name in ("actor", *self.critics)}
        self.count = 0

    def act(self, name: str, obs: Array) -> Array:
        return np.tanh(forward(self.nets[name], obs, self.config.actor_activation)[-1])

    def value(self, name: str, obs: Array, action: Array) -> Array:
        pair = np.concatenate([obs, action], axis=1)
        return forward(self.nets[name], pair, *self.critic)[-1]

    def target(self, batch: Any, noise: Array) -> Array:
        """y = r + γ (1 - terminated) min_i Q'_i(s', clip(π'(s') + clip(σ̃ noise, -c, c), -1, 1))."""
        _, _, reward, next_obs, terminated = (np.float64(part) for part in batch)
        s = self.settings
        smoothing = np.clip(s.policy_noise * noise, -s.noise_clip, s.noise_clip)
        action = np.clip(self.act("actor_target", next_obs) + smoothing, -1.0, 1.0)
        values = [self.value(f"{name}_target", next_obs, action) for name in self.critics]
        return reward + s.gamma * (1.0 - terminated) * np.min(values, axis=0)

    def update(self, batch: Any, noise: Array) -> dict[str, float]:
        """Do one update and return the numbers that describe it."""
        self.count += 1
        obs, action = np.float64(batch.obs), np.float64(batch.action)
        y = self.target(batch, noise)
        told = {"target": float(y.mean()), "actor_loss": np.nan}
        before = []
        for i, name in enumerate(self.critics, 1):
            flow = self._descend_critic(name, np.concatenate([obs, action], axis=1), y)
            told[f"q{i}"] = float(flow[-1].mean())
            told[f"critic{i}_loss"] = float(((flow[-1] - y) ** 2).mean())
            before.append(flow[-1])
        told["td_max"] = float(np.abs(np.stack(before) - y).max())
        if len(before) == 2:
            told["q_gap"] = float(np.abs(before[0] - before[1]).mean())
        if self.count % self.settings.policy_delay == 0:
            told["actor_loss"] = self._climb_actor(obs)
            tau = self.settings.tau
            for name in ("actor", *self.critics):
                for slow, fast in zip(self.nets[f"{name}_target"], self.nets[name], strict=True):
                    slow[:] = [tau * f + (1 - tau) * s for s, f in zip(slow, fast, strict=True)]
        return told

    def _descend_critic(self, name: str, pair: Array, y: Array) -> list[Array]:
        net = self.nets[name]
        flow = forward(net, pair, *self.critic)
        gradients, _ = backward(net, flow, 2.0 * (flow[-1] - y) / len(y), *self.critic)
        self.adams[name].descend(net, gradients, self.settings.critic_lr)
        return flow

    def _climb_actor(self, obs: Array) -> float:
        actor, critic = self.nets["actor"], self.nets["critic1"]
        flow = forward(actor, obs, self.config.actor_activation)
        action = np.tanh(flow[-1])
        pair = forward(critic, np.concatenate([obs, action], axis=1), *self.critic)
        each = np.full((len(obs), 1), -1.0 / len(obs))
        _, slope = backward(critic, pair, each, *self.critic)
        slope = slope[:, obs.shape[1] :] + 2.0 * self.settings.action_penalty * action / action.size
        slope = slope * (1.0 - action**2)
        gradients, _ = backward(actor, flow, slope, self.config.actor_activation)
        self.adams["actor"].descend(actor, gradients, self.settings.actor_lr)
        return float(-pair[-1].mean())
