"""A saved agent's values of transitions in its replay buffer, and of actions in a state.

Batches come from the training's own sampler: n-step transitions with the rewards that the critics
learn from, normalised for the agent. Only the sampled rows are read.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from td3core import checkpoint
from td3core.arrays import Floats
from td3core.buffer.buffer_file import SUMS, ring_in
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch, RowLayout
from td3core.buffer.sampler import Sampler
from td3core.checkpoint import Checkpoint, read_header
from td3core.errors import RequestError, file_reason
from td3core.inference.critic import Critic
from td3core.inference.policy import Policy
from td3core.runs.layout import LAST, buffer_file_of
from td3core.system.regular_files import open_regular

MOST = 1_000
"""Most transitions of an inspected batch."""
POINTS = 61
"""Points of a landscape in each of its two dimensions; odd, so that 0 is one of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Landscape:
    """Q₁ over two dimensions of the action in one state; the others are set by the policy."""

    dims: tuple[int, int]
    """The same dimension twice if there is only one: ``values`` then has one column."""
    axis: Floats
    """Actions in [-1, 1], shape (points,)."""
    values: Floats
    """Q₁(s, a), first dimension by second, shape (points, points) or (points, 1)."""
    policy: tuple[float, float]
    """The policy's action in the two dimensions."""
    policy_value: float
    best: tuple[float, float]
    """The action with the largest value among the points and the policy's own."""
    best_value: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inspection:
    """A batch of ``n`` transitions with a saved agent's values, one row each."""

    path: Path
    env_steps: int
    numbers: NDArray[np.int64]
    """Numbers of the transitions, from 0 in the order they were stored, shape (n,)."""
    batch: Batch[Floats]
    """n-step transitions as sampled, observations not normalised."""
    target: Floats
    """y, shape (n,)."""
    values: Floats
    """Q₁(s, a) and, if there are two critics, Q₂(s, a), shape (critics, n)."""
    action: Floats
    """π(s), shape (n, act_dim)."""
    critic: Critic
    policy: Policy

    @property
    def errors(self) -> Floats:
        """TD errors Q - y of each critic, shape (critics, n)."""
        found: Floats = self.values - self.target
        return found

    @property
    def act_dim(self) -> int:
        """Dimensions of an action."""
        return int(self.action.shape[1])

    def landscape(self, row: int, first: int, second: int) -> Landscape:
        """Return Q₁ over two dimensions of the action in the state of a row of the batch."""
        one = self.act_dim == 1
        axis = np.linspace(-1.0, 1.0, POINTS, dtype=np.float32)
        shape = (POINTS, 1) if one else (POINTS, POINTS)
        obs, own = self.batch.obs[row], self.action[row]
        actions = np.broadcast_to(own, (*shape, len(own))).copy()
        actions[..., first] = axis[:, None]
        if not one:
            actions[..., second] = axis[None, :]
        states = np.broadcast_to(obs, (*shape, len(obs)))
        values = self.critic(states, actions)[0]
        value = float(self.critic(obs, own)[0])
        at = np.unravel_index(int(values.argmax()), shape)
        best = (float(axis[at[0]]), float(axis[at[0] if one else at[1]]))
        policy = (float(own[first]), float(own[second]))
        better = float(values[at]) > value
        return Landscape(
            dims=(first, second),
            axis=axis,
            values=values,
            policy=policy,
            policy_value=value,
            best=best if better else policy,
            best_value=max(float(values[at]), value),
        )


def inspect(path: Path, count: int = 256, seed: int = 0) -> Inspection:
    """Sample transitions from the replay buffer of a checkpoint's run, and evaluate them.

    Args:
        path: the checkpoint.
        count: number of transitions; fewer if the buffer has fewer.
        seed: seed of the sampling, and of the target policy smoothing.

    Raises:
        RequestError: the checkpoint cannot be read or has no critics, or its run has kept no
            replay buffer, or has overwritten its former contents.
    """
    saved = checkpoint.load(path)
    source = np.random.default_rng(seed)
    with buffer_of(path, saved) as buffer:
        oldest = max(buffer.stored - buffer.size, _oldest_kept(path, len(buffer.rows)))
        if oldest >= buffer.stored:
            raise RequestError(
                "The transitions that {file} learned from have been overwritten since.",
                file=path.name,
            )
        size = min(count, MOST, buffer.stored - oldest)
        numbers = source.integers(oldest, buffer.stored, size=size)
        sampler = Sampler(buffer, source, stride=saved.header.config.num_envs)
        rows = numbers % len(buffer.rows)
        batch = next(iter(sampler.take(rows[None], saved.header.tunables)))
    return _valued(path, saved, numbers, batch, source)


def _valued(
    path: Path,
    saved: Checkpoint,
    numbers: NDArray[np.int64],
    batch: Batch[Floats],
    source: np.random.Generator,
) -> Inspection:
    critic, policy = saved.critic(), saved.policy()
    if critic is None:
        raise RequestError("{file} has no critics.", file=path.name)
    target = target_of(saved, batch, source.standard_normal(batch.action.shape, np.float32))
    return Inspection(
        path=path,
        env_steps=saved.header.counters.env_steps,
        numbers=numbers,
        batch=batch,
        target=target,
        values=critic(batch.obs, batch.action),
        action=policy(batch.obs),
        critic=critic,
        policy=policy,
    )


def target_of(saved: Checkpoint, batch: Batch[Floats], noise: Floats) -> Floats:
    """Return y = r + γ (1 - terminated) min Q'(s', clip(π'(s') + clip(σ̃ n, -c, c), -1, 1)).

    With quantile critics it is the mean of y over the kept quantiles. Shape (n,), for raw
    transitions and standard normal ``noise`` (n, act_dim).
    """
    critic, policy, tunables = saved.target_critic(), saved.target_policy(), saved.header.tunables
    assert critic is not None
    smoothing = np.clip(tunables.policy_noise * noise, -tunables.noise_clip, tunables.noise_clip)
    action = np.clip(policy(batch.next_obs) + smoothing, -1.0, 1.0).astype(np.float32)
    left = np.float32(tunables.gamma) * (1.0 - batch.terminated[:, 0])
    found: Floats = batch.reward[:, 0] + left * critic.target_value(batch.next_obs, action)
    return found


@contextmanager
def buffer_of(path: Path, saved: Checkpoint) -> Iterator[ReplayBuffer]:
    """Open the replay buffer of a checkpoint; its rows are read from its file on demand.

    Raises:
        RequestError: the file is missing, empty, or ends before a row.
    """
    config, env, counters = saved.header.config, saved.header.env, saved.header.counters
    buffer, file = ReplayBuffer(1, env.obs_dim, env.act_dim), buffer_file_of(path)
    try:
        with open_regular(file) as opened:
            ring = ring_in(file, saved.tensors.get(SUMS), config.buffer_size, buffer.layout)
            buffer.capacity, buffer.slack = config.buffer_size, ring - config.buffer_size
            buffer.stored, buffer.unmarked = counters.stored, counters.unmarked
            buffer.rows = cast("Floats", _StoredRows(opened, ring, buffer.layout))
            if not buffer.size:
                raise OSError("it is empty")
            yield buffer
    except OSError as problem:
        raise RequestError(
            "The replay buffer of {file} cannot be read: {reason}.",
            file=path.name,
            reason=file_reason(problem),
        ) from problem


def _oldest_kept(path: Path, ring: int) -> int:
    """Return the number of the oldest transition that the file still holds."""
    last = path.resolve().parent / LAST
    try:
        newest = read_header(last).counters.stored
    except (RequestError, OSError):
        return 0
    return max(newest - ring, 0)


class _StoredRows:
    """The rows of a replay buffer in its file; only requested ones are read.

    Raises:
        OSError: the file ends before one of them.
    """

    def __init__(self, file: BinaryIO, count: int, layout: RowLayout) -> None:
        self._file, self._count, self._layout = file, count, layout

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Floats:
        wanted = np.asarray(index)
        found = np.empty((wanted.size, self._layout.end), np.float32)
        for at, row in enumerate(wanted.ravel().tolist()):
            self._file.seek(row * self._layout.bytes)
            data = self._file.read(self._layout.bytes)
            if len(data) < self._layout.bytes:
                raise OSError("it is shorter than it was")
            found[at] = np.frombuffer(data, np.float32)
        return found.reshape(*wanted.shape, self._layout.end)
