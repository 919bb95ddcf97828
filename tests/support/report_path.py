"""What a child process imports from."""

import os
import sys
from dataclasses import dataclass
from multiprocessing.connection import Connection

from td3core.system.child_process import LinePipe
from td3core.system.json_lines import Codec


@dataclass(frozen=True, slots=True)
class Found:
    """What the child has found."""

    path: tuple[str, ...]
    safe: bool


CODEC = Codec(Found)


def report_to(pipe: Connection) -> None:
    """Send the search path, and whether processes started from here would have a safe one."""
    LinePipe(pipe, CODEC).send(Found(tuple(sys.path), "PYTHONSAFEPATH" in os.environ))
