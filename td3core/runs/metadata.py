"""Small records in a run's folder: how it ended, its label, what it was branched from.

Each is read with tolerance: a file that is missing, torn or altered is as if it had not been
written, for a list of a thousand runs must not stop at one of them.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from td3core.system.files import write_atomically
from td3core.system.timestamp import now

ENDING, NOTES = "ending.json", "notes.json"
_DAMAGE = (OSError, KeyError, TypeError, ValueError, OverflowError, RecursionError)


class RunStatus(StrEnum):
    """What has become of a run."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Neither ended nor alive: its process was killed, or the power went."""

    @property
    def resumable(self) -> bool:
        """True if steps are missing and no process is taking them."""
        return self in (RunStatus.STOPPED, RunStatus.FAILED, RunStatus.INTERRUPTED)


_ENDED = {"finished": RunStatus.FINISHED, "user": RunStatus.STOPPED, "failed": RunStatus.FAILED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ended; ``stopped`` is ``finished``, ``user`` or ``failed``."""

    stopped: str
    message: str = ""
    env_steps: int = 0
    wall_s: float = 0.0
    last_eval_return: float | None = None
    best_eval_return: float | None = None
    ended: str = ""

    @property
    def state(self) -> RunStatus:
        """The state that this ending leaves a run in."""
        return _ENDED[self.stopped]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLabel:
    """Name and note that the user gave a run. The folder keeps its name: scripts depend on it."""

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
    """Write ``ending.json``; of ``values`` those that :class:`Ending` has count.

    Raises:
        KeyError: ``stopped`` is missing or none of its three words.
        OSError: the folder cannot be written; an earlier ending is untouched.
    """
    known = {name: values[name] for name in Ending.__slots__ if name in values}
    ending = Ending(**({"ended": now()} | known))
    _ENDED[ending.stopped]
    write_atomically(folder / ENDING, json.dumps(asdict(ending)).encode())


def read_ending(folder: Path) -> Ending | None:
    """Return how a run ended, ``None`` if that is not on record."""
    try:
        found = json.loads((folder / ENDING).read_text(encoding="utf-8"))
        _ENDED[found["stopped"]]
        return Ending(
            stopped=found["stopped"],
            message=str(found.get("message", "")),
            env_steps=max(int(found.get("env_steps", 0)), 0),
            wall_s=_finite(found.get("wall_s")) or 0.0,
            last_eval_return=_finite(found.get("last_eval_return")),
            best_eval_return=_finite(found.get("best_eval_return")),
            ended=str(found.get("ended", "")),
        )
    except (AttributeError, *_DAMAGE):
        return None


def write_label(folder: Path, notes: RunLabel) -> None:
    """Write ``notes.json``.

    Raises:
        OSError: the folder cannot be written; earlier notes are untouched.
    """
    write_atomically(folder / NOTES, json.dumps(asdict(notes), ensure_ascii=False).encode())


def read_label(folder: Path) -> RunLabel:
    """Return the label of a run; empty without one."""
    try:
        found = json.loads((folder / NOTES).read_text(encoding="utf-8"))
        return RunLabel(**{k: str(found[k]) for k in RunLabel.__slots__ if found.get(k)})
    except (AttributeError, *_DAMAGE):
        return RunLabel()


def parse_parent(found: Any) -> Parent | None:
    """Return the parent that a ``run.toml`` names, ``None`` if the entry is damaged."""
    try:
        parent = Parent(
            run=str(found["run"]),
            checkpoint=str(found["checkpoint"]),
            env_steps=int(found["env_steps"]),
        )
    except _DAMAGE:
        return None
    # Names of neighbouring files; a path could lead anywhere.
    plain = all(
        name not in ("", "..") and name == Path(name).name and not {"\0", "\\"} & set(name)
        for name in (parent.run, parent.checkpoint)
    )
    return parent if plain and parent.env_steps >= 0 else None


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(float(value)) else None
