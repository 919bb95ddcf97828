"""The dialog that chooses which agents to compare."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QModelIndex, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from studio.replay.checkpoint_model import CheckpointModel
from studio.replay.checkpoint_rows import file_text
from studio.replay.compare.related import Related, related_runs
from studio.replay.timeline.points import TimelinePoint
from studio.tasks.background_task import BackgroundTask
from studio.widgets.controls import describe, make_label, make_row
from studio.widgets.forms import make_dialog_column, resize_within_screen
from studio.widgets.labels import plain_label, plain_tip
from td3core.checkpoint import SUFFIX, Header
from td3core.playing.compared import FEWEST, MOST, ComparedAgent
from td3core.playing.disturbance import PUSH_AT_S, PUSH_S, Variant
from td3core.runs.layout import run_of
from td3core.text import NO_TEXT, Text, tr

_PATH, _TEXT = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.DisplayRole

_VARIANTS = (
    (Variant.NOISE, "noise", Text("The first agent with its exploration noise")),
    (
        Variant.PUSH,
        "push",
        Text(
            "The first agent after a push: {seconds:g} s of strong noise, {first_s:g} s after its"
            " start",
            seconds=PUSH_S,
            first_s=PUSH_AT_S,
        ),
    ),
)


class _Row(NamedTuple):
    path: Path | None
    text: str


class CompareDialog(QDialog):
    """Lists the agents of one environment; emits the checked ones."""

    chosen = Signal(object)
    """Carries a list of :class:`~td3core.playing.compared.ComparedAgent`."""

    def __init__(
        self,
        model: CheckpointModel,
        points: Sequence[TimelinePoint],
        env_id: str,
        compared: Sequence[ComparedAgent],
        parent: QWidget,
        run: Path | None = None,
        not_saved: Text = NO_TEXT,
    ) -> None:
        """Offer the agents of a list.

        Args:
            model: The list.
            points: The timeline, which may have agents that are not in the list.
            env_id: Only agents of this environment can be checked.
            compared: Agents checked initially.
            parent: The window.
            run: The current run; agents of related runs are listed, too.
            not_saved: Why the current agent cannot be compared; empty if it can.
        """
        super().__init__(parent)
        self.setObjectName("compare_dialog")
        self.setWindowTitle(tr("Compare agents"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._model, self._env_id, self._not_saved = model, env_id, not_saved
        self._ticked = [each.path for each in compared if each.variant is Variant.PLAIN]
        """In the order of checking, which is the order of the pictures."""
        self._items: dict[Path, QListWidgetItem] = {}
        self._left_out: dict[Path, Text | str] = {}
        """Agents that cannot be compared, and why."""
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self._show_news)
        self.agents = QListWidget()
        tip = tr("Space ticks an agent")
        describe(self.agents, "compare_agents", tr("Agents of {env_id}", env_id=env_id), tip)
        self.agents.setUniformItemSizes(True)
        self.agents.setSpacing(1)
        self.variants = {
            variant: self._make_variant(
                name, str(text), any(e.variant is variant for e in compared)
            )
            for variant, name, text in _VARIANTS
        }
        self.note = make_label("compare_note", muted=True)
        self.note.setWordWrap(True)
        self._make_buttons()
        self._lay_out()
        listed = self._listed()
        for row in [*_only_on_timeline(points, listed), *listed]:
            self._add(row)
        missing = [path for path in self._ticked if path not in self._items]
        self._add_files(missing)
        self._show_rows()
        self.agents.itemChanged.connect(self._on_ticked)
        model.headers.known.connect(self._on_header)
        self._show_count()
        self._reader = BackgroundTask("related-runs", self)
        self.finished.connect(self._reader.cancel)
        if run is not None:
            self._reader.read(partial(related_runs, run), self._add_related)

    def _add_related(self, found: list[Related]) -> None:
        """List the agents of runs related to the current one."""
        blocked = self.agents.blockSignals(True)
        for run in found:
            rows = [_Row(path, file_text(path)) for path in run.agents if path not in self._items]
            for row in [_Row(None, run.title), *rows] if rows else []:
                self._add(row)
        self._show_rows()
        self.agents.blockSignals(blocked)

    def _make_variant(self, name: str, text: str, on: bool) -> QCheckBox:
        box = QCheckBox(text)
        describe(box, f"compare_{name}_check", text, "")
        box.setChecked(on)
        box.toggled.connect(self._show_count)
        return box

    def _make_buttons(self) -> None:
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.compare_button = QPushButton(tr("Compare"))
        self.compare_button.setObjectName("compare_start_button")
        self.compare_button.setDefault(True)
        self.buttons.addButton(self.compare_button, QDialogButtonBox.ButtonRole.AcceptRole)
        self.files_button = QPushButton(tr("Add files…"))
        describe(
            self.files_button, "compare_files_button", tr("Add files"), tr("Agents of other runs")
        )
        self.files_button.setAutoDefault(False)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        self.files_button.clicked.connect(self._choose_files)

    def _lay_out(self) -> None:
        about = tr(
            "Tick two to four agents of {env_id}. They play the same episodes in step. The"
            " instruments show the first one.",
            env_id=self._env_id,
        )
        layout = make_dialog_column(self)
        layout.addWidget(plain_label(about))
        layout.addWidget(self.agents, 1)
        row = make_row(self.note, self.files_button)
        row.setStretch(0, 1)
        layout.addLayout(row)
        for box in self.variants.values():
            layout.addWidget(box)
        layout.addWidget(self.buttons)
        resize_within_screen(self, 480, 520)

    # The list -----------------------------------------------------------------------------------

    def _listed(self) -> list[_Row]:
        """Return the headings and agents of the list of saved agents."""
        rows = []
        for number in range(self._model.rowCount()):
            index = self._model.index(number)
            path = index.data(_PATH)
            rows.append(_Row(path if isinstance(path, Path) else None, str(index.data(_TEXT))))
        return rows

    def _add(self, row: _Row) -> None:
        item = QListWidgetItem(row.text)
        if row.path is None:
            font = item.font()
            font.setBold(True)
            item.setFont(font)
            item.setFlags(Qt.ItemFlag.NoItemFlags)
        else:
            item.setData(_PATH, row.path)
            ticked = row.path in self._ticked
            item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
            self._items.setdefault(row.path, item)
            self._enable(item, row.path)
        self.agents.addItem(item)

    def _enable(self, item: QListWidgetItem, path: Path) -> None:
        """Leave an agent out if it is unreadable or known to be of another environment."""
        found = self._model.headers.look_up(path)
        self._left_out.pop(path, None)
        if isinstance(found, Header | None):
            item.setToolTip(plain_tip(str(path)))
            if found is not None and found.config.env != self._env_id:
                self._left_out[path] = Text(
                    "{file} is left out: it is an agent of {env_id}.",
                    file=path.name,
                    env_id=found.config.env,
                )
        else:
            item.setToolTip(plain_tip(str(found)))
            self._left_out[path] = found

    def _show_rows(self) -> None:
        """Hide agents that cannot be compared, and headings without agents."""
        below = False
        for number in reversed(range(self.agents.count())):
            item = self.agents.item(number)
            path = item.data(_PATH)
            heading = path is None
            hidden = not below if heading else path in self._left_out
            item.setHidden(hidden)
            below = not heading and (below or not hidden)

    @Slot(Path)
    def _on_header(self, path: Path) -> None:
        item = self._items.get(path)
        if item is None:
            return
        index = self._model.find(path)
        # Bundled agents are named by their files' contents.
        blocked = self.agents.blockSignals(True)
        if index != QModelIndex():
            item.setText(str(index.data(_TEXT)))
        self._enable(item, path)
        self.agents.blockSignals(blocked)
        # Hundreds of headers may arrive at once.
        self._soon.start()

    @Slot()
    def _show_news(self) -> None:
        self._show_rows()
        self._show_count()

    @Slot()
    def _choose_files(self) -> None:
        kind = tr("Agents ({pattern})", pattern=f"*{SUFFIX}")
        names, _ = QFileDialog.getOpenFileNames(self, tr("Add agents"), "", kind)
        paths = [Path(name).absolute() for name in names]
        blocked = self.agents.blockSignals(True)
        for path in paths:
            if path in self._items:
                self._items[path].setCheckState(Qt.CheckState.Checked)
        self._ticked += [path for path in paths if path not in self._ticked]
        self._add_files([path for path in paths if path not in self._items])
        self.agents.blockSignals(blocked)
        self._show_news()

    def _add_files(self, paths: list[Path]) -> None:
        for path in paths:
            run, text = run_of(path), file_text(path)
            self._add(_Row(path, f"{run.name}  {text}" if run is not None else text))

    # Choosing -----------------------------------------------------------------------------------

    def compared(self) -> list[ComparedAgent]:
        """Return the checked agents that can be compared, then the variants."""
        found = [ComparedAgent(path) for path in self._ticked if path not in self._left_out]
        if found:
            found += [
                ComparedAgent(found[0].path, variant)
                for variant, box in self.variants.items()
                if box.isChecked()
            ]
        return found

    @Slot(QListWidgetItem)
    def _on_ticked(self, item: QListWidgetItem) -> None:
        path = item.data(_PATH)
        ticked = item.checkState() is Qt.CheckState.Checked
        if ticked and path not in self._ticked:
            self._ticked.append(path)
        elif not ticked and path in self._ticked:
            self._ticked.remove(path)
        self._show_count()

    @Slot()
    def _show_count(self) -> None:
        count = len(self.compared())
        # An agent whose file is still being read may have to be left out.
        known = all(self._model.headers.look_up(path) is not None for path in self._ticked)
        self.compare_button.setEnabled(known and FEWEST <= count <= MOST)
        if count > MOST:
            note = tr("{count} chosen; at most {most} fit side by side.", count=count, most=MOST)
        elif count == 1:
            note = tr("Tick one more, or one of the two below.")
        else:
            note = tr("{count} chosen", count=count)
        why = (str(self._left_out[path]) for path in self._ticked if path in self._left_out)
        first = [str(self._not_saved)] if self._not_saved else []
        self.note.setText("\n".join((note, *first, *why)))

    @Slot()
    def _accept(self) -> None:
        self.chosen.emit(self.compared())
        self.accept()


def _only_on_timeline(points: Sequence[TimelinePoint], listed: list[_Row]) -> list[_Row]:
    """Return the agents that are only on the timeline, with a heading."""
    known = {row.path for row in listed}
    rows = [_Row(point.path, point.text) for point in points if point.path not in known]
    return [_Row(None, tr("Timeline")), *rows] if rows else []
