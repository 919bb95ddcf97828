"""The run directory: everything a run keeps on disk."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import tomli_w

from td3core.checkpoint import SUFFIX, Header, read_header
from td3core.checkpoint.format import SCHEMA
from td3core.config import RunConfig, Tunables, recorded_settings, to_dict
from td3core.envs import trust
from td3core.errors import RequestError, file_reason, newer, unreadable, unwritable
from td3core.evaluation.result import EvaluationResult
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.protocol.rows import evaluation_of
from td3core.runs import journal, metadata
from td3core.runs.journal import Entry
from td3core.runs.layout import (
    BEST,
    CHECKPOINTS,
    DESCRIPTION,
    JOURNAL,
    LAST,
    REPLAY,
    by_step,
    run_of,
    step_checkpoint,
    step_in_name,
)
from td3core.runs.metadata import Ending, Parent, RunLabel
from td3core.runs.new_run import describe, new_folder
from td3core.runs.tables import (
    MOST_EVALUATIONS,
    Table,
    keep_rows,
    number,
    read_last_row,
    read_means,
    read_table,
)
from td3core.system import files
from td3core.system.files import GrowingFile, make_folder, write_atomically
from td3core.system.regular_files import (
    DAMAGE,
    exists,
    glob,
    is_regular,
    parse_toml,
    read_text,
    require_own,
)
from td3core.system.timestamp import now

TABLES = ("episodes", "training", "evaluations")
_PENDING = "evaluating_"


def note_module_folder(path: Path) -> None:
    """Make the module of a run's environment importable from the folder recorded in ``run.toml``.

    ``path`` is a run or one of its checkpoints. Does nothing if no folder is recorded.
    """
    run = run_of(path) or path
    with contextlib.suppress(*DAMAGE):
        found = parse_toml(read_text(run / DESCRIPTION))
        folder = found["module_folder"]
        if isinstance(folder, str) and Path(folder).is_absolute():
            trust.note_folder(str(found["config"]["env"]), folder)


def require_writable(runs_dir: Path) -> None:
    """Check that a run can be made in a folder; leave nothing there.

    Raises:
        RequestError: the folder cannot be written or made.
    """
    there = (folder for folder in (runs_dir, *runs_dir.parents) if os.path.lexists(folder))
    try:
        with tempfile.TemporaryFile(dir=next(there, runs_dir)):
            pass
    except OSError as problem:
        raise _cannot_be_written(runs_dir, problem) from problem


def _cannot_be_written(runs_dir: Path, problem: OSError) -> RequestError:
    return RequestError(
        "The runs folder {runs_dir} cannot be written: {reason}.",
        runs_dir=runs_dir,
        reason=file_reason(problem),
    )


def header_of(checkpoint: Path) -> Header:
    """Return the header of a run's checkpoint, and make its environment's module importable.

    Raises:
        RequestError: the file is no checkpoint.
        OSError: it cannot be read.
    """
    note_module_folder(checkpoint)
    return read_header(checkpoint)


class RunDirectory:
    """One run on disk. :meth:`create` makes a new one; :meth:`open` reads an existing one."""

    def __init__(
        self,
        path: Path,
        config: RunConfig,
        tunables: Tunables,
        created: str,
        parent: Parent | None = None,
        group: str = "",
        rewritten: Callable[[], None] = lambda: None,
    ) -> None:
        """``rewritten`` is called when :meth:`rewrite_if_lost` has made the folder again."""
        # An environment may change the working directory.
        self.path = path = path.absolute()
        self.parent = parent
        self.group = group
        """The group of runs that it was started in; empty if none."""
        self.config = config
        self.first_tunables = tunables
        self.created = created
        self.checkpoints = path / CHECKPOINTS
        self.best = self.checkpoints / BEST
        self.last = self.checkpoints / LAST
        self._journal = GrowingFile(self.journal_file)
        self._description = b""
        """Contents of ``run.toml``; empty until this object has written it."""
        self._entries: list[Entry] = []
        """Journal entries since the run was opened for writing."""
        self._unwritten: list[Entry] = []
        """Entries that could not be written yet."""
        self._rewritten = rewritten

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        config: RunConfig,
        tunables: Tunables,
        parent: Parent | None = None,
        group: str = "",
        schedule: Sequence[Entry] = (),
        claim: Callable[[Path], Callable[[], None]] = lambda _: lambda: None,
    ) -> "RunDirectory":
        """Make a new run directory with its ``run.toml``.

        ``schedule`` holds the first lines of its journal: the scheduled live changes. ``claim``
        locks the run before other processes can find it, and returns a function to call whenever
        the folder had to be made again.

        Raises:
            RequestError: the folder cannot be written, or a name that the run records is no text;
                nothing is left of the run.
        """
        created = now()
        folder = trust.folder_to_note(config.env)
        for name in (folder, *((parent.run, parent.checkpoint) if parent else ())):
            _require_text(name)
        path: Path | None = None
        try:
            path = new_folder(runs_dir, config, tunables).absolute()
            (path / CHECKPOINTS).mkdir()
            run = cls(path, config, tunables, created, parent, group, claim(path))
            if schedule:
                run._entries = list(schedule)
                write_atomically(run.journal_file, journal.text_of(schedule).encode())
            description = describe(config, tunables, created)
            if folder:
                description["module_folder"] = folder
            if parent is not None:
                description["parent"] = asdict(parent)
            if group:
                description["group"] = group
            run._describe(description)
        except (Exception, KeyboardInterrupt) as problem:
            if path is not None:
                shutil.rmtree(path, ignore_errors=True)
            if isinstance(problem, OSError):
                raise _cannot_be_written(runs_dir, problem) from problem
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """Open an existing run for reading.

        Raises:
            RequestError: it is not a run directory, or its ``run.toml`` is damaged.
        """
        try:
            found = parse_toml(read_text(path / DESCRIPTION))
            schema = int(found["schema"])
            if schema > SCHEMA:
                raise newer()
            config, tunables = recorded_settings(found)
            parent = metadata.parse_parent(found.get("parent"))
            group = metadata.parse_group(found.get("group"))
            return cls(path, config, tunables, str(found["created"]), parent, group)
        except FileNotFoundError as problem:
            raise RequestError("{path} is not a run: it holds no run.toml.", path=path) from problem
        except DAMAGE as problem:
            raise unreadable(Path(path.name, DESCRIPTION), problem) from problem

    def table(self, name: str, columns: Sequence[str]) -> Table:
        """Open one of the run's growing tables for writing."""
        return Table(self.path / f"{name}.csv", columns)

    @property
    def journal_file(self) -> Path:
        """What the user did to the run, one entry per line (see :mod:`td3core.runs.journal`)."""
        return self.path / JOURNAL

    def note(self, entry: Entry) -> None:
        """Append one line to the journal.

        Raises:
            OSError: it cannot be written now; the next line, or :meth:`sync_journal`, tries again.
        """
        self._entries.append(entry)
        self._unwritten.append(entry)
        self._write_entries()

    def _write_entries(self) -> None:
        if self._unwritten:
            self._journal.append(journal.text_of(self._unwritten))
            self._unwritten.clear()

    def strike_out(self, struck: Callable[[Entry], bool]) -> None:
        """Drop lines of the journal (see :func:`td3core.runs.journal.strike_out`)."""
        self._entries = [entry for entry in self._entries if not struck(entry)]
        self._unwritten = [entry for entry in self._unwritten if not struck(entry)]
        journal.strike_out(self.journal_file, struck)

    def _describe(self, description: dict[str, Any]) -> None:
        self._description = tomli_w.dumps(description).encode()
        write_atomically(self._description_file, self._description)

    @property
    def _description_file(self) -> Path:
        return self.path / DESCRIPTION

    def rewrite_if_lost(self) -> bool:
        """Make the folder again if it was deleted or moved; return whether that was necessary.

        Afterwards it has ``run.toml`` and the journal, including the changes still to come. Tables
        and the replay buffer's file restart by themselves.

        Raises:
            OSError: the folder cannot be written.
        """
        if not self._description or self._description_file.exists():
            return False
        make_folder(self.checkpoints)
        self._rewritten()
        if not self.journal_file.exists():
            write_atomically(self.journal_file, journal.text_of(self._entries).encode())
            self._unwritten.clear()
        # Written last: while this file is missing, the next call repeats all of this.
        write_atomically(self._description_file, self._description)
        return True

    def sync_journal(self) -> None:
        """Flush the journal to disk, so that it survives a power failure.

        Raises:
            OSError: it cannot be written.
        """
        self._write_entries()
        self._journal.sync()

    def rewind(self, env_steps: int, *, unlogged: bool = False) -> None:
        """Drop all rows of the tables after this step.

        ``unlogged``: also the row of training statistics at exactly this step. A run that ended
        wrote it early, over fewer updates than usual; the resumed run includes them in a full row.

        Raises:
            OSError: a table cannot be written; it is unchanged.
            RequestError: a table is damaged.
        """
        for name in TABLES:
            path, newest = self.path / f"{name}.csv", env_steps
            if path.exists():
                keep_rows(path, newest - 1 if unlogged and name == "training" else newest)

    def steps_on_record(self) -> int:
        """Return the last step in the tables or in the run's ending."""
        rows = (read_last_row(self.path / f"{name}.csv") for name in TABLES)
        ending = self.ending()
        reached = ending.env_steps if ending else 0
        return max(reached, *(int(number(row, "env_steps")) for row in rows))

    def wall_s_on_record(self) -> float:
        """Return the latest time in the tables, in seconds; 0 without any."""
        rows = (read_last_row(self.path / f"{name}.csv") for name in TABLES)
        return max(number(row, "time_s") for row in rows)

    def with_config(
        self,
        config: RunConfig,
        tunables: Tunables | None = None,
        rewritten: Callable[[], None] = lambda: None,
    ) -> "RunDirectory":
        """Return the same run with other settings; they are written by :meth:`prepare_resume`."""
        first = self.first_tunables if tunables is None else tunables
        kept = (self.created, self.parent, self.group)
        return RunDirectory(self.path, config, first, *kept, rewritten)

    def adopt_buffer(self, other: Path) -> None:
        """Copy the replay buffer of another run, if there is one.

        Raises:
            RequestError: the folder cannot be written.
        """
        if not is_regular(other):
            return
        try:
            require_own(other)
            files.copy(other, self.path / REPLAY)
        except OSError as problem:
            # Otherwise a run without the transitions to learn from would be left behind.
            shutil.rmtree(self.path, ignore_errors=True)
            raise RequestError(
                "The replay buffer of {run} cannot be copied: {reason}.",
                run=other.parent.name,
                reason=file_reason(problem),
            ) from problem

    def prepare_resume(
        self, env_steps: int, entries: Sequence[Entry] | None = None, *, unlogged: bool = False
    ) -> None:
        """Roll the run's files back to this step, to resume from it (see :meth:`rewind`).

        ``entries`` replace its journal.

        Raises:
            RequestError: the folder cannot be written.
        """
        try:
            self.require_own_files()
            journal.require_readable(self.journal_file)
            self.rewind(env_steps, unlogged=unlogged)
            journal.mend(self.journal_file)
            # Before the new length: without these lines, schedules in percent would be rescaled.
            if entries is not None and list(entries) != self.journal():
                write_atomically(self.journal_file, journal.text_of(entries).encode())
            found = parse_toml(read_text(self.path / DESCRIPTION))
            found["config"] = to_dict(self.config)
            found["tunables"] = to_dict(self.first_tunables)
            self._describe(found)
            self._entries = self.journal()
            (self.path / metadata.ENDING).unlink(missing_ok=True)
            make_folder(self.checkpoints)
            self._sweep(env_steps)
        except OSError as problem:
            raise unwritable(self.path, problem) from problem

    def keep_written(self) -> Callable[[], None]:
        """Return a function that restores the current files that :meth:`prepare_resume` overwrites.

        Checkpoints of later steps that it deletes stay deleted: no run resumes from them.
        """
        named = [self._description_file, self.journal_file, self.path / metadata.ENDING]
        paths = [*named, *(self.path / f"{name}.csv" for name in TABLES)]
        kept = {path: path.read_bytes() for path in paths if is_regular(path)}

        def put_back() -> None:
            for path, data in kept.items():
                with contextlib.suppress(OSError):
                    write_atomically(path, data)

        return put_back

    def require_own_files(self) -> None:
        """Refuse files that lead outside the folder: a run writes nowhere else.

        Raises:
            OSError: one is a link, a device or the like.
        """
        require_own(self.checkpoints, folder=True)
        tables = (self.path / f"{name}.csv" for name in TABLES)
        for path in (self.journal_file, *tables, self.path / REPLAY):
            require_own(path)
        # Checkpoints have several names on purpose (see :func:`td3core.system.files.alias`).
        for path in (self.path / DESCRIPTION, self.last, self.best):
            require_own(path, replaced=True)

    def _sweep(self, env_steps: int) -> None:
        """Delete partial files of a killed process, and agents of later steps."""
        halves = [*self.path.glob(".*.part"), *self.checkpoints.glob(".*.part")]
        # A window may be writing its notes right now.
        halves = [path for path in halves if not path.name.startswith(f".{metadata.NOTES}")]
        agents = [*self.pending(), *self.checkpoints.glob(f"step_*{SUFFIX}")]
        later = [path for path in agents if (step_in_name(path) or 0) > env_steps]
        for path in (*halves, *later):
            path.unlink(missing_ok=True)

    def write_ending(self, values: Mapping[str, Any]) -> None:
        """Record how the run ended: the fields of an ``Ended``, optionally a ``message``.

        Raises:
            OSError: it could not be written; an earlier ending is untouched.
        """
        metadata.write_ending(self.path, values)

    def ending(self) -> Ending | None:
        """Return how the run ended; ``None`` if not on record."""
        return metadata.read_ending(self.path)

    def label(self) -> RunLabel:
        """Return the name and note that the user gave the run."""
        return metadata.read_label(self.path)

    def journal(self) -> list[Entry]:
        """Return the lines of the journal, without incomplete or damaged ones."""
        return journal.read(self.journal_file)

    def has_curves_only(self) -> bool:
        """Return whether the run was imported without an agent, so that it cannot continue."""
        return not self.saved() and journal.import_of(self.journal()) is not None

    def require_agent(self) -> None:
        """Refuse a run that will never have an agent.

        Raises:
            RequestError: only curves were imported.
        """
        if self.has_curves_only():
            raise RequestError("{run} contains only curves, no agent.", run=self.path.name)

    def step_checkpoint(self, env_steps: int) -> Path:
        """Return the path of the checkpoint after ``env_steps`` steps."""
        return step_checkpoint(self.path, env_steps)

    def pending_checkpoint(self, env_steps: int) -> Path:
        """Return the path of an agent whose evaluation is pending; not one of :meth:`saved`."""
        return self.checkpoints / f"{_PENDING}{env_steps:09d}{SUFFIX}"

    def pending(self) -> list[Path]:
        """Return the agents with a pending evaluation, by step."""
        return by_step(glob(self.checkpoints, f"{_PENDING}*{SUFFIX}"))

    def step_files(self) -> list[Path]:
        """Return the checkpoints named after their step, by step."""
        return by_step(glob(self.checkpoints, f"step_*{SUFFIX}"))

    def saved(self) -> list[Path]:
        """Return all checkpoints: by step, then best, then last."""
        return self.step_files() + [path for path in (self.best, self.last) if exists(path)]

    def newest_first(self) -> list[Path]:
        """Return all checkpoints: last, then from the highest step down, then best."""
        ordered = (self.last, *reversed(self.step_files()), self.best)
        return [path for path in ordered if path.exists()]

    def evaluations(self) -> list[tuple[int, float]]:
        """Return (env_steps, mean return) of every evaluation on record."""
        rows = read_means(self.path / "evaluations.csv").tolist()
        return [(int(env_steps), mean) for env_steps, mean in rows]

    def evaluation_at(self, env_steps: int) -> EvaluationResult | None:
        """Return the evaluation on record for this step, if there is one."""
        for row in read_table(self.path / "evaluations.csv", MOST_EVALUATIONS):
            with contextlib.suppress(KeyError, ValueError, OverflowError):
                found = evaluation_of(row, None)
                if found.env_steps == env_steps and len(found.lengths) == len(found.returns):
                    return EvaluationResult(found.returns, found.lengths, found.seed)
        return None


def _require_text(name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError as problem:
        raise RequestError(
            "The name {name} is not valid UTF-8, so a run cannot record it; rename it.", name=name
        ) from problem


def training_columns() -> tuple[str, ...]:
    """Return the columns of ``training.csv``."""
    return (*TRAINING_COLUMNS, "time_s")
