"""The commands that train: a new run, one that goes on, a branch; and the check of going on."""

import json
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from td3core.cli.paths import find_checkpoint, find_run, runs_folder
from td3core.cli.values import assignments
from td3core.config import parse_value
from td3core.errors import RequestError, RunError
from td3core.protocol.control import Control

if TYPE_CHECKING:
    from td3core.protocol.events import Ended, Event, Failed

FAILED = 1

console = Console(stderr=True, highlight=False)

RunsDir = Annotated[
    Path | None,
    typer.Option("--runs-dir", help="Folder of runs; else TD3_STUDIO_RUNS, else the user's own."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object as the last line.")]
Steps = Annotated[str | None, typer.Option(help="Environment steps; 1e6 counts.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Any setting.")
]
Run = Annotated[Path, typer.Argument(help="A run: its folder, or the name that list shows.")]


def train(
    env: Annotated[str, typer.Argument(help="Environment, for instance Pendulum-v1.")],
    env_module: Annotated[
        str | None,
        typer.Option(metavar="MODULE", help="Import this first; it registers the environment."),
    ] = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(help="Preset or variant, more than one allowed; else the environment's own."),
    ] = None,
    steps: Steps = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    settings: Settings = None,
    runs_dir: RunsDir = None,
    threads: Annotated[int | None, typer.Option(help="Torch threads.")] = None,
    no_eval: Annotated[bool, typer.Option("--no-eval", help="Skip evaluations.")] = False,
    journal: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Make another run's live changes, at the same steps."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Train an agent. Ctrl-C saves and ends cleanly."""
    from td3core.config.env_choice import EnvChoice
    from td3core.config.presets import compose
    from td3core.envs.make import check_env
    from td3core.runs.journal import changes_of
    from td3core.training.launch import train as train_run

    values = assignments(settings or [])
    if steps is not None:
        values["steps"] = parse_value("steps", steps)
    given = {"seed": seed, "threads": threads}
    values |= {name: value for name, value in given.items() if value is not None}
    if no_eval:
        values["eval_interval"] = 0
    if env_module:
        env = f"{env_module}:{env}"
    # An unknown environment is the likelier slip; say that rather than "no such preset".
    # Its full name: Pendulum stands for the newest Pendulum-v1, and so for that one's preset.
    env = check_env(EnvChoice(env, values.get("env_args", ""))).env_id
    config, tunables = compose(env, preset or [], values)
    schedule = changes_of(find_run(journal, runs_dir).journal()) if journal else ()
    folder = runs_folder(runs_dir)
    return _conduct(
        lambda control, report: train_run(config, tunables, control, report, folder, schedule),
        as_json=as_json,
    )


def resume(run: Run, steps: Steps = None, runs_dir: RunsDir = None, as_json: AsJson = False) -> int:
    """Go on with a run, exactly as if it had never been interrupted."""
    from td3core.training.launch import resume as resume_run

    path = find_run(run, runs_dir).path
    total = None if steps is None else int(parse_value("steps", steps))
    return _conduct(
        lambda control, report: resume_run(path, control, report, steps=total), as_json=as_json
    )


def branch(
    checkpoint: Annotated[Path, typer.Argument(help="A checkpoint, or a run (its last one).")],
    settings: Settings = None,
    steps: Steps = None,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Begin a new run with everything a checkpoint holds, and other settings."""
    from td3core.training.launch import branch as branch_run

    values = assignments(settings or [])
    if steps is not None:
        values["steps"] = parse_value("steps", steps)
    folder = runs_folder(runs_dir)
    path = find_checkpoint(checkpoint, runs_dir, last=True)
    return _conduct(
        lambda control, report: branch_run(path, values, control, report, folder),
        as_json=as_json,
    )


def verify(
    run: Run,
    steps: Annotated[int, typer.Option(min=2, help="How far to go on, twice.")] = 500,
    runs_dir: RunsDir = None,
    as_json: AsJson = False,
) -> int:
    """Try on copies whether a run resumes exactly. Status 1 if it does not."""
    from td3core.training.verify_resume import verify as verify_run

    path = find_run(run, runs_dir).path
    try:
        verdict = verify_run(path, steps=steps, announce=_announce)
    except RunError as problem:
        console.print(f"[red]The check failed:[/] {escape(str(problem))}", soft_wrap=True)
        return FAILED
    if as_json:
        print(json.dumps(asdict(verdict) | {"exact": verdict.exact}))  # noqa: T201
    else:
        end = verdict.from_step + verdict.steps
        word = "resumes exactly" if verdict.exact else "does not resume exactly"
        print(f"{path.name} {word} (steps {verdict.from_step} to {end})")  # noqa: T201
        if not verdict.updates:
            print("  No update was done in these steps: learning was not tried.")  # noqa: T201
        for difference in verdict.differences:
            print(f"  {difference}")  # noqa: T201
    return 0 if verdict.exact else FAILED


def _announce(text: str) -> None:
    # The window reads whole lines of it.
    console.print(f"{text} ...", soft_wrap=True)


def _conduct(
    begin: "Callable[[Control, Callable[[Event], None]], Ended | Failed]", *, as_json: bool
) -> int:
    """See a run through on the terminal; return the exit status."""
    from td3core.cli.progress import ProgressReporter
    from td3core.protocol.events import Failed

    control = Control()
    with _interrupts_stop(control), ProgressReporter(console) as narrator:
        outcome = begin(control, narrator)
    if isinstance(outcome, Failed):
        if outcome.request:
            raise RequestError(outcome.message)
        console.print(f"[red]The run failed:[/] {escape(outcome.message)}", soft_wrap=True)
        if outcome.details:
            console.print(escape(outcome.details), style="dim")
        result = _plain(outcome.ending) | {"message": outcome.message}
    else:
        result = _plain(outcome)
    if as_json:
        print(json.dumps(result))  # noqa: T201
    return FAILED if isinstance(outcome, Failed) else 0


def _plain(ending: "Ended | None") -> dict[str, Any]:
    """Return the promised keys with values JSON can hold; all null for a run that never began."""
    from td3core.protocol.events import Ended

    if ending is None:
        return {item.name: None for item in fields(Ended)} | {"stopped": "failed"}
    values = asdict(ending)
    return {k: str(v) if isinstance(v, Path) else v for k, v in values.items()}


@contextmanager
def _interrupts_stop(control: Control) -> Iterator[None]:
    """Let the first Ctrl-C ask the run to save and end; the second one interrupts."""

    def handle(_number: int, _frame: object) -> None:
        if control.stopping:
            raise KeyboardInterrupt
        console.print("Saving; press Ctrl-C again to leave at once.")
        control.stop()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
