"""Steps environments in parallel, in several processes.

Each process steps its slots with the same :class:`~td3core.envs.stepper.Stepper` that the training
thread would use, so results are the same. Arrays are in shared memory; a pipe to each process
carries a command and its reply for every step, as lines of JSON that are encoded once.
"""

import contextlib
import functools
import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from ctypes import c_uint8
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from typing import Any

import numpy as np

from td3core.envs.episode import EpisodeStart
from td3core.envs.info import EnvInfo
from td3core.envs.make import check_env
from td3core.envs.stepper import StepArrays, Stepper
from td3core.errors import RequestError, RunError, message_of, traceback_of
from td3core.system import blas
from td3core.system.child_process import ChildProcess
from td3core.system.json_lines import Codec
from td3core.system.signals import leave_signals_to_parent
from td3core.text import SettingName, Text


@dataclass(frozen=True, slots=True)
class _Begin:
    """Begin episodes."""

    starts: tuple[EpisodeStart, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """Take the actions in the shared memory."""


@dataclass(frozen=True, slots=True)
class _Done:
    """The command was carried out."""


@dataclass(frozen=True, slots=True)
class _Failed:
    """The command failed."""

    message: Text
    details: str
    """The traceback of the cause; empty if the message says it all."""


_CODEC = Codec(_Begin, _Step, _Done, _Failed)


@functools.cache
def _step() -> bytes:
    return _CODEC.encode(_Step())


@functools.cache
def _done() -> bytes:
    return _CODEC.encode(_Done())


class ProcessStepper:
    """Distributes the environments of a run over ``processes`` processes.

    Raises:
        RequestError: a new process cannot make the environment.
        RunError: from :meth:`begin` and :meth:`finish`, as for a ``Stepper``, or if a process ends.
    """

    def __init__(
        self,
        info: EnvInfo,
        seed: int,
        num_envs: int,
        processes: int,
        info_names: Sequence[str] = (),
        asked_by: str = "env_processes",
    ) -> None:
        """``asked_by``: the setting that an error names."""
        names = tuple(info_names)
        memory: Any = RawArray(c_uint8, StepArrays.size(info, num_envs, len(names)))
        shared = np.frombuffer(memory, np.uint8)
        self.arrays = StepArrays.over(shared, info, num_envs, len(names))
        limits = [num_envs * i // processes for i in range(processes + 1)]
        self._workers: list[_Worker] = []
        try:
            for slots in pairwise(limits):
                self._workers.append(_Worker(slots, memory, info, seed, num_envs, names))
            for worker in self._workers:
                worker.receive()
        except RunError as problem:
            self.close()
            raise RequestError(
                "{env_id} cannot be stepped in a process of its own, as {key} asks: a new process"
                " cannot make it ({reason}). Name it as package.module:Class, or switch {key} off.",
                key=SettingName(asked_by),
                env_id=info.env_id,
                reason=problem.message,
            ) from problem
        except BaseException:
            self.close()
            raise

    def begin(self, starts: Sequence[EpisodeStart]) -> None:
        """Begin episodes, each in a fresh environment, and write their observations."""
        asked = []
        for worker in self._workers:
            first, end = worker.slots
            mine = tuple(start for start in starts if first <= start.slot < end)
            if mine:
                worker.send(_CODEC.encode(_Begin(mine)))
                asked.append(worker)
        _receive_all(asked)

    def start(self) -> None:
        """Let the processes take the actions in ``arrays``."""
        for worker in self._workers:
            worker.send(_step())

    def finish(self) -> None:
        """Wait until the results of the step are in ``arrays``."""
        _receive_all(self._workers)

    def close(self) -> None:
        """Close all environments and end the processes."""
        for worker in self._workers:
            worker.close_pipe()
        for worker in self._workers:
            worker.stop()
        self._workers.clear()


class _TracebackOfProcessError(Exception):
    """Carries the traceback of another process, as the cause of an error raised here."""


class _Worker(ChildProcess):
    """The process that steps the environments of the slots [first, end)."""

    def __init__(self, slots: tuple[int, int], *work: Any) -> None:
        super().__init__("environments", _CODEC, _serve, slots, *work)
        self.slots = slots

    def send(self, command: bytes) -> None:
        # If the process has ended, receive() reports it.
        with contextlib.suppress(OSError):
            self.pipe.connection.send_bytes(command)

    def receive(self) -> None:
        """Wait for the reply to a command.

        Raises:
            RunError: the command failed, or the process has ended.
            UpdatedError: the process runs another version of the program.
        """
        try:
            reply = self.pipe.connection.recv_bytes()
        except (EOFError, OSError):
            raise self._lost() from None
        if reply != _done():
            failed: _Failed = self.pipe.decode(reply)
            cause = _TracebackOfProcessError("\n" + failed.details) if failed.details else None
            raise RunError(failed.message) from cause

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


def _receive_all(workers: Sequence[_Worker]) -> None:
    problems = []
    # No reply may remain in a pipe; the error of the lowest slot is raised.
    for worker in workers:
        try:
            worker.receive()
        except RunError as problem:
            problems.append(problem)
    if problems:
        raise problems[0]


def _serve(
    pipe: Connection,
    slots: tuple[int, int],
    memory: Any,
    info: EnvInfo,
    seed: int,
    num_envs: int,
    info_names: tuple[str, ...],
) -> None:
    """Run commands for the environments of ``slots`` until the pipe closes."""
    leave_signals_to_parent()
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    shared = np.frombuffer(memory, np.uint8)
    arrays = StepArrays.over(shared, info, num_envs, len(info_names)).rows(*slots)
    stepper = Stepper(info, seed, arrays, num_envs, slots[0], info_names)
    with contextlib.suppress(EOFError, OSError), blas.one_thread():
        _reply(pipe, lambda: check_env(info.choice))
        while True:
            command = pipe.recv_bytes()
            if command == _step():
                _reply(pipe, stepper.finish)
            else:
                starts = _CODEC.decode(command).starts
                _reply(pipe, functools.partial(stepper.begin, starts))
    stepper.close()


def _reply(pipe: Connection, command: Callable[[], object]) -> None:
    """Run a command and send its outcome."""
    try:
        command()
    except BaseException as problem:
        # Ctrl-C does not reach this process, so any exception comes from the environment.
        message, details = message_of(problem), traceback_of(problem)
        pipe.send_bytes(_CODEC.encode(_Failed(message, details)))
    else:
        pipe.send_bytes(_done())


def _exit_with_parent() -> None:
    """Exit as soon as the training process has ended, even during a step."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
