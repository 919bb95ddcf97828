"""The command that shows a run of another process until it ends."""

import time
from typing import TYPE_CHECKING

from td3core.cli.options import AsJson, Run, RunsDir
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

_POLL_S = 0.25


@with_sinks
def follow(
    run: Run,
    sinks: Sinks = NO_SINKS,
    runs_dir: RunsDir = None,
    _as_json: AsJson = False,
) -> CommandResult:
    """The command ``follow``."""
    from td3core.cli.progress import ProgressReporter
    from td3core.protocol.events import Ended, Failed, Interrupted
    from td3core.protocol.listeners import Listeners
    from td3core.runs.reader import RunReader

    path = find_run(run, runs_dir).path
    follower = RunReader(path)
    listeners = Listeners(lambda _: None, opened(sinks))
    try:
        with ProgressReporter(console) as report:
            while True:
                for event in follower.poll():
                    report(event)
                    listeners.report(event)
                    if isinstance(event, Ended | Failed | Interrupted):
                        return _answer(event)
                listeners.idle()
                if not follower.behind:
                    time.sleep(_POLL_S)
    except KeyboardInterrupt:
        log(Text("Stopped following; the run continues."))
        return CommandResult(result={"run": str(path), "state": str(follower.state or "running")})


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
