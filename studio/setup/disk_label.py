"""Says in the form what a run will take on disk, and warns where there is no room for it."""

from pathlib import Path

from PySide6.QtWidgets import QLabel, QSizePolicy

from studio import formatting
from td3core.config import RunConfig
from td3core.runs import disk_usage


class DiskLabel(QLabel):
    """A sentence or two; in the colour of warnings once the room is short."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("setup_disk")
        self.setWordWrap(True)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setToolTip(
            "At the end of the run. The replay buffer is what lets a run go on exactly where it"
            " was; Advanced has the settings that make this less."
        )
        self.show_nothing()

    def show_nothing(self) -> None:
        """Say nothing of a run that cannot be started like this."""
        self.hide()

    def show_run(
        self, config: RunConfig, sizes: tuple[int, int] | None, folder: Path | None
    ) -> None:
        """Say what a run takes; ``sizes`` are its numbers of observations and actions."""
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
        text = (
            f"On disk: replay buffer {_amount(memory) if memory else '0'},"
            f" {agents} {_amount(one * count)}."
        )
        free = disk_usage.free_bytes(folder) if folder is not None else None
        short = False
        if free is not None and free < memory + one * count:
            short = True
            text += f" Only {_amount(free)} are free there."
        self.setText(text)
        self.setProperty("role", "warn" if short else "muted")
        self.style().unpolish(self)
        self.style().polish(self)
        self.show()


def _amount(count: int) -> str:
    """Say so many bytes; number and unit stay on one line."""
    return formatting.format_size(count).replace(" ", "\N{NO-BREAK SPACE}")
