"""The list of saved agents: what the rows are and what they say."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QBrush, QFont, QGuiApplication, QPalette

from studio.formatting import format_size, short_steps
from studio.widgets.labels import plain_tip
from td3core import checkpoint
from td3core.checkpoint import SUFFIX, Header
from td3core.errors import RequestError
from td3core.runs import disk_usage
from td3core.runs.directory import RunDirectory

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_HEADING, _STEP, _NAMED = -1, 0, 1
_NAMES = ("best", "last")
_ONLY_NETWORKS = "An exported agent holds only its networks: it can act, but not learn on"


class Section(IntEnum):
    """Parts of the list, in their order."""

    CURRENT = 0
    EARLIER = 1
    BUNDLED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: a heading, or a checkpoint with what is known without opening it."""

    order: tuple[int, int]
    text: str
    path: Path | None = None
    """None for a heading."""
    mean_return: float | None = None


class CheckpointModel(QAbstractListModel):
    """Saved agents under headings. A file is opened only when its row is looked at."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sections: dict[Section, list[Row]] = {section: [] for section in Section}
        self._titles: dict[Section, str] = {}
        self._known: dict[Path, tuple[tuple[int, int], Header | str]] = {}

    def rowCount(self, parent: Index = _ROOT) -> int:  # noqa: N802
        """Count headings and checkpoints."""
        return 0 if parent.isValid() else sum(len(rows) for rows in self._sections.values())

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let checkpoints be chosen, and headings not."""
        if not index.isValid() or self._row(index.row()).path is None:
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a row shows; ``UserRole`` is its path."""
        if not index.isValid():
            return None
        row = self._row(index.row())
        if row.path is None:
            return _heading_data(row, role)
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.AccessibleTextRole:
                return self._text(row, row.path)
            case Qt.ItemDataRole.UserRole:
                return row.path
            case Qt.ItemDataRole.ToolTipRole:
                found = self._look_up(row.path)
                return plain_tip(_about(row.path, found) if isinstance(found, Header) else found)
            case Qt.ItemDataRole.ForegroundRole if isinstance(self._look_up(row.path), str):
                return _muted()
        return None

    def clear_section(self, section: Section) -> None:
        """Take a section out of the list."""
        self._replace(section, [])

    def show_run(self, section: Section, title: str, run: RunDirectory | None) -> None:
        """Show the checkpoints of a run under a heading."""
        means = dict(run.evaluations()) if run else {}
        rows = [_row_of(path, means) for path in (run.saved() if run else ())]
        self._titles[section] = title
        self._replace(section, [_heading(title), *rows])
        if run is not None and section is Section.CURRENT:
            self.show_size(section, run.path)

    def show_size(self, section: Section, run: Path) -> None:
        """Say in a section's heading how much room its run takes on disk."""
        rows = self._sections[section]
        size = disk_usage.used_bytes(run)
        if rows and size:
            rows[0] = _heading(f"{self._titles[section]}  ·  {format_size(size)} on disk")
            changed = self.index(self._start(section))
            self.dataChanged.emit(changed, changed)

    def why_no_branch(self, path: Path) -> str:
        """Say why no run can be branched from an agent; empty if one can."""
        found = self._look_up(path)
        if isinstance(found, str):
            return found
        return "" if found.complete else _ONLY_NETWORKS

    def show_bundled(self) -> None:
        """Show the agents that come with the program."""
        folder = files("resources") / "agents"
        found = sorted(
            path
            for path in (folder.iterdir() if folder.is_dir() else ())
            if isinstance(path, Path) and path.name.endswith(SUFFIX)
        )
        rows = [Row(order=(_NAMED, i), text="", path=path) for i, path in enumerate(found)]
        self._replace(Section.BUNDLED, [_heading("Bundled"), *rows] if rows else [])

    def note_saved(self, path: Path, env_steps: int, mean_return: float | None) -> None:
        """Add a checkpoint to the current run's section, or renew its row."""
        self._drop_deleted()
        rows = self._sections[Section.CURRENT]
        row = _row_of(path, {} if mean_return is None else {env_steps: mean_return})
        at = bisect_left(rows, row.order, key=lambda each: each.order)
        if at < len(rows) and rows[at].path == path:
            rows[at] = row
            changed = self.index(self._start(Section.CURRENT) + at)
            self.dataChanged.emit(changed, changed)
            return
        flat = self._start(Section.CURRENT) + at
        self.beginInsertRows(_ROOT, flat, flat)
        rows.insert(at, row)
        self.endInsertRows()

    def _drop_deleted(self) -> None:
        """Take out the checkpoints that the run has not kept."""
        rows, start = self._sections[Section.CURRENT], self._start(Section.CURRENT)
        for at in reversed(range(len(rows))):
            path = rows[at].path
            if path is not None and not path.exists():
                self.beginRemoveRows(_ROOT, start + at, start + at)
                del rows[at]
                self.endRemoveRows()

    def find(self, path: Path) -> QModelIndex:
        """Return the row of a checkpoint, or an invalid index."""
        for number, row in enumerate(self._all()):
            if row.path == path:
                return self.index(number)
        return QModelIndex()

    def first(self) -> Path | None:
        """Return the first bundled agent, or else the first agent of all."""
        for rows in reversed(self._sections.values()):
            for row in rows:
                if row.path is not None:
                    return row.path
        return None

    def _all(self) -> Iterable[Row]:
        return (row for rows in self._sections.values() for row in rows)

    def _start(self, section: Section) -> int:
        return sum(len(self._sections[each]) for each in Section if each < section)

    def _row(self, number: int) -> Row:
        for rows in self._sections.values():
            if number < len(rows):
                return rows[number]
            number -= len(rows)
        raise IndexError(number)

    def _replace(self, section: Section, rows: list[Row]) -> None:
        # Row by row, not a reset: what is chosen in another section stays chosen.
        start, before = self._start(section), len(self._sections[section])
        if before:
            self.beginRemoveRows(_ROOT, start, start + before - 1)
            self._sections[section] = []
            self.endRemoveRows()
        if rows:
            self.beginInsertRows(_ROOT, start, start + len(rows) - 1)
            self._sections[section] = rows
            self.endInsertRows()

    def _text(self, row: Row, path: Path) -> str:
        if row.order[0] == _STEP:
            return _spaced(row.text, _figure(row.mean_return))
        found = self._look_up(path)
        if isinstance(found, str):
            return row.text or path.stem
        mean = _figure(found.evaluation.mean if found.evaluation else row.mean_return)
        if row.text:
            return _spaced(row.text, short_steps(found.counters.env_steps), mean)
        mean = f"{found.evaluation.mean:.0f}" if found.evaluation else ""
        return f"{found.config.env} · return {mean}" if mean else found.config.env

    def _look_up(self, path: Path) -> Header | str:
        """Return what a file says about itself, or why it cannot be read; opened once a version."""
        try:
            about = path.stat()
            stamp = (about.st_mtime_ns, about.st_size)
        except OSError:
            stamp = (0, 0)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            try:
                known = (stamp, checkpoint.read_header(path))
            except RequestError as problem:
                known = (stamp, str(problem))
            self._known[path] = known
        return known[1]


def _row_of(path: Path, means: dict[int, float]) -> Row:
    """Make a row from the file's name alone: step checkpoints, then best, then last."""
    kind, _, number = path.stem.partition("_")
    if kind == "step" and number.isdecimal():
        steps = int(number)
        text = short_steps(steps)
        return Row(order=(_STEP, steps), text=text, path=path, mean_return=means.get(steps))
    rank = _NAMES.index(path.stem) if path.stem in _NAMES else len(_NAMES)
    return Row(order=(_NAMED, rank), text=path.stem, path=path)


def _heading(text: str) -> Row:
    return Row(order=(_HEADING, 0), text=text)


def _heading_data(row: Row, role: int) -> Any:
    if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
        return row.text
    if role == Qt.ItemDataRole.ForegroundRole:
        return _muted()
    if role == Qt.ItemDataRole.FontRole:
        font = QFont()
        font.setBold(True)
        return font
    return None


def _muted() -> QBrush:
    return QGuiApplication.palette().brush(QPalette.ColorRole.PlaceholderText)


def _figure(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.1f}"


def _spaced(*parts: str) -> str:
    return "  ".join(part for part in parts if part)


def _about(path: Path, header: Header) -> str:
    lines = [
        str(path),
        f"{header.config.env}, seed {header.config.seed}, step {header.counters.env_steps:,}",
    ]
    result = header.evaluation
    if result is not None:
        count = len(result.returns)
        lines.append(f"return {result.mean:.1f} ± {result.std:.1f} over {count} episodes")
    return "\n".join(lines)
