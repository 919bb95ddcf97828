"""What is asked of a group that trains: in its own process, or through its folder."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from td3core.errors import unwritable
from td3core.experiments.groups.group import Group
from td3core.protocol.steering import Verb
from td3core.system.files import make_folder, write_atomically
from td3core.system.regular_files import glob, read_text

_REQUESTS = "requests"
_MOST_BYTES = 1_000
_OF_A_GROUP = (Verb.PAUSE, Verb.RESUME, Verb.SAVE, Verb.STOP, Verb.KILL)
"""To let a group go on is for the process that started it, and nobody watches its updates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What is asked of one run, or of all if ``seed`` is None."""

    verb: Verb
    seed: int | None = None


def request(group: Group, command: Command) -> None:
    """Ask the process that trains a group for something; it looks about once a second.

    Raises:
        RequestError: the folder cannot be written.
    """
    folder = group.path / _REQUESTS
    try:
        make_folder(folder)
        name = f"{time.time_ns():020d}-{os.getpid()}.json"
        content = json.dumps({"verb": command.verb, "seed": command.seed})
        write_atomically(folder / name, content.encode())
    except OSError as problem:
        raise unwritable(folder, problem) from problem


def take_requests(group: Group) -> Iterator[Command]:
    """Return what was asked for since the last call, oldest first; what makes no sense is dropped.

    Each file is deleted first: what cannot be deleted would be done again and again.
    """
    for file in sorted(glob(group.path / _REQUESTS, "*.json")):
        try:
            text = read_text(file, _MOST_BYTES)
            file.unlink()
            found = json.loads(text)
            verb, seed = Verb(found["verb"]), found["seed"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
        if verb in _OF_A_GROUP and (seed is None or seed in group.seeds):
            yield Command(verb=verb, seed=seed)
