"""The programs that can be told of a run while it goes on.

A new one is a module with a :class:`~td3core.protocol.listeners.Listener` that is made of a path,
and an entry in :data:`LIVE_SINKS`. Each is an option of the commands that train and follow.
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

    @property
    def variable(self) -> str:
        """The variable of the environment that names a target for every run.

        A run of a group or of a sweep trains in a process of its own, which inherits it.
        """
        return f"TD3_STUDIO_{self.name.upper()}"

    @property
    def target(self) -> Path | None:
        """What that variable names in this process; None if it is not set."""
        named = os.environ.get(self.variable)
        return Path(named) if named else None

    def open(self, target: Path) -> "Listener":
        """Return a listener that writes to ``target``.

        Raises:
            RequestError: a package that it needs is not installed.
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
    """Return what is told of a run that starts in this process, as its environment asks for.

    And why something is not that is asked for: that is no reason not to train.
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
    """Let sinks be told of the runs that start meanwhile, also of those in other processes.

    Raises:
        RequestError: a package that one needs is not installed.
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
