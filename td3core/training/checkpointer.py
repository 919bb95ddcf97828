"""Saves a run's agents, with everything needed to resume from them."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from td3core.buffer.buffer_file import SUMS, BufferFile
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.checkpoint import Checkpoint
from td3core.errors import RequestError, quoted
from td3core.runs import retention
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import REPLAY
from td3core.runs.resumption import ResumePoint
from td3core.system.files import alias, write_atomically
from td3core.system.regular_files import is_regular
from td3core.text import NO_TEXT, SettingName, Text
from td3core.training.recorder import Recorder

_RETRY_AFTER = 1_000
"""Transitions until a failed write of the replay buffer is tried again."""

_MARGIN = 64 * 1024


class Kind(StrEnum):
    """Purpose of a saved agent."""

    LAST = "last"
    """To resume from: at the end of a run, or instead of a step checkpoint that is not kept."""
    RENEWAL = "renewal"
    """To resume from: during the run; not announced."""
    STEP = "step"
    """A step checkpoint, kept or deleted as the settings require."""
    REQUESTED = "requested"
    """A step checkpoint requested by the user: always kept."""
    PENDING = "pending"
    """About to be evaluated; not announced."""
    BEST = "best"
    """The best agent so far."""


class Checkpointer:
    """Writes checkpoints, each preceded by the replay buffer it needs.

    A run resumes from ``last``; each kind but ``BEST`` renews it.
    """

    def __init__(self, run: RunDirectory, buffer: ReplayBuffer, recorder: Recorder) -> None:
        self._run, self._buffer, self._recorder = run, buffer, recorder
        resumable = run.config.keep_replay
        self._file = BufferFile(run.path / REPLAY, buffer) if resumable else None
        self._renew_at = buffer.slack // 2
        self._requested: set[int] = set()
        self._safe: int | None = None
        """Transitions stored when ``last`` was last saved."""

    @property
    def due(self) -> bool:
        """True if ``last`` must be renewed before the buffer overwrites rows it needs."""
        return self._file is not None and self._buffer.stored >= self._renew_at

    def forget_lost(self) -> bool:
        """Return whether ``last`` was saved, but has been deleted since; True only once."""
        lost = self._safe is not None and not self._run.last.exists()
        if lost:
            self._safe = None
        return lost

    def save(self, kind: Kind, agent: Checkpoint) -> bool:
        """Save an agent that :meth:`attach_buffer` has completed; return whether that worked.

        A failure is reported as a warning and leaves older checkpoints unchanged.
        """
        env_steps = agent.header.counters.env_steps
        if kind is Kind.BEST:
            return self._recorder.save_agent(agent, self._run.best)
        if kind is Kind.REQUESTED:
            self._requested.add(env_steps)
        elif kind is Kind.STEP and not retention.may_keep(self._run.config, env_steps):
            kind = Kind.LAST
        # When the run is resumed from here, the rows up to here must be on disk.
        self._recorder.sync(env_steps)
        if kind in (Kind.LAST, Kind.RENEWAL):
            saved = self._recorder.save_agent(agent, self._run.last, announce=kind is Kind.LAST)
            if kind is Kind.LAST:
                self._delete_expired(env_steps)
        else:
            saved = self._save_under_own_name(kind, agent)
        if saved:
            self._safe = agent.header.counters.stored
        return saved

    def _save_under_own_name(self, kind: Kind, agent: Checkpoint) -> bool:
        """Save under the step's name, and link ``last`` to the same file.

        A pending agent becomes ``last`` only once it is written under its own name, which tells a
        run that resumes from it that its evaluation is pending.
        """
        env_steps, run, pending = agent.header.counters.env_steps, self._run, kind is Kind.PENDING
        path = run.pending_checkpoint(env_steps) if pending else run.step_checkpoint(env_steps)
        if not self._recorder.save_agent(agent, path, announce=not pending):
            return False
        renamed = self._recorder.write("last", env_steps, lambda: alias(path, run.last))
        if not pending:
            self._delete_expired(env_steps, newest=path)
        return renamed

    def _delete_expired(self, env_steps: int, newest: Path | None = None) -> None:
        """Delete the step checkpoints that the settings do not keep; the newest stays for now."""
        run = self._run
        if retention.keeps_all(run.config):
            return

        def delete() -> None:
            for path in retention.expired_checkpoints(run, self._requested):
                if path != newest:
                    path.unlink(missing_ok=True)

        self._recorder.write(Text("the folder of checkpoints"), env_steps, delete)

    def complete_step(self, point: ResumePoint) -> None:
        """Also save a resumed ``last`` as a step checkpoint, if a crash prevented that."""
        env_steps = point.saved.header.counters.env_steps
        wanted = self._run.step_checkpoint(env_steps)
        kept = retention.may_keep(self._run.config, env_steps)
        if point.path == self._run.last and kept and not wanted.exists():
            self._recorder.write(wanted.name, env_steps, lambda: alias(self._run.last, wanted))

    # The replay buffer's file -------------------------------------------------------------------

    def attach_buffer(self, agent: Checkpoint) -> Checkpoint:
        """Bring the buffer's file up to date; return the agent with the file's checksums.

        If the file is not kept or could not be written, the agent has none, and a run that resumes
        from it must refill its buffer.
        """
        file, buffer = self._file, self._buffer
        env_steps = agent.header.counters.env_steps
        self._recorder.require_folder(env_steps)
        if file is None:
            return agent
        if self._safe is not None and not self._run.last.exists():
            self._safe = None  # No checkpoint depends on the saved rows.
        sums = []
        if not self._would_spoil_last or self._recorder.write("last", env_steps, self._try_space):
            write = self._recorder.write
            write(Text("the replay buffer"), env_steps, lambda: sums.append(file.save()))
        # With a full disk, retry, but not at every step.
        self._renew_at = buffer.stored + (buffer.slack // 2 if sums else _RETRY_AFTER)
        return replace(agent, tensors=agent.tensors | {SUMS: sums[0]}) if sums else agent

    @property
    def _would_spoil_last(self) -> bool:
        """Whether updating the file overwrites rows that resuming from ``last`` needs."""
        buffer, safe = self._buffer, self._safe
        overwrites = buffer.stored > len(buffer.rows)
        return overwrites and safe is not None and buffer.stored - safe > buffer.slack

    def _try_space(self) -> None:
        """Raise OSError unless a checkpoint could be written now; used after failed writes."""
        probe = self._run.path / ".room"
        try:
            write_atomically(probe, bytes(self._run.last.stat().st_size + _MARGIN))
        finally:
            probe.unlink(missing_ok=True)

    def load_buffer(self, saved: Checkpoint, parents: Path | None = None) -> Text:
        """Restore the replay buffer of a checkpoint; return the reason if that is impossible.

        A branch without a buffer file reads that of its parent, ``parents``, if there is one.
        """
        file = self._file
        if file is None and parents is not None and is_regular(parents):
            file = BufferFile(parents, self._buffer)
        if saved.header.origin is not None and not saved.header.counters.stored:
            return Text("the imported file has none")
        if file is None:
            return Text("it is not kept on disk ({key} is off)", key=SettingName("keep_replay"))
        if not saved.header.config.keep_replay:
            return Text("its run kept none on disk ({key} was off)", key=SettingName("keep_replay"))
        if SUMS not in saved.tensors:
            return Text("it could not be written with the checkpoint")
        try:
            file.load(saved.header.counters.stored, saved.tensors[SUMS])
        except RequestError as problem:
            self._buffer.stored = 0
            return quoted(str(problem).rstrip("."))
        self._buffer.unmarked = saved.header.counters.unmarked
        self._renew_at = self._buffer.stored + self._buffer.slack // 2
        self._safe = self._buffer.stored
        return NO_TEXT
