"""Commands to a training group, through its process or its folder."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from td3core.errors import RequestError, brief, unwritable
from td3core.experiments.groups.group import Group
from td3core.protocol.steering import Verb
from td3core.remote.inbox import REQUESTS, Inbox, put

_OF_A_GROUP = (Verb.PAUSE, Verb.UNPAUSE, Verb.RESUME, Verb.SAVE, Verb.STOP, Verb.KILL)
"""Only the parent process can detach a group, and updates of a group are not traced."""

_MEANT = {"resume": (Verb.UNPAUSE, Verb.RESUME)}
"""Earlier programs have one request for both; a run does only what fits its state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command to one run, or to all if ``seed`` is None."""

    verb: Verb
    seed: int | None = None


def request(group: Group, command: Command) -> None:
    """Send a command to the process that trains a group; it checks about once a second.

    Raises:
        RequestError: the folder cannot be written, or no process has made it yet.
    """
    try:
        put(group.path, command.verb, {"seed": command.seed})
    except OSError as problem:
        raise unwritable(group.path / REQUESTS, problem) from problem


class GroupInbox(Inbox):
    """Reads the requests to one group."""

    def __init__(self, group: Group) -> None:
        super().__init__(group.path, dict.fromkeys(_OF_A_GROUP, self._check))
        self._group = group

    def clear(self) -> None:
        """Drop requests to an earlier process, and make the folder again.

        Folders made by earlier versions are writable by others.
        """
        shutil.rmtree(self._group.path / REQUESTS, ignore_errors=True)
        self.open()

    def take_commands(self) -> list[Command]:
        """Return the commands since the last call, oldest first, without refused requests."""
        return [
            Command(verb=verb, seed=request.values["seed"])
            for request in self.take()
            if not request.problem
            for verb in _MEANT.get(request.ask, (Verb(request.ask),))
        ]

    def _check(self, values: Any) -> None:
        if not isinstance(values, Mapping) or values.keys() != {"seed"}:
            raise RequestError("A request of a group names a seed, or null for all.")
        if values["seed"] not in (None, *self._group.seeds):
            raise RequestError("The group has no seed {seed}.", seed=brief(repr(values["seed"])))
