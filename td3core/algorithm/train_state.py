"""A group of networks and its training state, each part stored as one vector."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim.adam import adam

from td3core.algorithm import memory
from td3core.algorithm.adam import BETA1, BETA2, EPSILON, last_step
from td3core.algorithm.perceptron import Parameters
from td3core.arrays import Arrays, Floats
from td3core.config.networks import TARGET, NetworkGroup, optimizer_of


class TrainState:
    """Weights, targets, gradient and Adam moments of one group of networks."""

    def __init__(
        self, role: str, group: NetworkGroup, source: np.random.Generator, device: torch.device
    ) -> None:
        """``role``: the group's key among the networks of an algorithm."""
        self.group, self._optimizer = group, optimizer_of(role)
        vectors = memory.vectors(5, len(group.names) * group.parameters, device)
        self.online = Parameters(group, vectors[0], learning=True)
        self.target, self.gradient, self._exp_avg, self._exp_avg_sq = (
            Parameters(group, vector) for vector in vectors[1:]
        )
        self.online.draw(source)
        sizes = [part.numel() for part in self.online.tensors]
        self._starts = np.cumsum([0, *sizes[:-1]])
        """Offsets of all weights and biases in a vector; networks alternate."""
        self._views: tuple[Floats, ...] = ()
        self.target.flat.copy_(self.online.flat)
        self.lr = torch.zeros((), dtype=torch.float32, device=device)
        self._step = torch.zeros((), dtype=torch.float32, device=device)

    def descend(self, loss: Tensor) -> None:
        """Do one step of Adam on a loss (Kingma and Ba, 2015, algorithm 1)."""
        gradients = torch.autograd.grad(loss, self.online.tensors)
        torch.cat([each.flatten() for each in gradients], out=self.gradient.flat)
        adam(
            [self.online.flat],
            [self.gradient.flat],
            [self._exp_avg.flat],
            [self._exp_avg_sq.flat],
            max_exp_avg_sqs=[],
            state_steps=[self._step],
            fused=True,
            capturable=self.lr.is_cuda,
            lr=self.lr,
            beta1=BETA1,
            beta2=BETA2,
            eps=EPSILON,
            weight_decay=0.0,
            amsgrad=False,
            maximize=False,
        )

    def average_target(self, tau: Tensor) -> None:
        """Move the target: θ' ← τθ + (1 - τ)θ'."""
        self.target.flat.lerp_(self.online.flat, tau)

    def norms(self, lr: float) -> dict[str, float]:
        """Return the norms of gradient, weights and last step of each network, by metric.

        The step follows from Adam's moments and ``lr``, the learning rate of that step.
        """
        online, _, gradient, exp_avg, exp_avg_sq, steps = self._on_cpu()
        step = last_step(exp_avg, exp_avg_sq, lr, float(steps[0]))
        found = zip(*(self._lengths(each) for each in (gradient, online, step)), strict=True)
        return {
            f"{name}_{what}": value
            for name, (slope, weight, change) in zip(self.group.names, found, strict=True)
            for what, value in (
                ("gradient", slope),
                ("weight", weight),
                ("update", change / weight if weight else 0.0),
            )
        }

    def _on_cpu(self) -> tuple[Floats, ...]:
        """Return :meth:`arrays`, or a copy of them if they are on a GPU."""
        if self.lr.is_cuda:
            return tuple(tensor.view(-1).numpy(force=True) for tensor in self.tensors())
        # Made once: each call into torch may hand the GIL to another thread.
        self._views = self._views or self.arrays()
        return self._views

    def _lengths(self, flat: NDArray[Any]) -> list[float]:
        """Return the Euclidean norm of each network's part of a vector."""
        # float32 would overflow where a gradient does not.
        squares = np.add.reduceat(np.square(flat, dtype=np.float64), self._starts)
        return [
            float(total) for total in np.sqrt(squares.reshape(-1, len(self.group.names)).sum(0))
        ]

    def diverged(self) -> str | None:
        """Return the name of a network with a weight that is not finite, if there is one."""
        for name, part in self._networks():
            if not torch.isfinite(part).all():
                return name.split(".")[0]
        return None

    def tensors(self) -> list[Tensor]:
        """Return all tensors that a step modifies."""
        moments = (self._exp_avg.flat, self._exp_avg_sq.flat, self._step)
        return [self.online.flat, self.target.flat, self.gradient.flat, *moments]

    def arrays(self) -> tuple[Floats, ...]:
        """Return views of weights, target, gradient, moments and Adam's step, each as a vector."""
        return tuple(tensor.view(-1).numpy() for tensor in self.tensors())

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of networks, targets and moments under their names in a checkpoint."""
        return {name: part.numpy(force=True).copy() for name, part in self._all()}

    def load_state(self, arrays: Arrays) -> None:
        """Restore what :meth:`state` returned."""
        for name, part in self._all():
            # A file holds no 0-dim arrays: Adam's step comes back with one dimension.
            part.copy_(torch.from_numpy(arrays[name]).view_as(part))

    def _networks(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.online.named()
        yield from self.target.named(TARGET)

    def _all(self) -> Iterator[tuple[str, Tensor]]:
        yield from self._networks()
        yield f"{self._optimizer}.step", self._step
        moments = {"exp_avg": self._exp_avg, "exp_avg_sq": self._exp_avg_sq}
        for moment, weights in moments.items():
            for name, part in weights.named():
                yield f"{self._optimizer}.{name}.{moment}", part
