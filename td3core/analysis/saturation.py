"""Share of an agent's actions at their limit, for each dimension."""

from pathlib import Path

import numpy as np

from td3core import checkpoint
from td3core.arrays import Doubles, Floats
from td3core.buffer.rows import RowLayout
from td3core.errors import RequestError, file_reason
from td3core.playing.numbers import SATURATED
from td3core.runs.layout import buffer_file_of
from td3core.system.regular_files import open_regular

_STATES = 512


def saturation(path: Path) -> Doubles:
    """Return the share of |π(s)| ≥ 0.99 of each action dimension, shape (act_dim,).

    Args:
        path: a checkpoint; the states are evenly spaced over its run's replay buffer.

    Raises:
        RequestError: the checkpoint cannot be read, or its run has kept no replay buffer.
    """
    saved = checkpoint.load(path)
    layout = RowLayout.of(saved.header.env.obs_dim, saved.header.env.act_dim)
    try:
        obs = _states(buffer_file_of(path), layout, saved.header.counters.stored)
    except OSError as problem:
        raise RequestError(
            "The replay buffer of {file} cannot be read: {reason}.",
            file=path.name,
            reason=file_reason(problem),
        ) from problem
    shares: Doubles = (np.abs(saved.policy()(obs)) >= SATURATED).mean(axis=0)
    return shares


def _states(file: Path, layout: RowLayout, stored: int) -> Floats:
    """Return observations (n, obs_dim) from the rows of a buffer's file.

    Raises:
        OSError: it is missing or empty.
    """
    width = layout.end * np.dtype(np.float32).itemsize
    with open_regular(file) as opened:
        count = min(opened.seek(0, 2) // width, stored)
        if not count:
            raise OSError("it is empty")
        rows = []
        for number in np.linspace(0, count - 1, min(_STATES, count)).astype(int).tolist():
            opened.seek(number * width)
            rows.append(np.frombuffer(opened.read(width), np.float32))
    return np.array(rows)[:, : layout.action]
