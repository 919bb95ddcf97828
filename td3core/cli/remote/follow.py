"""The command that shows a run in another process until it ends."""

import time
from typing import TYPE_CHECKING

from td3core.cli.consent import obtain_consent
from td3core.cli.final_film import FinalFilm, film_folder, with_films
from td3core.cli.interrupts import INTERRUPTED
from td3core.cli.options import AsJson, Run, RunsDir, TrustEnv
from td3core.cli.paths import find_run
from td3core.cli.sinks import NO_SINKS, Sinks, opened, with_sinks
from td3core.cli.terminal import (
    FAILED,
    CommandResult,
    console,
    ending_as_dict,
    log,
    log_error,
    run_failed,
)
from td3core.text import Text

if TYPE_CHECKING:
    from td3core.protocol.events import Ended, Failed, Interrupted
    from td3core.protocol.listeners import Listeners
    from td3core.runs.reader import RunReader

_POLL_S = 0.25


@with_sinks
def follow(
    run: Run,
    sinks: Sinks = NO_SINKS,
    film: FinalFilm = False,
    runs_dir: RunsDir = None,
    trust_env: TrustEnv = False,
    _as_json: AsJson = False,
) -> CommandResult:
    """The command ``follow``."""
    from td3core.cli.progress import ProgressReporter
    from td3core.protocol.listeners import Listeners
    from td3core.runs.reader import RunReader

    found = find_run(run, runs_dir)
    path = found.path
    shown_in = film_folder(film, sinks, found.config.env)
    if shown_in is not None:
        # Asked now: when the run ends, no one may be there to answer.
        obtain_consent(found.config.choice, given=trust_env)
    follower = RunReader(path)
    listeners = opened(sinks)
    try:
        with ProgressReporter(console) as report:
            ending = _until_the_end(follower, Listeners(report, listeners))
    except KeyboardInterrupt:
        reason = Text("Stopped following; the run continues.")
        log(reason)
        result = {"run": str(path), "state": str(follower.state or "running")}
        return CommandResult(status=INTERRUPTED, result=result, error=reason)
    answer = _answer(ending)
    if isinstance(answer.result, dict):
        answer.result["advice"] = report.advice
    return with_films(answer, shown_in)


def _until_the_end(follower: "RunReader", listeners: "Listeners") -> "Ended | Failed | Interrupted":
    """Pass on the events of a run, and return how it ended."""
    from td3core.protocol.events import Ended, Failed, Interrupted

    while True:
        for event in follower.poll():
            listeners.report(event)
            if isinstance(event, Ended | Failed | Interrupted):
                return event
        listeners.idle()
        if not follower.behind:
            time.sleep(_POLL_S)


def _answer(event: "Ended | Failed | Interrupted") -> CommandResult:
    from td3core.protocol.events import Failed, Interrupted

    if isinstance(event, Interrupted):
        error = Text("{run} was interrupted; `td3-studio resume` continues it.", run=event.run.name)
        log_error(Text("The run does not continue:"), error)
        result = {"run": str(event.run), "env_steps": event.env_steps, "state": "interrupted"}
        return CommandResult(status=FAILED, result=result, error=error)
    if isinstance(event, Failed):
        return run_failed(event, state="failed")
    return CommandResult(result=ending_as_dict(event) | {"state": str(event.state)})
