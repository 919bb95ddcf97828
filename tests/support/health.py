"""Events of a run with given rows, for code that folds them."""

from typing import Any

import numpy as np

from td3core.analysis.advice import Rule, parse_rule
from td3core.config import Tunables
from td3core.protocol.events import Progress
from td3core.protocol.metrics import TRAINING_COLUMNS
from tests.support import events
from tests.support.events import started as started


def row(env_steps: int, updates: int | None = None, **values: float) -> np.ndarray[Any, Any]:
    """Return a row of ``training.csv``; values not given were not measured."""
    known = {"env_steps": env_steps, "updates": env_steps if updates is None else updates, **values}
    return np.array([float(known.get(name, np.nan)) for name in TRAINING_COLUMNS])


def progress(tunables: Tunables, rows: np.ndarray[Any, Any]) -> Progress:
    """Return a report with these rows (n, len(TRAINING_COLUMNS))."""
    return events.progress(
        int(rows[-1, 0]), updates=int(rows[-1, 1]), tunables=tunables, training=rows
    )


def breakable_rule() -> Rule:
    """Return a rule broken by every run that learns."""
    text = """
        title = "It learns"
        quantity = "updates"
        above = 1.0
        reason = "It is."
        advice = "Let it."
        [change]
        setting = "critic_lr"
        factor = 0.1
    """
    return parse_rule("learns", text)
