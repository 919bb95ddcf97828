"""Share of an agent's actions at their limit, for each dimension."""

from pathlib import Path

import numpy as np

from td3core import checkpoint
from td3core.analysis.inspection import buffer_of
from td3core.arrays import Doubles
from td3core.playing.numbers import SATURATED

_STATES = 512


def saturation(path: Path) -> Doubles:
    """Return the share of |π(s)| ≥ 0.99 of each action dimension, shape (act_dim,).

    Args:
        path: a checkpoint; the states are evenly spaced over its run's replay buffer.

    Raises:
        RequestError: the checkpoint cannot be read, or its run has kept no replay buffer.
    """
    saved = checkpoint.load(path)
    with buffer_of(path, saved) as buffer:
        count = min(buffer.stored, len(buffer.rows))
        chosen = np.linspace(0, count - 1, min(_STATES, count)).astype(int)
        obs = buffer.rows[chosen][:, : buffer.layout.action]
    shares: Doubles = (np.abs(saved.policy()(obs)) >= SATURATED).mean(axis=0)
    return shares
