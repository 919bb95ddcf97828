"""Ctrl-C and SIGTERM save and stop training, interrupt other work, and end what hangs.

Python runs signal handlers between two bytecode instructions of the main thread, which may never
return from an environment's C code. So a thread receives each signal too, through a socket. If C
code never releases the GIL, the second signal has the system's default action, which ends the
process; only then is nothing printed.
"""

import ctypes
import multiprocessing
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from td3core.cli.terminal import console, log
from td3core.errors import interrupt, require_no_interrupt
from td3core.system.signals import ending_signals
from td3core.text import Text

INTERRUPTED = 130

_PATIENCE_S = 2.0
"""Seconds after which code that has not noticed a Ctrl-C counts as hanging."""
_CLEANING_S = 5.0
"""Seconds that code which has noticed a Ctrl-C may take to close and clean up."""
_AT_ONCE_S = 0.5
_FAREWELL_S = 2.0
"""Seconds for the last output of a process that hangs."""


_watch: "_Watch | None" = None
_last_words: Callable[[], None] | None = None


class Stoppable(Protocol):
    """Anything that trains and can be asked to save and stop."""

    @property
    def stopping(self) -> bool:
        """True once a stop was requested."""

    def stop(self) -> None:
        """Request a stop; must be safe in a signal handler."""


@contextmanager
def interrupts_stop(
    control: Stoppable, answered: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Make the first Ctrl-C save and stop the run, and the second one interrupt it.

    Closing the terminal saves and stops it too. SIGHUP may arrive several times; with ``nohup`` it
    is ignored, and the run continues.

    ``answered``: whether a run that steps environments in this thread has noticed the request. If
    it has not, the user is asked to press Ctrl-C again. If a second Ctrl-C has no effect, the
    process is ended, provided that it is inside :func:`ending_what_hangs`. None: never end it.
    """

    def handle(number: int, _frame: object) -> None:
        if not control.stopping:
            control.stop()
            if number == signal.SIGINT:
                log(Text("Saving; press Ctrl-C again to quit at once."))
            else:
                log(Text("Saving and ending."))
        elif number != getattr(signal, "SIGHUP", None):
            _interrupt()

    before = {number: signal.signal(number, handle) for number in ending_signals()}
    watch = _watch
    if watch is not None:
        watch.begin(answered, ends=answered is not None, saves=True)
    try:
        yield
    except BaseException as problem:
        require_no_interrupt(problem)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        interrupt.raised = False
        if watch is not None:
            watch.begin()


@contextmanager
def ending_what_hangs() -> Iterator[None]:
    """End this process, which exists for one command only, if a signal does not interrupt it.

    An ignored signal stays ignored: a shell makes background processes ignore Ctrl-C.
    """
    global _watch
    usual = {signal.default_int_handler, signal.SIG_DFL}
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {each: handler for each in numbers if (handler := signal.getsignal(each)) in usual}
    for number in before:
        signal.signal(number, _interrupt)
    _watch = _Watch(frozenset(before))
    try:
        yield
    finally:
        _watch.close()
        _watch = None
        for number, handler in before.items():
            signal.signal(number, handler)
        # If a Ctrl-C arrived while Python executed a string, as dataclasses do, it ends the process
        # by SIGINT in spite of its exit status, until another string was executed.
        exec("")  # noqa: S102


@contextmanager
def last_words(say: Callable[[], None]) -> Iterator[None]:
    """Call ``say`` if this process is ended because its environment hangs."""
    global _last_words
    _last_words = say
    try:
        yield
    finally:
        _last_words = None


def _interrupt(*_: object) -> None:
    if _watch is not None:
        _watch.heard = True
    interrupt.raised = True
    raise KeyboardInterrupt


class _Watch:
    """A thread that notices every signal immediately, whatever the main thread is doing."""

    def __init__(self, numbers: frozenset[int]) -> None:
        """Watch these signals."""
        self._numbers = numbers
        self.heard = False
        """Whether the main thread was interrupted."""
        self._ours, self._theirs = socket.socketpair()
        self._theirs.setblocking(False)
        self._before = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False)
        self._once = _OneShot(numbers)
        self.begin()
        threading.Thread(target=self._work, name="watch-interrupts", daemon=True).start()

    def begin(
        self,
        answered: Callable[[], bool] | None = None,
        *,
        ends: bool = True,
        saves: bool = False,
    ) -> None:
        """Forget earlier signals; ``saves``: the first Ctrl-C saves instead of interrupting."""
        self._answered, self._ends, self._saves = answered, ends, saves
        self._pressed, self._warned, self.heard = 0, False, False
        self._due: float | None = None
        if ends:
            self._once.install()

    def close(self) -> None:
        """End the thread."""
        signal.set_wakeup_fd(self._before)
        self._ends = False
        self._theirs.close()

    def _work(self) -> None:
        with self._ours:
            while True:
                due = self._due
                wait = None if due is None else max(0.0, due - time.monotonic())
                ready, _, _ = select.select([self._ours], [], [], wait)
                if not ready:
                    self._look()
                    continue
                numbers = self._ours.recv(1)
                if not numbers:
                    return
                if self._ends and numbers[0] in self._numbers:
                    self._once.install()
                    self._press()

    def _press(self) -> None:
        self._pressed += 1
        at_once = self._warned or self._pressed > 1 + self._saves
        self._due = time.monotonic() + (_AT_ONCE_S if at_once else _PATIENCE_S)

    def _look(self) -> None:
        """Check the effect of the last Ctrl-C."""
        due, self._due = self._due, None
        if due is None or not self._ends:
            return
        if self._saves and self._pressed == 1:
            if self._answered is not None and not self._answered():
                self._warned = True
                log(Text("No answer: the environment may hang. Ctrl-C again ends the run at once."))
        elif self.heard:
            self.heard = False
            self._due = due + (_AT_ONCE_S if self._warned else _CLEANING_S)
        else:
            _end()


def _end() -> None:
    """End the process without returning to the main thread."""
    # In a thread: output may need a lock that the main thread holds, such as that of imports.
    farewell = threading.Thread(target=_say_farewell, daemon=True)
    farewell.start()
    farewell.join(_FAREWELL_S)
    os._exit(INTERRUPTED)


def _say_farewell() -> None:
    with suppress(Exception):
        for child in multiprocessing.active_children():
            child.kill()
    with suppress(Exception):
        if _last_words is not None:
            _last_words()
    with suppress(Exception):
        console.show_cursor()
        log(Text("The environment did not answer. Interrupted."))


class _OneShot:
    """One-shot signal handlers: after one signal, the next has the system's default action.

    :meth:`install` renews them. Nothing else can end C code that never releases the GIL. Has no
    effect except on Linux.
    """

    def __init__(self, numbers: frozenset[int]) -> None:
        self._numbers = numbers
        libc: Any = ctypes.CDLL(None) if os.name == "posix" else None
        self._install = getattr(libc, "sysv_signal", None)
        if self._install is not None and numbers:
            for each in (libc.signal, self._install):
                each.argtypes, each.restype = [ctypes.c_int, ctypes.c_void_p], ctypes.c_void_p
            # Python's own handler, the same for every signal.
            first, *_ = numbers
            self._handler = libc.signal(first, int(signal.SIG_IGN))

    def install(self) -> None:
        """Let the next signal call Python's handler, and the one after it end the process."""
        if self._install is not None:
            for number in self._numbers:
                self._install(number, self._handler)
