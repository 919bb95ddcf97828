"""The program without its window: command line, commands and exit statuses."""

import os
import sys
import traceback
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.main import get_command

from td3core import __version__
from td3core.cli.agents import evaluate_command, export_command, formats_help, replay_command
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
from td3core.cli.report.command import report_command
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
from td3core.errors import (
    RequestError,
    RunError,
    file_reason,
    interrupt,
    quoted,
    reason_of,
    unusable,
)
from td3core.system.openmp import shorten_waits
from td3core.text import Text, choose_language, marked, tr, translated

WRONG_REQUEST = 2
_INTERRUPTED = CommandResult(status=INTERRUPTED, error=Text("Interrupted."))

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help=marked(
        "Train TD3 agents, evaluate them and record videos. Without a command, the window opens; it"
        " takes --runs-dir DIR, or paths of agents and runs."
    ),
)

COMMANDS: dict[str, tuple[Callable[..., CommandResult], str]] = {
    "train": (
        train,
        marked("Train an agent, or one for each of several seeds. Ctrl-C saves and stops."),
    ),
    "resume": (
        resume,
        marked("Resume a run, or all runs of a group, exactly where they were interrupted."),
    ),
    "branch": (branch, marked("Start a new run from a checkpoint, with other settings.")),
    "verify": (
        verify,
        marked("Check on copies whether a run resumes exactly. Status 1 if it does not."),
    ),
    "sweep": (
        sweep,
        marked(
            "Search for good settings. The same command continues a sweep that was interrupted."
        ),
    ),
    "film": (
        film,
        marked(
            "Film an agent's progress, checkpoint by checkpoint, or several agents side by side."
        ),
    ),
    "eval": (evaluate_command, marked("Evaluate a saved agent in noise-free episodes.")),
    "replay": (replay_command, marked("Record a video of a saved agent, one frame per step.")),
    "export": (export_command, marked("Write a saved agent in another format.")),
    "import": (
        import_command,
        marked("Import an agent or curves of another program. Nothing in the file is run."),
    ),
    "list": (list_command, marked("List the runs of a folder, newest first.")),
    "compare": (
        compare_command,
        marked("Compare runs in groups: final and best returns, and which group is better."),
    ),
    "report": (
        report_command,
        marked("Write a report about runs, a group or a sweep: one page to send or to print."),
    ),
    "check": (
        check_command,
        marked(
            "Check an environment: sizes, values, repeatability, episode ends."
            " Status 1 on an error."
        ),
    ),
    "follow": (
        follow,
        marked("Show the progress of a run until it ends. Ctrl-C stops following, not the run."),
    ),
    "tune": (tune, marked("Change live settings of a run that trains in another process.")),
    "pause": (pause, marked("Pause a run that trains in another process.")),
    "unpause": (unpause, marked("Let a paused run continue.")),
    "save": (save, marked("Save a checkpoint of a run that trains in another process.")),
    "stop": (
        stop,
        marked("Save the agent of a run that trains in another process, and end the run."),
    ),
}
"""Every command except ``doctor``, with its help."""

for name, (command, about) in COMMANDS.items():
    app.command(name=name, help=about)(command)


def main(arguments: list[str] | None = None, *, own_process: bool = False) -> int:
    """Run one command and return the exit status: 0 done, 1 failed, 2 the request was wrong.

    ``own_process``: this process exists only for the command, and may be replaced.
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
        # A closed pipe is no failure: its reader, such as head, has read enough.
        unread = isinstance(out.failure, BrokenPipeError)
        if isinstance(out.failure, OSError) and not unread and sys.__stdout__ is not None:
            reason = file_reason(out.failure)
            log(Text("td3-studio: Standard output cannot be written: {reason}.", reason=reason))
            status = status or FAILED
    return status


def _print_interrupted(stdout: int) -> None:
    """Write the ``--json`` answer to Ctrl-C to this descriptor: the main thread hangs."""
    os.write(stdout, f"{json_line(_INTERRUPTED)}\n".encode())


def run_program(arguments: list[str] | None = None) -> int:
    """Run one command as the last act of this process; return the exit status.

    While the process exits, output of environment code goes to standard error.
    """
    shorten_waits()
    choose_language()
    with ending_what_hangs():
        status = main(arguments, own_process=True)
    close_stdout()
    return status


def _wants_json(words: list[str]) -> bool:
    """Return whether ``--json`` is among the options; works even if they cannot be parsed."""
    options = words[: words.index("--")] if "--" in words else words
    return "--json" in options


def _answer(arguments: list[str]) -> CommandResult:
    """Run a command; turn any exception into a sentence."""
    interrupt.raised = False
    try:
        program = _translated_app(arguments)
        answer = program(args=arguments, prog_name="td3-studio", standalone_mode=False)
    except OtherProcessNeeded:
        raise
    except BaseException as problem:
        if not interrupt.raised:
            return _failure(problem)
        answer = INTERRUPTED
    if answer == INTERRUPTED:
        # Typer's status for Ctrl-C. A progress bar may have hidden the cursor.
        console.show_cursor()
        log(Text("Interrupted."))
        return _INTERRUPTED
    # Help and version return no answer.
    return answer if isinstance(answer, CommandResult) else CommandResult()


def _failure(problem: BaseException) -> CommandResult:
    match problem:
        case RequestError():
            return _error(problem.message, WRONG_REQUEST)
        case RunError():
            return _error(problem.message, FAILED)
        case OSError():
            return _error(unusable(problem), WRONG_REQUEST)
        case SystemExit():
            # No command raises this: it comes from environment code.
            said = Text("An environment ended the program: {reason}.", reason=reason_of(problem))
            return _error(said, FAILED)
    # Typer's own errors: an unknown option, a missing argument, a value that a parser refuses.
    if hasattr(problem, "format_message"):
        refused = problem.__cause__
        said = quoted(problem.format_message())
        return _error(refused.message if isinstance(refused, RequestError) else said, WRONG_REQUEST)
    # A bug in this program: a bug report needs the traceback.
    log("".join(traceback.format_exception(problem)), style="dim")
    # Typer turns the end of standard input into Abort.
    cause = problem.__cause__ or problem
    unexpected = Text(
        "Unexpected {error}: {reason}.", error=type(cause).__name__, reason=reason_of(cause)
    )
    return _error(unexpected, FAILED)


@app.command(
    help=marked(
        "Show versions, devices and renderers, what is missing, and the code you have allowed."
    )
)
def doctor(
    forget: Annotated[
        str | None,
        typer.Option(
            "--forget",
            metavar="MODULE",
            help=marked("Revoke consent to run this module, then exit."),
        ),
    ] = None,
) -> CommandResult:
    """The command ``doctor``."""
    from td3core.cli.doctor import examine, forget_code

    if forget is not None:
        log(forget_code(forget))
        return CommandResult()

    out = Console(highlight=False)
    for finding in examine():
        word = {True: tr("ok"), False: tr("missing"), None: ""}[finding.ok]
        colour = "green" if finding.ok else "red"
        mark = f"[{colour}]{word}[/]{' ' * (len('missing') - len(word))}"
        out.print(f"{mark} {finding.what:<32} {escape(printable(finding.value))}")
    return CommandResult()


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help=marked("Show the version."))] = False,
) -> None:
    """Handle the options that stand before any command."""
    if version:
        print_result(f"td3-studio {__version__}")
        raise typer.Exit


def _translated_app(arguments: list[str]) -> Any:
    """Return the program for the command line, its help in the current language.

    It has only the requested command, if any: building all takes longer than running some.
    """
    wanted = copy(app)
    wanted.registered_commands = [
        each
        for each in app.registered_commands
        if each.callback is not None and (each.name or each.callback.__name__) in arguments[:1]
    ] or app.registered_commands
    program: Any = get_command(wanted)
    for command in (program, *program.commands.values()):
        command.help = translated(command.help or "")
        for parameter in command.get_params(command.context_class(command)):
            if parameter.param_type_name == "argument" or parameter.is_flag:
                # Typer would show their Python types: <Path> beside RUN, <bool> beside --json.
                parameter.display_type_rich = lambda *_, **__: None
            if getattr(parameter, "help", None):
                parameter.help = translated(parameter.help)
    if "export" in program.commands:
        program.commands["export"].help += formats_help()
    return program


def _error(sentence: Text, status: int) -> CommandResult:
    print(f"td3-studio: {printable(str(sentence))}", file=sys.stderr)
    return CommandResult(status=status, error=sentence)
