"""Who else hears what a run reports, as the options of a command ask for it."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from td3core.protocol.listeners import Listener


def sinks(tensorboard: Path | None) -> "list[Listener]":
    """Return the listeners.

    Raises:
        RequestError: a package that one needs is not installed.
    """
    if tensorboard is None:
        return []
    from td3core.exporters.live.tensorboard import TensorBoardSink

    return [TensorBoardSink(tensorboard)]
