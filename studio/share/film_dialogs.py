"""Dialogs that film one agent, a comparison of agents, or all checkpoints of a run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtWidgets import QWidget

from studio.formatting import format_count
from studio.share.task_dialog import TaskDialog
from studio.widgets.number_box import WholeNumberBox
from td3core.exporters.film.files import partial_path
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Variant
from td3core.text import Text, tr

_MOST_EPISODES = 1000
_MOST_SECONDS = 3600
_SLOWEST, _FASTEST = 0.1, 16.0
_FILTERS = (
    (Text("Film ({pattern})", pattern="*.mp4"), ".mp4"),
    (Text("Animated picture ({pattern})", pattern="*.gif"), ".gif"),
    (Text("Small animated picture ({pattern})", pattern="*.webp"), ".webp"),
)
"""Kinds of files with their suffixes."""


class _FilmDialog(TaskDialog):
    """Base of the film dialogs: asks for the file, and opens it once written."""

    def __init__(self, name: str, title: str, about: str, file: str, parent: QWidget) -> None:
        super().__init__(name, title, about, tr("Record…"), parent)
        self._file = file
        self.add_file_buttons(tr("Open film"))

    def add_episodes(self, label: str, tip: str) -> WholeNumberBox:
        """Add a field for how many episodes are filmed."""
        return self.add_number("episodes", label, 1, _MOST_EPISODES, 1, tip)

    def add_speed(self, speed: float) -> WholeNumberBox:
        """Add a field for the film's speed factor."""
        tip = tr("In percent of the environment's own speed")
        low, high = round(100 * _SLOWEST), round(100 * _FASTEST)
        now = min(max(round(100 * speed), low), high)
        return self.add_number("speed", tr("Speed in %"), low, high, now, tip)

    def ask_film(self) -> Path | None:
        """Ask for the file to write."""
        kinds = {str(text): (suffix,) for text, suffix in _FILTERS}
        return self.ask_target(tr("Record film"), str(self.target or self._file), kinds)

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the file written."""
        about = Text.counted(
            "{seconds:.1f} s, {frames} frame, {size} pixels",
            "{seconds:.1f} s, {frames} frames, {size} pixels",
            n=found["frames"],
            seconds=found["duration_s"],
            frames=format_count(found["frames"]),
            size=f"{found['width']}×{found['height']}",
        )
        self.show_written(str(about))


class AgentFilmDialog(_FilmDialog):
    """Films episodes of one agent, as the replay plays them."""

    def __init__(self, agent: Path, seed: int, speed: float, parent: QWidget) -> None:
        about = tr("Films {agent} without exploration noise, in the background.", agent=agent.name)
        super().__init__("film", tr("Record film"), about, f"{agent.stem}.mp4", parent)
        self._agent = agent
        self.episodes = self.add_episodes(tr("Episodes"), tr("Episodes one after another"))
        tip = tr("The first episode is the one that the replay shows first")
        self.seed = self.add_seed(seed, tip)
        self.speed = self.add_speed(speed)
        tip = tr("Return, values, actions and observations below the picture")
        self.instruments = self.make_choice("instruments", tr("With instruments"), tip)
        self.form.addRow(self.instruments)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_film()
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
    """Films the agents of the comparison, as shown."""

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
            compared: The agents, ending with variants of the first one.
            seed: The seed of the episodes.
            speed: Speed factor of the film.
            pushes: Steps at which agents are pushed; empty for the usual push.
            columns: Pictures per row.
            parent: The window.
        """
        about = Text.counted(
            "Films {n} agent in the background.",
            "Films {n} agents side by side, in the background.",
            n=len(compared),
        )
        super().__init__("compare_film", tr("Record film"), str(about), "comparison.mp4", parent)
        self._compared, self._pushes, self._columns = compared, pushes, columns
        self.episodes = self.add_episodes(tr("Episodes"), tr("Episodes one after another"))
        self.seed = self.add_seed(seed, tr("All agents begin with the same state"))
        self.speed = self.add_speed(speed)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_film()
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
        about = tr(
            "Films every checkpoint of {run} in order, with its step and return as"
            " captions, in the background.",
            run=name,
        )
        super().__init__("growth_film", tr("Growth film"), about, f"{run.name}.mp4", parent)
        self._run = run
        self.episodes = self.add_episodes(tr("Episodes each"), tr("Episodes of each checkpoint"))
        self.seed = self.add_seed(seed, tr("Every checkpoint begins with the same state"))
        tip = tr("Maximum film time per checkpoint, in seconds; 0 for whole episodes")
        label, zero = tr("Most seconds each"), Text("Whole episodes")
        self.seconds = self.add_number("most", label, 0, _MOST_SECONDS, 0, tip, zero)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        target = self.ask_film()
        if target is None:
            return None
        most = self.seconds.entered()
        options = [
            *("--out", str(target), "--episodes-per", str(self.episodes.entered())),
            *("--seed", str(self.seed.entered())),
            *(("--max-seconds-per", str(most)) if most else ()),
        ]
        return ["film", *options, "--force", "--json", "--", str(self._run)], partial_path(target)
