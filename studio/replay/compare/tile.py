"""One of the agents that are compared: its name, its return and its picture."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.formatting import format_count, format_return
from studio.replay.caption import ending_label, show_ending
from studio.replay.frame_view import FrameView
from studio.widgets.controls import describe, make_row
from studio.widgets.labels import ElidedLabel, plain_tip
from td3core.playing.compared import AgentFacts
from td3core.playing.step import RolloutStep

_SMALLEST = QSize(80, 60)


class Tile(QWidget):
    """Shows one agent."""

    def __init__(self, number: int) -> None:
        super().__init__()
        # Both ends tell agents apart: the run at the start, noise or push at the end.
        self.title = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.title.setObjectName(f"compare_title_{number}")
        self.total = ElidedLabel()
        self.total.setObjectName(f"compare_return_{number}")
        self.total.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.total.setFixedWidth(self.fontMetrics().horizontalAdvance("return −00000.0"))
        self.total.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.ending = ending_label(f"compare_ending_{number}")
        self.view = FrameView("")
        self.view.use_all_height(True)
        self.view.setMinimumSize(0, 0)
        describe(self.view, f"compare_view_{number}", "", "")
        # Below the name, which needs all of the width if there are three in a small window.
        figures = make_row(self.total, self.ending)
        figures.insertStretch(1)
        # Or a first arrangement could widen the window.
        self.setMinimumSize(_SMALLEST)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addWidget(self.title)
        layout.addLayout(figures)
        layout.addWidget(self.view, 1)

    def show_agent(self, facts: AgentFacts, text: str) -> None:
        """Name the agent."""
        self.title.setText(text)
        mean = "" if facts.mean_return is None else f", return {format_return(facts.mean_return)}"
        path = facts.agent.path
        self.title.setToolTip(plain_tip(f"{path}\nstep {format_count(facts.env_steps)}{mean}"))
        self.view.setAccessibleName(f"Replay of {text}")

    def show_step(self, step: RolloutStep) -> None:
        """Show where the agent is."""
        self.total.setText(f"return {format_return(step.total)}")
        show_ending(self.ending, step)
