"""The commands that train, and the one that checks whether a run resumes exactly."""

import contextlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.consent import allow_typed, obtain_consent, rehearse_all
from td3core.cli.final_film import FinalFilm, film_folder, with_films
from td3core.cli.interrupts import interrupts_stop
from td3core.cli.numerics import require_class
from td3core.cli.options import (
    AsJson,
    EnvModule,
    EnvName,
    Jobs,
    Journal,
    Run,
    RunsDir,
    Settings,
    Steps,
    TrustEnv,
    assignments,
    given_path,
    limited,
    of_setting,
    tell_unused,
)
from td3core.cli.paths import find_checkpoint, find_run, runs_folder
from td3core.cli.progress_line import tell_progress
from td3core.cli.sinks import NO_SINKS, Sinks, with_sinks
from td3core.cli.terminal import (
    FAILED,
    CommandResult,
    console,
    ending_as_dict,
    log,
    log_error,
    print_result,
    run_failed,
)
from td3core.config import EnvChoice
from td3core.errors import RequestError, RunError
from td3core.exporters.live.registry import told_of_all_runs
from td3core.protocol.control import Control
from td3core.text import SettingName, Text, Value, marked

if TYPE_CHECKING:
    from td3core.config import RunConfig, Tunables
    from td3core.protocol.events import Ended, Event, Failed
    from td3core.runs.directory import RunDirectory
    from td3core.runs.journal import Change
    from td3core.training.verify_resume import ResumeCheck


@with_sinks
def train(
    env: EnvName,
    env_module: EnvModule = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help=marked("Preset or variant; may be repeated. Default: the environment's preset."),
        ),
    ] = None,
    steps: Steps = None,
    seed: Annotated[int | None, of_setting("--seed", "SEED", marked("Seed of the run."))] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="SEEDS",
            help=marked("Train a run for each of 5 seeds (5), or for these (0-4,7)."),
        ),
    ] = None,
    jobs: Jobs = None,
    settings: Settings = None,
    runs_dir: RunsDir = None,
    threads: Annotated[
        int | None, of_setting("--threads", "N", marked("Threads for the updates."))
    ] = None,
    no_eval: Annotated[bool, typer.Option("--no-eval", help=marked("Skip evaluations."))] = False,
    journal: Journal = None,
    sinks: Sinks = NO_SINKS,
    film: FinalFilm = False,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``train``."""
    values = assignments(settings or [])
    several = _seeds(seeds, {"--seed": seed, "--set seed": values.get("seed")}, journal, jobs)
    values |= _of_options(values, {"steps": steps, "seed": seed, "threads": threads})
    if no_eval:
        values["eval_interval"] = 0
    folder = runs_folder(runs_dir)
    schedule = _changes(journal, runs_dir)
    typed = EnvChoice(f"{env_module}:{env}" if env_module else env, values.get("env_args", ""))
    shown_in = film_folder(film, sinks, typed.env_id)
    config, tunables = _settings(typed, preset, values)
    tell_unused(values, config.algorithm)
    if config.steps <= config.learning_starts:
        log(
            Text(
                "It will not learn: {steps} steps are not more than the warm-up, {key} {warm_up}.",
                key=SettingName("learning_starts"),
                steps=config.steps,
                warm_up=config.learning_starts,
            )
        )
    if not several:
        require_class(config.numerics)
    # A preset may come from anyone, with arguments that name code.
    obtain_consent(config.choice, given=trust_env)
    if several:
        from td3core.cli.experiments.groups import train_group
        from td3core.experiments.groups.group import NewGroup

        new = NewGroup(runs_dir=folder, seeds=several, config=config, tunables=tunables, jobs=jobs)
        with told_of_all_runs(sinks):
            answer = train_group(new, as_json=as_json)
        return with_films(answer, shown_in)
    # Imported here: it loads torch, which a group loads only in its child processes.
    from td3core.training.launch import train as train_run

    with told_of_all_runs(sinks):
        answer = _run(
            lambda control, report: train_run(
                config, tunables, control, report, folder, schedule or ()
            )
        )
    return with_films(answer, shown_in)


def _of_options(values: dict[str, Any], given: dict[str, int | None]) -> dict[str, int]:
    """Return the settings given by their own options, which count; say where ``--set`` differs."""
    found = {name: value for name, value in given.items() if value is not None}
    for name, value in found.items():
        if values.get(name, value) != value:
            log(
                Text(
                    "{key} is {value}, by its own option; --set has {other}.",
                    key=SettingName(name),
                    value=str(value),
                    other=str(values[name]),
                )
            )
    return found


def _changes(journal: Path | None, runs_dir: Path | None) -> "list[Change] | None":
    """Return the live changes of the run that ``--journal`` names; None without it."""
    from td3core.runs.journal import changes_to_repeat

    if journal is None:
        return None
    run = find_run(journal, runs_dir)
    found = changes_to_repeat(run.journal_file)
    if not found:
        log(Text("{run} has no live changes to repeat.", run=run.path.name))
    return found


def _seeds(
    seeds: str | None, single: dict[str, int | None], journal: Path | None, jobs: int | None
) -> tuple[int, ...]:
    """Return the seeds of a group; none for a single run.

    Raises:
        RequestError: they are invalid, or cannot be combined with another option.
    """
    from td3core.experiments.groups.seeds import parse_seeds

    if seeds is None:
        if jobs is not None:
            raise RequestError("--jobs needs --seeds: a single run is one job.")
        return ()
    for option, value in {**single, "--journal": journal}.items():
        if value is not None:
            raise RequestError("--seeds and {option} exclude each other.", option=option)
    return parse_seeds(seeds)


def _settings(
    typed: EnvChoice, presets: list[str] | None, values: dict[str, Any]
) -> "tuple[RunConfig, Tunables]":
    from td3core.config.presets import compose
    from td3core.envs.make import check_env

    # A misspelt environment is likelier than a misspelt preset, so it is checked first. The full
    # id selects the preset: Pendulum means Pendulum-v1.
    allow_typed(typed)
    rehearse_all(typed)
    env_id = check_env(typed).env_id
    return compose(env_id, presets or [], values)


@with_sinks
def resume(
    run: Run,
    steps: Steps = None,
    runs_dir: RunsDir = None,
    jobs: Jobs = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help=marked("Refuse a run that would not continue bit for bit.")),
    ] = False,
    sinks: Sinks = NO_SINKS,
    film: FinalFilm = False,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``resume``."""
    from td3core.experiments.groups.group import find_group

    group = find_group(run, runs_folder(runs_dir))
    if group is not None:
        from td3core.cli.experiments.groups import resume_group

        shown_in = film_folder(film, sinks, group.config.env)
        obtain_consent(group.config.choice, given=trust_env)
        with told_of_all_runs(sinks):
            answer = resume_group(group, steps, jobs, exact=exact, as_json=as_json)
        return with_films(answer, shown_in)
    if jobs is not None:
        raise RequestError("--jobs is for groups; {run} is none.", run=run.name)
    found = find_run(run, runs_dir)
    # Checked before it counts as finished: a run without an agent cannot continue.
    found.require_agent()
    shown_in = film_folder(film, sinks, found.config.env)
    finished = _finished(found, steps)
    if finished is not None:
        # For a script that resumes until the run is over.
        log(
            Text(
                "{run} is finished: step {step:,} of {steps:,}. To continue, give it more --steps.",
                run=found.path.name,
                step=finished.env_steps,
                steps=found.config.steps,
            )
        )
        from td3core.cli.advice import read_health

        advice = [each.as_dict() for each in read_health(found.path).advice]
        return CommandResult(result=ending_as_dict(finished) | {"advice": advice})
    from td3core.runs.resumption import class_of_run

    require_class(class_of_run(found))
    # Imported here: it loads torch.
    from td3core.training.launch import resume as resume_run

    obtain_consent(found.config.choice, given=trust_env)
    with told_of_all_runs(sinks):
        answer = _run(
            lambda control, report: resume_run(
                found.path, control, report, steps=steps, exact=exact
            )
        )
    return with_films(answer, shown_in)


def _finished(run: "RunDirectory", total: int | None) -> "Ended | None":
    """Return the ending of a run that took all its steps (``total``, if given), else None."""
    from td3core.protocol.run_status import RunStatus
    from td3core.runs.listing import summarise
    from td3core.runs.lock import RunLock, left_behind
    from td3core.runs.reader import ending_of

    summary, steps = summarise(run), run.config.steps if total is None else total
    # Parallel environments may overshoot the last step.
    reached = steps <= summary.env_steps < steps + run.config.num_envs
    if summary.state is not RunStatus.FINISHED or not reached:
        return None
    if left_behind(run.path):
        # Killed after its last step: only its lock is left to release.
        with contextlib.suppress(RequestError, OSError), RunLock(run.path):
            pass
    return ending_of(run.path)


@with_sinks
def branch(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT",
            parser=given_path,
            help=marked("A checkpoint, or a run (its last checkpoint is used)."),
        ),
    ],
    settings: Settings = None,
    steps: Steps = None,
    seed: Annotated[
        int | None,
        of_setting(
            "--seed",
            "SEED",
            marked("Reseed the random generators; default: continue their state."),
        ),
    ] = None,
    journal: Journal = None,
    runs_dir: RunsDir = None,
    sinks: Sinks = NO_SINKS,
    film: FinalFilm = False,
    trust_env: TrustEnv = False,
    _as_json: AsJson = False,
) -> CommandResult:
    """The command ``branch``."""
    from td3core.checkpoint import read_header
    from td3core.training.launch import branch as branch_run

    values = assignments(settings or [])
    values |= _of_options(values, {"steps": steps, "seed": seed})
    folder = runs_folder(runs_dir)
    path = find_checkpoint(checkpoint, runs_dir, last=True)
    schedule = _changes(journal, runs_dir)
    config = read_header(path).config
    tell_unused(values, config.algorithm)
    shown_in = film_folder(film, sinks, config.env)
    require_class(str(values.get("numerics", config.numerics)))
    obtain_consent(config.choice, given=trust_env)
    with told_of_all_runs(sinks):
        answer = _run(
            lambda control, report: branch_run(path, values, control, report, folder, schedule)
        )
    return with_films(answer, shown_in)


def verify(
    run: Run,
    steps: Annotated[
        int, limited("--steps", "N", marked("Environment steps to train, twice."), low=2)
    ] = 500,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``verify``."""
    from td3core.runs.resumption import class_of_run
    from td3core.training.verify_resume import verify as verify_run

    found = find_run(run, runs_dir)
    require_class(class_of_run(found))
    obtain_consent(found.config.choice, given=trust_env)
    try:
        # The window parses the lines that this writes.
        verdict = verify_run(found.path, steps=steps, announce=tell_progress)
    except RunError as problem:
        log_error(Text("The check failed:"), problem.message)
        return CommandResult(status=FAILED, error=problem.message)
    if not as_json:
        _print_verdict(found.path.name, verdict)
    result = asdict(verdict) | {"exact": verdict.exact}
    return CommandResult(status=0 if verdict.exact else FAILED, result=result)


def _print_verdict(run: str, verdict: "ResumeCheck") -> None:
    first = verdict.from_step
    values: dict[str, Value] = {"run": run, "first": first, "last": first + verdict.steps}
    if verdict.exact:
        print_result(Text("{run} resumes exactly (steps {first} to {last})", **values))
    else:
        print_result(Text("{run} does not resume exactly (steps {first} to {last})", **values))
    if not verdict.updates:
        print_result(Text("  These steps contain no update, so learning was not checked."))
    for difference in verdict.differences:
        print_result(f"  {difference}")


def _run(begin: "Callable[[Control, Callable[[Event], None]], Ended | Failed]") -> CommandResult:
    """Train with progress on the terminal."""
    from td3core.cli.progress import ProgressReporter
    from td3core.protocol.events import Failed

    control = Control()

    def answered() -> bool:
        return control.stopping and not control.has_requests

    with interrupts_stop(control, answered), ProgressReporter(console) as report:
        outcome = begin(control, report)
    if isinstance(outcome, Failed):
        if outcome.request:
            raise RequestError(outcome.message)
        if outcome.cancelled:
            log(outcome.message)
            nothing = {"stopped": "user", "advice": report.advice}
            return CommandResult(result=ending_as_dict(None) | nothing)
        answer = run_failed(outcome)
        if outcome.details:
            log(outcome.details, style="dim")
        assert isinstance(answer.result, dict)
        answer.result["advice"] = report.advice
        return answer
    return CommandResult(result=ending_as_dict(outcome) | {"advice": report.advice})
