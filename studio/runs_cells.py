"""The cells of the table of runs: what they say, and how they sort."""

from collections.abc import Callable
from datetime import datetime
from enum import IntEnum
from html import escape
from typing import Any

from PySide6.QtCore import Qt

from studio.labels import breakable
from studio.replay.checkpoint_model import short_steps
from studio.runs_scan import RunRow
from studio.status_line import in_words
from td3core.presets import PLUS
from td3core.records import State
from td3core.run_list import Summary

_PLAIN = "TD3"
_LEAST = float("-inf")

DAMAGED = "damaged"
ICONS = {
    State.RUNNING: ("play-circle", "good"),
    State.FINISHED: ("check-circle-outline", "good"),
    State.STOPPED: ("stop-circle-outline", "muted"),
    State.FAILED: ("alert-circle-outline", "bad"),
    State.INTERRUPTED: ("power-plug-off-outline", "warn"),
    DAMAGED: ("help-circle-outline", "bad"),
}


class Column(IntEnum):
    """Columns of the table; what a person looks for first stands first."""

    RUN = 0
    STATE = 1
    LAST = 2
    BEST = 3
    STEPS = 4
    STARTED = 5
    DURATION = 6
    SEED = 7
    PRESET = 8
    PARENT = 9


HEADINGS = {
    Column.RUN: ("Run", "Its name, if it was given one, and its environment"),
    Column.STATE: ("State", "How it ended, or that it has not"),
    Column.LAST: ("Last", "Mean return of the last evaluation"),
    Column.BEST: ("Best", "Mean return of the best evaluation"),
    Column.STEPS: ("Steps", "Environment steps reached, of those asked for"),
    Column.STARTED: ("Started", "Local time. Sorted by this, branches stand below their parent"),
    Column.DURATION: ("Duration", "How long it has been going, pauses included"),
    Column.SEED: ("Seed", "Seed of everything random"),
    Column.PRESET: ("Preset", "Where its settings came from"),
    Column.PARENT: ("Branched from", "The run, and the step, that it went on from"),
}
_NUMBERS = {Column.LAST, Column.BEST, Column.STEPS, Column.DURATION, Column.SEED}


_TEXTS: dict[Column, Callable[[Summary], str]] = {
    Column.RUN: lambda run: f"{run.name} · {run.env}" if run.name else run.env,
    Column.LAST: lambda run: _figure(run.last_eval_return),
    Column.BEST: lambda run: _figure(run.best_eval_return),
    Column.STEPS: lambda run: f"{short_steps(run.env_steps)} of {short_steps(run.steps)}",
    Column.DURATION: lambda run: in_words(run.wall_s) if run.wall_s else "",
    Column.STARTED: lambda run: started(run.created),
    Column.SEED: lambda run: str(run.seed),
    Column.PRESET: lambda run: run.preset,
    Column.PARENT: lambda run: (
        f"{run.parent.run} at {short_steps(run.parent.env_steps)}" if run.parent else ""
    ),
}
_ORDERS: dict[Column, Callable[[Summary], Any]] = {
    Column.LAST: lambda run: _or_least(run.last_eval_return),
    Column.BEST: lambda run: _or_least(run.best_eval_return),
    Column.STEPS: lambda run: float(run.env_steps),
    Column.DURATION: lambda run: run.wall_s,
    Column.SEED: lambda run: float(run.seed),
    # Folders made within one second are named in their order.
    Column.STARTED: lambda run: f"{run.created} {run.run.name}",
}


def text_of(row: RunRow, column: Column, state: str) -> str:
    """Return the text of one cell."""
    if column is Column.STATE:
        return state
    if row.summary is None:
        return row.path.name if column is Column.RUN else ""
    return _TEXTS[column](row.summary)


def detail_of(row: RunRow) -> str:
    """Return what tells a run from others of its environment: its algorithm and seed."""
    found = row.summary
    if found is None:
        return ""
    variant = [part for part in found.preset.split(PLUS) if part and part != found.env]
    return f"{PLUS.join(variant) or _PLAIN} · seed {found.seed}"


def sort_key(row: RunRow, column: Column, state: str) -> Any:
    """Return what a column sorts by: one kind of value for all of its cells."""
    if column in _ORDERS and row.summary is not None:
        return _ORDERS[column](row.summary)
    return _LEAST if column in _NUMBERS else text_of(row, column, state).casefold()


def about(row: RunRow) -> str:
    """Return the tooltip of a run: its note, its end, its folder."""
    found = row.summary
    if found is None:
        return f"{_html(row.problem)}<br>{_html(str(row.path))}"
    parts = [f"<b>{_html(found.name or found.env)}</b>"]
    parts += [_html(text) for text in (found.note, found.message) if text]
    preset = found.preset or "Defaults of TD3"
    parts.append(f"{_html(preset)} · seed {found.seed} · {in_words(found.wall_s)}")
    if found.parent is not None:
        parts.append(f"Branched from {_html(_TEXTS[Column.PARENT](found))}")
    parts += [f"Step {found.env_steps:,} of {found.steps:,}", _html(row.path.name)]
    return "<br>".join(parts)


def _html(text: str) -> str:
    return escape(breakable(text)).replace("\n", "<br>")


def started(created: str) -> str:
    """Return the local time at which a run was made, to the minute."""
    try:
        return f"{datetime.fromisoformat(created).astimezone():%Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return created


def _figure(mean: float | None) -> str:
    return "" if mean is None else f"{mean:,.1f}"


def alignment(column: Column) -> Qt.AlignmentFlag:
    """Return where a column's texts stand: numbers to the right."""
    side = Qt.AlignmentFlag.AlignRight if column in _NUMBERS else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _or_least(value: float | None) -> float:
    return _LEAST if value is None else value
