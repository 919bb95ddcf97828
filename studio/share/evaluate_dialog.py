"""The dialog that measures an agent in noise-free episodes."""

from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from studio.formatting import format_number, format_return, format_share, plain_minus
from studio.share.histogram import ReturnHistogram
from studio.share.task_dialog import TaskDialog

_LARGEST_SEED = 2**31 - 1
_MOST_EPISODES = 10_000
_LIST_HEIGHT = 72


class EvaluateDialog(TaskDialog):
    """Runs ``td3-studio eval`` and shows mean, spread and every return."""

    def __init__(self, agent: Path, run: str, seed: int, parent: QWidget) -> None:
        about = f"Measures {agent.name} in episodes without exploration noise, in the background."
        super().__init__("evaluate", "Evaluate agent", about, "Evaluate", parent)
        self._agent = agent
        tip = "More episodes give a more certain mean"
        self.episodes = self.add_number("Episodes", 1, _MOST_EPISODES, 10, tip)
        tip = "The same seed measures the same episodes"
        self.seed = self.add_number("Seed", 0, _LARGEST_SEED, seed, tip)
        whose = " · ".join(filter(None, (agent.stem, run)))
        self.histogram = ReturnHistogram(f"Returns of {whose}")
        self.histogram.failed.connect(self.job.show_status)
        self.returns = QPlainTextEdit()
        self.returns.setObjectName("evaluate_returns")
        self.returns.setAccessibleName("Return of each episode")
        self.returns.setReadOnly(True)
        self.returns.setFixedHeight(_LIST_HEIGHT)
        for part in (self.histogram, self.returns):
            part.hide()
            self.column.insertWidget(self.column.indexOf(self.job) + 1, part)

    def words(self) -> tuple[list[str], Path | None] | None:
        """Return the command."""
        options = ["--episodes", str(self.episodes.entered()), "--seed", str(self.seed.entered())]
        return ["eval", *options, "--json", "--", str(self._agent)], None

    def show_answer(self, found: dict[str, Any]) -> None:
        """Show the statistics, a histogram, and the returns in their order."""
        numbers = found["returns"]
        assert isinstance(numbers, list)
        returns = np.array(numbers, np.float64)
        success = found["success"]
        reached = ""
        if success is not None:
            threshold = format_number(found["reward_threshold"])
            reached = f" {format_share(success)} reach {threshold}."
        lowest, highest = format_return(returns.min()), format_return(returns.max())
        self.job.show_status(
            f"Return {format_return(found['mean'], found['std'])} over {len(returns)} episodes,"
            f" lowest {lowest}, highest {highest}.{reached}"
        )
        # To be copied.
        listed = "  ".join(format_return(value) for value in returns)
        self.returns.setPlainText(plain_minus(listed))
        self.histogram.show_returns(returns)
        for part in (self.histogram, self.returns):
            part.show()
        self.grow()
