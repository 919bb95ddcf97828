"""Pauses the player while the user drags the scrub bar."""

from PySide6.QtCore import QObject, Slot

from studio.replay.player import Player
from studio.replay.transport.scrub_bar import ScrubBar


class ScrubHold(QObject):
    """Pauses playing when the bar is grabbed, and resumes it when the bar is released."""

    def __init__(self, player: Player, bar: ScrubBar) -> None:
        super().__init__(bar)
        self._player, self._resumes = player, False
        bar.wanted.connect(player.seek)
        bar.held.connect(self._on_held)

    @Slot(bool)
    def _on_held(self, held: bool) -> None:
        if held:
            self._resumes = self._player.playing
            self._player.pause()
        elif self._resumes:
            self._resumes = False
            self._player.play()
