"""A child process that talks with its parent, and ends once the parent is gone."""

import os
import sys
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from td3core.system.child_process import LinePipe
from td3core.system.json_lines import Codec
from td3core.system.message_process import ParentLink
from td3core.system.signals import ignore_terminal

CODEC = Codec(str)
PATIENCE_S = 60
LINES = 20_000
"""More than a pipe holds."""


def main() -> None:
    """Do what the parent requests: raise an error, or write many lines."""
    link, gone = ParentLink(CODEC), threading.Event()
    ignore_terminal()

    def take(asked: Any) -> None:
        if asked == "fail":
            raise KeyError(asked)
        if asked == "fork":
            _fork()
        if asked == "hang":
            time.sleep(PATIENCE_S)
        if asked == "write":
            for number in range(LINES):
                sys.stderr.write(f"line {number}\n")
        link.send(asked)

    link.listen(take, gone.set)
    if gone.wait(PATIENCE_S):
        link.send("the parent is gone")


def leave_a_process(pipe: Connection) -> None:
    """End at once, except a process left behind; send its id."""
    LinePipe(pipe, CODEC).send(str(_fork()))
    os._exit(3)


def _fork() -> int:
    """Leave a process that holds all pipes open, as an environment may; return its number."""
    number = os.fork()
    if number == 0:
        time.sleep(PATIENCE_S)
        os._exit(0)
    return number
