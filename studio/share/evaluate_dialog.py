"""The dialog that evaluates an agent in noise-free episodes."""

from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from studio.formatting import format_number, format_return, format_share
from studio.share.histogram import ReturnHistogram
from studio.share.task_dialog import TaskDialog
from td3core.text import Text, tr

_MOST_EPISODES = 10_000
_LIST_HEIGHT = 72


class EvaluateDialog(TaskDialog):
    """Runs ``td3-studio eval`` and shows mean, spread and every return."""

    def __init__(self, agent: Path, run: str, seed: int, parent: QWidget) -> None:
        about = tr(
            "Measures {agent} in episodes without exploration noise, in the background.",
            agent=agent.name,
        )
        super().__init__("evaluate", tr("Evaluate agent"), about, tr("Evaluate"), parent)
        self._agent = agent
        tip = tr("More episodes give a more certain mean")
        self.episodes = self.add_number("episodes", tr("Episodes"), 1, _MOST_EPISODES, 10, tip)
        self.seed = self.add_seed(seed, tr("The same seed measures the same episodes"))
        whose = " · ".join(filter(None, (agent.stem, run)))
        self.histogram = ReturnHistogram(tr("Returns of {agent}", agent=whose))
        self.histogram.failed.connect(self.job.show_status)
        self.returns = QPlainTextEdit()
        self.returns.setObjectName("evaluate_returns")
        self.returns.setAccessibleName(tr("Return of each episode"))
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
        """Show the statistics, a histogram, and the returns in order."""
        numbers = found["returns"]
        assert isinstance(numbers, list)
        returns = np.array(numbers, np.float64)
        success = found["success"]
        measured = Text.counted(
            "Return {mean} over {n} episode, lowest {lowest}, highest {highest}.",
            "Return {mean} over {n} episodes, lowest {lowest}, highest {highest}.",
            n=len(returns),
            mean=format_return(found["mean"], found["std"]),
            lowest=format_return(returns.min()),
            highest=format_return(returns.max()),
        )
        if success is not None:
            measured = Text(
                "{measured} {share} reach {threshold}.",
                measured=measured,
                share=format_share(success),
                threshold=format_number(found["reward_threshold"]),
            )
        self.job.show_status(measured)
        # For copying into a spreadsheet or a script.
        self.returns.setPlainText("\n".join(format(value, ".10g") for value in returns))
        self.histogram.show_returns(returns)
        for part in (self.histogram, self.returns):
            part.show()
        self.grow()
