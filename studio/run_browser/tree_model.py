"""The table of runs: rows, texts and sort order. Reads and writes no file."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    Qt,
    Signal,
)

from studio.formatting import plain_minus
from studio.run_browser.columns import (
    DAMAGED,
    HEADINGS,
    ICONS,
    LARGEST_FIRST,
    RunColumn,
    about,
    alignment,
    detail_of,
    lines_of,
    live_changes_of,
    sort_key,
    text_of,
)
from studio.run_browser.rows import Found, RunRow
from studio.theme.theme import Theme
from studio.widgets.model_index import ROOT, Index
from td3core.protocol.run_status import RunStatus
from td3core.runs.metadata import RunLabel

ROW, SEARCH, LINES = (Qt.ItemDataRole.UserRole + n for n in range(3))


@dataclass(slots=True, eq=False)
class _Node:
    row: RunRow | None = None
    parent: "_Node | None" = None
    at: int = 0
    number: int = 0
    """Stored in Qt's indices instead of a pointer: a stale index must not reach freed memory."""
    children: list["_Node"] = field(default_factory=list)


class RunTreeModel(QAbstractItemModel):
    """All runs of a folder, flat or with branches below the run they came from."""

    name_edited = Signal(Path, str)
    """The user has entered this name for a run; empty removes the current one."""
    renamed = Signal(Path, str)
    """A run has this title now."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: dict[Path, RunRow] = {}
        self._training: Path | None = None
        self._texts: dict[Path, str] = {}
        """Searchable text of each run, made on demand."""
        self._sorting = (RunColumn.STARTED, True)
        self._root = _Node()
        self._nodes: dict[Path, _Node] = {}
        self._numbered: list[_Node] = [self._root]
        self._theme: Theme | None = None
        self.set_theme(theme)

    # Changes ------------------------------------------------------------------------------------

    def take(self, found: Found) -> None:
        """Apply the findings of a scan."""
        moved = any(self._moves(row) for row in found.rows)
        gone = [path for path in found.gone if self.rows.pop(path, None)]
        renamed = [row for row in found.rows if self._has_other_name(row)]
        self.rows |= {row.path: row for row in found.rows}
        changed = {row.path for row in found.rows} | found.gone
        # Branches name their parents.
        changed |= {path for path, row in self.rows.items() if _parent_of(row) in changed}
        for path in changed:
            self._texts.pop(path, None)
        if moved or gone:
            self._rebuild()
        else:
            for row in found.rows:
                self._nodes[row.path].row = row
            for path in changed:
                self._announce(path)
        # Renamed here or elsewhere, for instance in another window.
        for row in renamed:
            self.renamed.emit(row.path, row.summary.title if row.summary else "")

    def _has_other_name(self, row: RunRow) -> bool:
        before = self.rows.get(row.path)
        if before is None or before.summary is None or row.summary is None:
            return False
        return row.summary.title != before.summary.title

    def _moves(self, row: RunRow) -> bool:
        """Return whether the news of a run changes its position in the list."""
        before = self.rows.get(row.path)
        if before is None or _parent_of(row) != _parent_of(before):
            return True
        return bool(self._key(row) != self._key(before))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort; sorted by start, branches are below the run they came from."""
        self._sorting = RunColumn(column), order is Qt.SortOrder.DescendingOrder
        self._rebuild()

    def show_label(self, path: Path, label: RunLabel) -> None:
        """Show a run's new name and note."""
        row = self.rows.get(path)
        if row is None or row.summary is None:
            return
        summary = replace(row.summary, name=label.name, note=label.note)
        self.take(Found(rows=(replace(row, summary=summary),)))

    def set_training(self, path: Path | None) -> None:
        """Show this run as running, before a scan finds out."""
        before, self._training = self._training, path
        for changed in {before, path}:
            if changed is not None:
                self._texts.pop(changed, None)
            self._announce(changed)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        if theme == self._theme:
            return
        self._theme = theme
        self._icons = {
            state: theme.icon(name, getattr(theme, colour), selected=theme.on_accent)
            for state, (name, colour) in ICONS.items()
        }
        for path in self._nodes:
            self._announce(path)

    def _rebuild(self) -> None:
        self.beginResetModel()
        self._root = _Node()
        column, descending = self._sorting
        # Here rather than in the proxy, which would request every value twenty times.
        rows = sorted(self.rows.values(), key=self._key, reverse=descending)
        self._nodes = {row.path: _Node(row, number=n) for n, row in enumerate(rows, start=1)}
        self._numbered = [self._root, *self._nodes.values()]
        for path, node in self._nodes.items():
            above = self._above(path) if column is RunColumn.STARTED else None
            node.parent = self._nodes[above] if above else self._root
            node.at = len(node.parent.children)
            node.parent.children.append(node)
        self.endResetModel()

    def _key(self, row: RunRow) -> Any:
        return sort_key(row, self._sorting[0], self._state(row))

    def _above(self, path: Path) -> Path | None:
        """Return the run that this one branched from, if listed and not its own descendant."""
        seen, at = {path}, path
        while (above := _parent_of(self.rows[at])) is not None and above in self.rows:
            if above in seen:
                return None
            seen.add(above)
            at = above
        above = _parent_of(self.rows[path])
        return above if above in self.rows else None

    def _announce(self, path: Path | None) -> None:
        if path in self._nodes:
            self.dataChanged.emit(self.find(path), self.find(path, RunColumn.PARENT))

    # Called by Qt ------------------------------------------------------------------------------

    def index(self, row: int, column: int, parent: Index = ROOT) -> QModelIndex:
        """Return a cell."""
        below = self._node(parent).children
        if not (0 <= row < len(below) and 0 <= column < len(RunColumn)):
            return QModelIndex()
        return self.createIndex(row, column, below[row].number)

    def parent(self, index: Index = ROOT) -> Any:
        """Return the run above a branch."""
        above = self._node(index).parent if index.isValid() else None
        if above is None or above is self._root:
            return QModelIndex()
        return self.createIndex(above.at, 0, above.number)

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Count the branches of a run, or the topmost runs."""
        return len(self._node(parent).children) if parent.column() <= 0 else 0

    def columnCount(self, _parent: Index = ROOT) -> int:  # noqa: N802
        """Count the columns."""
        return len(RunColumn)

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Let the name be edited."""
        flags = super().flags(index)
        row = self._node(index).row if index.isValid() else None
        if row is not None and row.summary and index.column() == RunColumn.RUN:
            flags |= Qt.ItemFlag.ItemIsEditable
        return flags

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the heading of a column."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        text, about = HEADINGS[RunColumn(section)]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return alignment(RunColumn(section))
        if role == Qt.ItemDataRole.InitialSortOrderRole and section in LARGEST_FIRST:
            return Qt.SortOrder.DescendingOrder.value
        if role == Qt.ItemDataRole.DisplayRole:
            return str(text)
        return str(about) if role == Qt.ItemDataRole.ToolTipRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the data of a cell; ``ROW`` is its run."""
        row = self._node(index).row if index.isValid() else None
        if row is None:
            return None
        column = RunColumn(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return text_of(row, column, self._state(row), self._parent_title(row))
            case Qt.ItemDataRole.EditRole:
                return row.summary.name if row.summary else None
            case Qt.ItemDataRole.ToolTipRole:
                return about(row, self._parent_title(row))
            case Qt.ItemDataRole.TextAlignmentRole:
                return alignment(column)
            case Qt.ItemDataRole.DecorationRole if column is RunColumn.STATE:
                return self._icons[self._state(row)]
            case _ if role == ROW:
                return row
            case _ if role == SEARCH:
                return self._searched(row)
            case _ if column is RunColumn.RUN:
                return self._more(row, role)
        return None

    def _more(self, row: RunRow, role: int) -> Any:
        """Return further data of the first column: the two lines to draw, or accessible text."""
        if role == LINES:
            return lines_of(row)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return " · ".join(filter(None, lines_of(row, spoken=True)))
        return None

    def setData(  # noqa: N802
        self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole
    ) -> bool:
        """Request another name of a run; it is shown once it is written. Empty removes it."""
        row = self._node(index).row if index.isValid() else None
        if row is None or row.summary is None or role != Qt.ItemDataRole.EditRole:
            return False
        name = str(value).strip()
        if name != row.summary.name:
            self.name_edited.emit(row.path, name)
        return True

    # Called by the list -------------------------------------------------------------------------

    def find(self, path: Path | None, column: RunColumn = RunColumn.RUN) -> QModelIndex:
        """Return a cell of a run, or an invalid index."""
        node = self._nodes.get(path) if path else None
        return self.createIndex(node.at, column, node.number) if node else QModelIndex()

    def branched(self) -> list[Path]:
        """Return the runs that have branches below them."""
        return [path for path, node in self._nodes.items() if node.children]

    def members(self, group: str) -> list[RunRow]:
        """Return the runs of a group of seeds, by seed."""
        found = [row for row in self.rows.values() if row.group == group]
        return sorted(found, key=lambda row: row.summary.seed if row.summary else 0)

    def state(self, path: Path) -> str:
        """Return the state of a run; ``damaged`` if it cannot be read."""
        return self._state(self.rows[path])

    def searched(self) -> list[str]:
        """Return the searchable text of each run."""
        return [self._searched(row) for row in self.rows.values()]

    def interrupted(self) -> list[Path]:
        """Return the runs that neither ended nor are running, most recently started first."""
        rows = [row for row in self.rows.values() if self._state(row) == RunStatus.INTERRUPTED]
        rows.sort(key=lambda row: sort_key(row, RunColumn.STARTED, ""), reverse=True)
        return [row.path for row in rows]

    def any_running(self) -> bool:
        """Return whether a run is training."""
        return any(self._state(row) == RunStatus.RUNNING for row in self.rows.values())

    def _state(self, row: RunRow) -> str:
        if row.summary is None:
            return DAMAGED
        return RunStatus.RUNNING if row.path == self._training else row.summary.state

    def _searched(self, row: RunRow) -> str:
        if row.path not in self._texts:
            self._texts[row.path] = self._search_text(row)
        return self._texts[row.path]

    def _search_text(self, row: RunRow) -> str:
        parent = self._parent_title(row)
        cells = [text_of(row, column, self._state(row), parent) for column in RunColumn]
        note, env = (row.summary.note, row.summary.env) if row.summary else (row.problem, "")
        words = (
            *cells,
            detail_of(row),
            live_changes_of(row),
            env,
            row.path.name,
            note.replace("\n", " "),
        )
        return plain_minus(" ".join(words))

    def _parent_title(self, row: RunRow) -> str:
        parent = self.rows.get(_parent_of(row) or row.path)
        return parent.summary.title if parent and parent is not row and parent.summary else ""

    def _node(self, index: Index) -> _Node:
        return self._numbered[index.internalId()] if index.isValid() else self._root


def _parent_of(row: RunRow) -> Path | None:
    found = row.summary
    return row.path.with_name(found.parent.run) if found and found.parent else None
