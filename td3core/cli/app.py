"""The program without its window: one command line, its commands and its exit statuses."""

import os
import sys
import traceback
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from td3core import __version__
from td3core.cli.agents import evaluate_command, export_command, export_help, replay_command
from td3core.cli.check import check_command
from td3core.cli.compare import compare_command
from td3core.cli.diversion import close_stdout, stdout_to_stderr
from td3core.cli.experiments.sweep import sweep
from td3core.cli.film.command import film
from td3core.cli.importing import import_command
from td3core.cli.interrupts import INTERRUPTED, ending_what_hangs, last_words
from td3core.cli.listing import list_command
from td3core.cli.numerics import OtherProcessNeeded, run_again
from td3core.cli.output import tolerant_output
from td3core.cli.remote.follow import follow
from td3core.cli.remote.steer import pause, save, stop, tune, unpause
from td3core.cli.terminal import (
    FAILED,
    CommandResult,
    console,
    json_line,
    log,
    print_json,
    print_result,
    printable,
)
from td3core.cli.train import branch, resume, train, verify
from td3core.errors import RequestError, RunError, brief, reason_of
from td3core.system.openmp import shorten_waits

WRONG_REQUEST = 2
_INTERRUPTED = CommandResult(status=INTERRUPTED, error="Interrupted.")

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train TD3 agents, evaluate them and record videos. Without a command, the window opens.",
)

for command in (train, resume, branch, verify, sweep, film):
    app.command()(command)
app.command(name="eval")(evaluate_command)
app.command(name="replay")(replay_command)
app.command(name="export", help=export_help())(export_command)
app.command(name="import")(import_command)
app.command(name="list")(list_command)
app.command(name="compare")(compare_command)
app.command(name="check")(check_command)
for command_of_a_run in (follow, tune, pause, unpause, save, stop):
    app.command()(command_of_a_run)


def main(arguments: list[str] | None = None, *, own_process: bool = False) -> int:
    """Run one command and return the exit status: 0 done, 1 failed, 2 the request was wrong.

    ``own_process``: this process is here for nothing else.
    """
    words = sys.argv[1:] if arguments is None else arguments
    try:
        return _run(words)
    except OtherProcessNeeded as needed:
        return run_again(words, needed.numerics, replace=own_process)


def _run(arguments: list[str]) -> int:
    as_json = _wants_json(arguments)
    with tolerant_output() as (out, _):
        if as_json:
            with stdout_to_stderr() as stdout, last_words(partial(_print_interrupted, stdout)):
                answer = _answer(arguments)
            print_json(answer)
        else:
            answer = _answer(arguments)
        out.flush()
        status = answer.status
        # Whoever closes the pipe, such as head, has read enough.
        unread = isinstance(out.failure, BrokenPipeError)
        if isinstance(out.failure, OSError) and not unread and sys.__stdout__ is not None:
            reason = out.failure.strerror or out.failure
            log(f"td3-studio: Standard output cannot be written: {reason}.")
            status = status or FAILED
    return status


def _print_interrupted(stdout: int) -> None:
    """Print what ``--json`` does after Ctrl-C to this descriptor: the main thread hangs."""
    os.write(stdout, f"{json_line(_INTERRUPTED)}\n".encode())


def run_program(arguments: list[str] | None = None) -> int:
    """Run one command as the last act of this process; return the exit status.

    What code of an environment prints while the process exits does not follow the result.
    """
    shorten_waits()
    with ending_what_hangs():
        status = main(arguments, own_process=True)
    close_stdout()
    return status


def _wants_json(words: list[str]) -> bool:
    """Return whether ``--json`` is among the options; it must work where they cannot be parsed."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _answer(arguments: list[str]) -> CommandResult:
    """Run a command; whatever it raises becomes a sentence."""
    try:
        answer = app(args=arguments, prog_name="td3-studio", standalone_mode=False)
    except OtherProcessNeeded:
        raise
    except RequestError as problem:
        return _error(str(problem), WRONG_REQUEST)
    except RunError as problem:
        return _error(str(problem), FAILED)
    except OSError as problem:
        # Such as a path that is too long, or in a folder that may not be read.
        where = f"{brief(problem.filename)} cannot be used" if problem.filename else "Failed"
        return _error(f"{where}: {problem.strerror or reason_of(problem)}.", WRONG_REQUEST)
    except SystemExit as problem:
        # No command exits like this; code of the environment has.
        return _error(f"An environment ended the program: {reason_of(problem)}.", FAILED)
    except BaseException as problem:
        # Typer's own errors: an unknown option, a missing argument, a value of the wrong type.
        if hasattr(problem, "format_message"):
            return _error(problem.format_message(), WRONG_REQUEST)
        # A fault of this program: whoever reports it needs to know where it is.
        log(traceback.format_exc(), style="dim")
        # Typer makes an Abort of the end of standard input.
        cause = problem.__cause__ or problem
        return _error(f"Unexpected {type(cause).__name__}: {reason_of(cause)}.", FAILED)
    if answer == INTERRUPTED:
        # Typer's status for Ctrl-C. A bar that was about to begin had hidden the cursor.
        console.show_cursor()
        log("Interrupted.")
        return _INTERRUPTED
    # Help and version have no answer of their own.
    return answer if isinstance(answer, CommandResult) else CommandResult()


@app.command()
def doctor(
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget",
            metavar="MODULE",
            help="Ask again before this module runs for a file, then end.",
        ),
    ] = None,
) -> CommandResult:
    """Show versions, devices and renderers, what is missing, and the code you have allowed."""
    from td3core.cli.doctor import examine, forget_code

    if forget is not None:
        log(forget_code(forget))
        return CommandResult()

    out = Console(highlight=False)
    for finding in examine():
        mark = {True: "[green]ok[/]     ", False: "[red]missing[/]", None: "       "}[finding.ok]
        out.print(f"{mark} {finding.what:<32} {escape(printable(finding.value))}")
    return CommandResult()


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Handle the options that stand before any command."""
    if version:
        print_result(f"td3-studio {__version__}")
        raise typer.Exit


def _error(sentence: str, status: int) -> CommandResult:
    print(f"td3-studio: {printable(sentence)}", file=sys.stderr)
    return CommandResult(status=status, error=sentence)
