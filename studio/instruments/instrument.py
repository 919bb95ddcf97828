"""Base of all instruments: a card with a title, switched on and off."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from studio.instruments.chart import Chart, Content, Subplot
from studio.theme.theme import Theme
from studio.widgets.controls import describe
from studio.widgets.labels import ElidedLabel, plain_tip
from td3core.playing.numbers import AgentSpec, EpisodeNumbers
from td3core.text import Text


class Instrument(QWidget):
    """Shows something about an episode at one step. Updated only while visible."""

    name = ""
    title: Text
    help: Text
    """Its description, with its formula."""
    first_on = True
    """Whether it is initially switched on."""

    def __init__(self) -> None:
        super().__init__()
        describe(self, f"instrument_{self.name}", str(self.title), "")
        self.setProperty("role", "card")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.heading = QHBoxLayout()
        label = QLabel(str(self.title))
        label.setToolTip(plain_tip(str(self.help)))
        # Elided if too long: a long note must not widen the window.
        self.note = ElidedLabel()
        self.note.setObjectName(f"instrument_{self.name}_note")
        self.note.setProperty("role", "muted")
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.heading.addWidget(label)
        self.heading.addWidget(self.note, 1)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(6, 2, 6, 4)
        self._body.setSpacing(2)
        self.heading.setSpacing(8)
        self._body.addLayout(self.heading)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""

    def show_agent(self, spec: AgentSpec) -> None:
        """Prepare for another agent."""

    def show_step(self, numbers: EpisodeNumbers, step: int) -> None:
        """Show a step with known numbers."""

    def clear(self) -> None:
        """Show nothing."""
        self.setAccessibleDescription("")

    def describe_values(self, text: Callable[[], str]) -> None:
        """Give the painted values to a screen reader, if one is running: up to 60 times a second.

        Args:
            text: returns the values.
        """
        if QAccessible.isActive():
            self.setAccessibleDescription(text())


class ChartInstrument(Instrument):
    """An instrument consisting of one chart."""

    subplots: tuple[Subplot, ...] = ()

    def __init__(self) -> None:
        super().__init__()
        self.chart = Chart(self.subplots)
        self.chart.setToolTip(plain_tip(str(self.help)))
        self._body.addWidget(self.chart, 1)

    def set_theme(self, theme: Theme) -> None:
        """Use the colours of a theme."""
        self.chart.set_theme(theme)

    def show_content(self, content: Content) -> None:
        """Show these curves."""
        self.chart.show_content(content)
        self.describe_values(lambda: self._read(content))

    def _read(self, content: Content) -> str:
        lines = (line for subplot in self.subplots for line in subplot.lines)
        pairs = zip(lines, content.readings, strict=True)
        return ", ".join(f"{line.name} {reading}" for line, reading in pairs)

    def clear(self) -> None:
        """Show nothing."""
        super().clear()
        self.chart.show_content(None)
        self.note.clear()
