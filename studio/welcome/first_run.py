"""Three notes above the plots while the first agent trains, each shown once it applies."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSettings, Qt, Slot
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QToolButton, QVBoxLayout

from studio.formatting import format_count, format_return
from studio.session.model import RunModel
from studio.session.record import RunRecord
from studio.widgets.controls import describe, make_row
from studio.widgets.labels import plain_label
from td3core.envs.catalogue import FIRST_ENV
from td3core.protocol.events import Ended, Failed, Interrupted, Started
from td3core.text import Text, tr

_NARRATED = "welcome/narrated"


def critics_learn(record: RunRecord) -> Text | None:
    """Return the note that updates have begun; None before that."""
    now, config = record.progress, record.config
    if now is None or config is None or now.updates == 0:
        return None
    return Text(
        "After {n} steps with random actions, the critics learn with every step. Q falls while they"
        " find out how bad the start is, and the actor's loss, which is −Q₁, rises: both are as"
        " they should be.",
        n=format_count(config.learning_starts),
    )


def beats_random(record: RunRecord) -> Text | None:
    """Return the note that an evaluation exceeds every warm-up episode; None before that."""
    curves, config = record.curves, record.config
    if config is None:
        return None
    ends, returns = curves.episodes.column("env_steps"), curves.episodes.column("return")
    drawn = returns[ends <= config.learning_starts]
    means = curves.evaluations.column("mean")
    better = means[means > drawn.max()] if len(drawn) else means[:0]
    if not len(better):
        return None
    return Text.counted(
        "The actor beats random. An evaluation without noise returned {mean} on average; the only"
        " episode with random actions returned {best}.",
        "The actor beats random. An evaluation without noise returned {mean} on average; the best"
        " of {n:,} episodes with random actions returned {best}.",
        n=len(drawn),
        mean=format_return(float(better[0])),
        best=format_return(float(drawn.max())),
    )


def solved(record: RunRecord) -> Text | None:
    """Return the note that an evaluation counts as solved; None before that."""
    threshold = record.reward_threshold
    means = record.curves.evaluations.column("mean")
    reached = means[means >= threshold] if threshold is not None else means[:0]
    if not len(reached):
        return None
    return Text(
        "Solved. An evaluation returned {mean} on average; the environment counts as solved from"
        " {bound} on. Watch it in the replay.",
        mean=format_return(float(reached[0])),
        bound=format_return(threshold),
    )


NOTES: Sequence[Callable[[RunRecord], Text | None]] = (critics_learn, beats_random, solved)


class FirstRunNotes(QFrame):
    """Shows the latest note on the first run, until it is closed or another run begins."""

    def __init__(self, model: RunModel, settings: QSettings) -> None:
        super().__init__()
        self.setObjectName("first_run_notes")
        self.setProperty("role", "card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(tr("Notes on the first run"))
        self._model, self._settings = model, settings
        self._expected = self._active = False
        self._shown = 0
        self._place = QLabel()
        self._place.setProperty("role", "caption")
        self._text = plain_label()
        self._text.setObjectName("first_run_text")
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        close = QToolButton()
        close.setText("✕")
        describe(close, "first_run_close_button", tr("Close the notes"), tr("Close the notes"))
        close.clicked.connect(self.dismiss)
        row = make_row(self._text, self._place, close)
        row.setStretch(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 4, 4, 4)
        layout.addLayout(row)
        for changed in (model.status_changed, model.curves_changed):
            changed.connect(self._look)
        model.run_started.connect(self._on_started)
        model.run_opened.connect(self._leave)
        model.run_ended.connect(self._on_ended)
        self.hide()

    @property
    def text(self) -> str:
        """The displayed note; empty without one."""
        return self._text.text() if self._shown else ""

    @Slot()
    def expect(self) -> None:
        """Narrate the run that starts next, unless one was narrated before."""
        self._expected = not self._settings.value(_NARRATED, False, bool)

    @Slot()
    def dismiss(self) -> None:
        """Hide the notes for good."""
        self._note_narrated()
        self._leave()

    @Slot(object)
    def _on_ended(self, event: Ended | Failed | Interrupted) -> None:
        # A refused run has told nothing.
        if not isinstance(event, Failed) or event.ending is not None:
            self._note_narrated()

    def _note_narrated(self) -> None:
        self._settings.setValue(_NARRATED, True)

    @Slot(object)
    def _on_started(self, event: Started) -> None:
        self._leave()
        # The expected run may have been refused, and another one started instead.
        self._active = self._expected and event.config.env == FIRST_ENV
        self._expected = False

    @Slot()
    def _leave(self) -> None:
        self._active, self._shown = False, 0
        self.hide()

    @Slot()
    def _look(self) -> None:
        if not self._active or self._shown == len(NOTES):
            return
        for number in range(len(NOTES), self._shown, -1):
            note = NOTES[number - 1](self._model.record)
            if note is not None:
                self._shown = number
                self._text.setText(str(note))
                self._place.setText(tr("{n} of {count}", n=number, count=len(NOTES)))
                self.setAccessibleDescription(str(note))
                self.show()
                return
