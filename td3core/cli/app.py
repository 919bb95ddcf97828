"""The program without its window: one command line, its commands and its exit statuses."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from td3core import __version__
from td3core.cli.agents import evaluate_command, export_command, export_help, replay_command
from td3core.cli.check import check_command
from td3core.cli.listing import list_command
from td3core.cli.output import tolerant_output
from td3core.cli.terminal import log, print_result, printable
from td3core.cli.train import FAILED, branch, resume, train, verify
from td3core.errors import RequestError, reason_of

WRONG_REQUEST = 2
INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train TD3 agents, evaluate them and record videos. Without a command, the window opens.",
)

for command in (train, resume, branch, verify):
    app.command()(command)
app.command(name="eval")(evaluate_command)
app.command(name="replay")(replay_command)
app.command(name="export", help=export_help())(export_command)
app.command(name="list")(list_command)
app.command(name="check")(check_command)


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 failed, 2 the request was wrong."""
    with tolerant_output() as (out, _):
        status = _status(arguments)
        out.flush()
        if isinstance(out.failure, OSError) and sys.__stdout__ is not None:
            reason = out.failure.strerror or out.failure
            log(f"td3-studio: Standard output cannot be written: {reason}.")
            status = status or FAILED
    return status


def _status(arguments: list[str] | None) -> int:
    try:
        status = app(args=arguments, prog_name="td3-studio", standalone_mode=False)
    except RequestError as problem:
        return _refuse(str(problem))
    except KeyboardInterrupt:
        log("Interrupted.")
        return INTERRUPTED
    except SystemExit as problem:
        # No command exits like this; code of the environment has.
        log(f"td3-studio: An environment ended the program: {reason_of(problem)}.")
        return FAILED
    except Exception as problem:
        # Typer's own errors: an unknown option, a missing argument, a value of the wrong type.
        if not hasattr(problem, "format_message"):
            raise
        return _refuse(problem.format_message())
    return status if isinstance(status, int) else 0


@app.command()
def doctor() -> int:
    """Show versions, devices and renderers, what is missing and how to get it."""
    from td3core.cli.doctor import examine

    out = Console(highlight=False)
    for finding in examine():
        mark = {True: "[green]ok[/]     ", False: "[red]missing[/]", None: "       "}[finding.ok]
        out.print(f"{mark} {finding.what:<32} {escape(printable(finding.value))}")
    return 0


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Handle the options that stand before any command."""
    if version:
        print_result(f"td3-studio {__version__}")
        raise typer.Exit


def _refuse(sentence: str) -> int:
    print(f"td3-studio: {printable(sentence)}", file=sys.stderr)
    return WRONG_REQUEST
