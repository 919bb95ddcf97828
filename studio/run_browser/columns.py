"""The cells of the table of runs: texts and sort order."""

from collections.abc import Callable, Container
from datetime import datetime
from enum import IntEnum
from html import escape
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt

from studio.formatting import (
    about_steps,
    format_count,
    format_duration,
    format_return,
    format_state,
    short_steps,
)
from studio.run_browser.rows import RunRow
from studio.widgets.labels import breakable
from td3core.protocol.run_status import RunStatus
from td3core.runs.listing import RunSummary
from td3core.system import timestamp
from td3core.text import Text, one_line, tr

_LEAST = float("-inf")

DAMAGED = "damaged"
_DAMAGED = Text("damaged")
ICONS = {
    RunStatus.RUNNING: ("play-circle", "good"),
    RunStatus.FINISHED: ("check-circle-outline", "good"),
    RunStatus.STOPPED: ("stop-circle-outline", "muted"),
    RunStatus.FAILED: ("alert-circle-outline", "bad"),
    RunStatus.INTERRUPTED: ("power-plug-off-outline", "warn"),
    DAMAGED: ("help-circle-outline", "bad"),
}

_MONTHS = (
    *(Text("Jan"), Text("Feb"), Text("Mar"), Text("Apr"), Text("May"), Text("Jun")),
    *(Text("Jul"), Text("Aug"), Text("Sep"), Text("Oct"), Text("Nov"), Text("Dec")),
)


class RunColumn(IntEnum):
    """Columns of the table, most important first."""

    RUN = 0
    STATE = 1
    CURVE = 2
    LAST = 3
    BEST = 4
    STEPS = 5
    STARTED = 6
    DURATION = 7
    SEED = 8
    PRESET = 9
    PARENT = 10


HEADINGS = {
    RunColumn.RUN: (
        Text("Run"),
        Text("Its name, or what distinguishes it; below it its environment"),
    ),
    RunColumn.STATE: (Text("State"), Text("How it ended, or whether it is running")),
    RunColumn.CURVE: (
        Text("Returns"),
        Text("Mean return of each evaluation, from its lowest to its highest"),
    ),
    RunColumn.LAST: (Text("Last"), Text("Mean return of the last evaluation")),
    RunColumn.BEST: (Text("Best"), Text("Mean return of the best evaluation")),
    RunColumn.STEPS: (Text("Steps"), Text("Environment steps done, of the total")),
    RunColumn.STARTED: (
        Text("Started"),
        Text("Local time. Sorted by this, branches stand below their parent"),
    ),
    RunColumn.DURATION: (Text("Duration"), Text("Wall-clock time, including pauses")),
    RunColumn.SEED: (Text("Seed"), Text("Random seed of the run")),
    RunColumn.PRESET: (Text("Preset"), Text("Where its settings came from")),
    RunColumn.PARENT: (Text("Branched from"), Text("The parent run, and the step of the branch")),
}
LARGEST_FIRST = {
    RunColumn.LAST,
    RunColumn.BEST,
    RunColumn.STEPS,
    RunColumn.STARTED,
    RunColumn.DURATION,
}
"""Sorted in descending order by a first click on the heading: best, longest or latest first."""
_NUMBERS = {RunColumn.LAST, RunColumn.BEST, RunColumn.STEPS, RunColumn.DURATION, RunColumn.SEED}


_TEXTS: dict[RunColumn, Callable[[RunSummary], str]] = {
    RunColumn.RUN: lambda run: run.title,
    RunColumn.CURVE: lambda _: "",
    RunColumn.LAST: lambda run: format_return(run.last_eval_return),
    RunColumn.BEST: lambda run: format_return(run.best_eval_return),
    RunColumn.STEPS: lambda run: tr(
        "{done} of {steps}", done=about_steps(run.env_steps), steps=about_steps(run.steps)
    ),
    RunColumn.DURATION: lambda run: format_duration(run.wall_s) if run.wall_s else "",
    RunColumn.STARTED: lambda run: started(run.created),
    RunColumn.SEED: lambda run: str(run.seed),
    RunColumn.PRESET: lambda run: run.preset,
}
_ORDERS: dict[RunColumn, Callable[[RunSummary], Any]] = {
    RunColumn.RUN: lambda run: (run.name or run.env).casefold(),
    RunColumn.LAST: lambda run: _or_least(run.last_eval_return),
    RunColumn.BEST: lambda run: _or_least(run.best_eval_return),
    RunColumn.STEPS: lambda run: float(run.env_steps),
    RunColumn.DURATION: lambda run: run.wall_s,
    RunColumn.SEED: lambda run: float(run.seed),
    # Folder names order the runs created within the same second.
    RunColumn.STARTED: lambda run: f"{run.created} {run.run.name}",
}


def state_text(state: str) -> str:
    """Return the name of a run's state."""
    return str(_DAMAGED) if state == DAMAGED else format_state(RunStatus(state))


def text_of(row: RunRow, column: RunColumn, state: str, parent: str = "") -> str:
    """Return the text of a cell; ``parent`` is the name of the run it was branched from."""
    return one_line(_cell(row, column, state, parent))


def _cell(row: RunRow, column: RunColumn, state: str, parent: str) -> str:
    if column is RunColumn.STATE:
        return state_text(state)
    if row.summary is None:
        return _shown(Path(row.path.name)) if column is RunColumn.RUN else ""
    if column is RunColumn.PARENT:
        return branched_from(row, parent)
    return _TEXTS[column](row.summary)


def detail_of(row: RunRow) -> str:
    """Return what distinguishes a run from others: seed, variant, changed settings, origin."""
    found = row.summary
    if found is None:
        return row.problem
    return found.description


def lines_of(row: RunRow, *, spoken: bool = False) -> tuple[str, str]:
    """Return the two lines of a run in the list: distinguishing facts come before common ones.

    The number of live changes is abbreviated to save space, unless ``spoken``.
    """
    found, detail = row.summary, detail_of(row)
    if found is None:
        return one_line(_shown(Path(row.path.name))), one_line(detail)
    tuned = live_changes_of(row)
    if tuned and not spoken:
        tuned = f"Δ{found.live_changes}"
    about = (tuned, detail if found.name else "", found.env)
    return found.name or detail, one_line(" · ".join(filter(None, about)))


def live_changes_of(row: RunRow) -> str:
    """Return how many live settings of a run were changed; empty without any."""
    count = row.summary.live_changes if row.summary else 0
    return str(Text.counted("{n} live change", "{n} live changes", n=count)) if count else ""


def told_below(row: RunRow, hidden: Container[RunColumn]) -> str:
    """Return start and last return, if in hidden columns: they tell equal runs apart."""
    found = row.summary
    if found is None:
        return ""
    last = format_return(found.last_eval_return)
    parts = {
        RunColumn.STARTED: started(found.created),
        RunColumn.LAST: tr("last {mean}", mean=last) if last else "",
    }
    return " · ".join(text for column, text in parts.items() if text and column in hidden)


def sort_key(row: RunRow, column: RunColumn, state: str) -> Any:
    """Return the sort key of a cell: of one type for the whole column."""
    if column in _ORDERS and row.summary is not None:
        return _ORDERS[column](row.summary)
    return _LEAST if column in _NUMBERS else text_of(row, column, state).casefold()


def branched_from(row: RunRow, parent: str) -> str:
    """Return name and step of a run's parent; its folder's name if it no longer exists."""
    origin = row.summary.parent if row.summary else None
    if origin is None:
        return ""
    step = short_steps(origin.env_steps)
    return tr("{run} at {step}", run=parent or origin.run, step=step)


def about(row: RunRow, parent: str = "") -> str:
    """Return the tooltip of a run: its note, its end, its folder."""
    found = row.summary
    if found is None:
        return f"{_html(row.problem)}<br>{_html(_shown(row.path))}"
    parts = [f"<b>{_html(found.title)}</b>", _html(found.env)]
    parts += [_html(text) for text in (found.note, str(found.message)) if text]
    preset = "" if found.preset == found.env else found.preset or tr("TD3 defaults")
    if found.changed:
        parts.append(tr("Changed: {settings}", settings=_html(str(found.changed))))
    parts.append(live_changes_of(row))
    seed = tr("seed {seed}", seed=found.seed)
    facts = (_html(preset), seed, format_duration(found.wall_s))
    parts.append(" · ".join(filter(None, facts)))
    made = _html(timestamp.shown(found.created))
    parts.append(tr("Started {made}", made=made) if made else "")
    if found.last_eval_return is not None:
        last, best = format_return(found.last_eval_return), format_return(found.best_eval_return)
        parts.append(tr("Last evaluation {last}, best {best}", last=last, best=best))
    if found.parent is not None:
        origin = _html(branched_from(row, parent))
        parts.append(tr("Branched from {run}", run=origin))
    reached = tr(
        "Step {step} of {steps}: {state}",
        step=format_count(found.env_steps),
        steps=format_count(found.steps),
        state=state_text(found.state),
    )
    parts += [reached, _html(_shown(Path(row.path.name)))]
    return "<br>".join(filter(None, parts))


def _shown(path: Path) -> str:
    """Return a path as text for Qt; a name on disk need not be valid text."""
    return str(path).encode(errors="replace").decode()


def _html(text: str) -> str:
    return escape(breakable(text)).replace("\n", "<br>")


def started(created: str, now: datetime | None = None) -> str:
    """Return the local start time of a run, to the minute; the current year is omitted."""
    made = timestamp.local(created)
    if made is not None and made.year == (now or datetime.now()).year:
        month = _MONTHS[made.month - 1]
        return tr("{month} {made:%d %H:%M}", month=month, made=made)
    return timestamp.shown(created)


def alignment(column: RunColumn) -> Qt.AlignmentFlag:
    """Return the alignment of a column's texts: numbers to the right."""
    side = Qt.AlignmentFlag.AlignRight if column in _NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _or_least(value: float | None) -> float:
    return _LEAST if value is None else value
