"""Runs a command in a process of the numerics class that a run needs."""

import os
import subprocess
from collections.abc import Sequence

from td3core.system.child_process import python_command
from td3core.system.numerics import environment_of, needs_other_process

PROGRAM = "from td3core.cli.app import run_program\nraise SystemExit(run_program())"
"""What a new interpreter executes to run one command; its words are the arguments."""


class OtherProcessNeeded(Exception):  # noqa: N818
    """A command needs a process of another class; nothing was done yet."""

    def __init__(self, numerics: str) -> None:
        super().__init__(numerics)
        self.numerics = numerics


def require_class(numerics: str) -> None:
    """Ask for a process of a run's class, where this machine has it and this process has not.

    Raises:
        OtherProcessNeeded: it is to be run again by :func:`run_again`.
    """
    if needs_other_process(numerics):
        raise OtherProcessNeeded(numerics)


def run_again(words: Sequence[str], numerics: str, *, replace: bool) -> int:
    """Run ``td3-studio`` with these words in a process of this class; return its exit status.

    ``replace`` this process by it, where the system can.
    """
    command, environment = python_command(PROGRAM, words), environment_of(numerics)
    if replace and os.name == "posix":
        os.execve(command[0], command, environment)  # noqa: S606
    return subprocess.run(command, env=environment, check=False).returncode  # noqa: S603
