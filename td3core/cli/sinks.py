"""Additional listeners to a run's events, requested by a command's options."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.options import given_path
from td3core.exporters.live.registry import LIVE_SINKS, LiveSink

if TYPE_CHECKING:
    from td3core.protocol.listeners import Listener

Sinks = Mapping[LiveSink, Path]
NO_SINKS: Sinks = MappingProxyType({})


def with_sinks(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command an option for each sink, in place of its parameter ``sinks``."""

    @wraps(command)
    def called(**given: Any) -> Any:
        targets = {sink: given.pop(sink.name) for sink in LIVE_SINKS}
        return command(sinks={s: path for s, path in targets.items() if path}, **given)

    options = {
        sink.name: Annotated[
            Path | None,
            typer.Option(sink.option, metavar=sink.metavar, parser=given_path, help=sink.about),
        ]
        for sink in LIVE_SINKS
    }
    signature, parameters = inspect.signature(command), list[inspect.Parameter]()
    for each in signature.parameters.values():
        if each.name == "sinks":
            parameters += [
                each.replace(name=name, annotation=kind, default=None)
                for name, kind in options.items()
            ]
        else:
            parameters.append(each)
    # Typer reads a command's parameters from here.
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = command.__annotations__ | options
    return called


def opened(sinks: Sinks) -> "list[Listener]":
    """Return the listeners.

    Raises:
        RequestError: a required package is not installed.
    """
    return [sink.open(target) for sink, target in sinks.items()]
