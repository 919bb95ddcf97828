"""Asks for consent to an agent's environment code, before any of it runs."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from studio.consent.code_consent import CodeConsent
from studio.replay.player import Player, PlayerState
from studio.widgets.controls import describe
from td3core.system.allowed_code import LocatedModule
from td3core.text import tr


class CodeQuestion(QObject):
    """Asks once per module, however many agents need it; the button asks again."""

    allowed = Signal(Path)
    """Carries the path of the refused agent, which can be loaded now."""

    def __init__(self, player: Player, consent: CodeConsent, parent: QWidget) -> None:
        super().__init__(parent)
        self._player, self._consent = player, consent
        self._needed: LocatedModule | None = None
        self.button = QPushButton(tr("Allow this code…"))
        tip = tr("Let the code of this agent's environment run, and show the agent")
        describe(self.button, "replay_allow_button", tr("Allow this code"), tip)
        self.button.hide()
        self.button.clicked.connect(self._on_clicked)
        player.code_refused.connect(self._on_refused)
        player.state_changed.connect(self._on_state)

    @Slot(object)
    def _on_refused(self, module: LocatedModule) -> None:
        self._needed = module
        self._ask(module, insist=False)

    @Slot()
    def _on_clicked(self) -> None:
        if self._needed is not None:
            self._ask(self._needed, insist=True)

    @Slot()
    def _on_state(self) -> None:
        if self._player.state is not PlayerState.EMPTY:
            self._needed = None
            self.button.hide()

    def _ask(self, module: LocatedModule, *, insist: bool) -> None:
        path = self._player.path

        def reload() -> None:
            # The user may have chosen another agent while the question was open.
            if path is not None and path == self._player.path:
                self.allowed.emit(path)

        self._consent.allow(module, reload, self._on_declined, insist=insist)

    def _on_declined(self, module: LocatedModule) -> None:
        if module == self._needed:
            self.button.show()
