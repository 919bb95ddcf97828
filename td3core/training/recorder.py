"""Reports and records a run: events to its listener, rows to its tables."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from td3core import checkpoint
from td3core.arrays import Doubles
from td3core.checkpoint import Checkpoint
from td3core.checkpoint.format import require_readable
from td3core.checkpoint.resumable import require_resumable
from td3core.errors import RequestError, RunError, file_reason
from td3core.protocol import events
from td3core.protocol.events import EpisodeEnded, Episodes, Event, JournalEvent
from td3core.protocol.metrics import TRAINING_COLUMNS, training_row
from td3core.protocol.rows import (
    EVALUATION_COLUMNS,
    episode_columns,
    episode_row,
    evaluation_row,
)
from td3core.runs.directory import RunDirectory, training_columns
from td3core.runs.disk_usage import used_bytes
from td3core.runs.layout import DESCRIPTION
from td3core.runs.messages import as_keys
from td3core.system import timestamp
from td3core.system.files import make_folder
from td3core.text import Text

Report = Callable[[Event], None]


class Recorder:
    """Buffers rows between two reports, so that neither files nor listeners handle every step.

    A file that cannot be written causes a warning but never ends the run; its rows are kept and
    written later.
    """

    def __init__(self, run: RunDirectory, report: Report) -> None:
        self._run, self.report = run, report
        self._episodes = run.table("episodes", episode_columns(run.config))
        self._training = run.table("training", training_columns())
        self._evaluations = run.table("evaluations", EVALUATION_COLUMNS)
        self._rows: list[Doubles] = []
        self._times: list[tuple[int, float]] = []
        self._ended: list[EpisodeEnded] = []
        self._warned: set[tuple[Text | str, int]] = set()
        self.over = False
        """Whether the run takes no further steps."""
        self.last_problem: str | Text = ""
        """Reason of the last failed write."""

    def add_training(
        self, env_steps: int, updates: int, metrics: Mapping[str, float], wall_s: float
    ) -> None:
        """Buffer one row of training statistics."""
        row = training_row(env_steps, updates, metrics)
        self._rows.append(row)
        # Rounded to milliseconds, as in the file.
        self._times.append((env_steps, round(wall_s, 3)))
        numbers = [f"{value:.6g}" for value in row[2:]]
        self._training.add((env_steps, updates, *numbers, f"{wall_s:.3f}"))

    def add_episode(self, ended: EpisodeEnded, wall_s: float) -> None:
        """Buffer one finished episode."""
        ended = replace(ended, wall_s=round(wall_s, 3))
        self._ended.append(ended)
        self._episodes.add(episode_row(ended))

    def add_evaluation(self, event: events.Evaluated) -> None:
        """Buffer one evaluation, and report it at once."""
        self._evaluations.add(evaluation_row(event))
        self.report(event)

    def add_changes(self, event: events.Tuned) -> None:
        """Report live changes, and journal those not scheduled: the others are there already."""
        for name, old, new in () if event.scheduled else event.changes:
            entry: dict[str, Any] = {"step": event.env_steps, "field": name, "old": old, "new": new}
            entry["time"] = timestamp.now()
            self.write(Text("the journal"), event.env_steps, partial(self._run.note, entry))
        self.report(event)

    def log_entry(
        self, event: JournalEvent, env_steps: int, message: Text | None = None, **more: int
    ) -> None:
        """Write an event to the journal, and report it."""
        time = timestamp.now()
        told = {} if message is None else as_keys(message)
        entry = {"step": env_steps, "event": event, **more, **told, "time": time}
        self.write(Text("the journal"), env_steps, partial(self._run.note, entry))
        self.report(events.Noted(env_steps=env_steps, event=event, time=time, message=message))

    def save_agent(self, agent: Checkpoint, path: Path, *, announce: bool = True) -> bool:
        """Save an agent, report it if ``announce``, and return whether that worked.

        A failure is reported in any case.
        """
        env_steps, evaluation = agent.header.counters.env_steps, agent.header.evaluation
        if not self.write(path.name, env_steps, partial(_save_even_without_folder, path, agent)):
            return False
        if announce:
            mean, size = evaluation.mean if evaluation else None, used_bytes(self._run.path)
            self.report(
                events.Saved(env_steps=env_steps, path=path, mean_return=mean, run_bytes=size)
            )
        return True

    def take(self) -> tuple[Doubles, Doubles, Episodes]:
        """Return what was added since the last call.

        The rows (n, len(TRAINING_COLUMNS)), their steps and times (n, 2), and the episodes.
        """
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, len(TRAINING_COLUMNS))
        rows.flags.writeable = False
        times = np.array(self._times, dtype=np.float64).reshape(-1, 2)
        ended, self._rows, self._times, self._ended = Episodes.of(self._ended), [], [], []
        return rows, times, ended

    def flush(self, env_steps: int) -> None:
        """Append the buffered rows to the files."""
        self.require_folder(env_steps)
        self.write(Text("the run's tables"), env_steps, self._flush_tables)

    def sync(self, env_steps: int) -> None:
        """Append the buffered rows, and flush them to disk: they survive a power failure."""
        self.flush(env_steps)
        for part, table in enumerate((self._episodes, self._training, self._evaluations), 1):
            self.write(Text("the run's tables"), env_steps, table.sync, part)
        self.write(Text("the journal"), env_steps, self._run.sync_journal, 1)

    def require_folder(self, env_steps: int) -> None:
        """Recreate the run's folder, with a warning, if it was deleted or moved."""
        rewritten: list[bool] = []
        self.write(DESCRIPTION, env_steps, lambda: rewritten.append(self._run.rewrite_if_lost()))
        if any(rewritten):
            message = Text(
                "The run's folder was deleted or moved. It is written again at {path}, without the"
                " rows and checkpoints so far.",
                path=self._run.path,
            )
            self.report(events.Warned(env_steps=env_steps, message=message))

    def _flush_tables(self) -> None:
        for table in (self._episodes, self._training, self._evaluations):
            table.flush()

    def write(
        self, what: Text | str, env_steps: int, write: Callable[[], None], part: int = 0
    ) -> bool:
        """Call ``write``, report a first failure, and return whether it worked.

        ``part`` distinguishes writes of the same ``what``: their failures are reported again only
        once all of them have succeeded.
        """
        try:
            write()
        except OSError as problem:
            self.last_problem = file_reason(problem)
            known = any(name == what for name, _ in self._warned)
            self._warned.add((what, part))
            if not known:
                over = self.over or env_steps >= self._run.config.steps
                values = {"what": what, "reason": self.last_problem}
                message = Text("Could not write {what}: {reason}.", **values)
                if not over:
                    message = Text.joined((message, Text("Training continues.")))
                self.report(events.Warned(env_steps=env_steps, message=message))
            return False
        self._warned.discard((what, part))
        return True


def _save_even_without_folder(path: Path, agent: Checkpoint) -> None:
    """Save an agent; recreate the folder if it was deleted during the run.

    Raises:
        RunError: the file would be unreadable, or no run could resume from it.
    """
    # As when read from the file: with at least one dimension.
    arrays = {name: np.ascontiguousarray(array) for name, array in agent.tensors.items()}
    try:
        require_readable(path, replace(agent, tensors=arrays))
        require_resumable(path.name, replace(agent, tensors=arrays))
    except RequestError as problem:
        raise RunError(
            "{file} was not saved, because it could not be opened again: {reason}",
            file=path.name,
            reason=problem.message,
        ) from problem
    make_folder(path.parent)
    checkpoint.save(path, agent.header, agent.tensors)
