"""Who hears what a run reports: the window's worker, a progress bar, the run's own folder."""

from collections.abc import Callable, Iterable
from typing import Protocol

from td3core.protocol.events import Event

IDLE_S = 0.25
"""Seconds between two calls of ``idle`` while a run is paused."""


class Listener(Protocol):
    """Hears the events of a run, in the run's thread; the last is an ``Ended`` or a ``Failed``."""

    def report(self, event: Event) -> None:
        """Take an event."""

    def idle(self) -> None:
        """Do what has to be done from time to time; called while the run is paused."""


class Listeners:
    """All who listen to one run; each event goes to them in their order."""

    def __init__(self, report: Callable[[Event], None], listeners: Iterable[Listener] = ()) -> None:
        """``report`` hears every event first."""
        self._report, self._listeners = report, list(listeners)

    def add(self, listener: Listener) -> None:
        """Let one more listen from now on."""
        self._listeners.append(listener)

    def remove(self, listener: Listener) -> None:
        """Let one listen no longer."""
        self._listeners.remove(listener)

    def report(self, event: Event) -> None:
        """Pass an event on."""
        self._report(event)
        for listener in self._listeners:
            listener.report(event)

    def idle(self) -> None:
        """Give each its turn."""
        for listener in self._listeners:
            listener.idle()
