"""The lines below the picture: the agent, and the progress of its episode."""

from PySide6.QtWidgets import QLabel, QSizePolicy, QVBoxLayout, QWidget

from studio.formatting import format_count, format_return
from studio.replay.renderer.protocol import Frame, Loaded
from studio.widgets.controls import make_label, make_row
from studio.widgets.labels import ElidedLabel, SteadyLabels, plain_tip
from td3core.playing.step import RolloutStep
from td3core.text import Text, tr

_FIGURES = {"step": 3, "return": 4, "episode": 3}
"""The numbers shown, with their shares of the width."""
_GAP = 4
"""Pixels between the numbers."""


class PictureCaption(QWidget):
    """Agent, step, return and episode, and why the episode ended."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ElidedLabel()
        self.title.setObjectName("replay_title")
        self.title.setProperty("role", "muted")
        self.ending = ending_label("replay_chip")
        shares = {make_label(f"replay_{name}_label"): share for name, share in _FIGURES.items()}
        self._figures = list(shares)
        heading = make_row(self.title, self.ending)
        heading.setStretch(0, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addLayout(heading)
        layout.addWidget(SteadyLabels(shares, _GAP))
        # A hidden label keeps its space, so that the controls below do not move.
        policy = self.title.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.title.setSizePolicy(policy)
        self.title.hide()

    def show_agent(self, loaded: Loaded, role: Text | None = None) -> None:
        """Name the agent; ``role`` is its relation to its run, such as ``newest``."""
        title = Text("step {step}", step=format_count(loaded.env_steps))
        if role is not None:
            title = Text("{role}, {step}", role=role, step=title)
        self.title.setText(f"{loaded.env_id} · {title}")
        facts = agent_facts(loaded.env_steps, loaded.mean_return)
        self.title.setToolTip(plain_tip(f"{loaded.path}\n{facts}"))
        self.title.show()

    def show_frame(self, frame: Frame) -> None:
        """Show the numbers of a picture."""
        step = frame.step
        figures = (
            tr("step {step}", step=step.number),
            tr("return {mean}", mean=format_return(step.total)),
            tr("episode {episode}", episode=frame.episode + 1),
        )
        for label, figure in zip(self._figures, figures, strict=True):
            label.setText(figure)
        show_ending(self.ending, step)

    def clear(self) -> None:
        """Show no agent."""
        self.title.hide()
        self.ending.hide()
        for label in self._figures:
            label.clear()


def agent_facts(env_steps: int, mean_return: float | None) -> Text:
    """Return step and mean return of an agent, as far as known."""
    step = format_count(env_steps)
    if mean_return is None:
        return Text("step {step}", step=step)
    return Text("step {step}, return {mean}", step=step, mean=format_return(mean_return))


def ending_label(name: str) -> QLabel:
    """Return a hidden label for how an episode ended; it keeps its space."""
    label = make_label(name)
    policy = QSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    policy.setRetainSizeWhenHidden(True)
    label.setSizePolicy(policy)
    label.setStyleSheet(
        "QLabel { border: 1px solid palette(highlight); border-radius: 7px; padding: 0 5px; }"
    )
    label.hide()
    return label


def show_ending(label: QLabel, step: RolloutStep) -> None:
    """Show how an episode ended, if it has ended."""
    if step.over:
        label.setText(str(step.ending))
    label.setVisible(step.over)
