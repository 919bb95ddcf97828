"""The critics' values over one dimension of the action, through the action taken."""

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QLabel

from studio.formatting import format_number
from studio.instruments.chart import Content, Line, Subplot
from studio.instruments.episode_curves import NO_CRITIC
from studio.instruments.instrument import ChartInstrument
from studio.replay.renderer.protocol import Sweep, Swept
from studio.widgets.controls import describe
from studio.widgets.number_box import WholeNumberBox
from td3core.playing.numbers import AgentSpec, EpisodeNumbers
from td3core.text import Text, tr

_INTERVAL_MS = 200
"""Milliseconds between two sweeps: five a second are enough to follow, and leave the renderer time.
"""


class SweepInstrument(ChartInstrument):
    """Requests a sweep at the current step, a few times a second, and shows the answer."""

    name = "sweep"
    first_on = False
    title = Text("Critic")
    help = Text(
        "The critics' values if one dimension of the action were another: Q(s, a) with that"
        " dimension of a swept over its bounds and the others as taken. The vertical line is the"
        " action taken; if the actor maximises its critic, Q₁ peaks there."
    )
    subplots = (
        Subplot(
            lines=(
                Line(name=Text("min Q"), colour="marker"),
                Line(name=Text("Q₁"), colour="curve_1", style=Qt.PenStyle.DashLine),
                Line(name=Text("Q₂"), colour="curve_2", style=Qt.PenStyle.DotLine),
            )
        ),
    )
    wanted = Signal(object)
    """Carries the :class:`~studio.replay.renderer.protocol.Sweep` to compute."""

    def __init__(self) -> None:
        super().__init__()
        self.dimension = WholeNumberBox(1, 1)
        self.dimension.setStepType(WholeNumberBox.StepType.DefaultStepType)
        tip = tr("The dimension of the action that is swept")
        describe(self.dimension, "instrument_sweep_dimension", tr("Swept action"), tip)
        label = QLabel(tr("Swept action"))
        label.setBuddy(self.dimension)
        self.heading.addWidget(label)
        self.heading.addWidget(self.dimension)
        self.dimension.valueChanged.connect(self._ask)
        self._timer = QTimer(self, singleShot=True, interval=_INTERVAL_MS)
        self._timer.timeout.connect(self._on_timer)
        self._spec: AgentSpec | None = None
        self._shown: tuple[EpisodeNumbers, int] | None = None
        self._ticket = 0
        self._asked: Sweep | None = None
        self._pending = False

    def show_agent(self, spec: AgentSpec) -> None:
        """Offer the dimensions of another agent."""
        self.clear()
        self._spec = spec
        self.dimension.setMaximum(len(spec.action_low))
        self.dimension.setEnabled(spec.critics > 0)
        self.note.setText("" if spec.critics else str(NO_CRITIC))

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Request the sweep at a step, now or once the interval since the last one has passed."""
        if self._shown is None or self._shown != (numbers, step):
            self._shown = numbers, step
            self._ask()

    def clear(self) -> None:
        """Show nothing, and ignore pending answers."""
        super().clear()
        self._shown, self._asked, self._pending = None, None, False

    @Slot()
    def _ask(self) -> None:
        if self._timer.isActive():
            self._pending = True
            return
        if self._shown is None or self._spec is None or not self._spec.critics:
            return
        numbers, step = self._shown
        if not numbers.has(step):
            return
        row = step - numbers.first
        self._ticket += 1
        self._pending = False
        self._timer.start()
        self._asked = Sweep(
            ticket=self._ticket,
            obs=numbers.obs[row].copy(),
            action=numbers.action[row].copy(),
            dimension=self.dimension.value() - 1,
        )
        self.wanted.emit(self._asked)

    @Slot()
    def _on_timer(self) -> None:
        if self._pending:
            self._ask()

    @Slot(object)
    def show_swept(self, swept: Swept) -> None:
        """Show the answer to the latest request."""
        asked, spec = self._asked, self._spec
        if asked is None or spec is None or swept.ticket != asked.ticket:
            return
        low, high = spec.action_low[swept.dimension], spec.action_high[swept.dimension]
        taken = float(asked.action[swept.dimension])
        # The action taken is one of the points.
        at = int(np.abs(swept.action - taken).argmin())
        values = swept.values.astype(np.float64)
        lines = [values.min(axis=0), *values]
        missing = len(self.subplots[0].lines) - len(lines)
        self.show_content(
            Content(
                x=(low + high) / 2 + (high - low) / 2 * swept.action.astype(np.float64),
                subject=swept.ticket,
                ys=(*lines, *[None] * missing),
                readings=(*[format_number(y[at]) for y in lines], *[tr("none")] * missing),
                cursor=(low + high) / 2 + (high - low) / 2 * taken,
            )
        )
