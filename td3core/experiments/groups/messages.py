"""Messages between a window and the process that trains a group."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from td3core.experiments.groups.commands import Command
from td3core.experiments.groups.group import Group, NewGroup
from td3core.experiments.groups.seed_status import SeedStatus
from td3core.protocol.events import Event
from td3core.protocol.steering import Ask
from td3core.system.json_lines import Codec
from td3core.text import Text

if TYPE_CHECKING:
    from cattrs import Converter


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedGroup:
    """Continue the group in a folder; ``steps`` is the new length of its runs, if given."""

    path: Path
    steps: int | None = None
    seeds: tuple[int, ...] = ()
    """The runs to continue; empty for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupStarted:
    """The group is on disk, and its first runs are about to start."""

    group: Group
    jobs: int
    reason: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedEvent:
    """An event of one run of the group."""

    seed: int
    event: Event

    def as_plain(self, converter: "Converter") -> object:
        """Return the message as a value for a line of JSON: the event with its kind."""
        kind, event = type(self.event).__name__, converter.unstructure(self.event)
        return {"seed": self.seed, "kind": kind, "event": event}

    @classmethod
    def from_plain(cls, value: Any, converter: "Converter") -> "SeedEvent":
        """Return the event of a line of JSON."""
        event: Event = converter.structure(value["event"], _EVENTS[value["kind"]])
        return cls(seed=int(value["seed"]), event=event)


_EVENTS: dict[str, type] = {kind.__name__: kind for kind in get_args(Event)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLog:
    """A line that a run wrote to standard error."""

    seed: int
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEnded:
    """Every run is over."""

    statuses: tuple[SeedStatus, ...] = ()
    problem: Text | None = None
    """Why the group was not trained, or its process ended early."""
    details: str = ""
    """The end of that process's standard error."""


GroupMessage = GroupStarted | SeedStatus | SeedEvent | GroupLog | GroupEnded

CODEC = Codec(NewGroup, ResumedGroup, Command, Ask, *get_args(GroupMessage))
