"""Agents that are compared side by side, and what to call each of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from td3core.evaluation.disturbance import Variant

FEWEST, MOST = 2, 4
"""How many agents are compared."""


class Entrant(NamedTuple):
    """An agent in a comparison, and how it acts there."""

    path: Path
    variant: Variant = Variant.PLAIN


class Lane(NamedTuple):
    """One of the agents that are compared, loaded."""

    entrant: Entrant
    env_steps: int
    mean_return: float | None
    """Of the evaluation stored in the checkpoint, if there is one."""
    noise: float = 0.0
    """The exploration noise that it acts with."""
    run: str = ""
    """What its run is called; empty if it belongs to none."""


def names_of(lanes: Sequence[Lane]) -> list[str]:
    """Return what to call each agent; their run only where they belong to several."""
    runs = [lane.run or lane.entrant.path.stem for lane in lanes]
    several = len({_run_of(lane) for lane in lanes}) > 1
    return [_name(lane, run if several else "") for lane, run in zip(lanes, runs, strict=True)]


def _run_of(lane: Lane) -> Path:
    path = lane.entrant.path
    return path.parent if path.parent.name == "checkpoints" else path


def _name(lane: Lane, run: str) -> str:
    stem = lane.entrant.path.stem
    role = f"{stem}, " if stem in ("best", "last") else ""
    name = f"{role}step {lane.env_steps:,}"
    match lane.entrant.variant:
        case Variant.NOISE:
            name += f" · noise σ {lane.noise:g}"
        case Variant.PUSH:
            name += " · pushed"
    return f"{name} · {run}" if run else name
