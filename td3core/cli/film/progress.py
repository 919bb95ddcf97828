"""Shows the progress of a film: a bar on a terminal, else a line from time to time."""

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn

from td3core.cli.progress import BarReporter
from td3core.cli.progress_line import tell_progress
from td3core.text import Text, tr

if TYPE_CHECKING:
    from td3core.exporters.film.progress import FilmProgress

_INTERVAL_S = 0.5


class FilmReporter(BarReporter):
    """A ``report`` for the functions that record films."""

    def __init__(self, console: Console, episodes: int) -> None:
        """Prepare to report a film with this many episodes of each checkpoint."""
        super().__init__(
            console,
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn("{task.percentage:>3.0f} %"),
        )
        self._episodes, self._due = episodes, 0.0
        self._task = self._bar.add_task(tr("starting"), total=1.0)

    def __call__(self, progress: "FilmProgress") -> None:
        """Show the progress of the film."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _INTERVAL_S
        share = (progress.scene + self._share_of_scene(progress)) / progress.scenes
        position = self._position(progress)
        if self._console.is_terminal:
            self._bar.update(self._task, description=str(position), completed=share)
        else:
            tell_progress(position, share)

    def _position(self, progress: "FilmProgress") -> Text:
        if progress.scenes == 1:
            return Text.counted(
                "Episode {number} of {count}, {n} frame",
                "Episode {number} of {count}, {n:,} frames",
                n=progress.frames,
                number=progress.episode + 1,
                count=self._episodes,
            )
        return Text.counted(
            "Checkpoint {number} of {count}, {n} frame",
            "Checkpoint {number} of {count}, {n:,} frames",
            n=progress.frames,
            number=progress.scene + 1,
            count=progress.scenes,
        )

    def _share_of_scene(self, progress: "FilmProgress") -> float:
        of_episode = min(1.0, progress.step / progress.most) if progress.most else 0.0
        return (progress.episode + of_episode) / self._episodes
