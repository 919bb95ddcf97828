"""What a run says and writes down: events to whoever listens, rows to the run's tables."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from td3core import checkpoint
from td3core.checkpoint import Checkpoint
from td3core.protocol import events
from td3core.protocol.events import TRAINING_COLUMNS, EpisodeEnded, Event
from td3core.runs.directory import (
    EPISODE_COLUMNS,
    EVALUATION_COLUMNS,
    RunDirectory,
    training_columns,
)
from td3core.runs.disk_usage import used_bytes
from td3core.system import timestamp
from td3core.system.files import make_folder

Report = Callable[[Event], None]


class Recorder:
    """Gathers rows between two reports, so that neither files nor listeners hear of every step.

    A file that cannot be written costs a warning, never the run; its rows wait for better times.
    """

    def __init__(self, run: RunDirectory, report: Report) -> None:
        self._run, self.report = run, report
        self._episodes = run.table("episodes", EPISODE_COLUMNS)
        self._training = run.table("training", training_columns())
        self._evaluations = run.table("evaluations", EVALUATION_COLUMNS)
        self._rows: list[tuple[float, ...]] = []
        self._ended: list[EpisodeEnded] = []
        self._warned: set[str] = set()
        self.last_problem = ""
        """Why a file could not be written, the last time that happened."""

    def add_training(self, row: Sequence[float], wall_s: float) -> None:
        """Keep one row of training statistics, in the order of ``TRAINING_COLUMNS``."""
        self._rows.append(tuple(row))
        numbers = [f"{value:.6g}" for value in row[2:]]
        self._training.add((int(row[0]), int(row[1]), *numbers, f"{wall_s:.3f}"))

    def add_episode(self, ended: EpisodeEnded, wall_s: float) -> None:
        """Keep one finished episode."""
        self._ended.append(ended)
        returns = (ended.episode_return, ended.shaped_return)
        end = (ended.length, int(ended.terminated), f"{wall_s:.3f}")
        self._episodes.add((ended.episode, ended.env_steps, *returns, *end))

    def add_evaluation(self, event: events.Evaluated) -> None:
        """Keep one evaluation, and say it at once."""
        self._evaluations.add(
            (
                event.env_steps,
                event.mean,
                event.std,
                "" if event.success is None else event.success,
                int(event.is_best),
                " ".join(map(str, event.returns)),
                " ".join(map(str, event.lengths)),
                event.seed,
                f"{event.wall_s:.3f}",
            )
        )
        self.report(event)

    def add_changes(self, event: events.Tuned, *, journaled: bool = False) -> None:
        """Report live changes, and write them to the journal unless they stand there."""
        for name, old, new in () if journaled else event.changes:
            entry: dict[str, Any] = {"step": event.env_steps, "field": name, "old": old, "new": new}
            entry["time"] = timestamp.now()
            self.write("the journal", event.env_steps, partial(self._run.note, entry))
        self.report(event)

    def log_entry(self, event: str, env_steps: int) -> None:
        """Write to the journal what was done to the run (a pause, a save, ...), and report it."""
        time = timestamp.now()
        entry = {"step": env_steps, "event": event, "time": time}
        self.write("the journal", env_steps, partial(self._run.note, entry))
        self.report(events.Noted(env_steps=env_steps, event=event, time=time))

    def save_agent(self, agent: Checkpoint, env_steps: int, *, quietly: bool = False) -> bool:
        """Save an agent where its header says, and say so unless ``quietly``.

        Returns whether that worked; that it did not is said in any case.
        """
        path, evaluation = agent.header.path, agent.header.evaluation
        if not self.write(path.name, env_steps, partial(_save_even_without_folder, agent)):
            return False
        if quietly:
            return True
        saved_at, mean = agent.header.counters.env_steps, evaluation.mean if evaluation else None
        size = used_bytes(self._run.path)
        self.report(events.Saved(env_steps=saved_at, path=path, mean_return=mean, run_bytes=size))
        return True

    def take(self) -> dict[str, Any]:
        """Return the gathered rows as fields of a ``Progress``."""
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, len(TRAINING_COLUMNS))
        rows.flags.writeable = False
        ended, self._rows, self._ended = tuple(self._ended), [], []
        return {"training": rows, "ended": ended}

    def flush(self, env_steps: int) -> None:
        """Append everything gathered to the files."""
        self.write("the run's tables", env_steps, self._flush_tables)

    def sync(self, env_steps: int) -> None:
        """Append everything gathered, and see to it that it survives a power failure."""
        self.flush(env_steps)
        for table in (self._episodes, self._training, self._evaluations):
            self.write("the run's tables", env_steps, table.sync)
        self.write("the journal", env_steps, self._run.sync_journal)

    def _flush_tables(self) -> None:
        for table in (self._episodes, self._training, self._evaluations):
            table.flush()

    def write(self, what: str, env_steps: int, write: Callable[[], None]) -> bool:
        """Write something; say it once if that fails, and return whether it did not."""
        try:
            write()
        except OSError as problem:
            self.last_problem = problem.strerror or str(problem)
            if what not in self._warned:
                self._warned.add(what)
                message = f"Could not write {what}: {self.last_problem}. Training goes on."
                self.report(events.Warned(env_steps=env_steps, message=message))
            return False
        self._warned.discard(what)
        return True


def _save_even_without_folder(agent: Checkpoint) -> None:
    """Save an agent; a folder deleted under the living run is made again, or it would be lost."""
    path = agent.header.path
    make_folder(path.parent)
    checkpoint.save(path, agent.header, agent.tensors)
