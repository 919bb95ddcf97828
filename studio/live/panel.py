"""The live settings: a slider, a number and a reset for each, acknowledged by the run."""

import time
from dataclasses import dataclass
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

from studio.live.row import LiveRow
from studio.session.journal import SAME_GESTURE_S
from studio.theme.theme import Theme
from studio.widgets.setting_fields import guard_wheel
from td3core.config import Tunables, changes, spec, specs
from td3core.errors import RequestError
from td3core.protocol.events import Tuned

_GATHER_MS = 60


@dataclass(slots=True)
class _Edit:
    """A change that a person made, and can take back."""

    name: str
    before: float
    after: float
    at: float

    @property
    def text(self) -> str:
        known = spec(Tunables, self.name)
        return f"{known.symbol or known.label} {self.before:g} → {self.after:g}"


class LivePanel(QWidget):
    """All live settings. What is asked stays marked as pending until the run says it holds."""

    tunables_edited = Signal(object)
    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("form_page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._awaited: dict[str, int] = {}
        self._rows: dict[str, LiveRow] = {}
        self._shown = Tunables()
        self._edits: list[_Edit] = []
        self._running = False
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 6, 14, 8)
        layout.setSpacing(7)
        layout.addLayout(self._make_undo())
        for name, known in specs(Tunables):
            row = LiveRow(name, known, getattr(self._shown, name))
            row.edited.connect(self._gather)
            row.settled.connect(self._announce)
            self._rows[name] = row
            layout.addWidget(row)
        layout.addStretch(1)
        guard_wheel(self)
        # A drag makes hundreds of values; the run and its journal need about sixteen a second.
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_GATHER_MS)
        self._timer.timeout.connect(self._announce)
        self._show_undo()

    def _make_undo(self) -> QHBoxLayout:
        self._last_edit = QLabel()
        self._last_edit.setObjectName("last_change")
        self._last_edit.setProperty("role", "muted")
        self._last_edit.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._undo = QToolButton()
        self._undo.setObjectName("undo_button")
        self._undo.setAccessibleName("Undo the last live change")
        self._undo.setProperty("role", "small")
        self._undo.clicked.connect(self.undo)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._last_edit, 1)
        row.addWidget(self._undo)
        return row

    def set_theme(self, theme: Theme) -> None:
        """Take on the colours of a theme."""
        self._undo.setIcon(theme.icon("undo-variant"))
        for row in self._rows.values():
            row.make_room()

    def tunables(self) -> Tunables:
        """Return the values as shown.

        Raises:
            RequestError: one of them is out of range.
        """
        values: dict[str, Any] = {name: row.value() for name, row in self._rows.items()}
        return Tunables(**values)

    def show_tunables(self, tunables: Tunables, *, as_defaults: bool = False) -> None:
        """Show these values, and let the reset buttons lead back to them if asked."""
        self._shown = tunables
        if as_defaults:
            self.forget_edits()
        for name, row in self._rows.items():
            value = getattr(tunables, name)
            row.set_value(value)
            if as_defaults:
                row.set_default(value)

    def expect(self, names: list[str], revision: int | None) -> None:
        """Mark settings as asked for under this revision (``None``: there is no run to ask)."""
        for name in names:
            if revision is not None:
                self._awaited[name] = revision
                self._rows[name].show_pending(True)

    def acknowledge(self, event: Tuned) -> None:
        """The run holds these values now."""
        for name, revision in list(self._awaited.items()):
            if revision <= event.revision:
                del self._awaited[name]
                self._rows[name].show_pending(False)
        if not self._awaited and not self._timer.isActive():
            # What the run holds, also where it has refused what was asked.
            self.show_tunables(event.tunables)

    @property
    def can_undo(self) -> bool:
        """True if there is a change to take back."""
        return bool(self._edits)

    def forget_edits(self) -> None:
        """Other values are on show: what was changed before cannot be taken back in them."""
        self._edits.clear()
        self._show_undo()

    @Slot()
    def undo(self) -> None:
        """Set the setting that was changed last back to what it was; again, the one before it."""
        self._announce()
        while self._edits:
            edit = self._edits.pop()
            row = self._rows[edit.name]
            # What the run refused never took place.
            if row.value() != edit.before:
                row.set_value(edit.before)
                self._announce(undoing=True)
                break
        self._show_undo()

    def _keep_edits(self, before: Tunables, after: Tunables) -> None:
        now = time.monotonic()
        for name, old, new in changes(before, after):
            last = self._edits[-1] if self._edits else None
            if last is not None and last.name == name and now - last.at < SAME_GESTURE_S:
                last.after, last.at = new, now
            else:
                self._edits.append(_Edit(name, old, new, now))

    def _show_undo(self) -> None:
        last = self._edits[-1].text if self._edits else ""
        hint = "Changes take effect at once" if self._running else "What the next run begins with"
        self._last_edit.setText(f"Last change: {last}" if last else hint)
        self._undo.setEnabled(bool(last))
        self._undo.setToolTip(f"Undo {last} (Ctrl+Z)" if last else "No change to undo")

    def set_running(self, running: bool) -> None:
        """Say whether there is a run that changes reach."""
        self._running = running
        self._show_undo()

    def forget_requests(self) -> None:
        """No run is left to acknowledge anything."""
        self._awaited.clear()
        for row in self._rows.values():
            row.show_pending(False)

    @property
    def pending(self) -> frozenset[str]:
        """Names of the settings that the run has not acknowledged yet."""
        return frozenset(self._awaited)

    @Slot()
    def _gather(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _announce(self, *, undoing: bool = False) -> None:
        self._timer.stop()
        try:
            wanted = self.tunables()
        except RequestError as problem:
            self.refused.emit(str(problem))
            return
        if wanted != self._shown:
            before, self._shown = self._shown, wanted
            if not undoing:
                self._keep_edits(before, wanted)
                self._show_undo()
            self.tunables_edited.emit((before, wanted))
