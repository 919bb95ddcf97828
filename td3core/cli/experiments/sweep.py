"""The command that searches for good settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from td3core.cli.consent import allow_typed, obtain_consent
from td3core.cli.interrupts import interrupts_stop
from td3core.cli.options import AsJson, EnvModule, RunsDir, TrustEnv, limited
from td3core.cli.paths import continuing, runs_folder
from td3core.cli.sinks import NO_SINKS, Sinks, with_sinks
from td3core.cli.terminal import FAILED, CommandResult, console, log, log_error, print_result
from td3core.config.env_choice import EnvChoice
from td3core.config.value_text import format_share
from td3core.errors import RequestError
from td3core.exporters.live.registry import told_of_all_runs
from td3core.protocol.control import Control
from td3core.protocol.importance import about_importance, too_few_trials
from td3core.protocol.trial_status import TrialStatus
from td3core.system.capacity import MOST_JOBS
from td3core.text import Text, marked

if TYPE_CHECKING:
    from td3core.experiments.sweeps.folder import SweepFolder, SweepState
    from td3core.experiments.sweeps.launch import SweepRequest

_ACTIONS = ("resume", "show", "stop")


@with_sinks
def sweep(
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help=marked(
                "A sweep file or the name of a bundled one; or resume, show or stop, with the name"
                " of a sweep."
            ),
        ),
    ],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help=marked("A sweep."))] = None,
    runs_dir: RunsDir = None,
    env_module: EnvModule = None,
    jobs: Annotated[
        int | None,
        limited(
            "--jobs",
            "N",
            marked("Runs at once; 0 for as many as free cores and memory allow."),
            low=0,
            high=MOST_JOBS,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help=marked(
                "Train on a Ray cluster: auto, ray://HOST:PORT, or local for this machine."
            ),
        ),
    ] = None,
    sinks: Sinks = NO_SINKS,
    trust_env: TrustEnv = False,
    as_json: AsJson = False,
) -> CommandResult:
    """The command ``sweep``."""
    from td3core.experiments.sweeps.folder import SweepFolder
    from td3core.experiments.sweeps.launch import SweepRequest, read_sweep_file
    from td3core.experiments.sweeps.spec import with_module

    folder = runs_folder(runs_dir)
    if target in _ACTIONS and not Path(target).is_file():
        if name is None:
            raise RequestError("sweep {action} needs the name of a sweep.", action=target)
        if target != "resume":
            _require_no_training(target, jobs, ray, sinks)
        found = SweepFolder.find(folder, name)
        if target == "stop":
            return _stop(found)
        if target == "show":
            return _show(found, as_json=as_json)
        spec, text = found.spec(), found.text()
        if env_module is not None:
            spec = with_module(spec, env_module)
    elif name is not None:
        raise RequestError("sweep takes one file, or resume, show or stop and a name.")
    else:
        text, spec = read_sweep_file(target, env_module)
    if env_module is not None:
        # Of the user; the settings of the file, and the module that runs name, may be anyone's.
        allow_typed(EnvChoice(spec.environment))
    obtain_consent(*spec.env_choices(), given=trust_env)
    request = SweepRequest(text=text, spec=spec, runs_dir=folder, jobs=jobs, ray=ray)
    with told_of_all_runs(sinks):
        return _conduct(request, as_json=as_json)


def _require_no_training(action: str, jobs: int | None, ray: str | None, sinks: Sinks) -> None:
    """Refuse the options of training.

    Raises:
        RequestError: one of them is given.
    """
    given = [option for option, value in (("--jobs", jobs), ("--ray", ray)) if value is not None]
    given += [sink.option for sink in sinks]
    if given:
        raise RequestError(
            "sweep {action} takes no {option}: it trains nothing.", action=action, option=given[0]
        )


def _conduct(request: "SweepRequest", *, as_json: bool) -> CommandResult:
    from td3core.cli.experiments.sweep_progress import SweepProgress, summary
    from td3core.experiments.sweeps.launch import conduct

    control = Control()
    with interrupts_stop(control), SweepProgress(console) as report:
        state, failed = conduct(request, control, report, log)
    if not as_json:
        for line in summary(state):
            print_result(line)
    result = as_dict(state)
    if failed:
        log_error(Text("The sweep was given up:"), state.message)
        result["stopped"] = "failed"
        return CommandResult(status=FAILED, result=result, error=state.message)
    if state.message:
        log(state.message)
    if result["stopped"] != "finished":
        log(continuing(state.name, request.runs_dir, "sweep", "resume"))
    return CommandResult(result=result)


def _show(folder: "SweepFolder", *, as_json: bool) -> CommandResult:
    from td3core.cli.experiments.sweep_progress import summary, trials_table
    from td3core.experiments.sweeps.state import importance_of, read_sweep

    state = read_sweep(folder)
    importance = importance_of(folder)
    if not as_json:
        trials_table(state)
        for line in summary(state):
            print_result(line)
        done = state.count(TrialStatus.DONE)
        about = about_importance(done) if importance else too_few_trials(done)
        print_result(Text("importance  {about}", about=about))
        for name, share in importance.items():
            told = format_share(share)
            print_result(Text("importance  {name:<24} {share}", name=name, share=told))
    return CommandResult(result=as_dict(state) | {"importance": importance})


def _stop(folder: "SweepFolder") -> CommandResult:
    folder.ask_to_stop()
    log(Text("The sweep {name} saves its runs and stops.", name=folder.name))
    return CommandResult(result={"name": folder.name, "stopping": True})


def as_dict(state: "SweepState") -> dict[str, Any]:
    """Return the keys of ``--json``."""
    best = state.best
    states = (TrialStatus.DONE, TrialStatus.RUNNING, TrialStatus.PRUNED, TrialStatus.FAILED)
    counts = {str(each): state.count(each) for each in states}
    over = not counts[TrialStatus.RUNNING] and sum(counts.values()) >= state.wanted
    # Begun and not ended: nothing trains them without the sweep's process.
    idle = 0 if state.running else counts[TrialStatus.RUNNING]
    counts |= {str(TrialStatus.RUNNING): counts[TrialStatus.RUNNING] - idle, "stopped": idle}
    return {
        "name": state.name,
        "path": state.path,
        "objective": state.objective,
        "best_value": best.value if best else None,
        "best_trial": best.number if best else None,
        "best_settings": dict(best.settings) if best else None,
        "best_runs": list(best.runs) if best else None,
        "trials": counts | {"wanted": state.wanted},
        "seconds": state.seconds,
        "stopped": "finished" if over else "running" if state.running else "user",
    }
