"""The part of a report about a sweep, and the selection of its runs."""

from dataclasses import replace
from pathlib import Path

from td3core.errors import RequestError
from td3core.experiments.sweeps.folder import SweepFolder
from td3core.experiments.sweeps.state import importance_of, read_sweep
from td3core.exporters.report.contents import ReportRequest
from td3core.exporters.report.sweep_section import SweepFacts, TrialFacts, section_of
from td3core.protocol.importance import FEWEST_TRIALS
from td3core.protocol.trial_status import TrialStatus
from td3core.runs.layout import DESCRIPTION
from td3core.text import Text, tr

_BEST = 5
"""Number of trials whose curves are shown."""


def with_sweep(request: ReportRequest, folder: SweepFolder) -> tuple[ReportRequest, list[Path]]:
    """Add a sweep to a report; return the report, and the runs of the best trials.

    Raises:
        RequestError: it cannot be read, or no trial has a run yet.
    """
    state = read_sweep(folder)
    facts = SweepFacts(
        name=state.name,
        objective=state.objective,
        wanted=state.wanted,
        seconds=state.seconds,
        running=state.running,
        trials=tuple(
            TrialFacts(
                number=each.number, state=each.state, value=each.value, settings=each.settings
            )
            for each in state.trials
        ),
        searched=tuple(state.space),
        importance=importance_of(folder),
        text=folder.text(),
    )
    best = [trial.number for trial in facts.best()[:_BEST]]
    shown = best or [trial.number for trial in facts.trials[:_BEST]]
    runs = {trial.number: trial.runs for trial in state.trials}
    paths = [folder.runs_dir / name for number in shown for name in runs[number]]
    paths = [path for path in paths if (path / DESCRIPTION).is_file()]
    if not paths:
        raise RequestError("The sweep {name} has no runs yet.", name=folder.name)
    missing = list(request.missing)
    if len(best) < len(facts.trials):
        missing.append(
            tr("Curves of all trials: those of the best {count} are shown.", count=len(shown))
        )
    if not facts.importance:
        lacking = Text.counted(
            "Importance of the settings: it needs {least} completed trials; there is {n}.",
            "Importance of the settings: it needs {least} completed trials; there are {n}.",
            n=state.count(TrialStatus.DONE),
            least=FEWEST_TRIALS,
        )
        missing.append(str(lacking))
    subject = tr("Sweep {name}", name=state.name)
    made = replace(request, subject=subject, first=(section_of(facts),), missing=tuple(missing))
    return made, paths
