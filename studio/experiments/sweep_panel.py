"""The panel of sweeps: start, stop and continue one, show its trials, use their settings."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import (
    QModelIndex,
    QSortFilterProxyModel,
    Qt,
    QTimer,
    Signal,
    Slot,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFileDialog,
    QHBoxLayout,
    QSplitter,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from studio.consent.code_consent import CodeConsent
from studio.experiments.sweep_plots import VIEWS, SweepPlots, View
from studio.experiments.sweep_process import SweepProcess
from studio.experiments.sweep_reader import (
    SweepNews,
    TrialSettings,
    read_news,
    read_settings,
    write_example,
)
from studio.experiments.sweep_table import FIRST, SORT, TrialTable, words_of
from studio.tasks.background_task import BackgroundTask
from studio.tasks.cli_process import CliProcess
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.controls import (
    arrange,
    enable,
    make_button,
    make_icon_button,
    make_label,
    make_narrow_combo,
    make_table,
)
from studio.widgets.figure_export import make_export_button
from studio.widgets.path_actions import open_path
from studio.widgets.sight import Sight
from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.protocol.trial_status import TrialStatus
from td3core.text import NO_TEXT, Text, tr

_LOOK_EVERY_MS = 1_000
_COLUMN = 100
"""Pixels of a column of trials, with the usual font."""
_PLOTS, _HIGH = 260, 320
"""With less width for the plots, and from this height on, they are below the trials; with the usual
font."""
_SHARES = [520, 480]
"""Shares of the trials and of the plots."""
_FILES = Text("Sweep files ({pattern})", pattern="*.toml")
_TOO_LATE = Text("A run has started meanwhile: nothing was taken from the trial.")
_NONE = Text("No sweep yet. Open a sweep file, or create one from the example.")


Fulfilled = Callable[[SweepState | None], bool]
"""Returns whether a note is obsolete, given the state of the current sweep."""


class SweepPanel(QWidget):
    """The sweeps of a runs folder. A sweep runs in a separate process."""

    refused = Signal(object)
    run_wanted = Signal(Path)
    """The run of a trial, to be shown."""
    settings_chosen = Signal(object)
    """The settings of a trial (:class:`~studio.experiments.sweep_reader.TrialSettings`)."""
    started = Signal()
    """A sweep is starting here; its process may be asked to stop."""
    ended = Signal(str)
    """The sweep of this name, started here, has ended."""
    exported = Signal()
    report_wanted = Signal(str)
    """The name of the sweep to report on."""

    def __init__(
        self, runs_dir: Path, consent: CodeConsent, theme: Theme, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("sweep_panel")
        self._runs_dir = runs_dir
        self._state: SweepState | None = None
        self._problem = NO_TEXT
        """What is missing of the current sweep."""
        self._training = False
        self._done_when_asked = -1
        self._pending = ""
        """A sweep just started; its folder may not exist yet."""
        self._awaits_own = False
        """Whether the sweep started here is to be shown: the user has chosen none since."""
        self._note: tuple[str, Fulfilled] | None = None
        """Text shown in place of the sweep's state, and the condition that ends it."""
        self._process = SweepProcess(runs_dir, consent, self)
        self._measure = CliProcess(self)
        self._look, self._read = (BackgroundTask(n, self) for n in ("look-sweeps", "read-sweep"))
        self._timer = QTimer(self, interval=_LOOK_EVERY_MS)
        self._timer.setObjectName("look_timer")
        self._sight = Sight(self)
        self.table = TrialTable(theme, self)
        self._proxy = QSortFilterProxyModel(self)
        self._proxy.setSourceModel(self.table)
        self._proxy.setSortRole(SORT)
        self.plots = SweepPlots(theme)
        self._make_controls()
        self._lay_out()
        self._connect()
        self.set_theme(theme)
        self._show_what_is_possible()

    def _make_controls(self) -> None:
        self._sweeps = make_narrow_combo("sweep_combo", tr("Sweep"), tr("The current sweep"))
        self._views = make_narrow_combo("sweep_view_combo", tr("View"), tr("What the plots show"))
        for view, text in VIEWS.items():
            self._views.addItem(str(text), view.value)
        tip = tr("Start or continue the sweep of a file")
        self._open = make_icon_button("sweep_open_button", tr("Open sweep"), tip)
        tip = tr("Save the example to a file, and edit it")
        self._new = make_icon_button("sweep_new_button", tr("New sweep"), tip)
        self._continue = make_button(
            "sweep_continue_button", tr("Continue"), tr("Continue this sweep")
        )
        self._stop = make_button(
            "sweep_stop_button", tr("Stop"), tr("Save the runs of this sweep and stop it")
        )
        self._open_run = make_button(
            "sweep_open_run_button", tr("Open run"), tr("Show the run of this trial")
        )
        self._use = make_button(
            "sweep_use_button", tr("Use settings"), tr("Copy this trial's settings to Setup")
        )
        self._export = make_export_button("sweep_export_button", tr("plot"), self.plots.ask_export)
        report = self._export.menu().addAction(tr("Report…"), self._ask_report)
        report.setObjectName("sweep_report_action")
        self._export.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self._icons = (
            (self._open, "folder-open-outline"),
            (self._new, "file-plus-outline"),
            (self._export, "download-outline"),
        )
        self._status = make_label("sweep_status", muted=True)
        self._status.setWordWrap(True)
        self.view = make_table("sweep_trials", tr("Trials"), self._proxy)
        self.view.setSortingEnabled(True)
        self.view.sortByColumn(0, Qt.SortOrder.AscendingOrder)
        self.view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.view.horizontalHeader().setDefaultSectionSize(scaled(_COLUMN))

    def _lay_out(self) -> None:
        above, below = QHBoxLayout(), QHBoxLayout()
        for row in (above, below):
            row.setSpacing(4)
        above.addWidget(self._sweeps, 1)
        for widget in (self._open, self._new, self._continue, self._stop):
            above.addWidget(widget)
        for control in (self._open_run, self._use):
            below.addWidget(control)
        below.addStretch(1)
        below.addWidget(self._views, 2)
        below.addWidget(self._export)
        self._parts = QSplitter(Qt.Orientation.Horizontal)
        self._parts.addWidget(self.view)
        self._parts.addWidget(self.plots)
        self._parts.setSizes(_SHARES)
        self._parts.setChildrenCollapsible(False)
        self.plots.setMinimumWidth(scaled(_PLOTS) // 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(above)
        layout.addLayout(below)
        layout.addWidget(self._parts, 1)
        # At the bottom: wrapping to a second line moves nothing.
        layout.addWidget(self._status)

    def _connect(self) -> None:
        self._open.clicked.connect(self._choose_file)
        self._new.clicked.connect(self._make_file)
        self._continue.clicked.connect(self._continue_shown)
        self._stop.clicked.connect(self._stop_shown)
        self._open_run.clicked.connect(self._open_chosen)
        self._use.clicked.connect(self._use_chosen)
        self._views.currentIndexChanged.connect(self._on_view)
        self._sweeps.currentTextChanged.connect(self._on_sweep)
        self.view.doubleClicked.connect(self._open_chosen)
        self.view.selectionModel().selectionChanged.connect(self._show_what_is_possible)
        self._timer.timeout.connect(self.look)
        self._sight.changed.connect(self._on_sight)
        self._look.failed.connect(self.refused)
        self._read.failed.connect(self.refused)
        self._process.refused.connect(self.refused)
        self._process.started.connect(self._on_started)
        self._process.ended.connect(self._on_ended)
        self.plots.exported.connect(self.exported)
        self.plots.export_failed.connect(self.refused)
        self._measure.answered.connect(self._on_measured)
        self._measure.refused.connect(self._on_not_measured)

    # The window ---------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """True while a sweep started here is running."""
        return self._process.busy

    @property
    def name(self) -> str:
        """The current sweep; empty without one."""
        return self._sweeps.currentText()

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.table.set_theme(theme)
        self.plots.set_theme(theme)
        for button, icon in self._icons:
            button.setIcon(theme.icon(icon, theme.text))

    def set_busy(self, busy: bool) -> None:
        """Set whether a run is training in this window: none can be opened meanwhile."""
        self._training = busy
        self._show_what_is_possible()

    def shutdown(self) -> None:
        """End the processes and stop reading; the runs of a sweep save themselves."""
        self._timer.stop()
        self._process.shutdown()
        self._measure.cancel()
        self._look.cancel()
        self._read.cancel()

    @Slot()
    def _on_sight(self) -> None:
        """Check for sweeps while the panel can be seen."""
        if self._sight.seen:
            self._timer.start()
            self.look()
        else:
            self._timer.stop()

    # Starting and stopping ----------------------------------------------------------------------

    def start(self, file: Path) -> None:
        """Start or continue the sweep described by a file."""
        self._process.start(file)
        self._show_starting()

    @Slot()
    def _continue_shown(self) -> None:
        self._process.resume(self.name)
        self._show_starting()

    def _show_starting(self) -> None:
        self._awaits_own = True
        self._say(tr("Starting…"), self._has_started)
        self._show_what_is_possible()

    def _has_started(self, state: SweepState | None) -> bool:
        if state is None or state.name != self._process.name:
            return not self.busy
        return state.running or not self.busy

    def _say_stopping(self, name: str) -> None:
        self._say(
            tr("Stopping…"), lambda state: state is None or state.name != name or not state.running
        )

    def _say(self, note: str, fulfilled: Fulfilled) -> None:
        """Show a note in place of the state, until ``fulfilled`` or until a sweep is chosen."""
        self._note = (note, fulfilled)
        self._status.setText(note)

    @Slot()
    def _on_started(self) -> None:
        self._pending = self._process.name
        self.started.emit()

    @Slot()
    def stop(self) -> None:
        """Make the sweep started here, if any, save and stop."""
        if not self.busy:
            return
        self._say_stopping(self._process.name)
        self._process.stop(self._process.name)

    @property
    def _shows_own(self) -> bool:
        """Whether the sweep started here is shown, or will be once its folder exists."""
        return self.busy and (self._awaits_own or self._process.name == self.name)

    @Slot()
    def _stop_shown(self) -> None:
        if self._state is not None and self._state.running:
            self._say_stopping(self.name)
            self._process.stop(self.name)
        elif self._shows_own:
            self.stop()

    def show_running(self, name: str) -> None:
        """Show a sweep left training in the background."""
        self._pending = name
        self.look()

    @Slot()
    def _choose_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, tr("Open sweep file"), "", str(_FILES))
        if path:
            self.start(Path(path))

    @Slot()
    def _make_file(self) -> None:
        path, _ = QFileDialog.getSaveFileName(
            self, tr("New sweep file"), "my_sweep.toml", str(_FILES)
        )
        if path:
            self._read.read(lambda _: write_example(Path(path)), self._edit)

    def _edit(self, path: Path) -> None:
        open_path(path)
        edit = tr("Edit {name}, save it, and open it here.", name=path.name)
        # Shown until a sweep is started or chosen.
        self._say(edit, lambda _: False)

    @Slot(str)
    def _on_ended(self, name: str) -> None:
        self._show_status()
        self.look()
        self._show_what_is_possible()
        self.ended.emit(name)

    # Showing ------------------------------------------------------------------------------------

    @Slot()
    def look(self) -> None:
        """Read the list of sweeps and the state of the current one, in the background."""
        if not self._look.busy:
            name = self._pending or self.name
            self._look.read(lambda _: read_news(self._runs_dir, name), self._show_news)

    def _show_news(self, news: SweepNews) -> None:
        known = [self._sweeps.itemText(i) for i in range(self._sweeps.count())]
        wanted = self._pending if self._pending in news.names else self.name or news.name
        if list(news.names) != known or wanted != self.name:
            blocked = self._sweeps.blockSignals(True)
            self._sweeps.clear()
            self._sweeps.addItems(list(news.names))
            self._sweeps.setCurrentIndex(max(self._sweeps.findText(wanted), 0))
            self._sweeps.blockSignals(blocked)
        if not self.busy and self._pending in (news.name, *news.names):
            # A sweep that was refused gets no folder.
            self._pending = ""
        if news.name == self.name:
            self._problem = news.problem
            self._show_state(news.state)
            return
        # The news is of a sweep that has no folder yet, or of the one shown before.
        if self._state is not None and self._state.name != self.name:
            self._show_state(None)
        self._show_status()

    def _show_state(self, state: SweepState | None) -> None:
        fresh = state is not None and (self._state is None or state.name != self._state.name)
        had_values = not fresh and self._state is not None and self._state.best is not None
        self._state = state
        self.table.show_state(state)
        self.plots.show_state(state)
        if state is not None and not had_values:
            self._fit_columns()
        if fresh:
            self._done_when_asked = -1
            self._measure.cancel()
            self.plots.show_importance(None)
        self._show_status()
        self._ask_importance()
        self._show_what_is_possible()

    def _show_status(self) -> None:
        """Show the pending note, else the state of the current sweep."""
        state = self._state
        if self._note is not None:
            note, fulfilled = self._note
            if not fulfilled(state):
                self._status.setText(note)
                return
            self._note = None
        if not self.name:
            self._status.setText(str(_NONE))
            return
        parts = (words_of(state) if state else "", str(self._problem))
        self._status.setText("\n".join(filter(None, parts)))

    def _fit_columns(self) -> None:
        """Fit the columns to their contents; widen the table to show the first ones in full."""
        self.view.resizeColumnsToContents()
        self._arrange()
        needed, (table, plots) = self._needed_width(), self._parts.sizes()
        if self._parts.orientation() is Qt.Orientation.Horizontal and 0 < table < needed:
            self._parts.setSizes([needed, table + plots - needed])

    def _needed_width(self) -> int:
        """Return the width at which the table shows its first columns in full."""
        needed = sum(self.view.columnWidth(column) for column in range(len(FIRST)))
        return needed + self.view.width() - self.view.viewport().width()

    def _arrange(self) -> None:
        """Put the plots below the trials if both do not fit side by side."""
        narrow = self.width() < self._needed_width() + scaled(_PLOTS)
        arrange(self._parts, _SHARES, below=narrow and self.height() >= scaled(_HIGH))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Arrange trials and plots for the new size."""
        super().resizeEvent(event)
        self._arrange()

    @property
    def _view(self) -> View:
        return View(self._views.currentData())

    @Slot()
    def _on_view(self) -> None:
        self.plots.show_view(self._view)
        self._ask_importance()

    @Slot()
    def _on_sweep(self) -> None:
        self._pending, self._note, self._awaits_own = "", None, False
        self._problem = NO_TEXT
        self._show_state(None)
        self._look.cancel()
        self.look()

    def _ask_importance(self) -> None:
        """Compute the importance in a separate process, when there are new trials."""
        done = self._state.count(TrialStatus.DONE) if self._state else 0
        wanted = self._view is View.IMPORTANCE and self.name
        if wanted and done != self._done_when_asked and not self._measure.busy:
            self._done_when_asked = done
            words = ["show", self.name, "--runs-dir", str(self._runs_dir), "--json"]
            self._measure.run(["sweep", *words])

    @Slot()
    def _ask_report(self) -> None:
        self.report_wanted.emit(self.name)

    @Slot(object)
    def _on_measured(self, answer: dict[str, object]) -> None:
        found, trials = answer.get("importance"), answer.get("trials")
        if answer.get("name") != self.name:
            return
        if isinstance(found, dict) and isinstance(trials, dict):
            self.plots.show_importance(found, trials["done"])

    @Slot(object)
    def _on_not_measured(self, reason: Text) -> None:
        self.plots.show_importance({}, missing=str(reason))

    @Slot()
    def _show_what_is_possible(self) -> None:
        running = bool(self._state and self._state.running)
        trial = self._chosen()
        usable = trial is not None and bool(trial.runs) and trial.env_steps > 0
        busy = tr("a sweep is running here") if self.busy else ""
        enable(self._open, busy)
        none = "" if self.name else tr("there is no sweep yet")
        enable(self._continue, none or busy or (tr("it is running") if running else ""))
        enable(self._stop, "" if running or self._shows_own else none or tr("it is not running"))
        missing = tr("the trial has no results") if trial else tr("no trial is selected")
        why = "" if usable else missing
        for button in (self._open_run, self._use):
            enable(button, tr("a run is training") if self._training else why)
        enable(self._export, "" if self.plots.drawn else tr("there is nothing to export"))

    # One trial ----------------------------------------------------------------------------------

    def _chosen(self) -> TrialState | None:
        rows = self.view.selectionModel().selectedRows()
        if not rows:
            return None
        row = self._proxy.mapToSource(rows[0]).row()
        return self.table.trials[row] if row < len(self.table.trials) else None

    def choose(self, number: int) -> None:
        """Select the row of a trial."""
        numbers = [each.number for each in self.table.trials]
        index = self.table.index(numbers.index(number), 0, QModelIndex())
        self.view.selectRow(self._proxy.mapFromSource(index).row())

    @Slot()
    def _open_chosen(self) -> None:
        trial = self._chosen()
        if trial is not None and self._open_run.isEnabled():
            self.run_wanted.emit(self._runs_dir / trial.runs[0])

    @Slot()
    def _use_chosen(self) -> None:
        trial = self._chosen()
        if trial is not None:
            run = self._runs_dir / trial.runs[0]
            self._read.read(lambda _: read_settings(run), self._hand_over)

    def _hand_over(self, found: TrialSettings) -> None:
        if self._training:
            self.refused.emit(_TOO_LATE)
        else:
            self.settings_chosen.emit(found)
