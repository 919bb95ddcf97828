"""The interface of everything drawn on a plot."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from studio.plots.canvas import PlotCanvas
from studio.plots.curve import Curve
from studio.plots.x_axis import BY_STEPS, StepToX
from studio.theme.theme import Theme
from td3core.arrays import Doubles


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerView:
    """The part of the x axis in view."""

    low: float
    high: float
    """First and last step in view; in a comparison, the ends of its x axis."""
    points: int
    """Approximate number of points of a curve that the screen can show."""
    step_map: StepToX = BY_STEPS
    """Maps steps to the x axis."""
    logarithmic: bool = False
    """True if the y axis is logarithmic."""

    def drawable(self, x: Doubles, y: Doubles) -> tuple[Doubles, Doubles]:
        """Return the points (n,) that have a position on the y axis."""
        return (x[y > 0], y[y > 0]) if self.logarithmic else (x, y)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of a legend, or a line of a readout."""

    text: str
    colour: str = ""
    """Name of a colour of the theme, or #rrggbb; without one the entry has no mark."""
    mark: str = "●"
    switch: str = ""
    """In a legend: the curve that a click on the entry hides or shows; empty for none."""
    hidden: bool = False
    """Whether that curve is currently hidden."""

    def plain_text(self) -> str:
        """Return the mark and the text."""
        return f"{self.mark} {self.text}" if self.colour else self.text

    def rich_text(self, theme: Theme) -> str:
        """Return the mark in its colour and the text, as HTML that does not wrap after the mark."""
        if not self.colour:
            return escape(self.text)
        if self.hidden:
            return f'<s style="color:{theme.muted}">○&nbsp;{escape(self.text)}</s>'
        colour = self.colour if self.colour[0] == "#" else getattr(theme, self.colour)
        return f'<span style="color:{colour}">{self.mark}</span>&nbsp;{escape(self.text)}'


class Points(NamedTuple):
    """All points of one curve, for export."""

    label: str
    steps: Doubles
    """Environment steps, shape (n,)."""
    values: Doubles
    """Shape (n,)."""


class Layer(ABC):
    """Something drawn on a plot. Owns its graphics items; reads its data again for each redraw.

    All plots are redrawn up to ten times a second, so a layer must stay on Qt's fast path: pens one
    pixel wide, no antialiasing, opaque colours (:meth:`Theme.on_panel` blends them), at most
    :attr:`LayerView.points` points, and no changes to items that are up to date.
    """

    @abstractmethod
    def attach(self, plot: PlotCanvas) -> None:
        """Add the graphics items to a plot. Called once."""

    @abstractmethod
    def draw(self, view: LayerView) -> Sequence[Doubles]:
        """Draw the part in view.

        Returns:
            Arrays of the y values drawn, without NaN. The y axis is fitted to them, and a plot
            whose layers return none counts as empty.
        """

    @abstractmethod
    def set_theme(self, theme: Theme) -> None:
        """Apply the colours of a theme."""

    def last_step(self) -> float:
        """Return the last step that has data; the x axis extends to it."""
        return 0.0

    def legend(self) -> Sequence[Entry]:
        """Return the legend entries for the last drawing."""
        return ()

    def addable(self) -> Iterable[Curve]:
        """Return the curves that the user can add or has added."""
        return ()

    @property
    def added_columns(self) -> frozenset[str]:
        """The columns added by the user."""
        return frozenset()

    def add(self, columns: Collection[str]) -> None:
        """Also draw these quantities, as far as they exist and are not drawn."""
        del columns

    def remove(self, column: str) -> None:
        """Remove an added quantity."""
        del column

    def show_curve(self, name: str, shown: bool) -> None:
        """Show or hide the curve that a legend entry names, if it belongs to this layer."""
        del name, shown

    def read(self, x: float, reach: float) -> Sequence[Entry]:
        """Return the readout at a step.

        Args:
            x: the step under the crosshair.
            reach: distance, in steps, within which an item counts as under the crosshair.
        """
        del x, reach
        return ()

    def readable(self) -> Sequence[Points]:
        """Return the displayed curves, without NaN, for reading them point by point."""
        return ()

    def points(self) -> Sequence[Points]:
        """Return every point of every curve, in view or not, for export."""
        return ()
