"""The start page: ways to begin, in the middle of the empty plot of the returns."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from studio.formatting import format_count, format_minutes, format_return, format_state
from studio.tasks.background_task import BackgroundTask
from studio.theme.sizes import scaled
from studio.welcome.start_facts import StartFacts, read_facts
from studio.widgets.labels import plain_tip, shortened
from td3core.envs.catalogue import FIRST_ENV
from td3core.runs.listing import RunSummary
from td3core.runs.naming import with_env
from td3core.text import Text, tr

_WATCH = Text("Play a bundled agent in the replay pane")
_TRAIN = Text("Choose {env_id} with its preset and start", env_id=FIRST_ENV)
_OPEN = Text("Show the list of runs")
_CONTINUE = Text("Resume the last run that was stopped or interrupted")
_RECENT_WIDTH = 260
_LEAST_WIDTH = 150
"""Largest and smallest width in pixels of a recent run, with the usual font."""
_HINT_HEIGHT = 64
"""Height in pixels of the plot's explanation, at its top."""
_AROUND = 8
_MOST = 32
"""Maximum length in characters of a run's name on a button."""


class StartPage(QFrame):
    """Shows ways to begin and the latest runs; hidden for good once a run is shown."""

    watch_requested = Signal()
    train_requested = Signal()
    runs_requested = Signal()
    continue_requested = Signal(Path)
    open_requested = Signal(Path)

    def __init__(self, place: QWidget, runs_dir: Path) -> None:
        """Place the page in the middle of ``place``; read ``runs_dir`` in the background."""
        super().__init__(place)
        self.setObjectName("start_page")
        self._place, self._runs_dir = place, runs_dir
        self._facts = StartFacts()
        self._dismissed = self._aside = self._busy = False
        self._links: dict[QPushButton, RunSummary] = {}
        self._texts: dict[str, str] = {}
        """Full texts of the buttons, before they are elided."""
        self._shorter: dict[str, str] = {}
        """What is elided in place of a full text."""
        self._reader = BackgroundTask("read-recent-runs", self)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 12)
        layout.setSpacing(20)
        # Not stretched if the page covers the whole plot.
        layout.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout.addLayout(self._make_actions())
        layout.addWidget(self._make_recent())
        place.installEventFilter(self)
        self._show_facts(self._facts)

    def _make_actions(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(8)
        self._buttons: dict[str, QPushButton] = {}
        for name, text, tip, signal in (
            ("continue", tr("Continue"), _CONTINUE, None),
            ("train", tr("Train your first agent"), _TRAIN, self.train_requested),
            ("watch", tr("Watch a trained walker"), _WATCH, self.watch_requested),
            ("runs", tr("Open a run…"), _OPEN, self.runs_requested),
        ):
            button = QPushButton(text)
            button.setObjectName(f"start_{name}_button")
            button.setAccessibleName(text)
            button.setToolTip(str(tip))
            button.setCursor(Qt.CursorShape.PointingHandCursor)
            button.clicked.connect(signal or self._continue)
            self._buttons[name] = button
            column.addWidget(button)
        column.addStretch(1)
        return column

    def _make_recent(self) -> QWidget:
        self._recent = QWidget()
        self._list = QVBoxLayout(self._recent)
        self._list.setContentsMargins(0, 0, 0, 0)
        self._list.setSpacing(2)
        heading = QLabel(tr("Recent runs"))
        heading.setProperty("role", "caption")
        self._list.addWidget(heading)
        self._list.addStretch(1)
        return self._recent

    # Visibility ---------------------------------------------------------------------------------

    @Slot()
    def dismiss(self) -> None:
        """Hide for good: there is a current run."""
        self._dismissed = True
        self.hide()

    def set_aside(self, aside: bool) -> None:
        """Hide while its place is too small for it, and return afterwards."""
        self._aside = aside
        self._come_and_go()

    def set_busy(self, busy: bool) -> None:
        """Hide while a run is starting, and return if it fails to start."""
        self._busy = busy
        self._come_and_go()

    def _come_and_go(self) -> None:
        self.setVisible(not (self._dismissed or self._aside or self._busy))

    # Facts --------------------------------------------------------------------------------------

    @property
    def reading(self) -> bool:
        """Whether the latest runs are being read."""
        return self._reader.busy

    @Slot()
    def refresh(self) -> None:
        """Read the latest runs again."""
        if self.isVisible():
            self._reader.read(partial(read_facts, self._runs_dir), self._show_facts)

    def stop(self) -> None:
        """Stop reading."""
        self._reader.cancel()

    def _show_facts(self, facts: StartFacts) -> None:
        self._facts = facts
        train, unfinished = tr("Train your first agent"), facts.unfinished
        if facts.first_s is not None:
            minutes = format_minutes(facts.first_s)
            train = tr("Train another agent: {minutes} here", minutes=minutes)
        self._set_text("train", train)
        self._buttons["continue"].setHidden(unfinished is None)
        if unfinished is not None:
            done = tr(
                "{done} of {steps}",
                done=format_count(unfinished.env_steps),
                steps=format_count(unfinished.steps),
            )
            name, button = unfinished.full_title, self._buttons["continue"]
            told = unfinished.name or tr("seed {seed}", seed=unfinished.seed)
            short = shortened(with_env(unfinished.env, told), _MOST)
            self._set_text("continue", tr("Continue {run}: {done}", run=short, done=done))
            self._shorter["continue"] = tr("Continue {run}", run=short)
            button.setAccessibleName(tr("Continue {run}: {done}", run=name, done=done))
            button.setToolTip(plain_tip(f"{_CONTINUE}:\n{name}: {done}"))
        for link in self._links:
            self._list.removeWidget(link)
            link.deleteLater()
        self._links = {self._make_link(run): run for run in facts.recent}
        for place, link in enumerate(self._links, start=1):
            self._list.insertWidget(place, link)
            # Otherwise only the event loop shows it, and until then it has no size.
            link.show()
        self._arrange()

    def _set_text(self, name: str, text: str) -> None:
        self._texts[name] = text
        self._buttons[name].setText(text.replace("&", "&&"))
        self._buttons[name].setAccessibleName(text)

    def _make_link(self, run: RunSummary) -> QPushButton:
        text = " · ".join(filter(None, (run.full_title, _best(run))))
        link = QPushButton()
        link.setObjectName("start_recent_button")
        link.setProperty("role", "link")
        link.setAccessibleName(tr("Open {run}", run=text))
        title = f"{run.full_title}: {format_state(run.state)}"
        tip = tr("{run}\nFolder: {folder}", run=title, folder=run.run.name)
        link.setToolTip(plain_tip(tip))
        link.setCursor(Qt.CursorShape.PointingHandCursor)
        link.clicked.connect(partial(self.open_requested.emit, run.run))
        return link

    @Slot()
    def _continue(self) -> None:
        if self._facts.unfinished is not None:
            self.continue_requested.emit(self._facts.unfinished.run)

    # Qt -----------------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Read the facts to show."""
        super().showEvent(event)
        self.refresh()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Stay centred."""
        if watched is self._place and event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._arrange()
        return super().eventFilter(watched, event)

    def _arrange(self) -> None:
        """Place the page below the plot's explanation, or over it if there is no room for both."""
        room = self._place.rect()
        self._recent.setVisible(bool(self._links))
        for name, text in self._texts.items():
            self._buttons[name].setText(text.replace("&", "&&"))
        widest = self._write_links(scaled(_RECENT_WIDTH))
        excess = self._needed().width() - room.width()
        if excess > 0:
            widest = self._write_links(max(widest - excess, scaled(_LEAST_WIDTH)))
        if self._needed().width() - room.width() > self._excess_of_continue():
            self._recent.hide()
        offered = [
            button
            for name, button in self._buttons.items()
            if name != "continue" or self._facts.unfinished is not None
        ]
        for button in offered:
            button.show()
        self._cut_texts(self._needed().width() - room.width())
        # What the buttons are now narrower by is for the links.
        spare = room.width() - self._needed().width()
        self._write_links(min(widest + spare, scaled(_RECENT_WIDTH)))
        # Hide the least important parts first: the list, then the buttons from the last one.
        if self._height() > room.height():
            self._recent.hide()
        while len(offered) > 1 and self._height() > room.height():
            offered.pop().hide()
        if self._height() + _HINT_HEIGHT + _AROUND > room.height():
            self.setGeometry(room)
            return
        place = QRect(QPoint(), self._needed())
        place.moveCenter(room.adjusted(0, _HINT_HEIGHT, 0, 0).center())
        self.setGeometry(place)

    def _write_links(self, most: int) -> int:
        """Write the recent runs in lines of at most ``most`` pixels; return the widest line's."""
        widest = 0
        for link, run in self._links.items():
            link.ensurePolished()
            metrics = link.fontMetrics()
            lines = _two_lines(run, metrics, most)
            link.setText("\n".join(lines).replace("&", "&&"))
            widest = max(widest, *map(metrics.horizontalAdvance, lines))
        return widest

    def _excess_of_continue(self) -> int:
        """Return by how many pixels the button to continue is wider than the other buttons."""
        widths = {
            name: 0 if button.isHidden() else button.sizeHint().width()
            for name, button in self._buttons.items()
        }
        own = widths.pop("continue")
        return max(own - max(widths.values()), 0)

    def _cut_texts(self, excess: int) -> None:
        """Shorten the longest texts by this many pixels, if there is too little room."""
        if excess <= 0:
            return
        widest = max(self._buttons[name].sizeHint().width() for name in self._texts)
        for name, text in self._texts.items():
            button = self._buttons[name]
            metrics, most = button.fontMetrics(), widest - excess
            around = button.sizeHint().width() - metrics.horizontalAdvance(text)
            mode = Qt.TextElideMode.ElideMiddle
            shown, fits = text, max(most - around, 0)
            if metrics.horizontalAdvance(text) > fits:
                shown = metrics.elidedText(self._shorter.get(name, text), mode, fits)
            button.setText(shown.replace("&", "&&"))

    def _height(self) -> int:
        return self._needed().height()

    def _needed(self) -> QSize:
        # Otherwise nested layouts would not have handled a new text yet: a stale size.
        layout = self.layout()
        assert layout is not None
        for button in self.findChildren(QPushButton):
            # Before it is styled, its size hint is too small.
            button.ensurePolished()
        self._list.activate()
        layout.activate()
        return self.sizeHint()


def _best(run: RunSummary) -> str:
    best = format_return(run.best_eval_return)
    return tr("best {mean}", mean=best) if best else ""


def _two_lines(run: RunSummary, metrics: QFontMetrics, width: int) -> list[str]:
    """Return what distinguishes a run, and its environment, cut to ``width`` pixels.

    The seed and the best return stay whole.
    """
    modes = Qt.TextElideMode
    # Names differ at both ends; a description begins with the seed and ends with settings.
    mode = modes.ElideMiddle if run.name else modes.ElideRight
    best = f" · {_best(run)}" if _best(run) else ""
    room = width - metrics.horizontalAdvance(best)
    env = metrics.elidedText(run.env, modes.ElideMiddle, room)
    return [metrics.elidedText(run.title, mode, width), f"{env}{best}"]
