"""The programs that can be told of a run while it goes on.

A new one is a module with a :class:`~td3core.protocol.listeners.Listener` that is made of a path,
and an entry in :data:`LIVE_SINKS`. Each is an option of the commands that train and follow.
"""

from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from td3core.text import marked

if TYPE_CHECKING:
    from td3core.protocol.listeners import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSink:
    """One of them. Its module is imported on first use: it may need an extra."""

    name: str
    """Of its option."""
    metavar: str
    """What the option takes: ``DIR`` or ``FILE``."""
    about: str
    """The help of the option."""
    listener: str
    """``module:class``."""

    @property
    def option(self) -> str:
        """The option as it is typed."""
        return f"--{self.name}"

    def open(self, target: Path) -> "Listener":
        """Return a listener that writes to ``target``.

        Raises:
            RequestError: a package that it needs is not installed.
        """
        listener: Listener = resolve_name(self.listener)(target)
        return listener


LIVE_SINKS = (
    LiveSink(
        name="tensorboard",
        metavar="DIR",
        about=marked("Write TensorBoard event files, a folder for each run."),
        listener="td3core.exporters.live.tensorboard:TensorBoardSink",
    ),
)
