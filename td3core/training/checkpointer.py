"""Puts a run's agents on disk, with everything that going on from them needs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from td3core.buffer.buffer_file import BufferFile
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.checkpoint import Checkpoint
from td3core.errors import RequestError
from td3core.runs import retention
from td3core.runs.directory import RunDirectory
from td3core.system.files import alias, write_atomically
from td3core.training.recorder import Recorder

_RETRY_AFTER = 1_000
_MARGIN = 64 * 1024
_SUMS = "replay.sums"


class Checkpointer:
    """Saves agents: ``last`` again and again, so that little is lost to a crash, others to stay.

    What they learn from, the replay buffer, goes to a file of its own first.
    """

    def __init__(self, run: RunDirectory, buffer: ReplayBuffer, recorder: Recorder) -> None:
        self._run, self._buffer, self._recorder = run, buffer, recorder
        resumable = run.config.keep_replay
        self._file = BufferFile(run.path / "replay.f32", buffer) if resumable else None
        self._renew_at = buffer.slack // 2
        self._asked: set[int] = set()
        self._safe: int | None = None
        """Transitions that had been stored when ``last`` was last saved."""

    @property
    def due(self) -> bool:
        """Whether so much was stored since ``last`` was saved that it has to be renewed."""
        return self._file is not None and self._buffer.stored >= self._renew_at

    def buffer_state(self, env_steps: int) -> dict[str, NDArray[np.uint32]]:
        """Bring the buffer's file up to date; return what a checkpoint has to know of it."""
        file = self._file
        if file is None:
            return {}
        buffer, sums = self._buffer, list[NDArray[np.uint32]]()
        if not self._spoils_last or self._recorder.write("last", env_steps, self._try_for_room):
            self._recorder.write("the replay buffer", env_steps, lambda: sums.append(file.save()))
        # Not at every step, where the disk is full.
        self._renew_at = buffer.stored + (buffer.slack // 2 if sums else _RETRY_AFTER)
        return {_SUMS: sums[0]} if sums else {}

    @property
    def _spoils_last(self) -> bool:
        """Whether bringing the file up to date takes from it what ``last`` would go on from."""
        buffer, safe = self._buffer, self._safe
        overwrites = buffer.stored > len(buffer.rows)
        return overwrites and safe is not None and buffer.stored - safe > buffer.slack

    def _try_for_room(self) -> None:
        """Raise OSError unless a checkpoint could be written now: it has failed for long."""
        probe = self._run.path / ".room"
        try:
            write_atomically(probe, bytes(self._run.last.stat().st_size + _MARGIN))
        finally:
            probe.unlink(missing_ok=True)

    def save_last(self, agent: Checkpoint, *, quietly: bool) -> bool:
        """Save the agent to go on from, without a word to the listeners if ``quietly``."""
        env_steps = agent.header.counters.env_steps
        # Rows up to here have to be there when the run goes on from here.
        self._recorder.sync(env_steps)
        last = replace(agent, header=replace(agent.header, path=self._run.last))
        saved = self._recorder.save_agent(last, env_steps, quietly=quietly)
        if not quietly:
            self._clear_out(env_steps)
        return self._noted(agent, saved)

    def save_pending_evaluation(self, agent: Checkpoint) -> None:
        """Save an agent that is about to be evaluated, first under a name that says so.

        As the one to go on from it counts only then: a run that goes on from it knows that its
        evaluation is still out. Without the file it is measured if nothing happens meanwhile.
        """
        env_steps = agent.header.counters.env_steps
        path = self._run.pending_checkpoint(env_steps)
        self._recorder.sync(env_steps)
        named = replace(agent, header=replace(agent.header, path=path))
        if self._recorder.save_agent(named, env_steps, quietly=True):
            renamed = self._recorder.write("last", env_steps, lambda: alias(path, self._run.last))
            self._noted(agent, renamed)

    def save_step(self, agent: Checkpoint, *, asked: bool = False) -> bool:
        """Save an agent to stay, as far as it is to; it is the one to go on from as well.

        ``asked`` says that a person wants it: that one stays in any case.
        """
        env_steps = agent.header.counters.env_steps
        if asked:
            self._asked.add(env_steps)
        elif not retention.may_keep(self._run.config, env_steps):
            return self.save_last(agent, quietly=False)
        path = self._run.step_checkpoint(env_steps)
        self._recorder.sync(env_steps)
        named = replace(agent, header=replace(agent.header, path=path))
        if not self._recorder.save_agent(named, env_steps):
            return False
        renamed = self._recorder.write("last", env_steps, lambda: alias(path, self._run.last))
        self._clear_out(env_steps, newest=path)
        return self._noted(agent, renamed)

    def _clear_out(self, env_steps: int, newest: Path | None = None) -> None:
        """Delete the step checkpoints that are not to stay; the newest waits for the next."""
        run = self._run
        if retention.keeps_all(run.config):
            return

        def delete() -> None:
            for path in retention.expired_checkpoints(run, self._asked):
                if path != newest:
                    path.unlink(missing_ok=True)

        self._recorder.write("the folder of checkpoints", env_steps, delete)

    def complete_step(self, saved: Checkpoint) -> None:
        """Give the agent to go on from the name it was to stay under, if a crash prevented that."""
        env_steps, path = saved.header.counters.env_steps, saved.header.path
        wanted = self._run.step_checkpoint(env_steps)
        stays = retention.may_keep(self._run.config, env_steps)
        if path == self._run.last and stays and not wanted.exists():
            self._recorder.write(wanted.name, env_steps, lambda: alias(path, wanted))

    def _noted(self, agent: Checkpoint, saved: bool) -> bool:
        if saved:
            self._safe = agent.header.counters.stored
        return saved

    def load_buffer(self, saved: Checkpoint) -> str:
        """Fill the replay buffer with what it held then; return why not, if that cannot be."""
        if self._file is None:
            return "it was not to be kept on disk (keep_replay is off)"
        if _SUMS not in saved.tensors:
            return "it could not be written when the checkpoint was"
        try:
            self._file.load(saved.header.counters.stored, saved.tensors[_SUMS])
        except RequestError as problem:
            self._buffer.stored = 0
            return str(problem).rstrip(".")
        self._renew_at = self._buffer.stored + self._buffer.slack // 2
        self._safe = self._buffer.stored
        return ""
