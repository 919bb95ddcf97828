"""Connects the panels that are made when they are first opened with the rest of the window."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from studio.session.history import RunHistory

if TYPE_CHECKING:
    from studio.experiments.groups_panel import ManyRunsPanel
    from studio.experiments.sweep_panel import SweepPanel
    from studio.experiments.sweep_reader import TrialSettings
    from studio.instruments.instruments_panel import InstrumentPanel
    from studio.window.main_window import MainWindow


def connect_late_panels(
    window: "MainWindow",
    open_run: Callable[[RunHistory], None],
    close_if_asked: Callable[[], None],
) -> None:
    """Connect each of these panels as soon as it is made.

    Args:
        window: the window they belong to.
        open_run: shows a run that was read.
        close_if_asked: called when a sweep has ended.
    """

    def use_settings(found: "TrialSettings") -> None:
        window.setup.show_run(found.config, found.name)
        window.live.show_tunables(found.tunables)

    def many(panel: "ManyRunsPanel") -> None:
        panel.run_wanted.connect(window.many.open_run)
        panel.compare_wanted.connect(window.group_comparison.show)
        panel.report_wanted.connect(
            lambda record: window.share.tasks.report_runs(window.group_comparison.runs_of(record))
        )

    def sweeps(panel: "SweepPanel") -> None:
        for succeeded in (panel.exported, panel.started):
            succeeded.connect(window.banner.clear_error)
        panel.settings_chosen.connect(use_settings)
        panel.ended.connect(close_if_asked)
        panel.started.connect(partial(window.status.show_sweep, True))
        panel.ended.connect(partial(window.status.show_sweep, False))
        panel.opened.connect(open_run)
        panel.report_wanted.connect(
            lambda name: window.share.tasks.report_sweep(name, window.runs_dir)
        )

    def instruments(panel: "InstrumentPanel") -> None:
        panel.use_player(window.replay.player)

    def show_sweep(name: str) -> None:
        window.docks.open("sweeps")
        window.sweeps.show_running(name)

    window.panels.when_made("many", many)
    window.panels.when_made("sweeps", sweeps)
    window.panels.when_made("instruments", instruments)
    window.many.sweep_found.connect(show_sweep)
