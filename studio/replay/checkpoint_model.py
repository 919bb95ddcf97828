"""The list of saved agents: rows under headings, and changes to them."""

from collections.abc import Iterable
from enum import IntEnum
from importlib.resources import files
from itertools import count, groupby
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, Qt, Slot

from studio.replay import checkpoint_rows
from studio.replay.checkpoint_rows import Row, gone_row, heading, row_of
from studio.replay.header_cache import HeaderCache
from studio.replay.newest_agent_tracker import ShownAgent
from studio.replay.timeline.points import Mark, SavedFile, marks_of
from studio.session.agents import SavedAgents
from studio.widgets.model_index import ROOT, Index
from td3core.checkpoint import SUFFIX, Header
from td3core.text import NO_TEXT, Text, tr

WALKER = f"BipedalWalker-v3{SUFFIX}"
"""The first bundled agent; earlier agents of its run come with it."""
_ONLY_NETWORKS = Text("an exported agent has only its networks: it cannot be trained further")
_NO_BUFFER = Text("an exported agent has only its networks, and no replay buffer")
_BUFFER_NOT_KEPT = Text("its run keeps no replay buffer")


class Section(IntEnum):
    """Sections of the list, in order."""

    CURRENT = 0
    EARLIER = 1
    BUNDLED = 2


class CheckpointModel(QAbstractListModel):
    """Saved agents under headings. Lists given agents; reads no folder.

    A file is opened, in the background, only when its row is displayed.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sections: dict[Section, list[Row]] = {section: [] for section in Section}
        self._titles: dict[Section, str] = {}
        self.marks: dict[int, set[Mark]] = {}
        """Marks of the current run's agents, by step."""
        self._means: dict[int, float] = {}
        """Mean returns of the current run's evaluations, by step."""
        self._gone: Row | None = None
        self.headers = HeaderCache(self)
        self.headers.known.connect(self._on_header)

    # Called by Qt -------------------------------------------------------------------------------

    def rowCount(self, parent: Index = ROOT) -> int:  # noqa: N802
        """Count headings and checkpoints."""
        return 0 if parent.isValid() else sum(len(rows) for rows in self._sections.values())

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Make checkpoints selectable, but not headings."""
        row = self._row(index.row()) if index.isValid() else None
        if row is None or (row.path is None and not row.gone):
            return Qt.ItemFlag.NoItemFlags
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the data of a row; ``UserRole`` is its path."""
        if not index.isValid():
            return None
        row = self._row(index.row())
        if row.path is None:
            return checkpoint_rows.heading_data(row, role)
        if role == Qt.ItemDataRole.UserRole:
            return row.path
        return checkpoint_rows.row_data(row, role, self.headers.look_up)

    def find(self, path: Path) -> QModelIndex:
        """Return the row of a checkpoint, or an invalid index."""
        for number, row in enumerate(self._all()):
            if row.path == path:
                return self.index(number)
        return QModelIndex()

    def find_shown(self, shown: ShownAgent) -> QModelIndex:
        """Return the row of the current agent, or an invalid index."""
        if not shown.gone:
            return self.find(shown.path)
        start = self._start(Section.CURRENT)
        for number, row in enumerate(self._sections[Section.CURRENT], start):
            if row.env_steps == shown.env_steps:
                return self.index(number)
        return QModelIndex()

    def first(self) -> Path | None:
        """Return the bundled walker, else the first bundled agent, else the first agent."""
        sections = reversed(self._sections.values())
        paths = [row.path for rows in sections for row in rows if row.path is not None]
        bundled = (row.path for row in self._sections[Section.BUNDLED])
        walker = (path for path in bundled if path is not None and path.name == WALKER)
        return next(walker, next(iter(paths), None))

    def current_files(self) -> list[SavedFile] | None:
        """Return the agents of the current run with a known step; None without a run."""
        rows = self._sections[Section.CURRENT]
        return (
            [
                file
                for row in rows
                if row.path is not None and (file := self._file_of(row, row.path)) is not None
            ]
            if rows
            else None
        )

    def _file_of(self, row: Row, path: Path) -> SavedFile | None:
        if row.env_steps >= 0:
            return SavedFile(path=path, env_steps=row.env_steps, mean_return=row.mean_return)
        header = self.headers.look_up(path)
        if not isinstance(header, Header):
            return None
        mean = checkpoint_rows.mean_of(row, header)
        return SavedFile(path=path, env_steps=header.counters.env_steps, mean_return=mean)

    def why_no_branch(self, path: Path) -> Text | str | None:
        """Return why no run can branch from an agent, empty if one can; None if not known yet.

        ``headers.known`` announces when it is known.
        """
        found = self.headers.look_up(path)
        if not isinstance(found, Header):
            return found
        return NO_TEXT if found.complete else _ONLY_NETWORKS

    def why_no_inspection(self, path: Path) -> Text | str | None:
        """Return why no batch of an agent can be inspected, as :meth:`why_no_branch` does.

        Only the inspection itself checks that the file of a kept replay buffer still exists.
        """
        found = self.headers.look_up(path)
        if not isinstance(found, Header):
            return found
        if not found.complete:
            return _NO_BUFFER
        return NO_TEXT if found.config.keep_replay else _BUFFER_NOT_KEPT

    # Changes ------------------------------------------------------------------------------------

    def clear_section(self, section: Section) -> None:
        """Remove a section from the list."""
        self._merge(section, [])

    def show_heading(self, section: Section, title: str) -> None:
        """Start a section for another run, whose checkpoints are not known yet."""
        self._titles[section] = title
        if section is Section.CURRENT:
            self._means = {}
            self.marks = {}
        self._merge(section, [heading(title)])

    def show_agents(self, section: Section, agents: SavedAgents) -> None:
        """Show the agents on disk below the heading of a section."""
        means = dict(agents.means)
        if section is Section.CURRENT:
            # Evaluations are announced before they are written to disk.
            means = self._means = means | self._means
            self.marks = marks_of(agents.manual, agents.branched)
        for path, stamp in agents.stamps.items():
            self.headers.note_version(path, stamp)
        rows = sorted((row_of(path, means) for path in agents.stamps), key=lambda row: row.order)
        self._merge(section, [heading(self._titles[section], agents.run_bytes), *rows])

    def show_bundled(self) -> None:
        """Show the bundled agents."""
        folder = files("resources") / "agents"
        found = sorted(
            path
            for path in (folder.iterdir() if folder.is_dir() else ())
            if isinstance(path, Path) and path.name.endswith(SUFFIX)
        )
        rows = [checkpoint_rows.bundled_row(path) for path in found]
        self._merge(Section.BUNDLED, [heading(tr("Bundled")), *rows] if rows else [])

    def note_saved(
        self, path: Path, env_steps: int, mean_return: float | None, run_bytes: int
    ) -> None:
        """Add a checkpoint to the current run's section, or update its row."""
        self.headers.forget(path)
        if mean_return is not None:
            self._means = self._means | {env_steps: mean_return}
        rows = [row for row in self._sections[Section.CURRENT] if row.path not in (None, path)]
        rows = sorted([*rows, row_of(path, self._means)], key=lambda row: row.order)
        self._merge(Section.CURRENT, [heading(self._titles[Section.CURRENT], run_bytes), *rows])
        # Its row may look the same, although the file has changed.
        self._on_header(path)

    def note_evaluated(self, env_steps: int, mean_return: float) -> None:
        """Show the return of the current run's checkpoints at a step, if there are any."""
        self._means = self._means | {env_steps: mean_return}
        rows = self._sections[Section.CURRENT]
        renewed = [row if row.path is None else row_of(row.path, self._means) for row in rows]
        self._merge(Section.CURRENT, renewed)

    def show_gone(self, shown: ShownAgent | None) -> None:
        """Give the current agent its own row if its file no longer holds it; None removes it."""
        gone = gone_row(shown) if shown is not None else None
        if gone != self._gone:
            self._gone = gone
            rows = self._sections[Section.CURRENT]
            self._merge(Section.CURRENT, [row for row in rows if not row.gone])

    def _with_gone(self, rows: list[Row]) -> list[Row]:
        """Add the shown agent if it is no longer saved, unless another file holds it."""
        gone, rows = self._gone, [row for row in rows if not row.gone]
        if gone is None or not rows or any(row.env_steps == gone.env_steps for row in rows):
            return rows
        return sorted([*rows, gone], key=lambda row: row.order)

    @Slot(Path)
    def _on_header(self, path: Path) -> None:
        index = self.find(path)
        if index.isValid():
            self.dataChanged.emit(index, index)

    # Rows ---------------------------------------------------------------------------------------

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

    def _merge(self, section: Section, wanted: list[Row]) -> None:
        """Set a section's rows, which are already sorted; existing rows stay selected."""
        start, rows = self._start(section), self._sections[section]
        if section is Section.CURRENT:
            wanted = self._with_gone(wanted)
        kept = {row.key for row in wanted}
        gone = [at for at, row in enumerate(rows) if row.key not in kept]
        for first, last in reversed(_spans(gone)):
            self.beginRemoveRows(ROOT, start + first, start + last)
            del rows[first : last + 1]
            self.endRemoveRows()
        present = {row.key for row in rows}
        at = 0
        for known, group in groupby(wanted, key=lambda row: row.key in present):
            block = list(group)
            if known:
                self._renew(section, at, block)
            else:
                self.beginInsertRows(ROOT, start + at, start + at + len(block) - 1)
                rows[at:at] = block
                self.endInsertRows()
            at += len(block)

    def _renew(self, section: Section, at: int, block: list[Row]) -> None:
        start, rows = self._start(section), self._sections[section]
        for number, row in enumerate(block, start=at):
            if rows[number] != row:
                rows[number] = row
                changed = self.index(start + number)
                self.dataChanged.emit(changed, changed)


def _spans(numbers: list[int]) -> list[tuple[int, int]]:
    """Return the first and last of each run of consecutive numbers."""
    counter = count()
    stretches = (list(group) for _, group in groupby(numbers, lambda each: each - next(counter)))
    return [(stretch[0], stretch[-1]) for stretch in stretches]
