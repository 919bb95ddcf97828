"""Requests to a run, from any process, wherever it trains."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from td3core.config import Tunables


class Steering(Protocol):
    """Steers a run: a ``Control`` in the run's process, or its counterpart in another."""

    def tune(self, tunables: Tunables, before: Tunables | None = None) -> int:
        """Request new live settings; return the revision that the run will acknowledge.

        If ``before`` is given, only the settings that differ from it are requested.
        """

    def pause(self) -> object:
        """Request a pause until :meth:`unpause`."""

    def unpause(self) -> object:
        """Let a paused run continue."""

    def save(self) -> object:
        """Request a checkpoint at the next step boundary."""

    def stop(self) -> object:
        """Request the run to save and end."""

    def step(self) -> object:
        """Request a single update of a paused run, which reports it and pauses again."""

    def trace(self, wanted: bool) -> object:
        """Request single updates to be reported, about two a second, or stop that."""


class Verb(StrEnum):
    """A request without values."""

    PAUSE = "pause"
    UNPAUSE = "unpause"
    SAVE = "save"
    STOP = "stop"
    STEP = "step"
    """Do a single update, then pause again."""
    TRACE = "trace"
    """Report single updates."""
    UNTRACE = "untrace"
    """Stop reporting single updates."""
    DETACH = "detach"
    """Continue when the requesting process ends."""
    RESUME = "resume"
    """Resume a run of a group that has ended. Earlier programs also mean ``UNPAUSE`` by it."""
    KILL = "kill"
    """Kill the process; the run can be resumed from its last checkpoint."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request without values."""

    verb: Verb


@dataclass(frozen=True, slots=True)
class Tune:
    """A request for new live settings."""

    tunables: Tunables
    before: Tunables | None = None
    """The settings that the caller last saw; only differences are requested. None: all are."""


Request = Ask | Tune


class Requesting:
    """A :class:`Steering` that turns each request into a value and passes it on."""

    def request(self, request: Request) -> int:
        """Pass a request on; return its number, or the revision of live settings."""
        raise NotImplementedError

    def tune(self, tunables: Tunables, before: Tunables | None = None) -> int:
        """Request new live settings; return the revision that will be acknowledged."""
        return self.request(Tune(tunables, before))

    def pause(self) -> int:
        """Request a pause until :meth:`unpause`."""
        return self.request(Ask(Verb.PAUSE))

    def unpause(self) -> int:
        """Let a paused run continue."""
        return self.request(Ask(Verb.UNPAUSE))

    def save(self) -> int:
        """Request a checkpoint at the next step boundary."""
        return self.request(Ask(Verb.SAVE))

    def stop(self) -> int:
        """Request the run to save and end; this also ends a pause."""
        return self.request(Ask(Verb.STOP))

    def step(self) -> int:
        """Request a single update of a paused run, which reports it and pauses again."""
        return self.request(Ask(Verb.STEP))

    def trace(self, wanted: bool) -> int:
        """Request single updates to be reported, about two a second, or stop that."""
        return self.request(Ask(Verb.TRACE if wanted else Verb.UNTRACE))


def steer(steering: Steering, request: Request) -> None:
    """Pass a request on; ``DETACH``, ``RESUME`` and ``KILL`` are for processes, not for runs."""
    match request:
        case Tune(tunables, before):
            steering.tune(tunables, before)
        case Ask(Verb.PAUSE):
            steering.pause()
        case Ask(Verb.UNPAUSE):
            steering.unpause()
        case Ask(Verb.SAVE):
            steering.save()
        case Ask(Verb.STOP):
            steering.stop()
        case Ask(Verb.STEP):
            steering.step()
        case Ask(Verb.TRACE | Verb.UNTRACE as verb):
            steering.trace(verb is Verb.TRACE)
        case _:
            raise ValueError(f"a run cannot {request.verb}")
