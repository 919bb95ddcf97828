"""Shows in the form what a run will take on disk, and warns where there is no room for it."""

from pathlib import Path

from PySide6.QtWidgets import QLabel, QSizePolicy

from studio import formatting
from studio.tasks.background_reader import BackgroundReader
from td3core.config import RunConfig
from td3core.runs import disk_usage


class DiskLabel(QLabel):
    """A sentence or two; in the colour of warnings once the room is short."""

    def __init__(self) -> None:
        super().__init__()
        self._sentence, self._needed = "", 0
        self._free: int | None = None
        """Bytes free in the folder of the runs, as they were last read."""
        self._reader = BackgroundReader("free-space", self)
        self.setObjectName("setup_disk")
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setToolTip(
            "At the end of the run. The replay buffer is what lets a run resume exactly where it"
            " was; Advanced has the settings that make this less."
        )
        self.show_nothing()

    def show_nothing(self) -> None:
        """Show nothing for a run that cannot be started like this."""
        self._reader.cancel()
        self.hide()

    def show_run(
        self, config: RunConfig, sizes: tuple[int, int] | None, folder: Path | None
    ) -> None:
        """Show what a run takes; ``sizes`` are its numbers of observations and actions."""
        if sizes is None:
            self.show_nothing()
            return
        memory = disk_usage.buffer_bytes(config, *sizes)
        one, count = (
            disk_usage.checkpoint_bytes(config, *sizes),
            disk_usage.checkpoint_count(config),
        )
        agents = (
            "1\N{NO-BREAK SPACE}checkpoint"
            if count == 1
            else f"{count:,}\N{NO-BREAK SPACE}checkpoints"
        )
        self._needed = memory + one * count
        self._sentence = (
            f"On disk: replay buffer {_amount(memory) if memory else '0'},"
            f" {agents} {_amount(one * count)}."
        )
        self._show()
        if folder is not None:
            self._reader.read(lambda _: disk_usage.free_bytes(folder), self._take_free)

    def stop_tasks(self) -> None:
        """Drop what is being read."""
        self._reader.stop()

    def _take_free(self, free: int | None) -> None:
        if free != self._free:
            self._free = free
            self._show()

    def _show(self) -> None:
        short = self._free is not None and self._free < self._needed
        warning = f" Only {_amount(self._free or 0)} are free there." if short else ""
        self.setText(self._sentence + warning)
        self.setProperty("role", "warn" if short else "muted")
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()


def _amount(count: int) -> str:
    """Say so many bytes; number and unit stay on one line."""
    return formatting.format_size(count).replace(" ", "\N{NO-BREAK SPACE}")
