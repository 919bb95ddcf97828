"""Steps environments in parallel, in several processes.

Each process steps its slots with the same :class:`~td3core.envs.stepper.Stepper` that the training
thread would use, so results are the same. Arrays are in shared memory; a pipe to each process
carries a command and its reply for every step.
"""

import contextlib
import functools
import multiprocessing
import os
import pickle
import threading
from collections.abc import Callable, Sequence
from ctypes import c_uint8
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from td3core.envs.episode import EpisodeStart
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.envs.stepper import StepArrays, Stepper
from td3core.errors import RequestError, RunError, message_of, traceback_of
from td3core.system.child_process import ChildProcess, leave_signals_to_parent

_STEP, _DONE = b"step", b"done"


class ProcessStepper:
    """Distributes the environments of a run over ``processes`` processes.

    Raises:
        RequestError: a new process cannot make the environment.
        RunError: from :meth:`begin` and :meth:`step`, as for a ``Stepper``, or if a process ends.
    """

    def __init__(self, info: EnvInfo, seed: int, num_envs: int, processes: int) -> None:
        memory: Any = RawArray(c_uint8, StepArrays.size(info, num_envs))
        self.arrays = StepArrays.over(np.frombuffer(memory, np.uint8), info, num_envs)
        limits = [num_envs * i // processes for i in range(processes + 1)]
        self._workers: list[_Worker] = []
        try:
            for slots in pairwise(limits):
                self._workers.append(_Worker(slots, memory, info, seed, num_envs))
            for worker in self._workers:
                worker.receive()
        except RunError as problem:
            self.close()
            raise RequestError(
                "env_processes cannot be {processes} for {env_id}: a new process cannot make it"
                " ({reason}). Name it as package.module:Class, or use 0.",
                processes=processes,
                env_id=info.env_id,
                reason=problem.message,
            ) from problem
        except BaseException:
            self.close()
            raise

    def begin(self, starts: Sequence[EpisodeStart]) -> None:
        """Begin episodes, each in a fresh environment, and write their observations."""
        commands = []
        for worker in self._workers:
            first, end = worker.slots
            mine = [start for start in starts if first <= start.slot < end]
            if mine:
                commands.append((worker, pickle.dumps(mine)))
        self._run_all(commands)

    def step(self) -> None:
        """Take the actions in ``arrays``, and write the results there."""
        self._run_all([(worker, _STEP) for worker in self._workers])

    def close(self) -> None:
        """Close all environments and end the processes."""
        for worker in self._workers:
            worker.close_pipe()
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _run_all(self, commands: list[tuple["_Worker", bytes]]) -> None:
        """Send a command to each worker and wait for all replies."""
        for worker, command in commands:
            worker.send(command)
        problems = []
        # No reply may stay in a pipe; the error of the lowest slot is raised.
        for worker, _ in commands:
            try:
                worker.receive()
            except RunError as problem:
                problems.append(problem)
        if problems:
            raise problems[0]


class _TracebackOfProcessError(Exception):
    """Carries the traceback of another process, as the cause of an error raised here."""


class _Worker(ChildProcess):
    """The process that steps the environments of the slots [first, end)."""

    def __init__(self, slots: tuple[int, int], *work: Any) -> None:
        super().__init__("environments", _serve, slots, *work)
        self.slots = slots

    def send(self, command: bytes) -> None:
        # If the process is gone, receive() reports it.
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(command)

    def receive(self) -> None:
        """Wait for the reply to a command.

        Raises:
            RunError: the command failed, or the process has ended.
        """
        try:
            reply = self.pipe.recv_bytes()
        except (EOFError, OSError):
            raise self._lost() from None
        if reply != _DONE:
            message, details = pickle.loads(reply)  # noqa: S301
            cause = _TracebackOfProcessError("\n" + details) if details else None
            raise RunError(message) from cause

    def _lost(self) -> RunError:
        first, last = self.slots[0], self.slots[1] - 1
        if first == last:
            return RunError(
                "The process that stepped environment {number} ended unexpectedly (exit code"
                " {exit_code}).",
                number=first,
                exit_code=self.exit_code(),
            )
        return RunError(
            "The process that stepped environments {first} to {last} ended unexpectedly (exit code"
            " {exit_code}).",
            first=first,
            last=last,
            exit_code=self.exit_code(),
        )


def _serve(
    pipe: Connection,
    slots: tuple[int, int],
    memory: Any,
    info: EnvInfo,
    seed: int,
    num_envs: int,
) -> None:
    """Run commands for the environments of ``slots`` until the pipe closes."""
    leave_signals_to_parent()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    arrays = StepArrays.over(np.frombuffer(memory, np.uint8), info, num_envs).rows(*slots)
    stepper = Stepper(info, seed, arrays, num_envs, first=slots[0])
    with contextlib.suppress(EOFError, OSError), threadpool_limits(1, user_api="blas"):
        _reply(pipe, lambda: check_env(info.choice))
        while True:
            command = pipe.recv_bytes()
            if command == _STEP:
                _reply(pipe, stepper.step)
            else:
                starts = pickle.loads(command)  # noqa: S301
                _reply(pipe, functools.partial(stepper.begin, starts))
    stepper.close()


def _reply(pipe: Connection, command: Callable[[], object]) -> None:
    """Run a command and send whether it was done."""
    try:
        command()
    except BaseException as problem:
        # Ctrl-C does not reach this process: whatever it is, the environment raised it.
        pipe.send_bytes(pickle.dumps((message_of(problem), traceback_of(problem))))
    else:
        pipe.send_bytes(_DONE)


def _exit_with_parent() -> None:
    """Exit as soon as the training process is gone, even during a step."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
