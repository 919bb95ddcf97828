"""Connects the panels of sweeps and instruments, made on first opening, with the window."""

from functools import partial
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal, Slot

from studio.window.parts import WindowParts

if TYPE_CHECKING:
    # Not imported at run time, so that they do not delay the start.
    from studio.experiments.sweep_panel import SweepPanel
    from studio.experiments.sweep_reader import TrialSettings
    from studio.instruments.instruments_panel import InstrumentPanel


class LatePanels(QObject):
    """Connects each of these panels once it is made; controls the sweep that trains here."""

    sweep_started = Signal()
    sweep_ended = Signal()

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.window)
        self._parts = parts
        parts.panels.when_made("sweeps", self._connect_sweeps)
        parts.panels.when_made("instruments", self._connect_instruments)
        parts.many.sweep_found.connect(self._show_sweep)

    @property
    def sweeps(self) -> "SweepPanel":
        """The sweep panel; made now if it was never opened."""
        return cast("SweepPanel", self._parts.panels.named("sweeps"))

    @property
    def sweep_trains(self) -> bool:
        """Whether a sweep started here is training."""
        return self._parts.panels.if_made("sweeps") is not None and self.sweeps.busy

    def stop_sweep(self) -> None:
        """Ask the runs of the sweep that trains here to save and end."""
        if self.sweep_trains:
            self.sweeps.stop()

    def end_sweep(self) -> None:
        """End the process of the sweep that trains here; its runs then save themselves."""
        if self.sweep_trains:
            self.sweeps.shutdown()

    @Slot(str)
    def _show_sweep(self, name: str) -> None:
        self._parts.docks.open("sweeps")
        self.sweeps.show_running(name)

    def _connect_sweeps(self, panel: "SweepPanel") -> None:
        parts = self._parts
        for succeeded in (panel.exported, panel.started):
            succeeded.connect(parts.banner.clear_error)
        panel.settings_chosen.connect(self._use_settings)
        panel.started.connect(partial(parts.status.show_sweep, True))
        panel.started.connect(self.sweep_started)
        panel.ended.connect(lambda _: parts.status.show_sweep(False))
        panel.ended.connect(self.sweep_ended)
        panel.report_wanted.connect(self._report_sweep)

    def _connect_instruments(self, panel: "InstrumentPanel") -> None:
        panel.use_player(self._parts.replay.player)

    @Slot(object)
    def _use_settings(self, found: "TrialSettings") -> None:
        self._parts.setup.show_run(found.config, found.name)
        self._parts.live.prepare(found.tunables)

    @Slot(str)
    def _report_sweep(self, name: str) -> None:
        self._parts.tasks.report_sweep(name, self._parts.runs_dir)
