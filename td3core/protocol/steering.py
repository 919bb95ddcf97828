"""What a run can be asked, whoever asks and wherever it trains."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from td3core.config import Tunables


class Steering(Protocol):
    """What steers a run: a ``Control`` in its process, or what stands for one in another."""

    def tune(self, tunables: Tunables) -> int:
        """Request new live settings; return the revision that the run will acknowledge."""

    def pause(self) -> None:
        """Request a pause until :meth:`resume`."""

    def resume(self) -> None:
        """Let a paused run continue."""

    def save(self) -> None:
        """Request a checkpoint at the next step boundary."""

    def stop(self) -> None:
        """Request the run to save and end."""


class Verb(StrEnum):
    """What is asked without further values."""

    PAUSE = "pause"
    RESUME = "resume"
    SAVE = "save"
    STOP = "stop"
    DETACH = "detach"
    """Go on when the process that asks ends."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request without values."""

    verb: Verb


@dataclass(frozen=True, slots=True)
class Tune:
    """A request for other live settings."""

    tunables: Tunables


def steer(steering: Steering, request: Ask | Tune) -> None:
    """Pass a request on; ``DETACH`` is for the process, not for the run."""
    match request:
        case Tune(tunables):
            steering.tune(tunables)
        case Ask(Verb.PAUSE):
            steering.pause()
        case Ask(Verb.RESUME):
            steering.resume()
        case Ask(Verb.SAVE):
            steering.save()
        case Ask(Verb.STOP):
            steering.stop()
        case _:
            raise ValueError(f"a run cannot {request.verb}")
