"""The headless commands. Results go to standard output, everything else to standard error."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from td3core import __version__
from td3core.cli.check import check_command
from td3core.cli.paths import find_checkpoint, require_writable_name, runs_folder
from td3core.cli.train import AsJson, RunsDir, branch, console, resume, train, verify
from td3core.errors import RequestError
from td3core.exporters import weights

if TYPE_CHECKING:
    from td3core.evaluation.result import EvaluationResult

WRONG_REQUEST = 2

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="Train TD3 agents, evaluate and film them. Without a command, the window opens.",
)

Force = Annotated[bool, typer.Option("--force", help="Replace a file that is there.")]
CheckpointFile = Annotated[Path, typer.Argument(help="A checkpoint, or a run (its best one).")]


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return the exit status: 0 done, 1 failed, 2 the request was wrong."""
    # A person's own environments lie where they stand, as for python -m.
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        status = app(args=arguments, prog_name="td3-studio", standalone_mode=False)
    except RequestError as problem:
        return _refuse(str(problem))
    except KeyboardInterrupt:
        console.print("Interrupted.")
        return 130
    except Exception as problem:
        # Typer's own complaints: an unknown option, a missing argument, a value of the wrong type.
        if not hasattr(problem, "format_message"):
            raise
        return _refuse(problem.format_message())
    return status if isinstance(status, int) else 0


for command in (train, resume, branch, verify):
    app.command()(command)


@app.command(name="eval")
def evaluate_command(
    checkpoint: CheckpointFile,
    episodes: Annotated[int, typer.Option(min=1, help="Completed episodes.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the episodes.")] = 0,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Measure a saved agent in noise-free episodes."""
    from td3core import checkpoint as files
    from td3core.evaluation.evaluate import evaluate

    found = files.load(find_checkpoint(checkpoint, runs_dir))
    result = evaluate(found.policy(), found.header.config.choice, episodes=episodes, seed=seed)
    assert result is not None
    _print_evaluation(result, found.header.env.reward_threshold, as_json)
    return 0


@app.command()
def replay(
    checkpoint: CheckpointFile,
    video: Annotated[Path, typer.Option(help="The MP4 file to write.")],
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to film.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the episodes.")] = 0,
    force: Force = False,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Film a saved agent: one frame for each step."""
    from td3core import checkpoint as files
    from td3core.exporters.video import record

    require_writable_name(video, overwrite=force)
    found = files.load(find_checkpoint(checkpoint, runs_dir))
    result = record(found, video, episodes=episodes, seed=seed)
    frames, threshold = sum(result.lengths), found.header.env.reward_threshold
    console.print(f"{frames} frames written to {escape(str(video))}")
    _print_evaluation(result, threshold, as_json, video=str(video), frames=frames)
    return 0


@app.command()
def export(
    checkpoint: CheckpointFile,
    to: Annotated[Path, typer.Option(help="The file to write.")],
    force: Force = False,
    runs_dir: RunsDir = None,
) -> int:
    """Copy only the networks of a checkpoint: a quarter of the size, for use elsewhere."""
    require_writable_name(to, overwrite=force)
    try:
        weights.export(find_checkpoint(checkpoint, runs_dir), to)
    except OSError as problem:
        raise RequestError(f"{to} cannot be written: {problem.strerror}.") from problem
    console.print(f"Networks written to {escape(str(to))}")
    return 0


@app.command(name="list")
def list_command(runs_dir: RunsDir = None, as_json: AsJson = False) -> int:
    """List the runs of a folder, newest first."""
    from td3core.runs.listing import list_runs, summarise

    folder = runs_folder(runs_dir)
    if folder.is_file():
        raise RequestError(f"{folder} is a file, not a folder of runs.")
    summaries = [summarise(run) for run in list_runs(folder)]
    if as_json:
        print(json.dumps([asdict(s) | {"run": str(s.run)} for s in summaries]))
        return 0
    if not summaries:
        console.print(f"There are no runs in {escape(str(folder))}")
        return 0
    table = Table(
        Column("run", overflow="fold"),
        "state",
        "steps",
        "last return",
        "best return",
        title=f"Runs in {escape(str(folder))}",
    )
    for s in summaries:
        means = (s.last_eval_return, s.best_eval_return)
        shown = ("-" if mean is None else f"{mean:.1f}" for mean in means)
        called = [s.run.name, s.name, f"branched from {s.parent.run}" if s.parent else ""]
        text = "\n  ".join(escape(part) for part in called if part)
        table.add_row(text, str(s.state), f"{s.env_steps:,} of {s.steps:,}", *shown)
    Console(highlight=False).print(table)
    return 0


app.command(name="check")(check_command)


@app.command()
def doctor() -> int:
    """Show versions, devices and renderers, what is missing and how to get it."""
    from td3core.cli.doctor import examine

    out = Console(highlight=False)
    for finding in examine():
        mark = {True: "[green]ok[/]     ", False: "[red]missing[/]", None: "       "}[finding.ok]
        out.print(f"{mark} {finding.what:<32} {escape(finding.value)}")
    return 0


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Options that stand before any command."""
    if version:
        print(f"td3-studio {__version__}")
        raise typer.Exit


def _print_evaluation(
    result: "EvaluationResult", threshold: float | None, as_json: bool, **more: Any
) -> None:
    success, episodes = result.success(threshold), len(result.returns)
    if as_json:
        found = {"returns": result.returns, "mean": result.mean, "std": result.std}
        found |= {"episodes": episodes, "seed": result.seed, "lengths": result.lengths}
        found |= {"success": success, "reward_threshold": threshold}
        print(json.dumps(found | more))
        return
    reach = "" if success is None else f", {success:.0%} reach {threshold:g}"
    print(f"return {result.mean:.2f} ± {result.std:.2f} over {episodes} episodes{reach}")


def _refuse(sentence: str) -> int:
    print(f"td3-studio: {sentence}", file=sys.stderr)
    return WRONG_REQUEST
