"""The panel of many runs: the groups of this window, and the queue."""

from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QSplitter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.experiments.group_model import GroupModel
from studio.experiments.group_session import GroupSession
from studio.experiments.group_table import GroupTable
from studio.experiments.queue_file import Runs
from studio.experiments.run_queue import RunQueue
from studio.session.group_record import GroupRecord
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import arrange, enable, make_icon_button, make_label
from studio.widgets.labels import ElidedLabel, plain_tip
from studio.widgets.sight import Sight
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.protocol.steering import Verb
from td3core.text import Text, tr, translated

_NO_GROUP = Text("Enter several seeds in Setup, such as 5 or 0-4,7, and press Train.")
_NO_QUEUE = Text("“Train next” adds the run in Setup.")
_QUEUE_STARTS = Text("The first one starts when the current training has ended.")
_QUEUE_WAITS = Text("Press ▶ to start the first one.")

_LOOK_EVERY_MS = 3_000
"""Milliseconds between looks at the queue, which other windows may change."""
_ID = Qt.ItemDataRole.UserRole
"""The id of a waiting run: rows move when another run starts."""
_NARROW, _HIGH = 560, 320
"""Below this width and from this height on, the queue is below the group; with the usual font.
Side by side, the table would have no room for best return and progress."""
_SHARES = [450, 190]
"""Shares of the group and of the queue."""


class ManyRunsPanel(QWidget):
    """Shows a group and a queue, and passes on the user's requests."""

    run_wanted = Signal(object)
    """The folder of a run to open."""
    compare_wanted = Signal(object)
    """The :class:`GroupRecord` whose curves are requested."""
    report_wanted = Signal(object)
    """The :class:`GroupRecord` to report on."""

    def __init__(self, session: GroupSession, queue: RunQueue, theme: Theme) -> None:
        super().__init__()
        self.setObjectName("many_runs_panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.session, self.queue = session, queue
        self._listed: Runs = ()
        self._timer = QTimer(self, interval=_LOOK_EVERY_MS)
        self._timer.setObjectName("queue_timer")
        self._sight = Sight(self)
        self.model = GroupModel(self)
        self.table = GroupTable(self.model)
        self._icons: list[tuple[QToolButton, str]] = []
        self._training = False
        self._split = split = QSplitter(Qt.Orientation.Horizontal)
        split.setChildrenCollapsible(False)
        split.addWidget(self._make_group())
        split.addWidget(self._make_queue())
        split.setStretchFactor(0, 3)
        split.setStretchFactor(1, 1)
        split.setSizes(_SHARES)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(4)
        layout.addWidget(split, 1)
        # Across the whole panel, below the tables: wrapping to a second line moves nothing.
        layout.addWidget(self._summary)
        self._connect()
        self.set_theme(theme)
        self._show_queue()
        self._update()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Put the queue below the group if both do not fit side by side."""
        super().resizeEvent(event)
        size = event.size()
        below = size.width() < scaled(_NARROW) and size.height() >= scaled(_HIGH)
        arrange(self._split, _SHARES, below=below)

    # Building -----------------------------------------------------------------------------------

    def _make_group(self) -> QWidget:
        self._summary = make_label("group_summary", muted=True)
        self._summary.setWordWrap(True)
        self._group_note = _make_note("group_note")
        self._groups = QComboBox()
        self._groups.setObjectName("group_combo")
        self._groups.setAccessibleName(tr("Group"))
        # The names are long, and both sections share a narrow dock.
        self._groups.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._groups.setMinimumWidth(scaled(60))
        self._pause = self._button("group_pause", "pause", tr("Pause these runs"))
        self._resume = self._button("group_resume", "play", tr("Continue these runs"))
        self._stop = self._button("group_stop", "stop", tr("Save these runs and end them"))
        self._compare = self._button(
            "group_compare", "chart-multiple", tr("Show the curves of the group")
        )
        self._report = self._button(
            "group_report", "file-document-outline", tr("Write a report about the group")
        )
        buttons = (self._compare, self._report, self._pause, self._resume, self._stop)
        return _section(tr("Group"), (self._group_note, self._groups), buttons, self.table)

    def _make_queue(self) -> QWidget:
        self.list = QListWidget()
        self.list.setObjectName("queue_list")
        self.list.setAccessibleName(tr("Waiting runs"))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setMinimumWidth(scaled(110))
        self._queue_note = _make_note("queue_note")
        self._next = self._button("queue_start", "play", tr("Start the next run now"))
        self._up = self._button("queue_up", "arrow-up", tr("Start this run earlier"))
        self._down = self._button("queue_down", "arrow-down", tr("Start this run later"))
        self._drop = self._button("queue_remove", "close", tr("Remove this run from the queue"))
        buttons = (self._next, self._up, self._down, self._drop)
        self._queue_hint = make_label("queue_hint", muted=True)
        self._queue_hint.setWordWrap(True)
        section = _section(tr("Queue"), (self._queue_note,), buttons, self.list)
        layout = section.layout()
        assert layout is not None
        layout.addWidget(self._queue_hint)
        return section

    def _button(self, name: str, icon: str, tip: str) -> QToolButton:
        button = make_icon_button(f"{name}_button", tip, tip)
        # Both sections stand side by side in a narrow dock.
        button.setProperty("icon_px", 16)
        self._icons.append((button, icon))
        return button

    def _connect(self) -> None:
        self.session.group_started.connect(self._on_group_started)
        self.session.status_changed.connect(self._on_status)
        self.session.busy_changed.connect(self._update)
        self._groups.activated.connect(self._on_group_chosen)
        self.queue.changed.connect(self._show_queue)
        self._timer.timeout.connect(self.queue.look)
        self._sight.changed.connect(self._on_sight)
        self.table.choice_changed.connect(self._update)
        self.table.run_wanted.connect(self._on_run_wanted)
        self._pause.clicked.connect(partial(self._ask, Verb.PAUSE))
        self._stop.clicked.connect(partial(self._ask, Verb.STOP))
        self._resume.clicked.connect(self._on_resume)
        self._compare.clicked.connect(lambda: self.compare_wanted.emit(self._shown))
        self._report.clicked.connect(lambda: self.report_wanted.emit(self._shown))
        self._next.clicked.connect(self.queue.start_again)
        self._up.clicked.connect(partial(self._move, -1))
        self._down.clicked.connect(partial(self._move, 1))
        self._drop.clicked.connect(self._remove)
        self.list.itemSelectionChanged.connect(self._update)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        for button, icon in self._icons:
            button.setIcon(theme.icon(icon, theme.text))

    def set_busy(self, busy: bool) -> None:
        """Set whether a run trains in this window."""
        self._training = busy
        self._update()

    # The group ----------------------------------------------------------------------------------

    def _targets(self) -> list[SeedStatus]:
        """Return the runs that the buttons apply to: the selected ones, else all."""
        return self.table.chosen() or list(self.model.statuses)

    def _ask(self, verb: Verb, of_ended: Verb | None = None) -> None:
        """Send a command to the selected runs, else to all; ``of_ended`` to those that are over."""
        chosen = self.table.chosen()
        if not chosen:
            self.session.command(verb)
        for status in chosen:
            over = of_ended if status.state.is_over else None
            self.session.command(over or verb, status.seed)

    @Slot()
    def _on_resume(self) -> None:
        if self.session.busy:
            self._ask(Verb.UNPAUSE, of_ended=Verb.RESUME)
        elif self._shown is not None:
            chosen = tuple(s.seed for s in self.table.chosen() if s.state.is_resumable)
            self.session.resume(self._shown.group, chosen)

    @Slot()
    def _on_group_started(self) -> None:
        self._groups.clear()
        for record in self.session.records:
            parts = (translated(record.variant), record.group.name)
            self._groups.addItem(" · ".join(filter(None, parts)), record)
        self._groups.setCurrentIndex(self._groups.count() - 1)
        self._on_group_chosen()

    @property
    def _shown(self) -> GroupRecord | None:
        """The group whose runs are in the table."""
        found = self._groups.currentData()
        return found if isinstance(found, GroupRecord) else None

    @property
    def _over(self) -> bool:
        """Whether the shown group has ended, while another one may be training."""
        return self._shown is not self.session.current

    @Slot()
    def _on_group_chosen(self) -> None:
        self.model.show(self._shown.statuses.values() if self._shown is not None else ())
        self._update()

    @Slot(object)
    def _on_status(self, status: SeedStatus) -> None:
        if not self._over:
            self.model.take(status)
            self._update()

    @Slot(object)
    def _on_run_wanted(self, status: SeedStatus) -> None:
        if status.run is not None:
            self.run_wanted.emit(status.run)

    # The queue ----------------------------------------------------------------------------------

    @Slot()
    def _on_sight(self) -> None:
        """Look for changes of other windows while the panel can be seen."""
        if self._sight.seen:
            self._timer.start()
            self.queue.look()
        else:
            self._timer.stop()

    @property
    def _row(self) -> int:
        """The row of the selected run; -1 without one. Qt makes a row current by itself."""
        return next((self.list.row(item) for item in self.list.selectedItems()), -1)

    def _chosen_run(self) -> str:
        """Return the id of the selected run; empty without one."""
        return next((str(item.data(_ID)) for item in self.list.selectedItems()), "")

    def _move(self, by: int) -> None:
        self.queue.move(self._chosen_run(), by)

    @Slot()
    def _remove(self) -> None:
        row = self._row
        self.queue.remove(self._chosen_run())
        self.list.setCurrentRow(min(row, self.list.count() - 1))

    @Slot()
    def _show_queue(self) -> None:
        """List the waiting runs; the selected one stays selected, unless it has gone."""
        if self.queue.runs == self._listed:
            return
        self._listed, chosen = self.queue.runs, self._chosen_run()
        self.list.clear()
        for run in self._listed:
            # The failure comes first, because the list is narrow.
            about = tr("failed · {about}", about=run.about) if run.problem else run.about
            item = QListWidgetItem(f"{run.config.env}\n{about}")
            item.setToolTip(plain_tip("\n".join(filter(None, (item.text(), run.problem)))))
            item.setData(_ID, run.id)
            self.list.addItem(item)
            if run.id == chosen:
                self.list.setCurrentItem(item)
        self._update()

    # Both ---------------------------------------------------------------------------------------

    @Slot()
    def _update(self) -> None:
        """Show the available actions."""
        occupied = self.session.busy
        # The buttons apply to the displayed group, which may have ended while another one trains.
        busy, targets = occupied and not self._over, self._targets()
        states = [status.state for status in targets]
        chosen = bool(self.table.chosen())
        live = [s for s in states if s in (SeedState.STARTING, SeedState.TRAINING)]
        waits = [s for s in states if s is SeedState.WAITING]
        held = [s for s in states if s in (SeedState.PAUSED, SeedState.HELD)]
        missing = [s for s in states if s.is_resumable]
        idle = "" if busy else tr("no group is training")
        if occupied and self._over and states:
            idle = tr("this group has ended")
        if busy and not states:
            idle = tr("the group is starting")
        begun = any(status.run is not None for status in self.model.statuses)
        for button in (self._compare, self._report):
            enable(button, "" if begun else tr("no run of a group has begun"))
        not_training, ended = tr("its runs do not train"), tr("its runs have ended")
        if chosen:
            not_training = tr("the selected runs do not train")
            ended = tr("the selected runs have ended")
        enable(self._pause, idle or ("" if live or waits else not_training))
        enable(self._stop, idle or ("" if live or waits or held else ended))
        trains = self._training or occupied
        restart = missing and (chosen if busy else not trains)
        why = tr("there is nothing to continue")
        if missing and trains:
            why = tr("a group is training") if occupied else tr("a run is training")
        enable(self._resume, "" if (busy and held) or restart else why)
        self._summary.setText(self.model.summary() if states else str(_NO_GROUP))
        count = len(self.model.statuses)
        runs = Text.counted("{n} run", "{n} runs", n=count)
        self._group_note.setText(str(runs) if count else "")
        several = self._groups.count() > 1
        self._groups.setVisible(several)
        self._groups.setToolTip(self._groups.currentText())
        self._group_note.setHidden(several)
        row, count = self._row, self.list.count()
        empty = "" if count else tr("the queue is empty")
        enable(self._next, empty or (tr("training is in progress") if trains else ""))
        none = empty or ("" if row >= 0 else tr("no run is selected"))
        enable(self._up, none or ("" if row > 0 else tr("it is the first one")))
        enable(self._down, none or ("" if row < count - 1 else tr("it is the last one")))
        enable(self._drop, none)
        failed = sum(bool(run.problem) for run in self.queue.runs)
        counts = (
            tr("{count} waiting", count=count - failed) if count > failed else "",
            tr("{n} failed", n=failed) if failed else "",
        )
        self._queue_note.setText(" · ".join(filter(None, counts)) or tr("empty"))
        self._queue_note.setToolTip(str(_NO_QUEUE))
        hint = _NO_QUEUE if not count else _QUEUE_STARTS if trains else _QUEUE_WAITS
        if count and count == failed:
            hint = Text("Press ▶ to try again.")
        self._queue_hint.setText(str(hint))


def _make_note(name: str) -> ElidedLabel:
    """Return a label next to a heading, hidden if it does not fit."""
    note = ElidedLabel()
    note.setObjectName(name)
    note.setProperty("role", "muted")
    note.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    return note


def _section(
    title: str, notes: tuple[QWidget, ...], buttons: tuple[QToolButton, ...], content: QWidget
) -> QWidget:
    """Return a heading with notes and buttons, above its content."""
    heading = QLabel(f"<b>{title}</b>")
    bar = QHBoxLayout()
    # The buttons have their own padding, and large fonts leave no room for more.
    bar.setSpacing(0)
    bar.addWidget(heading)
    bar.addSpacing(6)
    for note in notes:
        bar.addWidget(note, 1)
    for button in buttons:
        bar.addWidget(button)
    page = QWidget()
    page.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
    layout = QVBoxLayout(page)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(6)
    layout.addLayout(bar)
    layout.addWidget(content, 1)
    return page
