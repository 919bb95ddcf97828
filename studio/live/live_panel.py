"""The live settings: a row for each, with changes acknowledged by the run."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from studio.live.controls import LiveValue
from studio.live.edit_history import Edit, EditHistory
from studio.live.row import LiveRow
from studio.live.schedule_dialog import ScheduleDialog
from studio.live.values_choice import ValuesChoice
from studio.session.markers import change_in_words
from studio.theme.theme import Theme
from studio.widgets.setting_fields import guard_wheel
from td3core.config import (
    Tunables,
    at_step,
    changes,
    default,
    given,
    schedule_of,
    spec,
    specs,
    with_values,
)
from td3core.config.algorithms import unused_by
from td3core.errors import RequestError
from td3core.protocol.events import Started, Tuned
from td3core.text import Text, tr

_SEND_INTERVAL_MS = 60
"""Dragging produces hundreds of values; the run and its journal need about sixteen a second."""


class LivePanel(QWidget):
    """All live settings. A change stays marked as pending until the run acknowledges it."""

    refused = Signal(object)
    edited = Signal()
    """The user changed a value, and may still be dragging."""

    def __init__(
        self,
        request: Callable[[Tunables, Tunables], int | None],
        parent: QWidget | None = None,
    ) -> None:
        """Show a row for each live setting.

        ``request`` passes the new and the previous settings to the run. It returns the revision
        that the run will acknowledge, or ``None`` without a run.
        """
        super().__init__(parent)
        self.setObjectName("form_page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._request = request
        self._shown = Tunables()
        self._step, self._steps = 0, int(default("steps"))
        self._pending: dict[str, int] = {}
        self._history = EditHistory()
        self._steered = False
        self._algorithm = ""
        self._next: Tunables | None = None
        """Initial values of the next run, if other values are shown."""
        self._waiting: dict[str, Callable[[], None]] = {}
        """Deferred updates of the panel, by part: they show choices for the next run."""
        self._rows = {
            name: LiveRow(name, known, getattr(self._shown, name))
            for name, known in specs(Tunables)
        }
        self._choice = ValuesChoice()
        self._choice.chosen.connect(self._show_and_forget)
        self._timer = QTimer(self, singleShot=True, interval=_SEND_INTERVAL_MS)
        self._timer.timeout.connect(self._send)
        self._lay_out()
        self.show_algorithm(str(default("algorithm")))
        guard_wheel(self)
        self._update_undo()

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 14, 8)
        layout.setSpacing(7)
        layout.addWidget(self._make_undo_row())
        for row in self._rows.values():
            row.edited.connect(self.edited)
            row.edited.connect(self._send_soon)
            row.edited.connect(self._mark_choice)
            row.settled.connect(self._send)
            row.reset_wanted.connect(partial(self.give, row.name))
            row.schedule_wanted.connect(partial(self._ask_for_schedule, row.name))
            layout.addWidget(row)
        layout.addStretch(1)

    def _make_undo_row(self) -> QWidget:
        """Return a row of fixed height, so that the sliders below never move."""
        self._last_change = QLabel()
        self._last_change.setObjectName("last_change")
        self._last_change.setProperty("role", "muted")
        self._last_change.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._undo = QToolButton()
        self._undo.setObjectName("undo_button")
        self._undo.setAccessibleName(tr("Undo the last live change"))
        self._undo.setProperty("role", "small")
        self._undo.clicked.connect(self.undo)
        self._redo = QToolButton()
        self._redo.setObjectName("redo_button")
        self._redo.setAccessibleName(tr("Redo the last live change"))
        self._redo.setProperty("role", "small")
        self._redo.clicked.connect(self.redo)
        self._choice.shown.connect(self._last_change.setHidden)
        policy = self._choice.sizePolicy()
        policy.setHorizontalPolicy(QSizePolicy.Policy.Ignored)
        self._choice.setSizePolicy(policy)
        self._undo_row = QWidget()
        row = QHBoxLayout(self._undo_row)
        row.setContentsMargins(0, 0, 0, 0)
        for text in (self._last_change, self._choice):
            row.addWidget(text, 1)
        row.addWidget(self._undo)
        row.addWidget(self._redo)
        return self._undo_row

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self._undo.setIcon(theme.icon("undo-variant"))
        self._redo.setIcon(theme.icon("redo-variant"))
        # The style sheet may have changed the font.
        for row in self._rows.values():
            row.update_width()
        parts = (self._last_change, self._choice, self._undo, self._redo)
        self._undo_row.setFixedHeight(max(part.sizeHint().height() for part in parts))

    def set_steered(self, steered: bool) -> None:
        """Set whether changes are sent to a run; without one, none stays pending.

        Meanwhile the rows show the values of that run; choices for the next run are deferred.
        """
        self._steered = steered
        if steered:
            self._choice.withdraw()
        else:
            for name in self._pending:
                self._rows[name].show_pending(False)
            self._pending.clear()
            self._show_next()
        self._update_undo()

    @property
    def names(self) -> Collection[str]:
        """The keys of the live settings of this panel."""
        return self._rows.keys()

    def row(self, name: str) -> LiveRow:
        """Return the row of a setting.

        Raises:
            KeyError: it is not a live setting of this panel.
        """
        return self._rows[name]

    # Values -------------------------------------------------------------------------------------

    def tunables(self) -> Tunables:
        """Return the current values.

        Raises:
            RequestError: a value is not allowed.
        """
        for row in self._rows.values():
            row.entered()
        return self._in_use()

    def _in_use(self) -> Tunables:
        """Return the values in use: a field with invalid text does not block the others."""
        values: dict[str, Any] = {name: row.given() for name, row in self._rows.items()}
        return at_step(Tunables(**values), self._step, self._steps)

    def show_tunables(self, tunables: Tunables) -> None:
        """Show these values."""
        self._shown = tunables
        for name in self._rows:
            self._show_row(name, tunables)
        self._mark_choice()

    @Slot()
    def _mark_choice(self) -> None:
        if self._choice.isVisibleTo(self):
            self._choice.mark(self._in_use())

    def _show_row(self, name: str, tunables: Tunables) -> None:
        row, value = self._rows[name], getattr(tunables, name)
        row.show_value(value, schedule_of(tunables, name))
        row.show_step(value, self._step, self._steps)

    def begin(self, event: Started, *, keep: bool) -> None:
        """Show the initial values of a run, unless others were requested from it already.

        With ``keep``, the values shown so far are kept for the next run.
        """
        if not keep:
            self._show_next()
        elif self._steered:
            shown = {
                "algorithm": partial(self._show_algorithm, self._algorithm),
                "steps": partial(self.follow, self._step, self._steps),
            }
            self._waiting = {**shown, **self._waiting}
            if self._next is None:
                self.prepare(self._in_use())
        self.follow(event.env_steps, event.config.steps)
        self._show_algorithm(event.config.algorithm)
        if not self._pending and changes(self._in_use(), event.tunables):
            self._show_and_forget(event.tunables)

    # The next run -------------------------------------------------------------------------------

    def next_tunables(self) -> Tunables:
        """Return the initial values of the next run: those shown, unless others are deferred.

        Raises:
            RequestError: a value is not allowed.
        """
        return self.tunables() if self._next is None else self._next

    @Slot(str)
    def show_algorithm(self, algorithm: str) -> None:
        """Hide the rows of settings that only other algorithms use."""
        self._show_later("algorithm", partial(self._show_algorithm, algorithm))

    def _show_algorithm(self, algorithm: str) -> None:
        self._algorithm, unused = algorithm, unused_by(algorithm)
        for name, row in self._rows.items():
            row.setHidden(name in unused)

    @Slot(int)
    def set_steps(self, steps: int) -> None:
        """Show schedules over the steps of the next run."""
        self._show_later("steps", partial(self.follow, 0, steps))

    @Slot(object)
    def show_defaults(self, tunables: Tunables) -> None:
        """Show these values, and make the reset buttons restore them."""
        self._show_later("defaults", partial(self._set_defaults, tunables))
        self.prepare(tunables)

    def _set_defaults(self, tunables: Tunables) -> None:
        for name, row in self._rows.items():
            row.set_default(given(tunables, name))

    def prepare(self, tunables: Tunables) -> None:
        """Show these values for the next run."""

        def show() -> None:
            self._choice.withdraw()
            self._show_and_forget(tunables)

        self._next = tunables
        self._show_later("values", show)

    def _show_later(self, part: str, show: Callable[[], None]) -> None:
        """Update a part of the panel for the next run; while a run is steered, do so afterwards."""
        self._waiting[part] = show
        if not self._steered:
            self._show_next()

    def _show_next(self) -> None:
        waiting, self._waiting, self._next = self._waiting, {}, None
        for show in waiting.values():
            show()

    # Schedules ----------------------------------------------------------------------------------

    def follow(self, step: int, steps: int) -> None:
        """Show the values of the schedules at a step of a run of ``steps`` steps."""
        self._step, self._steps = step, steps
        if not any(row.follows_schedule for row in self._rows.values()):
            return
        followed = at_step(self._in_use(), step, steps)
        for name, _ in followed.schedules:
            self._rows[name].show_step(getattr(followed, name), step, steps)

    def give(self, name: str, value: LiveValue, *, undoing: bool = False) -> None:
        """Show a value or a schedule, and request it."""
        wanted = at_step(with_values(self._in_use(), {name: value}), self._step, self._steps)
        self._show_row(name, wanted)
        self._mark_choice()
        self._send(undoing=undoing)

    def _ask_for_schedule(self, name: str) -> None:
        at = self._in_use(), self._step, self._steps
        dialog = ScheduleDialog(name, spec(Tunables, name), *at, self)
        if dialog.exec() == ScheduleDialog.DialogCode.Accepted:
            self.give(name, dialog.schedule)

    def offer(self, first: Tunables | None, last: Tunables, *, show: bool = True) -> None:
        """Show the last values of a run, and offer its first ones if they differ."""
        self._choice.offer(first, last)
        if show:
            self._show_and_forget(last)
        else:
            self._mark_choice()

    @Slot(object)
    def _show_and_forget(self, tunables: Tunables) -> None:
        self.show_tunables(tunables)
        self.forget_edits()

    # Requests -----------------------------------------------------------------------------------

    @property
    def pending(self) -> frozenset[str]:
        """Names of the settings that the run has not acknowledged yet."""
        return frozenset(self._pending)

    def acknowledge(self, event: Tuned) -> None:
        """Note that the run uses these values now."""
        for name, revision in list(self._pending.items()):
            if revision <= event.revision:
                del self._pending[name]
                self._rows[name].show_pending(False)
        if not self._pending and not self._timer.isActive():
            # These are the old values if the run refused the change. Invalid text stays shown.
            self._shown = event.tunables
            for name, row in self._rows.items():
                if row.given() != given(event.tunables, name):
                    self._show_row(name, event.tunables)

    @Slot()
    def _send_soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _send(self, *, undoing: bool = False) -> None:
        """Request the current values, if they have changed."""
        self._timer.stop()
        try:
            wanted = self._in_use()
        except RequestError as problem:
            self.refused.emit(problem.message)
            return
        if not changes(self._shown, wanted):
            return
        self._ask_for(wanted, undoing=undoing)

    @Slot(object)
    def apply(self, wanted: Tunables) -> None:
        """Show these values and request them from the run, as if changed by hand."""
        before = self._shown
        self.show_tunables(wanted)
        self._shown = before
        self._ask_for(wanted)

    def _ask_for(self, wanted: Tunables, *, undoing: bool = False) -> None:
        before, self._shown = self._shown, wanted
        if not undoing:
            self._history.add(before, wanted)
            self._update_undo()
        revision = self._request(wanted, before)
        if revision is not None:
            for name, _, _ in changes(before, wanted):
                self._pending[name] = revision
                self._rows[name].show_pending(True)

    # Undo ---------------------------------------------------------------------------------------

    @property
    def can_undo(self) -> bool:
        """True if there is a change to undo."""
        return self._history.last is not None

    def forget_edits(self) -> None:
        """Drop the changes made so far: other values are now shown."""
        self._history.clear()
        self._update_undo()

    @Slot()
    def undo(self) -> None:
        """Undo the latest change; repeated calls undo earlier ones."""
        self._send()
        while self.can_undo:
            edit = self._history.pop()
            # A change refused by the run has been reverted already.
            if self._rows[edit.name].given() != edit.before:
                self.give(edit.name, edit.before, undoing=True)
                break
        self._update_undo()

    @Slot()
    def redo(self) -> None:
        """Redo the most recently undone change."""
        self._send()
        if self._history.next is not None:
            edit = self._history.redo()
            self.give(edit.name, edit.after, undoing=True)
        self._update_undo()

    def _update_undo(self) -> None:
        last = self._history.last
        if last is None:
            hint = (
                tr("Changes take effect at once")
                if self._steered
                else tr("Values for the next run")
            )
            self._last_change.setText(hint)
            self._last_change.setToolTip("")
            self._undo.setToolTip(tr("No change to undo"))
        else:
            change = self._in_words(last)
            self._last_change.setText(tr("Last change: {change}", change=change))
            # The label may be too narrow for it.
            self._last_change.setToolTip(change)
            self._undo.setToolTip(tr("Undo {change} ({keys})", change=change, keys="Ctrl+Z"))
        self._undo.setEnabled(last is not None)
        again = self._history.next
        self._redo.setEnabled(again is not None)
        tip = Text("No change to redo")
        if again is not None:
            change = self._in_words(again)
            tip = Text("Redo {change} ({keys})", change=change, keys="Ctrl+Shift+Z")
        self._redo.setToolTip(str(tip))

    def _in_words(self, edit: Edit) -> str:
        return change_in_words(spec(Tunables, edit.name), edit.before, edit.after)
