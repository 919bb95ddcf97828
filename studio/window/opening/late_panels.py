"""Connects the panels made on first opening with the rest of the window."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Signal, Slot

from studio.experiments.many_runs import ManyRuns
from studio.live.live_panel import LivePanel
from studio.replay.player import Player
from studio.session.history import RunHistory
from studio.setup.setup_panel import SetupPanel
from studio.share.menu import ShareTasks
from studio.widgets.messages import Banner
from studio.window.docks import Docks
from studio.window.group_comparison import GroupComparison
from studio.window.panels import Panels
from studio.window.status_bar import StatusBar

if TYPE_CHECKING:
    # Not imported at run time, so that they do not delay the start.
    from studio.experiments.groups_panel import ManyRunsPanel
    from studio.experiments.sweep_panel import SweepPanel
    from studio.experiments.sweep_reader import TrialSettings
    from studio.instruments.instruments_panel import InstrumentPanel
    from studio.session.group_record import GroupRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class LateParts:
    """The parts of the window used by these panels."""

    panels: Panels
    docks: Docks
    many: ManyRuns
    groups: GroupComparison
    setup: SetupPanel
    """Receives the settings of a trial, as ``live`` does."""
    live: LivePanel
    banner: Banner
    status: StatusBar
    player: Player
    tasks: ShareTasks
    open_run: Callable[[RunHistory], None]
    """Shows a run read from disk."""


class LatePanels(QObject):
    """Connects each of these panels once it is made; controls the sweep that trains here."""

    sweep_started = Signal()
    sweep_ended = Signal()

    def __init__(self, parts: LateParts, runs_dir: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._parts, self._runs_dir = parts, runs_dir
        parts.panels.when_made("many", self._connect_many)
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

    def _connect_many(self, panel: "ManyRunsPanel") -> None:
        parts = self._parts
        panel.run_wanted.connect(parts.many.open_run)
        panel.compare_wanted.connect(parts.groups.show)
        panel.report_wanted.connect(self._report_group)

    def _connect_sweeps(self, panel: "SweepPanel") -> None:
        parts = self._parts
        for succeeded in (panel.exported, panel.started):
            succeeded.connect(parts.banner.clear_error)
        panel.settings_chosen.connect(self._use_settings)
        panel.started.connect(partial(parts.status.show_sweep, True))
        panel.started.connect(self.sweep_started)
        panel.ended.connect(lambda _: parts.status.show_sweep(False))
        panel.ended.connect(self.sweep_ended)
        panel.opened.connect(parts.open_run)
        panel.report_wanted.connect(self._report_sweep)

    def _connect_instruments(self, panel: "InstrumentPanel") -> None:
        panel.use_player(self._parts.player)

    @Slot(object)
    def _use_settings(self, found: "TrialSettings") -> None:
        self._parts.setup.show_run(found.config, found.name)
        self._parts.live.prepare(found.tunables)

    @Slot(object)
    def _report_group(self, record: "GroupRecord") -> None:
        groups = self._parts.groups
        runs = groups.runs_of(record)
        self._parts.tasks.report_runs(runs, groups.name_options(runs))

    @Slot(str)
    def _report_sweep(self, name: str) -> None:
        self._parts.tasks.report_sweep(name, self._runs_dir)
