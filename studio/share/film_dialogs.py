"""The dialogs that film an agent, and a run from its first checkpoint to its last."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QPushButton, QWidget

from studio.formatting import format_count
from studio.share.task_dialog import TaskDialog
from studio.widgets.number_box import WholeNumberBox
from td3core.exporters.film.files import partial_path
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Variant

_LARGEST_SEED = 2**31 - 1
_MOST_EPISODES = 1000
_MOST_SECONDS = 3600
_SLOWEST, _FASTEST = 0.1, 16.0
_FILTERS = "Film (*.mp4);;Animated picture (*.gif)"


class _FilmDialog(TaskDialog):
    """What both have in common: the file, and opening it."""

    def __init__(self, name: str, title: str, about: str, file: str, parent: QWidget) -> None:
        super().__init__(name, title, about, "Record…", parent)
        self._file, self._target = file, Path()
        self.open_button = QPushButton("Open film")
        self.open_button.setObjectName(f"{name}_open_button")
        self.open_button.setEnabled(False)
        self.buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.ActionRole)
        self.open_button.clicked.connect(self._open)
        self.add_folder_button()

    def add_speed(self, speed: float) -> WholeNumberBox:
        """Add a field for how many times as fast the film plays."""
        tip = "In percent of the environment's own speed"
        low, high = round(100 * _SLOWEST), round(100 * _FASTEST)
        now = min(max(round(100 * speed), low), high)
        return self.add_number("Speed in %", low, high, now, tip)

    def ask_target(self) -> Path | None:
        """Ask where to write."""
        name, kind = QFileDialog.getSaveFileName(self, "Record film", self._file, _FILTERS)
        if not name:
            return None
        path = Path(name)
        if path.suffix.lower() not in (".mp4", ".gif"):
            path = path.with_name(f"{path.name}{'.gif' if 'gif' in kind else '.mp4'}")
        self._file, self._target = str(path), path
        self.open_button.setEnabled(False)
        self.show_no_file()
        return path

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show what was written."""
        length = f"{found['duration_s']:.1f} s, {format_count(found['frames'])} frames"
        size = f"{found['width']}×{found['height']}"
        self.show_written(self._target, f"{length}, {size} pixels")
        self.open_button.setEnabled(True)

    @Slot()
    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._target)))


class AgentFilmDialog(_FilmDialog):
    """Films episodes of one agent, as the replay plays them."""

    def __init__(self, agent: Path, seed: int, speed: float, parent: QWidget) -> None:
        about = f"Films {agent.name} without exploration noise, in the background."
        super().__init__("film", "Record film", about, f"{agent.stem}.mp4", parent)
        self._agent = agent
        tip = "Episodes one after another"
        self.episodes = self.add_number("Episodes", 1, _MOST_EPISODES, 1, tip)
        tip = "The first episode is the one that the replay shows first"
        self.seed = self.add_number("Seed", 0, _LARGEST_SEED, seed, tip)
        self.speed = self.add_speed(speed)
        tip = "Return, values, actions and observations below the picture"
        self.instruments = self.add_choice("With instruments", tip)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_target()
        if target is None:
            return None
        options = [
            *("--video", str(target), "--episodes", str(self.episodes.entered())),
            *("--seed", str(self.seed.entered()), "--speed", str(self.speed.entered() / 100)),
            *(("--instruments",) if self.instruments.isChecked() else ()),
        ]
        words = ["replay", *options, "--force", "--json", "--", str(self._agent)]
        return words, partial_path(target)


class ComparisonFilmDialog(_FilmDialog):
    """Films the agents of the comparison, as it shows them."""

    def __init__(
        self,
        compared: Sequence[ComparedAgent],
        seed: int,
        speed: float,
        pushes: Sequence[int],
        columns: int,
        parent: QWidget,
    ) -> None:
        """Film agents.

        Args:
            compared: The agents, variants of the first one last.
            seed: The seed of the episodes.
            speed: How many times as fast the film plays.
            pushes: Steps at which one is pushed; empty for the usual one.
            columns: Pictures in a row.
            parent: The window.
        """
        about = f"Films {len(compared)} agents side by side, in the background."
        super().__init__("compare_film", "Record film", about, "comparison.mp4", parent)
        self._compared, self._pushes, self._columns = compared, pushes, columns
        tip = "Episodes one after another"
        self.episodes = self.add_number("Episodes", 1, _MOST_EPISODES, 1, tip)
        tip = "All agents begin with the same state"
        self.seed = self.add_number("Seed", 0, _LARGEST_SEED, seed, tip)
        self.speed = self.add_speed(speed)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_target()
        if target is None:
            return None
        variants = {each.variant for each in self._compared}
        agents = [str(each.path) for each in self._compared if each.variant is Variant.PLAIN]
        options = [
            *("--side-by-side", "--columns", str(self._columns)),
            *(("--noise",) if Variant.NOISE in variants else ()),
            *(("--push",) if Variant.PUSH in variants else ()),
            *(word for step in self._pushes for word in ("--push-at", str(step))),
            *("--out", str(target), "--episodes-per", str(self.episodes.entered())),
            *("--seed", str(self.seed.entered()), "--speed", str(self.speed.entered() / 100)),
        ]
        return ["film", *options, "--force", "--json", "--", *agents], partial_path(target)


class GrowthFilmDialog(_FilmDialog):
    """Films an episode of each checkpoint of a run."""

    def __init__(self, run: Path, name: str, seed: int, parent: QWidget) -> None:
        about = (
            f"Films every checkpoint of {name} in order, with its step and return as"
            " captions, in the background."
        )
        super().__init__("growth_film", "Growth film", about, f"{run.name}.mp4", parent)
        self._run = run
        tip = "Episodes of each checkpoint"
        self.episodes = self.add_number("Episodes each", 1, _MOST_EPISODES, 1, tip)
        tip = "Every checkpoint begins with the same state"
        self.seed = self.add_number("Seed", 0, _LARGEST_SEED, seed, tip)
        tip = "Leave a checkpoint after so many seconds of film; 0 for whole episodes"
        self.seconds = self.add_number(
            "Most seconds each", 0, _MOST_SECONDS, 0, tip, zero="Whole episodes"
        )

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_target()
        if target is None:
            return None
        most = self.seconds.entered()
        options = [
            *("--out", str(target), "--episodes-per", str(self.episodes.entered())),
            *("--seed", str(self.seed.entered())),
            *(("--max-seconds-per", str(most)) if most else ()),
        ]
        return ["film", *options, "--force", "--json", "--", str(self._run)], partial_path(target)
