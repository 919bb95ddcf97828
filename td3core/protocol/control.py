"""Requests to a run: a thread-safe, latest-wins slot that it reads at step boundaries."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from td3core.config import Tunables, changes, given, specs, with_values


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Everything requested since the run last took its requests."""

    values: Mapping[str, Any] | None
    """New values of live settings; others stay unchanged. None if nothing is to change."""
    named: frozenset[str]
    """Settings that were asked for one by one, perhaps with the value they have."""
    revision: int
    save: bool
    pause: bool
    stop: bool
    step: bool
    """Whether a paused run should do one update."""
    trace: bool
    """Whether single updates should be reported."""


class Control:
    """The only handle that other threads have on a run.

    Any thread may make requests; only the run calls :meth:`take_requests` and :meth:`wait`.
    ``has_requests`` is a plain bool read once per step: cheaper than a lock, and a request set a
    moment too late for one step is seen at the next.
    """

    _YIELD_S = 100e-6
    _BETWEEN_YIELDS_S = 1e-3

    def __init__(
        self,
        *,
        shares_interpreter: bool = False,
        boundary_hook: Callable[[int], None] | None = None,
    ) -> None:
        """Make a control.

        Args:
            shares_interpreter: another thread, such as a window's, needs the GIL as well.
            boundary_hook: called by the run at each step boundary with the steps taken so far, in
                its thread; it may make requests, which the run then handles before the next step.
        """
        self.has_requests = False
        self.boundary_hook = boundary_hook
        self._shares_interpreter = shares_interpreter
        self._yielded_at = 0.0
        self._changed = threading.Condition()
        self._values: dict[str, Any] | None = None
        self._named = set[str]()
        self._revision = 0
        self._save = False
        self._pause = False
        self._stop = False
        self._step = False
        self._trace = False

    @classmethod
    def stopping_at(cls, env_steps: int) -> "Control":
        """Return a control that stops its run at this step, or at the first boundary after it."""

        def stop_when_reached(reached: int) -> None:
            if reached >= env_steps:
                control.stop()

        control = cls(boundary_hook=stop_when_reached)
        return control

    def tune(self, tunables: Tunables, before: Tunables | None = None) -> int:
        """Request new live settings; return the revision that the run will acknowledge.

        ``before`` are the settings that the caller last saw: only differences are requested, other
        settings keep their value or schedule.
        """
        if before is None:
            everything = {name: given(tunables, name) for name, _ in specs(tunables)}
            return self._request(everything, named=())
        different = {name: new for name, _, new in changes(before, tunables)}
        return self._request(different, named=different)

    def change(self, values: Mapping[str, Any]) -> int:
        """Request new values of some live settings; return the revision as :meth:`tune` does.

        Raises:
            RequestError: a value is not allowed.
        """
        with_values(Tunables(), values)
        return self._request(values, named=values)

    def _request(self, values: Mapping[str, Any], named: Iterable[str]) -> int:
        with self._changed:
            self._values = (self._values or {}) | dict(values)
            self._named |= set(named)
            self._revision += 1
            self._wake()
            return self._revision

    def pause(self) -> None:
        """Request a pause until :meth:`unpause`."""
        with self._changed:
            self._pause = True
            self._wake()

    def unpause(self) -> None:
        """Let a paused run continue."""
        with self._changed:
            self._pause = self._step = False
            self._wake()

    resume = unpause
    """Its name in scripts for earlier versions."""

    def step(self) -> None:
        """Request a single update of a paused run, which reports it and pauses again."""
        with self._changed:
            self._step = True
            self._wake()

    def trace(self, wanted: bool) -> None:
        """Request single updates to be reported, about two a second, or stop that."""
        with self._changed:
            self._trace = wanted
            self._wake()

    def save(self) -> None:
        """Request a checkpoint at the next step boundary."""
        with self._changed:
            self._save = True
            self._wake()

    def stop(self) -> None:
        """Request the run to save and end; this also ends a pause."""
        with self._changed:
            self._stop = True
            self._wake()

    @property
    def stopping(self) -> bool:
        """True once a stop was requested; readable from any thread."""
        return self._stop

    def yield_gil(self) -> None:
        """Give other threads the GIL now and then. Only for the run.

        A thread that waits for the GIL starves while the running one releases and retakes it all
        the time, as each call into Box2D does: the waiting thread is woken, comes too late, and
        starts to wait again (observed: a window blocked for 1.5 s). A short sleep from time to time
        prevents that.
        """
        if self._shares_interpreter:
            now = time.perf_counter()
            if now - self._yielded_at > self._BETWEEN_YIELDS_S:
                time.sleep(self._YIELD_S)
                self._yielded_at = now

    def take_requests(self) -> Requests:
        """Return everything requested since the last call. Only for the run."""
        with self._changed:
            requests = Requests(
                values=self._values,
                named=frozenset(self._named),
                revision=self._revision,
                save=self._save,
                pause=self._pause,
                stop=self._stop,
                step=self._step,
                trace=self._trace,
            )
            self._values, self._save, self._step = None, False, False
            self._named.clear()
            self.has_requests = False
            return requests

    def take_step(self) -> bool:
        """Return whether another update is requested and nothing else. Only for the run.

        Any other request stays, for :meth:`take_requests` at the next step boundary.
        """
        with self._changed:
            other = self._values is not None or self._save or self._stop or not self._pause
            if other or not self._step:
                return False
            self._step = self.has_requests = False
            return True

    def look_again(self) -> None:
        """Make the run take its requests again, so that a pause continues. Only for the run."""
        self.has_requests = True

    def wait(self, timeout_s: float | None = None) -> bool:
        """Sleep until the next request; return False if none came in time. Only for the run."""
        with self._changed:
            return self._changed.wait_for(lambda: self.has_requests, timeout_s)

    def _wake(self) -> None:
        self.has_requests = True
        self._changed.notify_all()
