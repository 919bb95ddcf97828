"""A child process that talks with its parent, and ends once the parent is gone."""

import os
import sys
import threading
import time
from typing import Any

from td3core.system.message_process import ParentLink, ignore_terminal

PATIENCE_S = 60
LINES = 20_000
"""More than a pipe holds."""


def main() -> None:
    """Do what the parent asks for: raise an error, or write many lines."""
    link, gone = ParentLink(), threading.Event()
    ignore_terminal()

    def take(asked: Any) -> None:
        if asked == "fail":
            raise KeyError(asked)
        if asked == "fork":
            _fork()
        if asked == "write":
            for number in range(LINES):
                sys.stderr.write(f"line {number}\n")
        link.send(asked)

    link.listen(take, gone.set)
    if gone.wait(PATIENCE_S):
        link.send("the parent is gone")


def _fork() -> None:
    """Leave a process that holds all pipes open, as an environment may."""
    if os.fork() == 0:
        time.sleep(PATIENCE_S)
        os._exit(0)
