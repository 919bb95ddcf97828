"""The queue of runs, as a file in the folder of runs: it outlives the window.

Several windows may show one folder. A window that changes the queue locks it, reads the others'
changes and writes the outcome, so that nothing is lost and no run is started twice.
"""

import hashlib
import json
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from studio.formatting import format_count
from td3core.config import RunConfig, Tunables, recorded_settings, to_dict
from td3core.errors import RequestError, file_reason, newer
from td3core.experiments.groups.seeds import format_seeds, parse_seeds
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import DAMAGE, exists, read_text, require_own
from td3core.text import Text, one_line, tr, translated

NAME = "queue.json"
LOCK = "queue.lock"
SCHEMA = 1
_PATIENCE_S = 5.0
"""How long to wait for the lock; windows hold it only while they write the queue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedRun:
    """A waiting run, a group if it has ``seeds``, or a branch if it has a ``checkpoint``."""

    config: RunConfig
    tunables: Tunables
    seeds: tuple[int, ...] = ()
    checkpoint: Path | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Distinguishes it from equal runs in the queue."""
    problem: str = ""
    """Why it could not start; empty while it waits."""
    series: str = ""
    """Groups of one series are compared with each other; empty for a single group."""
    variant: str = ""
    """Its name in the comparison of its series; empty for the name from its settings."""

    @property
    def about(self) -> str:
        """Its description without the environment: variant, preset, seeds, steps."""
        preset = "" if self.config.preset == self.config.env else self.config.preset
        steps = tr("{steps} steps", steps=format_count(self.config.steps))
        # The most distinguishing parts first, because the list is narrow.
        parts = (translated(self.variant), preset, str(self._which()), steps)
        return one_line(" · ".join(part for part in parts if part))

    def _which(self) -> Text:
        if self.checkpoint is not None:
            return Text("branch from {checkpoint}", checkpoint=self.checkpoint.stem)
        if not self.seeds:
            return Text("seed {seed}", seed=self.config.seed)
        if self.seeds == tuple(range(len(self.seeds))):
            return Text.counted("{n} seeds", "{n} seeds", n=len(self.seeds))
        return Text("seeds {seeds}", seeds=format_seeds(self.seeds))


def write_queue(runs_dir: Path, runs: Sequence[QueuedRun]) -> None:
    """Write the queue.

    Raises:
        OSError: the folder cannot be written; an earlier queue is untouched.
    """
    found = [
        {
            "config": to_dict(run.config),
            "tunables": to_dict(run.tunables),
            "seeds": format_seeds(run.seeds),
            "checkpoint": str(run.checkpoint or ""),
            "id": run.id,
            "problem": run.problem,
            "series": run.series,
            "variant": run.variant,
        }
        for run in runs
    ]
    path = runs_dir / NAME
    if found or path.exists():
        make_folder(runs_dir)
        write_atomically(path, json.dumps({"schema": SCHEMA, "runs": found}).encode())


def read_queue(runs_dir: Path) -> tuple[QueuedRun, ...]:
    """Return the queue; empty if there is none.

    Raises:
        RequestError: its file is damaged.
    """
    try:
        found = json.loads(read_text(runs_dir / NAME))
        if int(found["schema"]) > SCHEMA:
            raise newer()
        return tuple(_read(each, number) for number, each in enumerate(found["runs"]))
    except FileNotFoundError:
        return ()
    except DAMAGE as problem:
        raise RequestError(
            "The queue in {file} cannot be read: {reason}.", file=NAME, reason=file_reason(problem)
        ) from problem


def _read(found: Any, number: int) -> QueuedRun:
    config, tunables = recorded_settings(found)
    seeds = parse_seeds(found["seeds"]) if found["seeds"] else ()
    # Earlier versions did not store ids; every window must derive the same ones.
    own = hashlib.sha256(json.dumps([number, found], sort_keys=True).encode()).hexdigest()
    return QueuedRun(
        config=config,
        tunables=tunables,
        seeds=seeds,
        checkpoint=Path(found["checkpoint"]) if found.get("checkpoint") else None,
        id=str(found.get("id") or own),
        problem=one_line(str(found.get("problem") or "")),
        series=one_line(str(found.get("series") or "")),
        variant=one_line(str(found.get("variant") or "")),
    )


Runs = tuple[QueuedRun, ...]
QueueChange = Callable[[Runs], Runs]
"""Returns the changed queue; may be applied to a newer queue than the caller saw."""


class SharedQueue:
    """The queue of a folder, as known to this window, with its pending changes.

    The window sees its own changes immediately, other windows after :meth:`sync`, which may run in
    another thread. A change that could not be written is kept for the next call.
    """

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._guard = threading.Lock()
        self._known: Runs = ()
        self._changes: list[QueueChange] = []

    @property
    def runs(self) -> Runs:
        """Waiting runs, next first."""
        with self._guard:
            return _after(self._known, self._changes)

    def change(self, change: QueueChange) -> None:
        """Change the queue."""
        with self._guard:
            self._changes.append(change)

    def sync(self) -> None:
        """Read the changes of other windows, and write those made here.

        Raises:
            RequestError: the file is damaged or cannot be written, or another window does not
                release it.
        """
        with self._guard:
            changed = bool(self._changes)
        if changed:
            self._update(claim=False)
        else:
            self._learn(read_queue(self._runs_dir), 0)

    def claim(self) -> QueuedRun | None:
        """Remove and return the first run that may start; None if nothing waits.

        Raises:
            RequestError: as :meth:`sync`.
        """
        self.sync()
        # Where nothing waits, no lock is made, nor the folder of runs.
        if all(run.problem for run in self.runs):
            return None
        return self._update(claim=True)

    def _update(self, *, claim: bool) -> QueuedRun | None:
        try:
            make_folder(self._runs_dir)
            require_own(self._runs_dir / LOCK)
            with FileLock(self._runs_dir / LOCK, timeout=_PATIENCE_S):
                before = self._readable()
                with self._guard:
                    changes = list(self._changes)
                after = _after(before, changes)
                first = next((run for run in after if not run.problem), None) if claim else None
                left = tuple(run for run in after if run is not first)
                if left != before:
                    write_queue(self._runs_dir, left)
        except Timeout as problem:
            raise RequestError("Another window does not release {file}.", file=NAME) from problem
        except OSError as problem:
            reason = file_reason(problem)
            raise RequestError("The queue cannot be written: {reason}.", reason=reason) from problem
        self._learn(left, len(changes))
        return first

    def _readable(self) -> Runs:
        """Return the queue on disk; an unreadable file is set aside, not overwritten."""
        try:
            return read_queue(self._runs_dir)
        except RequestError:
            path = self._runs_dir / NAME
            names = (path.with_suffix(f".unreadable{n}.json") for n in chain([""], count(2)))
            path.replace(next(aside for aside in names if not exists(aside)))
            return ()

    def _learn(self, runs: Runs, changes: int) -> None:
        """Adopt the queue on disk, which includes the first ``changes`` made here."""
        with self._guard:
            self._known, self._changes = runs, self._changes[changes:]


def _after(runs: Runs, changes: Sequence[QueueChange]) -> Runs:
    for change in changes:
        runs = change(runs)
    return runs
