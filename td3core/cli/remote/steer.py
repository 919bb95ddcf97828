"""The commands that steer a run: each waits until the run has answered."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.options import AsJson, Run, RunsDir, limited, tell_unused
from td3core.cli.paths import find_run
from td3core.cli.terminal import CommandResult, print_result
from td3core.config import parse_value
from td3core.errors import RequestError
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.remote.steer import RemoteControl

Timeout = Annotated[
    float,
    limited("--timeout", "SECONDS", marked("Time to wait for the run."), float, low=0.1, high=3600),
]
_TIMEOUT_S = 15.0
"""Longer than an evaluation in the run's own process usually takes."""


def tune(
    run: Run,
    changes: Annotated[
        list[str],
        typer.Argument(metavar="NAME=VALUE", help=marked("Live settings, as tau=0.01.")),
    ],
    timeout: Timeout = _TIMEOUT_S,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``tune``."""
    values = _values(changes)
    tell_unused(values, find_run(run, runs_dir).config.algorithm)
    return _ask(run, runs_dir, "tune", lambda control: control.change(values), timeout, as_json)


def pause(
    run: Run, timeout: Timeout = _TIMEOUT_S, runs_dir: RunsDir = None, as_json: AsJson = False
) -> CommandResult:
    """The command ``pause``."""
    return _ask(run, runs_dir, "pause", lambda control: control.pause(), timeout, as_json)


def unpause(
    run: Run, timeout: Timeout = _TIMEOUT_S, runs_dir: RunsDir = None, as_json: AsJson = False
) -> CommandResult:
    """The command ``unpause``."""
    return _ask(run, runs_dir, "unpause", lambda control: control.unpause(), timeout, as_json)


def save(
    run: Run, timeout: Timeout = _TIMEOUT_S, runs_dir: RunsDir = None, as_json: AsJson = False
) -> CommandResult:
    """The command ``save``."""
    return _ask(run, runs_dir, "save", lambda control: control.save(), timeout, as_json)


def stop(
    run: Run, timeout: Timeout = _TIMEOUT_S, runs_dir: RunsDir = None, as_json: AsJson = False
) -> CommandResult:
    """The command ``stop``."""
    return _ask(run, runs_dir, "stop", lambda control: control.stop(), timeout, as_json)


def _values(texts: list[str]) -> dict[str, Any]:
    """Parse live changes.

    Raises:
        RequestError: a setting is unknown or not live, or a value is not allowed.
    """
    from td3core.remote.inbox import check_values, require_live

    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise RequestError("tune takes NAME=VALUE, not {text}.", text=repr(text))
        name = name.strip()
        require_live(name)
        values[name] = parse_value(name, value)
    check_values(values)
    return values


def _ask(
    run: Run,
    runs_dir: RunsDir,
    request: str,
    ask: "Callable[[RemoteControl], int]",
    timeout_s: float,
    as_json: bool,
) -> CommandResult:
    """Make a request and wait for the answer.

    Raises:
        RequestError: the run is not running, or refuses.
    """
    from td3core.remote.steer import RemoteControl

    path = find_run(run, runs_dir).path
    control = RemoteControl(path)
    control.require_running()
    answer = control.wait(ask(control), timeout_s)
    if not answer.done:
        raise RequestError("{run}: {reason}", run=path.name, reason=answer.message)
    if not as_json:
        applied = Text("applied at step {step}", step=answer.env_steps)
        if answer.message:
            applied = Text(
                "applied at step {step}. {message}", step=answer.env_steps, message=answer.message
            )
        print_result(str(applied).removesuffix("."))
    result = {"run": str(path), "request": request, "env_steps": answer.env_steps}
    told = {"revision": answer.revision, "message": answer.message.english}
    return CommandResult(result=result | told)
