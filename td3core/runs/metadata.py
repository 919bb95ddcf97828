"""Small records in a run's folder: its ending, its label, its parent.

Reading is tolerant: a missing, truncated or altered file counts as not written, because a list of a
thousand runs must not stop at one of them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from td3core.protocol.run_status import RunStatus
from td3core.runs.messages import as_keys, characters, from_keys
from td3core.system.files import write_atomically
from td3core.system.regular_files import DAMAGE, read_text
from td3core.system.timestamp import now
from td3core.text import NO_TEXT, Text, one_line

ENDING, NOTES = "ending.json", "notes.json"
MOST_STEPS = 10**15
_MOST_WALL_S = 1e10
_MOST_NAME, _MOST_TEXT = 1_000, 100_000
"""In characters: the most that a list or a dialog shows without delay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended; ``stopped`` is ``finished``, ``user`` or ``failed``."""

    stopped: str
    message: Text = NO_TEXT
    env_steps: int = 0
    wall_s: float = 0.0
    last_eval_return: float | None = None
    best_eval_return: float | None = None
    steps_per_s: float = 0.0
    """Speed of the process that ended it; 0 if not recorded."""
    ended: str = ""

    @property
    def state(self) -> RunStatus:
        """The state that this ending leaves a run in."""
        return RunStatus.after(self.stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabel:
    """Name and note given to a run by the user. The folder keeps its name: scripts depend on it."""

    name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parent:
    """The checkpoint that a run was branched from."""

    run: str
    """Name of the parent's folder, a neighbour of this run's."""
    checkpoint: str
    env_steps: int


def write_ending(folder: Path, values: Mapping[str, Any]) -> None:
    """Write ``ending.json`` with those ``values`` that :class:`Ending` has.

    Raises:
        KeyError: ``stopped`` is missing or not one of its three values.
        OSError: the folder cannot be written; an earlier ending is untouched.
    """
    known = {name: values[name] for name in Ending.__slots__ if name in values}
    ending = Ending(**({"ended": now()} | known))
    RunStatus.after(ending.stopped)
    told = asdict(ending) | as_keys(ending.message)
    write_atomically(folder / ENDING, json.dumps(told).encode())


def read_ending(folder: Path) -> Ending | None:
    """Return how a run ended; ``None`` if not on record."""
    try:
        found = json.loads(read_text(folder / ENDING))
        RunStatus.after(found["stopped"])
        return Ending(
            stopped=found["stopped"],
            message=from_keys(found, _MOST_TEXT),
            env_steps=_steps(found.get("env_steps", 0)),
            wall_s=min(_finite(found.get("wall_s")) or 0.0, _MOST_WALL_S),
            last_eval_return=_finite(found.get("last_eval_return")),
            best_eval_return=_finite(found.get("best_eval_return")),
            steps_per_s=max(_finite(found.get("steps_per_s")) or 0.0, 0.0),
            ended=characters(found.get("ended", ""), _MOST_NAME),
        )
    except DAMAGE:
        return None


def write_label(folder: Path, notes: RunLabel) -> None:
    """Write ``notes.json``.

    Raises:
        OSError: the folder cannot be written; earlier notes are untouched.
    """
    found = json.dumps(asdict(notes), ensure_ascii=False)
    write_atomically(folder / NOTES, found.encode(errors="replace"))


def read_label(folder: Path) -> RunLabel:
    """Return the label of a run; empty without one."""
    try:
        found = json.loads(read_text(folder / NOTES))
        name, note = found.get("name") or "", found.get("note") or ""
        return RunLabel(
            name=one_line(characters(name, _MOST_NAME)), note=characters(note, _MOST_TEXT)
        )
    except DAMAGE:
        return RunLabel()


def parse_group(found: Any) -> str:
    """Return the group named in a ``run.toml``; empty if missing or damaged."""
    name = found if isinstance(found, str) and len(found) <= _MOST_NAME else ""
    # A folder name; a path could lead anywhere.
    plain = name not in ("", ".", "..") and name == Path(name).name and not {"\0", "\\"} & set(name)
    return name if plain else ""


def parse_parent(found: Any) -> Parent | None:
    """Return the parent named in a ``run.toml``; ``None`` if the entry is damaged."""
    try:
        parent = Parent(
            run=str(found["run"]),
            checkpoint=str(found["checkpoint"]),
            env_steps=int(found["env_steps"]),
        )
    except DAMAGE:
        return None
    # Names of neighbouring files; a path could lead anywhere.
    plain = all(
        name not in ("", "..") and name == Path(name).name and not {"\0", "\\"} & set(name)
        for name in (parent.run, parent.checkpoint)
    )
    return parent if plain and 0 <= parent.env_steps <= MOST_STEPS else None


def _steps(value: Any) -> int:
    """Return a step number that a run can have reached.

    Raises:
        ValueError: it is more than any run takes.
    """
    steps = int(value)
    if steps > MOST_STEPS:
        raise ValueError("more steps than any run takes")
    return max(steps, 0)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(float(value)) else None
