"""Checks whether a run resumes exactly, on copies of it."""

import filecmp
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from td3core import checkpoint
from td3core.envs.check.rehearsal import rehearse
from td3core.errors import RequestError, RunError, StoppedError, file_reason
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed, Preparing, Warned
from td3core.runs.directory import RunDirectory, note_module_folder
from td3core.runs.layout import CHECKPOINTS, LAST, REPLAY
from td3core.runs.resumption import resume_point
from td3core.runs.tables import read_table
from td3core.system import files
from td3core.text import Text
from td3core.training.launch import resume

STEPS = 500

Announce = Callable[[Text], None]


@dataclass(frozen=True, slots=True)
class ResumeCheck:
    """The outcome of a check; without ``differences`` the run resumes exactly."""

    from_step: int
    steps: int
    updates: int
    """Gradient updates in these steps; without any, learning was not checked."""
    differences: tuple[Text, ...]

    @property
    def exact(self) -> bool:
        """True if an interrupted and resumed run equals an uninterrupted one bit for bit."""
        return not self.differences


def verify(
    path: Path,
    *,
    steps: int = STEPS,
    announce: Announce = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> ResumeCheck:
    """Resume a run's last checkpoint twice: without and with an interruption half-way.

    Args:
        path: the run's folder; it is not modified.
        steps: steps to take, from the checkpoint or from the end of an unfinished warm-up.
        announce: called with a sentence at each stage.
        stopped: polled; True ends the check.

    Raises:
        RequestError: the run has no checkpoint to resume from, or one of its files is a link.
        RunError: it failed, or ``stopped`` returned True.
    """
    run = RunDirectory.open(path)
    note_module_folder(path)
    point = resume_point(run)
    if point is None:
        raise RequestError("{run} has no checkpoint yet to resume from.", run=path.name)
    try:
        # Links would be copied as files.
        run.require_own_files()
    except OSError as problem:
        raise RequestError(
            "{run} cannot be copied: {reason}.", run=path.name, reason=file_reason(problem)
        ) from problem
    counters = point.saved.header.counters
    begin = counters.env_steps
    try:
        rehearse([run.config.choice], announce=announce, stopped=stopped)
    except StoppedError:
        raise _stopped() from None
    steps += max(run.config.learning_starts - begin, counters.no_updates_until - begin, 0)
    with tempfile.TemporaryDirectory(prefix="td3-verify-") as folder:
        straight = _copy(run, point.path, Path(folder) / "straight")
        broken = _copy(run, point.path, Path(folder) / "broken")
        announce(Text("{steps} steps without interruption", steps=steps))
        warnings = _resume(straight, begin + steps, Control(), announce, stopped)
        announce(Text("the same with an interruption half-way"))
        half_way = Control.stopping_at(begin + steps // 2)
        _resume(broken, begin + steps, half_way, announce, stopped)
        warnings += _resume(broken, begin + steps, Control(), announce, stopped)
        reached = checkpoint.read_header(straight / CHECKPOINTS / LAST).counters
        differences = (*dict.fromkeys(warnings), *differences_of(straight, broken))
        return ResumeCheck(begin, steps, reached.updates - counters.updates, differences)


def _copy(run: RunDirectory, saved: Path, to: Path) -> Path:
    """Copy everything needed to resume: settings, tables, buffer, one checkpoint."""
    (to / CHECKPOINTS).mkdir(parents=True)
    for path in run.path.iterdir():
        if path.suffix in (".toml", ".csv", ".jsonl", ".f32"):
            files.copy(path, to / path.name)
    files.copy(saved, to / CHECKPOINTS / LAST)
    return to


def _resume(
    run: Path,
    steps: int,
    control: Control,
    announce: Announce,
    stopped: Callable[[], bool],
) -> list[Text]:
    """Resume until ``steps``, or until ``control`` stops it; return the warnings."""
    warnings: list[Text] = []

    def report(event: Event) -> None:
        if isinstance(event, Warned) and not event.no_deviation:
            warnings.append(event.message)
        elif isinstance(event, Preparing):
            announce(event.message)
        if stopped():
            control.stop()

    outcome = resume(run, control, report, steps=steps, sinks=False)
    if isinstance(outcome, Failed):
        raise RunError(outcome.message)
    if stopped():
        raise _stopped()
    return warnings


def _stopped() -> RunError:
    return RunError("The check was stopped.")


def differences_of(one: Path, other: Path) -> list[Text]:
    """Return how the states and tables of two runs differ, ignoring times."""
    first, second = (checkpoint.load(run / CHECKPOINTS / LAST) for run in (one, other))
    states = [
        {name: array.tobytes() for name, array in saved.tensors.items()}
        for saved in (first, second)
    ]
    # Some tensors are optional, such as the noise of an episode.
    names = [n for n in states[0] | states[1] if states[0].get(n) != states[1].get(n)]
    found: list[Text] = []
    if names:
        found.append(
            Text.counted(
                "The tensor {example} differs.",
                "{n} tensors differ, {example} among them.",
                n=len(names),
                example=names[0],
            )
        )
    if first.header.counters != second.header.counters:
        found.append(Text("The counters differ."))
    tables = [
        name
        for name in ("episodes.csv", "evaluations.csv", "training.csv")
        if _rows(one / name) != _rows(other / name)
    ]
    found += [Text("{table} differs.", table=name) for name in tables]
    first_file, other_file = one / REPLAY, other / REPLAY
    # Not read whole: the files may be larger than memory.
    kept = first_file.exists() and other_file.exists()
    if kept and not filecmp.cmp(first_file, other_file, shallow=False):
        found.append(Text("The replay buffer differs."))
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    rows = read_table(path, largest=None)
    return [{name: value for name, value in row.items() if name != "time_s"} for row in rows]
