"""Runs a command in a process of the numerics class that a run needs."""

import os
import subprocess
from collections.abc import Sequence
from tempfile import TemporaryFile

from td3core.system import allowed_code
from td3core.system.child_process import python_command
from td3core.system.numerics import AUTO, current, environment_of, needs_other_process
from td3core.text import Text

PROGRAM = "from td3core.cli.app import run_program\nraise SystemExit(run_program())"
RECEIVING = "from td3core.system import allowed_code\nallowed_code.receive()\n"


def command_line(words: Sequence[str], *, receiving: bool = True) -> list[str]:
    """Return the command that runs ``td3-studio`` with these arguments in a new interpreter.

    With ``receiving``, the first line of its standard input lists what it may import
    (:func:`td3core.system.allowed_code.first_message`).
    """
    return python_command(RECEIVING + PROGRAM if receiving else PROGRAM, words)


class OtherProcessNeeded(Exception):  # noqa: N818
    """A command needs a process of another numerics class; nothing has been done yet."""

    def __init__(self, numerics: str) -> None:
        super().__init__(numerics)
        self.numerics = numerics


def require_class(*classes: str) -> None:
    """Require a process of the numerics class of a run, unless this machine lacks it.

    Runs of several classes stay in this process, which is said: a process has one class.

    Raises:
        OtherProcessNeeded: the command must be run again by :func:`run_again`.
    """
    several = sorted({*classes} - {AUTO})
    if len(several) > 1:
        # Imported here, like the consent below.
        from td3core.cli.terminal import log

        log(
            Text(
                "The agents are of the numerics classes {classes}; here all of them play in"
                " {here}, where the last digits of some returns may differ.",
                classes=", ".join(several),
                here=current(),
            )
        )
    elif several and needs_other_process(several[0]):
        raise OtherProcessNeeded(several[0])


def run_again(words: Sequence[str], numerics: str, *, replace: bool) -> int:
    """Run ``td3-studio`` in a process of this numerics class; return its exit status.

    ``replace``: the new process replaces this one, if the system supports it. It may import what
    this one may. On a terminal, where it may have to ask questions itself, the same arguments and
    the remembered answers ensure that; elsewhere a list on its standard input does.
    """
    # Imported here: the window also starts commands, and need not load Rich.
    from td3core.cli.consent import is_interactive

    receiving = not is_interactive()
    command, environment = command_line(words, receiving=receiving), environment_of(numerics)
    with TemporaryFile() as message:
        message.write(allowed_code.first_message())
        message.seek(0)
        if replace and os.name == "posix":
            if receiving:
                os.dup2(message.fileno(), 0)
            os.execve(command[0], command, environment)  # noqa: S606
        stdin = message if receiving else None
        return subprocess.run(command, env=environment, stdin=stdin, check=False).returncode  # noqa: S603
