"""``status.json``: the current state of a run, renewed about once a second while it trains.

It is for readers only; no run depends on it. It is replaced atomically, but neither the file nor
its directory entry is flushed to disk.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from td3core.protocol.events import Phase
from td3core.runs.json_values import number, text, whole
from td3core.runs.messages import as_keys, from_keys
from td3core.system.files import write_atomically
from td3core.system.regular_files import DAMAGE, read_text
from td3core.text import NO_TEXT, Text

STATUS = "status.json"
_SCHEMA = 2
"""Schema 1 also held facts that the lock, the tables and the journal hold."""
_KEYS = {"engine": "products"}
"""Fields stored under their name in an earlier version."""
MOST_TEXT = 500
"""Most characters of a message."""
_MOST_ENTRIES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """Outcome of one request."""

    request: str
    """The name of its file, without the suffix."""
    done: bool
    env_steps: int
    """The step after which it took effect, or was refused."""
    revision: int = 0
    """Revision of the live settings with the change, if it was one."""
    message: Text = NO_TEXT
    """Reason of a refusal, or a remark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A warning of the run; ``number`` counts them since the process started or resumed it."""

    number: int
    env_steps: int
    message: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The current state of a run, except for what other files hold."""

    session: str
    """New random id for each process that starts or resumes the run."""
    beat: int
    """How often this process has written the file: while it increases, the run is alive."""
    began_at: int
    """The step at which this process started or resumed the run."""
    device: str
    threads: int
    engine: str
    """Name of the update's engine, in English."""
    reward_threshold: float | None
    phase: Phase
    env_steps: int
    episodes: int
    """Number of ended episodes, including those of the run's ancestors."""
    steps_per_s: float
    wall_s: float
    exploration_noise: float
    revision: int
    """Revision of the newest request for live settings in the journal."""
    answers: tuple[RequestOutcome, ...] = ()
    """Outcomes of the newest requests, oldest first."""
    warnings: tuple[Notice, ...] = ()
    """The newest warnings, oldest first."""

    def write(self, run: Path) -> None:
        """Write the file of a run.

        Raises:
            OSError: the folder cannot be written; the file is unchanged.
        """
        values = {_KEYS.get(name, name): getattr(self, name) for name in self.__slots__}
        for name in ("answers", "warnings"):
            values[name] = [_as_keys(each) for each in values[name]]
        data = json.dumps({"schema": _SCHEMA} | values).encode()
        write_atomically(run / STATUS, data, durable=False)

    @classmethod
    def read(cls, run: Path) -> "Status | None":
        """Read the file of a run; None if it is missing or invalid."""
        try:
            return _parse(json.loads(read_text(run / STATUS)))
        except DAMAGE:
            return None


def _parse(found: Mapping[str, Any]) -> Status:
    threshold = found["reward_threshold"]
    values: dict[str, Any] = {
        name: text(found[_KEYS.get(name, name)], MOST_TEXT) for name in _TEXTS
    }
    values |= {name: whole(found[name]) for name in _COUNTS}
    values |= {name: number(found[name]) for name in _NUMBERS}
    return Status(
        **values,
        reward_threshold=None if threshold is None else number(threshold),
        phase=Phase(found["phase"]),
        answers=tuple(_answer(each) for each in found["answers"][-_MOST_ENTRIES:]),
        warnings=tuple(_warning(each) for each in found["warnings"][-_MOST_ENTRIES:]),
    )


_TEXTS = ("session", "device", "engine")
_COUNTS = ("beat", "began_at", "threads", "env_steps", "episodes", "revision")
_NUMBERS = ("steps_per_s", "wall_s", "exploration_noise")


def _as_keys(each: RequestOutcome | Notice) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__slots__} | as_keys(each.message)


def _answer(found: Mapping[str, Any]) -> RequestOutcome:
    return RequestOutcome(
        request=text(found["request"], MOST_TEXT),
        done=found["done"] is True,
        env_steps=whole(found["env_steps"]),
        revision=whole(found["revision"]),
        message=from_keys(found, MOST_TEXT),
    )


def _warning(found: Mapping[str, Any]) -> Notice:
    return Notice(
        number=whole(found["number"]),
        env_steps=whole(found["env_steps"]),
        message=from_keys(found, MOST_TEXT),
    )
