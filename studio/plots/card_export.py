"""Writes a plot to a file: its picture, or all of its points as a table."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, Signal, Slot

from studio.plots.canvas import PlotCanvas
from studio.plots.layers.layer import Layer
from studio.theme.theme import Theme
from studio.widgets.figure_export import (
    FigureHeading,
    choose_file,
    export_figure,
    large_enough,
    write_picture,
)
from td3core.system.files import write_csv
from td3core.text import tr


class PlotToWrite(Protocol):
    """The part of a plot that its files need."""

    name: str
    title: str
    plot: PlotCanvas
    layers: tuple[Layer, ...]
    theme: Theme

    def axes_named(self) -> AbstractContextManager[None]:
        """Name the axes for a while, even those of a small plot."""


class CardExport(QObject):
    """Asks for files and writes them."""

    exported = Signal()
    failed = Signal(object)

    def __init__(
        self,
        card: PlotToWrite,
        subject: Callable[[], str],
        export: Callable[[Path], None] | None = None,
    ) -> None:
        """Export ``card``.

        Args:
            card: the plot.
            subject: returns environment and run, for the titles of pictures.
            export: writes the plot in place of :meth:`export`, and reports how that ended.
        """
        super().__init__(card.plot)
        self._card, self._subject = card, subject
        self._export = export or self.export

    @Slot(str)
    def ask(self, kind: str) -> None:
        """Ask for a file of this kind, and write it."""
        name = self._card.name.removeprefix("plot_")
        title = tr("Export {what}", what=self._card.title)
        path = choose_file(self._card.plot, title, name, kind, self.failed.emit)
        if path is not None:
            self._export(path)

    def export(self, path: Path) -> None:
        """Write the plot as .png or .svg, or all of its points as .csv."""
        if export_figure(path, self._write_picture, self._write_numbers, self.failed.emit):
            self.exported.emit()

    def _write_picture(self, path: Path) -> None:
        card = self._card
        title = " · ".join(filter(None, (card.title, self._subject())))
        legend = [entry for layer in card.layers for entry in layer.legend()]
        # A small plot has no space for axis names, but its exported picture has.
        with card.axes_named(), large_enough(card.plot):
            card.plot.lay_out_now()
            caption = FigureHeading(title=title, legend=legend, theme=card.theme)
            write_picture(card.plot, path, caption)

    def _write_numbers(self, path: Path) -> None:
        """Write every point of every curve.

        A series longer than its capacity holds means; only the run's own tables hold every row.
        """
        rows = (
            (label, int(step), float(value))
            for layer in self._card.layers
            for label, steps, values in layer.points()
            for step, value in zip(steps, values, strict=True)
        )
        write_csv(path, ("curve", "env_steps", "value"), rows)
