"""Fabricated events of a run: fields not given by a test are as in any run."""

from pathlib import Path
from typing import Any

import numpy as np

from td3core.config import RunConfig, Tunables
from td3core.protocol.events import Ended, Evaluated, Phase, Progress, Started
from td3core.protocol.metrics import TRAINING_COLUMNS


def started(config: RunConfig, tunables: Tunables, env_steps: int = 0, **more: Any) -> Started:
    """Return the report that a run begins."""
    usual = {"run": Path("run"), "device": "cpu", "threads": 1}
    return Started(config=config, tunables=tunables, env_steps=env_steps, **(usual | more))


def progress(env_steps: int, **more: Any) -> Progress:
    """Return a report without rows."""
    usual = {
        "phase": Phase.LEARNING,
        "updates": env_steps,
        "episodes": 0,
        "steps_per_s": 100.0,
        "wall_s": 10.0,
        "exploration_noise": 0.1,
        "revision": 0,
        "tunables": Tunables(),
        "training": np.empty((0, len(TRAINING_COLUMNS))),
    }
    return Progress(env_steps=env_steps, **(usual | more))


def evaluated(env_steps: int, mean: float, **more: Any) -> Evaluated:
    """Return an evaluation of one episode."""
    usual = {"lengths": (200,), "seed": 0, "is_best": False, "wall_s": 1.0}
    return Evaluated(env_steps=env_steps, returns=(mean,), **(usual | more))


def ended(stopped: str = "finished", **more: Any) -> Ended:
    """Return the end of a run."""
    usual = {
        "run": Path("run"),
        "env_steps": 30,
        "updates": 20,
        "episodes": 1,
        "wall_s": 1.0,
        "steps_per_s": 30.0,
        **dict.fromkeys(("last_eval_return", "best_eval_return")),
        **dict.fromkeys(("best_checkpoint", "last_checkpoint")),
    }
    return Ended(stopped=stopped, **(usual | more))
