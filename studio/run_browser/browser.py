"""The list of all runs: find one, open it, resume it, name it, delete it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QHBoxLayout,
    QLineEdit,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from studio.formatting import format_count
from studio.run_browser.actions import RunActions
from studio.run_browser.filter_proxy import RunFilterProxy
from studio.run_browser.rows import Found
from studio.run_browser.scanner import scan
from studio.run_browser.tree_model import RunTreeModel
from studio.run_browser.tree_view import RunTreeView, ViewOrHint
from studio.tasks.background_task import BackgroundTask
from studio.theme.sizes import scaled
from studio.theme.theme import Theme
from studio.widgets.labels import ElidedLabel
from studio.widgets.setting_names import in_labels
from studio.widgets.sight import Sight
from td3core.runs.metadata import RunLabel
from td3core.text import Text, tr

_SOON_MS = 400
_RESCAN_MS = 3_000
"""Milliseconds between scans while runs are training."""
_ONE_LINE = 80
"""Width in characters from which search and buttons fit side by side."""
_NO_RUNS = Text("No runs yet. Press Train, and your first one will be listed here.")
_READING = Text("Reading…")


class RunBrowser(QWidget):
    """Lists the runs of a folder, which is read in the background. Neither trains nor draws.

    ``run_actions`` announces the user's actions on the selected runs.
    """

    refused = Signal(object)
    interrupted_found = Signal(int)
    """Number of interrupted runs that can be resumed, emitted once; 0 when none is left."""

    def __init__(self, runs_dir: Path, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("runs_browser")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._runs_dir = runs_dir.absolute()
        self._asked_again = self._read_once = self._expecting = False
        self._announced: bool | None = False
        """Whether interrupted runs were announced; None until the next scan has looked for them."""
        self._problem = ""
        """Why the folder cannot be read; empty if it can."""
        self._held_back: list[Callable[[], None]] = []
        self.model = RunTreeModel(theme, self)
        self.proxy = RunFilterProxy(self.model)
        self.view = RunTreeView(self.proxy, theme)
        self._scanner = BackgroundTask("scan-runs", self)
        self._rescan = QTimer(self, singleShot=True, interval=_RESCAN_MS)
        self._rescan.setObjectName("rescan_timer")
        self._sight = Sight(self, _SOON_MS)
        self._sight.delay.setObjectName("scan_timer")
        self.run_actions = RunActions(self.view, self.model, self.proxy)
        self._lay_out()
        self._connect()
        self.set_theme(theme)

    # Building -----------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        self.search = QLineEdit()
        self.search.setObjectName("runs_search")
        self.search.setAccessibleName(tr("Search runs"))
        self.search.setPlaceholderText(tr("Search runs…"))
        self.search.setToolTip(tr("Words of the name, environment, algorithm, seed, note or state"))
        self.search.setClearButtonEnabled(True)
        # The clear button would widen the window when it appears.
        self.search.setMinimumWidth(scaled(160))
        self.search.setMaximumWidth(scaled(320))
        self._count = ElidedLabel()
        self._count.setObjectName("runs_count")
        self._count.setProperty("role", "muted")
        self._reading = QProgressBar()
        self._reading.setObjectName("runs_reading")
        self._reading.setAccessibleName(tr("Reading a run"))
        self._reading.setRange(0, 0)
        self._reading.setTextVisible(False)
        self._reading.setFixedWidth(26)
        # Keeps its space when hidden, so that the buttons next to it do not move.
        policy = self._reading.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reading.setSizePolicy(policy)
        self._reading.hide()
        found, buttons = QHBoxLayout(), QHBoxLayout()
        found.setSpacing(4)
        found.addWidget(self.search, 1)
        found.addWidget(self._count)
        found.addWidget(self._reading)
        found.addStretch(1)
        buttons.setSpacing(4)
        for button in self.run_actions.buttons:
            buttons.addWidget(button)
        # Left-aligned on a separate line, else to the right of the search.
        buttons.addStretch(1)
        bar = self._bar = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        bar.setSpacing(4)
        self._lines = (found, buttons)
        bar.addLayout(found, 1)
        bar.addLayout(buttons)
        self._place = ViewOrHint(self.view)
        layout = QVBoxLayout(self)
        # The minimum width is that of two lines, even while there is only one.
        layout.setSizeConstraint(QVBoxLayout.SizeConstraint.SetNoConstraint)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(bar)
        layout.addWidget(self._place, 1)

    def _connect(self) -> None:
        self.search.textChanged.connect(self._search)
        self.view.itemDelegate().closeEditor.connect(self._take_held_back)
        self._rescan.timeout.connect(self._sight.ask)
        self._sight.due.connect(self.refresh)
        self._scanner.reported.connect(self._take)
        self._scanner.finished.connect(self._on_scanned)
        self._scanner.failed.connect(self._on_failed)
        self.run_actions.refused.connect(self.refused)
        self.run_actions.deleted.connect(self.refresh)
        self.run_actions.labelled.connect(self._show_label)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.run_actions.set_theme(theme)
        self.model.set_theme(theme)
        self.view.set_theme(theme)

    # Called by the window -----------------------------------------------------------------------

    def look_for_interrupted(self) -> None:
        """Scan the folder, and announce the interrupted runs once."""
        self._announced = None
        self.refresh()

    def choose_interrupted(self) -> None:
        """Select the most recently interrupted run, if any."""
        found = self.model.interrupted()
        if found:
            self.search.clear()
            self.view.choose([found[0]], found[0])
            self.view.scrollTo(self.proxy.find(found[0]))

    def set_busy(self, busy: bool) -> None:
        """Set whether a run is training in this window: none can be opened meanwhile."""
        self.run_actions.set_busy(busy)
        if not busy:
            self.model.set_training(None)
        self.refresh_soon()

    @Slot(bool)
    def show_opening(self, opening: bool) -> None:
        """Show whether a run is being read to be opened."""
        self._reading.setVisible(opening)

    def set_training(self, path: Path) -> None:
        """Set the run that is training in this window."""
        self.model.set_training(path.absolute())
        self.refresh_soon()

    def set_expecting(self, expecting: bool) -> None:
        """Set whether runs may start and end at any time: a group, sweep or paired test trains."""
        if expecting is not self._expecting:
            self._expecting = expecting
            self.refresh_soon()

    def shutdown(self) -> None:
        """Stop reading runs, and wait for pending writes."""
        self._sight.delay.stop()
        self._rescan.stop()
        self._scanner.cancel()
        self.view.shutdown()
        self.run_actions.shutdown()

    # Reading ------------------------------------------------------------------------------------

    @property
    def reading(self) -> bool:
        """Whether the folder is being read."""
        return self._scanner.busy

    @Slot()
    def refresh_soon(self) -> None:
        """Scan the folder soon, if the list is visible."""
        self._sight.ask()

    @Slot()
    def refresh(self) -> None:
        """Scan the folder for changes now."""
        self._rescan.stop()
        if self._scanner.busy:
            self._asked_again = True
            return
        folder, known = self._runs_dir, dict(self.model.rows)
        self._scanner.start(partial(scan, folder, known))
        self._show_count()

    @Slot(object)
    def _take(self, found: Found) -> None:
        self._problem = ""
        self._unless_editing(partial(self.model.take, found))

    @Slot(Path, object)
    def _show_label(self, path: Path, label: RunLabel) -> None:
        self._unless_editing(partial(self.model.show_label, path, label))

    def _unless_editing(self, change: Callable[[], None]) -> None:
        """Change the list now, or after a name has been edited: a change would discard the text."""
        if self.view.editing:
            self._held_back.append(change)
            return
        change()
        self._show_count()

    @Slot()
    def _take_held_back(self) -> None:
        held, self._held_back = self._held_back, []
        for change in held:
            QTimer.singleShot(0, self, partial(self._unless_editing, change))

    @Slot(object)
    def _on_failed(self, problem: Text) -> None:
        """Show the problem in place of the list; a list read before stays, with a message."""
        known, self._problem = self._problem, in_labels(problem)
        # The folder is read again every few seconds while runs are training.
        if self.model.rows and self._problem != known:
            self.refused.emit(problem)

    @Slot()
    def _on_scanned(self) -> None:
        self._read_once = True
        self._show_count()
        self.run_actions.show_what_is_possible()
        if self._asked_again:
            self._asked_again = False
            self.refresh()
            return
        if not self._problem:
            self._announce_interrupted()
        # Nobody announces what other processes do to their runs.
        if self._sight.seen and (self._expecting or self.model.any_running()):
            self._rescan.start()

    def _announce_interrupted(self) -> None:
        """Announce the runs interrupted before the window was shown, and when none is left."""
        count = len(self.model.interrupted())
        if (self._announced is None and count) or (self._announced and not count):
            self.interrupted_found.emit(count)
        if self._announced is None or not count:
            self._announced = count > 0

    @Slot(str)
    def _search(self, text: str) -> None:
        self.proxy.search(text)
        self.view.unfold()
        self._show_count()

    def _show_count(self) -> None:
        count, wanted = len(self.model.rows), self.search.text().strip()
        nothing_found = wanted and not self.proxy.rowCount()
        if count:
            runs = Text.counted("{n:,} run", "{n:,} runs", n=count)
            if wanted:
                found = format_count(self.proxy.count_found())
                runs = Text("{found} of {runs}", found=found, runs=runs)
            self._count.setText(str(runs))
            none = tr("No run matches “{search}”.", search=wanted)
            self._place.show_hint(none if nothing_found else "")
        else:
            self._count.setText("")
            self._place.show_hint(self._problem or str(_NO_RUNS if self._read_once else _READING))

    # Qt -----------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Move the buttons to a separate line in a narrow list."""
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        wide = event.size().width() >= _ONE_LINE * self.fontMetrics().averageCharWidth()
        self._bar.setDirection(directions.LeftToRight if wide else directions.TopToBottom)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        """Return the minimum size with the buttons on a separate line."""
        whole = super().minimumSizeHint()
        found, buttons = (line.minimumSize().width() for line in self._lines)
        around = whole.width() - self._bar.minimumSize().width()
        return QSize(around + max(found, buttons), whole.height())
