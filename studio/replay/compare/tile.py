"""One compared agent: its name, return and picture."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.formatting import format_return
from studio.replay.caption import agent_facts, ending_label, show_ending
from studio.replay.frame_view import FrameView
from studio.widgets.controls import describe, make_row
from studio.widgets.labels import ElidedLabel, plain_tip
from td3core.playing.compared import AgentFacts
from td3core.playing.step import RolloutStep
from td3core.text import tr

_SMALLEST = QSize(80, 60)


class Tile(QWidget):
    """Shows one compared agent."""

    def __init__(self, number: int) -> None:
        super().__init__()
        # Names differ at both ends: the run at the start, noise or push at the end.
        self.title = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
        self.title.setObjectName(f"compare_title_{number}")
        self.total = ElidedLabel()
        self.total.setObjectName(f"compare_return_{number}")
        self.total.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        longest = tr("return {mean}", mean="−00000.0")
        self.total.setFixedWidth(self.fontMetrics().horizontalAdvance(longest))
        self.total.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.ending = ending_label(f"compare_ending_{number}")
        self.view = FrameView("")
        self.view.use_all_height(True)
        self.view.setMinimumSize(0, 0)
        describe(self.view, f"compare_view_{number}", "", "")
        # Below the name, which needs the whole width if three agents share a small window.
        figures = make_row(self.total, self.ending)
        figures.insertStretch(1)
        # Otherwise the first layout pass could widen the window.
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
        about = agent_facts(facts.env_steps, facts.mean_return)
        self.title.setToolTip(plain_tip(f"{facts.agent.path}\n{about}"))
        self.view.setAccessibleName(tr("Replay of {agent}", agent=text))

    def show_step(self, step: RolloutStep) -> None:
        """Show the state of the agent."""
        self.total.setText(tr("return {mean}", mean=format_return(step.total)))
        show_ending(self.ending, step)
