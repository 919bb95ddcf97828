"""Shows how much disk space a run will take, and warns if there is not enough."""

from pathlib import Path

from PySide6.QtWidgets import QLabel, QSizePolicy

from studio import formatting
from td3core.config import RunConfig
from td3core.runs import disk_usage


class DiskLabel(QLabel):
    """A sentence or two, in the warning colour if space is short."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("setup_disk")
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setToolTip(
            "Disk space at the end of the run. The replay buffer makes exact resuming possible."
            " The settings under Advanced can reduce both."
        )
        self.clear_estimate()

    def clear_estimate(self) -> None:
        """Show nothing: the settings are invalid or the environment is unknown."""
        self.hide()

    def show_estimate(self, config: RunConfig, sizes: tuple[int, int] | None, folder: Path) -> None:
        """Show what a run takes; ``sizes`` are its observation and action dimensions."""
        if sizes is None:
            self.clear_estimate()
            return
        buffer = disk_usage.buffer_bytes(config, *sizes)
        count = disk_usage.checkpoint_count(config)
        total = count * disk_usage.checkpoint_bytes(config, *sizes)
        agents = (
            "1\N{NO-BREAK SPACE}checkpoint"
            if count == 1
            else f"{count:,}\N{NO-BREAK SPACE}checkpoints"
        )
        text = (
            f"On disk: replay buffer {_amount(buffer) if buffer else '0'},"
            f" {agents} {_amount(total)}."
        )
        free = disk_usage.free_bytes(folder)
        short = free is not None and free < buffer + total
        if free is not None and short:
            text += f" Only {_amount(free)} free."
        self.setText(text)
        self.setProperty("role", "warn" if short else "muted")
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()


def _amount(count: int) -> str:
    """Format a size in bytes so that number and unit stay on one line."""
    return formatting.format_size(count).replace(" ", "\N{NO-BREAK SPACE}")
