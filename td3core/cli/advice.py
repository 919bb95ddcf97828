"""Advice on a run at the end of a command that did not see it train."""

from pathlib import Path

from td3core.analysis.advice import Advice, Health, load_rules
from td3core.runs.reader import RunReader


def advice_of(run: Path) -> tuple[Advice, ...]:
    """Return the advice from the files of a run, as the training commands give it.

    Raises:
        RequestError: the folder is no run.
    """
    health = Health(load_rules())
    for event in RunReader(run).drain():
        health.take(event)
    return health.advice
