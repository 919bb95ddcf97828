"""TD3 as its authors published it (github.com/sfujim/TD3, TD3.py), written once more as a peer.

Modules, optimisers and arrays are those of the publication: two critics in one module, Adam over
lists of tensors, targets moved tensor by tensor, transitions in arrays of double precision.
"""

import copy
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Actor(nn.Module):
    """Two hidden layers, then tanh."""

    def __init__(self, obs: int, act: int, width: int) -> None:
        super().__init__()
        self.l1, self.l2 = nn.Linear(obs, width), nn.Linear(width, width)
        self.l3 = nn.Linear(width, act)

    def forward(self, obs: Tensor) -> Tensor:
        return torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(obs))))))


class Critic(nn.Module):
    """Two critics in one."""

    def __init__(self, obs: int, act: int, width: int) -> None:
        super().__init__()
        self.q1, self.q2 = (
            nn.ModuleList(
                [nn.Linear(obs + act, width), nn.Linear(width, width), nn.Linear(width, 1)]
            )
            for _ in range(2)
        )

    def forward(self, obs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        pair = torch.cat([obs, action], 1)
        return self.value(self.q1, pair), self.value(self.q2, pair)

    def first(self, obs: Tensor, action: Tensor) -> Tensor:
        return self.value(self.q1, torch.cat([obs, action], 1))

    def value(self, layers: nn.ModuleList, pair: Tensor) -> Tensor:
        found: Tensor = layers[2](F.relu(layers[1](F.relu(layers[0](pair)))))
        return found


class PublishedTD3:
    """The agent of the publication, for actions in [-1, 1], with our defaults."""

    def __init__(self, obs: int, act: int, width: int, stored: int) -> None:
        self.actor, self.critic = Actor(obs, act, width), Critic(obs, act, width)
        self.actor_target, self.critic_target = map(copy.deepcopy, (self.actor, self.critic))
        self.actor_adam = torch.optim.Adam(self.actor.parameters(), lr=3e-4)
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), lr=3e-4)
        self.updates = 0
        widths = (obs, act, obs, 1, 1)
        self._memory: list[Any] = [np.random.standard_normal((stored, n)) for n in widths]

    def train(self, batch: int) -> None:
        """Sample a batch and do an update."""
        self.updates += 1
        index = np.random.randint(0, len(self._memory[0]), size=batch)
        parts = (torch.FloatTensor(each[index]) for each in self._memory)
        obs, action, next_obs, reward, not_done = parts
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            next_action = (self.actor_target(next_obs) + noise).clamp(-1.0, 1.0)
            q1, q2 = self.critic_target(next_obs, next_action)
            target = reward + not_done * 0.99 * torch.min(q1, q2)
        q1, q2 = self.critic(obs, action)
        loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()
        if self.updates % 2 == 0:
            loss = -self.critic.first(obs, self.actor(obs)).mean()
            self.actor_adam.zero_grad()
            loss.backward()
            self.actor_adam.step()
            for net, slow in ((self.critic, self.critic_target), (self.actor, self.actor_target)):
                for fast, target in zip(net.parameters(), slow.parameters(), strict=True):
                    target.data.copy_(0.005 * fast.data + (1 - 0.005) * target.data)
