"""Health of a run from its files, for commands that did not see all of its training."""

import math
from dataclasses import replace
from pathlib import Path

from td3core.analysis.advice import Health, load_rules
from td3core.protocol.events import Evaluated, Progress
from td3core.runs.reader import RunReader


def read_health(run: Path, until: float = math.inf) -> Health:
    """Return the health of a run by the rules of the training commands.

    Args:
        run: Its folder.
        until: Last environment step of the measurements.

    Raises:
        RequestError: the folder is no run.
    """
    health = Health(load_rules())
    for event in RunReader(run).drain():
        if isinstance(event, Progress):
            rows = event.training
            health.take(replace(event, training=rows[rows[:, 0] <= until]))
        elif not isinstance(event, Evaluated) or event.env_steps <= until:
            health.take(event)
    return health
