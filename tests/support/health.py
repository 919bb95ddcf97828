"""Events of a run whose rows are given, for what folds them."""

from pathlib import Path
from typing import Any

import numpy as np

from td3core.config import RunConfig, Tunables
from td3core.protocol.events import Phase, Progress, Started
from td3core.protocol.metrics import TRAINING_COLUMNS


def started(config: RunConfig, tunables: Tunables, env_steps: int = 0) -> Started:
    """Return the report that a run begins."""
    return Started(
        run=Path("run"),
        config=config,
        tunables=tunables,
        env_steps=env_steps,
        device="cpu",
        threads=1,
        engine="",
    )


def row(env_steps: int, updates: int | None = None, **values: float) -> np.ndarray[Any, Any]:
    """Return a row of ``training.csv``; what is not given was not measured."""
    known = {"env_steps": env_steps, "updates": env_steps if updates is None else updates, **values}
    return np.array([float(known.get(name, np.nan)) for name in TRAINING_COLUMNS])


def progress(tunables: Tunables, rows: np.ndarray[Any, Any]) -> Progress:
    """Return a report with these rows (n, len(TRAINING_COLUMNS))."""
    return Progress(
        phase=Phase.LEARNING,
        env_steps=int(rows[-1, 0]),
        updates=int(rows[-1, 1]),
        episodes=0,
        steps_per_s=100.0,
        wall_s=10.0,
        exploration_noise=0.1,
        revision=0,
        tunables=tunables,
        training=rows,
    )
