"""Environments spread over processes of their own, stepped at the same time.

Each process steps its part of the slots with the same :class:`~td3core.envs.stepper.Stepper` that
steps them all in the training thread, so results are the same. Numbers are exchanged through one
piece of shared memory; a pipe says whose turn it is, once there and once back for a step of all.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Sequence
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
from td3core.errors import RequestError, RunError, traceback_of
from td3core.system.child_process import ChildProcess

_STEP, _DONE = b"step", b"done"


class ProcessStepper:
    """``processes`` processes that share the environments of a run among them.

    Raises:
        RequestError: a process of its own cannot make the environment.
        RunError: from :meth:`begin` and :meth:`step`, as of a ``Stepper``; or a process is lost.
    """

    def __init__(self, info: EnvInfo, seed: int, num_envs: int, processes: int) -> None:
        memory: Any = RawArray(c_uint8, StepArrays.size(info, num_envs))
        self.arrays = StepArrays.over(np.frombuffer(memory, np.uint8), info, num_envs)
        borders = [num_envs * i // processes for i in range(processes + 1)]
        self._workers: list[_Worker] = []
        try:
            for slots in pairwise(borders):
                self._workers.append(_Worker(slots, memory, info, seed, num_envs))
            for worker in self._workers:
                worker.receive()
        except RunError as problem:
            self.close()
            raise RequestError(
                f"env_processes cannot be {processes} for {info.env_id}: a process of its own"
                f" cannot make it ({problem}). Name it package.module:Class, or take 0."
            ) from problem
        except BaseException:
            self.close()
            raise

    def begin(self, starts: Sequence[EpisodeStart]) -> None:
        """Begin episodes, each in a fresh environment; their observations go to the arrays."""
        orders = []
        for worker in self._workers:
            first, end = worker.slots
            mine = [start for start in starts if first <= start.slot < end]
            if mine:
                orders.append((worker, pickle.dumps(mine)))
        self._ask(orders)

    def step(self) -> None:
        """Take the actions on the arrays; what comes of them is written there."""
        self._ask([(worker, _STEP) for worker in self._workers])

    def close(self) -> None:
        """Let go of all environments and end the processes."""
        for worker in self._workers:
            worker.close_pipe()
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def _ask(self, orders: list[tuple["_Worker", bytes]]) -> None:
        for worker, order in orders:
            worker.send(order)
        faults = []
        # All answers are awaited: the lowest slot's fault is the one that is told.
        for worker, _ in orders:
            try:
                worker.receive()
            except RunError as problem:
                faults.append(problem)
        if faults:
            raise faults[0]


class _TracebackOfProcessError(Exception):
    """Shows what happened in another process as the cause of what is raised here."""


class _Worker(ChildProcess):
    """The process that steps the environments of some slots."""

    def __init__(self, slots: tuple[int, int], *work: Any) -> None:
        super().__init__("environments", _serve, slots, *work)
        self.slots = slots

    def send(self, order: bytes) -> None:
        # What became of a process that is gone is found out when its answer is awaited.
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(order)

    def receive(self) -> None:
        """Wait for the answer to an order."""
        try:
            answer = self.pipe.recv_bytes()
        except (EOFError, OSError):
            first, last = self.slots[0], self.slots[1] - 1
            which = f"environment {first}" if first == last else f"environments {first} to {last}"
            raise RunError(
                f"The process that stepped {which} ended unexpectedly"
                f" (exit code {self.exit_code()})."
            ) from None
        if answer != _DONE:
            message, details = pickle.loads(answer)  # noqa: S301
            cause = _TracebackOfProcessError("\n" + details) if details else None
            raise RunError(message) from cause


def _serve(
    pipe: Connection,
    slots: tuple[int, int],
    memory: Any,
    info: EnvInfo,
    seed: int,
    num_envs: int,
) -> None:
    """Step the environments of ``slots`` as told, until the pipe closes."""
    # Ctrl-C reaches every process of the terminal; what to do about it is the training's business.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_training, daemon=True).start()
    arrays = StepArrays.over(np.frombuffer(memory, np.uint8), info, num_envs).rows(*slots)
    stepper = Stepper(info, seed, arrays, num_envs, first=slots[0])
    with contextlib.suppress(EOFError, OSError), threadpool_limits(1, user_api="blas"):
        _answer(pipe, lambda: check_env(info.choice))
        while True:
            order = pipe.recv_bytes()
            if order == _STEP:
                _answer(pipe, stepper.step)
            else:
                starts = pickle.loads(order)  # noqa: S301
                _answer(pipe, lambda starts=starts: stepper.begin(starts))
    stepper.close()


def _answer(pipe: Connection, work: Any) -> None:
    try:
        work()
    except Exception as problem:
        pipe.send_bytes(pickle.dumps((str(problem), traceback_of(problem))))
    else:
        pipe.send_bytes(_DONE)


def _end_with_the_training() -> None:
    """Leave at once when the training's process is gone, even from within a step."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
