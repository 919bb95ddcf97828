"""Instruments over the whole episode: rewards, and values next to obtained returns."""

import numpy as np
from PySide6.QtCore import Qt

from studio.formatting import format_number, format_return, format_value
from studio.instruments.chart import Content, Line, Subplot
from studio.instruments.instrument import ChartInstrument
from td3core.arrays import Doubles
from td3core.config.tunables import NO_FLOOR
from td3core.playing.numbers import AgentSpec, EpisodeNumbers
from td3core.text import Text, tr

NO_CRITIC = Text("This file has only the actor, no critic.")


class RewardInstrument(ChartInstrument):
    """Reward of each step, and the return so far."""

    name = "reward"
    title = Text("Reward")
    help = Text(
        "The environment's own rewards. Reward: r_t of each step. Return: their sum so far,"
        " r_1 + … + r_t, without discount. The vertical line is the step in the picture."
    )
    subplots = (
        Subplot(lines=(Line(name=Text("return"), colour="curve_eval"),)),
        Subplot(lines=(Line(name=Text("reward"), colour="curve_3"),)),
    )

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show the episode, with the values at a step."""
        row = step - numbers.first
        self.show_content(
            Content(
                x=_steps(numbers),
                subject=numbers.playback_id,
                version=(numbers.first, numbers.count, numbers.discounted is not None),
                ys=(numbers.total, numbers.reward),
                readings=(format_return(numbers.total[row]), format_number(numbers.reward[row])),
                cursor=step,
            )
        )


class ValueInstrument(ChartInstrument):
    """The critics' values of the actions, and the returns obtained."""

    name = "value"
    title = Text("Value")
    help = Text(
        "min Q: what the critics expect of the action taken, min(Q₁, Q₂)(s, a). Obtained: the"
        " discounted return from that step to the end, G_t = Σ γ^(k−t) r_k, with the checkpoint's"
        " γ and the rewards as the agent learns them, max(reward_scale × r, reward_floor); known"
        " when the episode has ended. min Q above it is overestimation. After a time limit nothing"
        " is added, so there the last steps obtain less than the critics expect."
    )
    subplots = (
        Subplot(
            lines=(
                Line(name=Text("min Q"), colour="marker"),
                Line(name=Text("obtained"), colour="curve_eval", style=Qt.PenStyle.DashLine),
            )
        ),
    )

    def show_agent(self, spec: AgentSpec) -> None:
        """Show the discount, or that there is no critic."""
        shaped = spec.reward_scale != 1.0 or spec.reward_floor > NO_FLOOR
        parts = [f"γ {format_value(spec.gamma)}", tr("shaped rewards") if shaped else ""]
        text = " · ".join(filter(None, parts))
        self.note.setText(text if spec.critics else str(NO_CRITIC))

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show the episode, with the values at a step."""
        row, obtained = step - numbers.first, numbers.discounted
        expected = numbers.min_q if numbers.spec.critics else None
        self.show_content(
            Content(
                x=_steps(numbers),
                subject=numbers.playback_id,
                version=(numbers.first, numbers.count, numbers.discounted is not None),
                ys=(expected, obtained),
                readings=(
                    tr("none") if expected is None else format_number(expected[row]),
                    tr("at the end") if obtained is None else format_number(obtained[row]),
                ),
                cursor=step,
            )
        )


def _steps(numbers: EpisodeNumbers) -> Doubles:
    return np.arange(numbers.first, numbers.last + 1, dtype=np.float64)
