"""Connects the panels that are made when they are first opened with the rest of the window."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from studio.live.live_panel import LivePanel
from studio.session.history import RunHistory
from studio.setup.setup_panel import SetupPanel
from studio.widgets.messages import Banner
from studio.window.status_bar import StatusBar

if TYPE_CHECKING:
    # The window starts without them.
    from studio.experiments.sweep_panel import SweepPanel
    from studio.experiments.sweep_reader import TrialSettings


def connect_sweeps(
    panel: "SweepPanel",
    *,
    setup: SetupPanel,
    live: LivePanel,
    banner: Banner,
    status: StatusBar,
    open_run: Callable[[RunHistory], None],
    report: Callable[[str], None],
) -> None:
    """Connect the panel of the sweeps.

    Args:
        panel: the panel.
        setup: takes the settings of a trial, as ``live`` does.
        live: the sliders.
        banner: says what went wrong before.
        status: shows that a sweep trains.
        open_run: shows a run that was read.
        report: writes a report about the sweep of this name.
    """

    def use_settings(found: "TrialSettings") -> None:
        setup.show_run(found.config, found.name)
        live.show_tunables(found.tunables)

    for succeeded in (panel.exported, panel.started):
        succeeded.connect(banner.clear_error)
    panel.settings_chosen.connect(use_settings)
    panel.started.connect(partial(status.show_sweep, True))
    panel.ended.connect(partial(status.show_sweep, False))
    panel.opened.connect(open_run)
    panel.report_wanted.connect(report)
