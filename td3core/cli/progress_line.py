"""Progress of a command, for the program that started it and for readers of its log.

A program requests it by an environment variable and reads each line of standard error with
:data:`CODEC`; lines that do not decode come from other software. Without the variable, progress is
logged as readable text.
"""

import os
import sys
from dataclasses import dataclass

from td3core.config.value_text import format_share
from td3core.system.json_lines import Codec
from td3core.text import Text

VARIABLE, AS_JSON = "TD3_STUDIO_PROGRESS", "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgress:
    """Progress of a command."""

    message: Text
    share: float | None = None
    """From 0 to 1; None if unknown."""


CODEC = Codec(CommandProgress)


def tell_progress(message: Text, share: float | None = None) -> None:
    """Write the progress of this command to standard error."""
    if os.environ.get(VARIABLE) == AS_JSON:
        told = CommandProgress(message=message, share=share)
        sys.stderr.write(CODEC.encode(told).decode("ascii"))
        return
    # Imported here: the window decodes these lines with this module, and need not load Rich.
    from td3core.cli.terminal import log

    log(message if share is None else f"{format_share(share)} {message}")
