"""One line of the list of saved agents: a heading or a checkpoint, and its text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QFont, QGuiApplication, QPalette

from studio.formatting import format_count, format_return, format_size, short_steps
from studio.replay.newest_agent_tracker import OVERWRITTEN, ShownAgent
from studio.widgets.labels import plain_tip
from td3core.checkpoint import Header
from td3core.text import Text, one_line, tr

_HEADING, _STEP, _NAMED = -1, 0, 1

_GONE = Text("Shown, but no longer saved: its file holds another agent now, or was deleted")

LookUp = Callable[[Path], Header | Text | str | None]
"""Returns a file's header, why it cannot be read, or None while it is being read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A heading, or a checkpoint with the facts known without opening it."""

    order: tuple[int, int, str]
    text: str
    path: Path | None = None
    """None for a heading."""
    env_steps: int = -1
    """Step of a step checkpoint; -1 for others."""
    mean_return: float | None = None
    means: Mapping[int, float] = field(default_factory=dict)
    """Mean returns of the run's evaluations by step, for an agent whose header has its step."""
    gone: bool = False
    """True for a displayed agent whose file now holds another one, or none; it has no path."""

    @property
    def key(self) -> tuple[tuple[int, int, str], Path | None]:
        """Identity of the row, which does not change when the row is updated."""
        return self.order, self.path


def row_of(path: Path, means: Mapping[int, float]) -> Row:
    """Make a row from the file's name alone: step checkpoints, then best, then last."""
    kind, _, number = path.stem.partition("_")
    if kind == "step" and number.isdecimal():
        steps = int(number)
        return Row(
            order=(_STEP, steps, path.stem),
            text=short_steps(steps),
            path=path,
            env_steps=steps,
            mean_return=means.get(steps),
        )
    rank = list(OVERWRITTEN).index(path.stem) if path.stem in OVERWRITTEN else len(OVERWRITTEN)
    return Row(order=(_NAMED, rank, path.stem), text=file_text(path), path=path, means=means)


def file_text(path: Path) -> str:
    """Return the name of a checkpoint file."""
    return one_line(str(OVERWRITTEN.get(path.stem, path.stem)))


def bundled_row(path: Path) -> Row:
    """Return the row of a bundled agent, named by its environment."""
    return Row(order=(_NAMED, 0, path.stem), text="", path=path)


def gone_row(shown: ShownAgent) -> Row:
    """Return the row of a displayed agent that its file no longer holds, next to that file's."""
    row = row_of(shown.path, {})
    text = _spaced(
        str(shown.role or ""), short_steps(shown.env_steps), format_return(shown.mean_return)
    )
    return Row(
        order=(row.order[0], row.order[1], f"{shown.path.stem} {shown.env_steps}"),
        text=text,
        env_steps=shown.env_steps,
        gone=True,
    )


def heading(title: str, run_bytes: int = 0) -> Row:
    """Return a heading, perhaps with the run's disk space."""
    if run_bytes:
        size = tr("{size} on disk", size=format_size(run_bytes))
        title = f"{title}  ·  {size}"
    return Row(order=(_HEADING, 0, ""), text=title)


def heading_data(row: Row, role: int) -> Any:
    """Return the data of a row without a file for one of Qt's roles."""
    if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
        return row.text
    if row.gone:
        return plain_tip(str(_GONE)) if role == Qt.ItemDataRole.ToolTipRole else None
    if role == Qt.ItemDataRole.ForegroundRole:
        return _muted()
    if role == Qt.ItemDataRole.FontRole:
        font = QFont()
        font.setBold(True)
        return font
    return None


def row_data(row: Row, role: int, look_up: LookUp) -> Any:
    """Return the data of a checkpoint for one of Qt's roles."""
    assert row.path is not None
    match role:
        case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
            return _text(row, row.path, look_up)
        case Qt.ItemDataRole.ToolTipRole:
            return plain_tip(_about(row, row.path, look_up(row.path)))
        case Qt.ItemDataRole.ForegroundRole if not isinstance(look_up(row.path), Header | None):
            return _muted()
    return None


def _text(row: Row, path: Path, look_up: LookUp) -> str:
    if row.env_steps >= 0:
        return _spaced(row.text, format_return(row.mean_return))
    found = look_up(path)
    if not isinstance(found, Header):
        return row.text or file_text(path)
    if row.text:
        steps = found.counters.env_steps
        return _spaced(row.text, short_steps(steps), format_return(mean_of(row, found)))
    env = one_line(found.config.env)
    if found.evaluation is None:
        return env
    mean = tr("return {mean}", mean=format_return(found.evaluation.mean))
    return f"{env} · {mean}"


def mean_of(row: Row, header: Header) -> float | None:
    """Return the mean return of an agent, which its file need not contain."""
    if header.evaluation is not None:
        return header.evaluation.mean
    return row.means.get(header.counters.env_steps, row.mean_return)


def _about(row: Row, path: Path, found: Header | Text | str | None) -> str:
    if not isinstance(found, Header | None):
        return str(found)
    lines = [str(path)]
    if found is not None:
        config, steps, result = found.config, found.counters.env_steps, found.evaluation
        lines.append(
            tr(
                "{env}, seed {seed}, step {step}",
                env=config.env,
                seed=config.seed,
                step=format_count(steps),
            )
        )
        if result is not None:
            over = Text.counted(
                "return {mean} over {n} episode",
                "return {mean} over {n} episodes",
                n=len(result.returns),
                mean=format_return(result.mean, result.std),
            )
            lines.append(str(over))
        elif (mean := mean_of(row, found)) is not None:
            lines.append(tr("return {mean}", mean=format_return(mean)))
    return "\n".join(lines)


def _muted() -> QBrush:
    return QGuiApplication.palette().brush(QPalette.ColorRole.PlaceholderText)


def _spaced(*parts: str) -> str:
    return "  ".join(part for part in parts if part)
