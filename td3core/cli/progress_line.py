"""How far a command is, for the program that has started it and for those who read its log.

A program asks for it by an environment variable and reads each line of standard error with
:data:`CODEC`; what is no such line is said by other software. Everyone else reads words.
"""

import os
import sys
from dataclasses import dataclass

from td3core.system.json_lines import Codec
from td3core.text import Text

VARIABLE, AS_JSON = "TD3_STUDIO_PROGRESS", "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgress:
    """How far a command is."""

    message: Text
    share: float | None = None
    """From 0 to 1; None where that is not known."""


CODEC = Codec(CommandProgress)


def tell_progress(message: Text, share: float | None = None) -> None:
    """Write how far this command is to standard error."""
    if os.environ.get(VARIABLE) == AS_JSON:
        told = CommandProgress(message=message, share=share)
        sys.stderr.write(CODEC.encode(told).decode("ascii"))
        return
    # Here, not at the top: a window reads these lines, and needs no Rich.
    from td3core.cli.terminal import log

    log(message if share is None else f"{share:.0%} {message}")
