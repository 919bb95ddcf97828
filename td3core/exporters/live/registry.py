"""The programs that can receive the events of a run while it trains.

A new one is a module with a :class:`~td3core.protocol.listeners.Listener` constructed from a path,
and an entry in :data:`LIVE_SINKS`. Each becomes an option of the commands that train and follow.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from td3core.errors import RequestError
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.protocol.listeners import Listener


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSink:
    """A program that receives events. Its module is imported on first use: it may need an extra."""

    name: str
    """Name of its option."""
    metavar: str
    """Argument of the option: ``DIR`` or ``FILE``."""
    about: str
    """Help of the option."""
    listener: str
    """``module:class``."""

    @property
    def option(self) -> str:
        """The option as typed."""
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that names a target for every run.

        A run of a group or of a sweep trains in a process of its own, which inherits it.
        """
        return f"TD3_STUDIO_{self.name.upper()}"

    @property
    def target(self) -> Path | None:
        """Value of :attr:`variable` in this process; None if it is not set."""
        named = os.environ.get(self.variable)
        return Path(named) if named else None

    def open(self, target: Path) -> "Listener":
        """Return a listener that writes to ``target``.

        Raises:
            RequestError: a required package is not installed.
        """
        listener: Listener = resolve_name(self.listener)(target)
        return listener


TENSORBOARD = LiveSink(
    name="tensorboard",
    metavar="DIR",
    about=marked("Write TensorBoard event files, a folder for each run."),
    listener="td3core.exporters.live.tensorboard:TensorBoardSink",
)
LIVE_SINKS = (TENSORBOARD,)


def wanted_sinks() -> "tuple[list[Listener], list[Text]]":
    """Return the sinks that this process's environment variables request for its runs.

    Also return why others are unavailable: that must not prevent training.
    """
    found, problems = list["Listener"](), []
    for sink in LIVE_SINKS:
        target = sink.target
        try:
            found += [sink.open(target)] if target else []
        except RequestError as problem:
            problems.append(problem.message)
    return found, problems


@contextmanager
def told_of_all_runs(targets: Mapping[LiveSink, Path]) -> Iterator[None]:
    """Send the events of runs that start while entered to sinks, even from child processes.

    Raises:
        RequestError: a required package is not installed.
    """
    for sink, target in targets.items():
        sink.open(target)
    before = {sink.variable: os.environ.get(sink.variable) for sink in targets}
    os.environ.update({sink.variable: str(path.absolute()) for sink, path in targets.items()})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
