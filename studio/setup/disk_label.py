"""Shows how much disk space a run will take, and warns if there is not enough."""

from pathlib import Path

from PySide6.QtWidgets import QLabel, QSizePolicy

from studio import formatting
from studio.tasks.background_task import BackgroundTask
from studio.widgets.controls import set_styled
from td3core.config import RunConfig
from td3core.config.networks import Sizes
from td3core.runs import disk_usage
from td3core.text import NO_TEXT, Text, tr


class DiskLabel(QLabel):
    """A sentence or two, in the warning colour if space is short."""

    def __init__(self) -> None:
        super().__init__()
        self._estimate, self._needed = NO_TEXT, 0
        self._free: int | None = None
        """Free bytes in the folder of the runs, as last read."""
        self._reader = BackgroundTask("free-space", self)
        self.setObjectName("setup_disk")
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setToolTip(
            tr(
                "Disk space at the end of the run. The replay buffer makes exact resuming possible."
                " The settings under Advanced can reduce both."
            )
        )
        self.clear_estimate()

    def clear_estimate(self) -> None:
        """Show nothing: the settings are invalid or the environment is unknown."""
        self._reader.cancel()
        self.clear()

    def show_estimate(self, config: RunConfig, sizes: Sizes | None, folder: Path) -> None:
        """Show the disk space of a run; ``sizes`` are its observation and action dimensions."""
        if sizes is None:
            self.clear_estimate()
            return
        buffer = disk_usage.buffer_bytes(config, sizes)
        count = disk_usage.checkpoint_count(config)
        total = count * disk_usage.checkpoint_bytes(config, sizes)
        self._needed = buffer + total
        self._estimate = Text.counted(
            "On disk: replay buffer {buffer}, {n:,}\N{NO-BREAK SPACE}checkpoint {total}.",
            "On disk: replay buffer {buffer}, {n:,}\N{NO-BREAK SPACE}checkpoints {total}.",
            n=count,
            buffer=_amount(buffer) if buffer else "0",
            total=_amount(total),
        )
        self._update()
        self._reader.read(lambda _: disk_usage.free_bytes(folder), self._take_free)

    def shutdown(self) -> None:
        """Stop checking the disk."""
        self._reader.cancel()

    def _take_free(self, free: int | None) -> None:
        if free != self._free:
            self._free = free
            self._update()

    def _update(self) -> None:
        short = self._free is not None and self._free < self._needed
        text = self._estimate
        if short:
            free = _amount(self._free or 0)
            text = Text("{estimate} Only {free} free.", estimate=text, free=free)
        self.setText(str(text))
        set_styled(self, "role", "warn" if short else "muted")


def _amount(count: int) -> str:
    """Format a size in bytes so that number and unit stay on one line."""
    return formatting.format_size(count).replace(" ", "\N{NO-BREAK SPACE}")
