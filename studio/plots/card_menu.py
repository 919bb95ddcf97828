"""The context menu of a plot: other quantities, the scale, limits, a checkpoint, export."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QObject, QPoint, Qt, Signal, Slot
from PySide6.QtWidgets import QMenu

from studio.formatting import format_count
from studio.plots.canvas import PlotCanvas
from studio.plots.header import PlotHeader
from studio.plots.layers.layer import Layer
from studio.plots.limits_dialog import LimitsDialog
from studio.plots.view_range import NO_LIMITS, Limits
from studio.plots.x_axis import StepToX
from studio.widgets.controls import enable
from td3core.text import NO_TEXT, Text, tr

NearestCheckpoint = Callable[[float], tuple[int, Path] | None]
"""Returns step and file of the saved agent nearest to a step, if there is one."""


class PlotToChange(Protocol):
    """The part of a plot that the menu needs."""

    name: str
    title: str
    plot: PlotCanvas
    layers: tuple[Layer, ...]
    step_map: StepToX
    limits: Limits
    logarithmic: bool

    @property
    def has_positive(self) -> bool:
        """True if a logarithmic axis would show anything."""

    def set_limits(self, limits: Limits) -> None:
        """Fix the ends of the y axis."""


class CardMenu(QObject):
    """Shows the menu where the user asks for it."""

    quantities_changed = Signal()
    """The user has added or removed a quantity."""
    inspect_requested = Signal(Path)
    """The user wants to inspect the checkpoint at a point."""

    def __init__(self, card: PlotToChange, header: PlotHeader) -> None:
        super().__init__(card.plot)
        self._card, self._header = card, header
        self._nearest_checkpoint: NearestCheckpoint = lambda _: None
        card.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        card.plot.customContextMenuRequested.connect(self._show)

    def offer_checkpoints(self, nearest: NearestCheckpoint) -> None:
        """Add an entry that inspects the saved agent returned by ``nearest`` for a step."""
        self._nearest_checkpoint = nearest

    @Slot(QPoint)
    def _show(self, at: QPoint) -> None:
        """Offer other quantities, the scale, and the export button's entries."""
        card = self._card
        menu = QMenu(card.plot)
        menu.setObjectName(f"{card.name}_menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for layer in card.layers:
            self._offer_quantities(menu, layer)
        scale = menu.addAction(tr("Logarithmic scale"))
        scale.setCheckable(True)
        scale.setChecked(card.logarithmic)
        possible = card.logarithmic or card.has_positive
        enable(scale, NO_TEXT if possible else Text("no value shown is positive"))
        scale.toggled.connect(self._header.set_logarithmic)
        limits = menu.addAction(tr("Limits of the y axis…"))
        limits.setCheckable(True)
        limits.setChecked(card.limits != NO_LIMITS)
        limits.triggered.connect(self._ask_limits)
        self._offer_checkpoint(menu, at)
        menu.addSeparator()
        menu.addActions(self._header.export_menu.actions())
        menu.popup(card.plot.mapToGlobal(at))

    def _offer_quantities(self, menu: QMenu, layer: Layer) -> None:
        """Offer every quantity that a layer does not show by default; added ones are checked."""
        curves = list(layer.addable())
        if not curves:
            return
        quantities = menu.addMenu(tr("Also show"))
        for curve in curves:
            action = quantities.addAction(str(curve.label))
            action.setCheckable(True)
            action.setChecked(curve.column in layer.added_columns)
            action.toggled.connect(partial(self._switch, layer, curve.column))

    def _switch(self, layer: Layer, column: str, on: bool) -> None:
        if on:
            layer.add([column])
        else:
            layer.remove(column)
        self.quantities_changed.emit()

    @Slot()
    def _ask_limits(self) -> None:
        card = self._card
        dialog = LimitsDialog(
            card.name,
            card.title,
            card.limits,
            card.set_limits,
            card.plot,
            logarithmic=card.logarithmic,
        )
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def _offer_checkpoint(self, menu: QMenu, at: QPoint) -> None:
        """Offer to inspect the saved agent nearest to a point of the plot, if there is one."""
        plot = self._card.plot
        place = plot.getViewBox().mapSceneToView(plot.mapToScene(at)).x()
        found = self._nearest_checkpoint(self._card.step_map.step_at(place))
        if found is None:
            return
        step, path = found
        text = tr("Inspect the checkpoint at step {step}…", step=format_count(step))
        action = menu.addAction(text, lambda: self.inspect_requested.emit(path))
        action.setObjectName(f"{self._card.name}_inspect_action")
