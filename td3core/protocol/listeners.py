"""Listeners to a run's events: the window's worker, a progress bar, the run's own folder."""

from collections.abc import Callable, Iterable
from typing import Protocol

from td3core.protocol.events import Event

IDLE_S = 0.25
"""Seconds between two calls of ``idle`` while a run is paused."""


class Listener(Protocol):
    """Receives a run's events, in the run's thread; the last is an ``Ended`` or a ``Failed``."""

    def report(self, event: Event) -> None:
        """Handle an event."""

    def idle(self) -> None:
        """Do periodic work; called while the run is paused."""


class Listeners:
    """All listeners to one run; each event goes to them in order."""

    def __init__(self, report: Callable[[Event], None], listeners: Iterable[Listener] = ()) -> None:
        """``report`` receives every event first."""
        self._report, self._listeners = report, list(listeners)

    def add(self, listener: Listener) -> None:
        """Add a listener."""
        self._listeners.append(listener)

    def remove(self, listener: Listener) -> None:
        """Remove a listener."""
        self._listeners.remove(listener)

    def report(self, event: Event) -> None:
        """Pass an event on."""
        self._report(event)
        for listener in self._listeners:
            listener.report(event)

    def idle(self) -> None:
        """Call ``idle`` of each listener."""
        for listener in self._listeners:
            listener.idle()
