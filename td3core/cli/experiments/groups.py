"""Trains a group of seeds from the command line, and resumes one."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rich.console import Console

from td3core import checkpoint
from td3core.analysis.advice import Advice
from td3core.cli.advice import read_health
from td3core.cli.experiments.group_progress import GroupProgress, result_table
from td3core.cli.interrupts import INTERRUPTED, interrupts_stop
from td3core.cli.paths import continuing
from td3core.cli.terminal import FAILED, CommandResult, console, ending_as_dict, log, log_error
from td3core.errors import RequestError
from td3core.experiments.groups.allocation import Allocation
from td3core.experiments.groups.group import Group, NewGroup
from td3core.experiments.groups.runner import GroupRunner
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.groups.start import allocation_of, on_this_machine, plan_group
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.reader import ending_of
from td3core.text import Text


def train_group(new: NewGroup, *, as_json: bool) -> CommandResult:
    """Train a new group."""
    group, allocation = plan_group(new)
    return _run(group, allocation, as_json=as_json)


def resume_group(
    group: Group, steps: int | None, jobs: int | None, *, exact: bool = False, as_json: bool
) -> CommandResult:
    """Continue a group: resume what was interrupted, start what was not started.

    With ``exact`` a run that would not continue bit for bit fails.
    """
    saved = group
    if steps is not None:
        group = group.with_steps(steps)
    group, notice = on_this_machine(group)
    if notice:
        log(notice)
    return _run(group, allocation_of(group, jobs), saved=saved, exact=exact, as_json=as_json)


def _run(
    group: Group,
    allocation: Allocation,
    *,
    saved: Group | None = None,
    exact: bool = False,
    as_json: bool,
) -> CommandResult:
    """Train with progress on the terminal. Ctrl-C saves and stops all runs, a second kills them.

    ``saved``: the group as stored in its file; None for a new group.
    """
    log(Text("Group {group}", group=group.name))
    count = Text.counted("{n} run", "{n} runs", n=len(group.seeds))
    log(f"{count}, {allocation.reason}")
    resized = saved is not None and saved.config.steps != group.config.steps
    with GroupProgress(console) as progress:
        runner = GroupRunner(group, allocation, progress.report, progress.log, exact=exact)
        try:
            with interrupts_stop(runner):
                statuses = runner.run(save=resized)
        except KeyboardInterrupt:
            statuses, killed = tuple(runner.statuses.values()), True
        else:
            killed = False
    _require_not_refused(group, statuses, saved)
    if not as_json:
        Console(highlight=False).print(result_table(group.name, statuses))
    # After a second Ctrl-C, exit without delay.
    advised = [() if killed else _advice(status) for status in statuses]
    for status, advice in zip(statuses, advised, strict=True):
        for each in advice:
            log(f"{Text('seed {seed}', seed=status.seed)}  {each.in_words()}")
    if any(status.state.is_resumable for status in statuses):
        log(continuing(group.name, group.runs_dir, "resume"))
    runs = [_as_dict(*each) for each in zip(statuses, advised, strict=True)]
    result = {"group": group.name, "runs": runs}
    if killed:
        return CommandResult(status=INTERRUPTED, result=result, error=Text("Interrupted."))
    error = _failures(statuses)
    if error:
        log_error(Text("Runs failed:"), error)
    return CommandResult(status=FAILED if error else 0, result=result, error=error)


def _require_not_refused(group: Group, statuses: Sequence[SeedStatus], saved: Group | None) -> None:
    """Refuse a group if every run is refused for the same reason, as for a single run.

    A new group is deleted; a resumed one is restored to ``saved``.
    """
    messages = {status.message for status in statuses}
    if len(messages) == 1 and all(status.refused for status in statuses):
        if saved is None:
            group.discard()
        else:
            saved.save()
        raise RequestError("{message}", message=messages.pop())


def _failures(statuses: Sequence[SeedStatus]) -> Text | None:
    """Return how many runs failed, and a line on each of them; None if none failed."""
    failed = [s for s in statuses if s.state in (SeedState.FAILED, SeedState.INTERRUPTED)]
    if not failed:
        return None
    count = Text.counted(
        "{failed} of {n} run failed.",
        "{failed} of {n} runs failed.",
        n=len(statuses),
        failed=len(failed),
    )
    reasons = (Text("Seed {seed}: {reason}", seed=s.seed, reason=s.message) for s in failed)
    # On separate lines: an environment's message may lack a final full stop.
    return Text.joined((count, *reasons), "\n")


def _advice(status: SeedStatus) -> tuple[Advice, ...]:
    """Return the advice for a run; empty if it was not started, or no longer exists."""
    if status.run is None:
        return ()
    try:
        return read_health(status.run).advice
    except RequestError:
        return ()


def _as_dict(status: SeedStatus, advice: Sequence[Advice]) -> dict[str, Any]:
    """Return the ``train --json`` answer for a run, with its seed."""
    ending = status.ending or _earlier_ending(status)
    if ending is not None:
        values = ending_as_dict(ending)
    else:
        values = dict.fromkeys(item.name for item in fields(Ended)) | _on_disk(status)
    if status.message:
        values |= {"message": status.message, "error": status.message}
    return {"seed": status.seed} | values | {"advice": [each.as_dict() for each in advice]}


def _earlier_ending(status: SeedStatus) -> Ended | None:
    """Return the ending of a run that had finished before this command."""
    if status.run is None or status.state is not SeedState.FINISHED:
        return None
    try:
        return ending_of(status.run)
    except RequestError:
        return None


def _on_disk(status: SeedStatus) -> dict[str, Any]:
    """Return the facts on disk about a run that did not end during this command."""
    values: dict[str, Any] = {
        "stopped": status.state.stopped,
        "env_steps": status.env_steps,
        "last_eval_return": status.last,
        "best_eval_return": status.best,
    }
    if status.run is None:
        return values | {"env_steps": None}
    try:
        run = RunDirectory.open(status.run)
        header = checkpoint.read_header(run.last)
    except RequestError:
        return values | {"run": str(status.run)}
    counters = header.counters
    return values | {
        "run": str(run.path),
        "updates": counters.updates,
        "episodes": counters.episodes,
        "wall_s": header.wall_s,
        "best_checkpoint": str(run.best) if run.best.exists() else None,
        "last_checkpoint": str(run.last),
    }
