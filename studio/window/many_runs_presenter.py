"""Connects groups and the queue with the toolbar, the status bar, the messages and their panel."""

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from studio.window.parts import WindowParts

if TYPE_CHECKING:
    # Not imported at run time, so that it does not delay the start.
    from studio.experiments.groups_panel import ManyRunsPanel
    from studio.session.group_record import GroupRecord


class ManyRunsPresenter(QObject):
    """Passes the signals of the many runs on to each part."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.window)
        self._parts = parts
        many, launcher = parts.many, parts.launcher
        many.branch_wanted.connect(launcher.branch_as)
        launcher.branch_refused.connect(many.skip)
        launcher.queue_wanted.connect(many.queue_branch)
        # Not as an error, which the next checkpoint saved would clear.
        for tell in (parts.banner.show_message, parts.log.add):
            many.skipped.connect(partial(tell, "warning"))
            many.went_on.connect(partial(tell, "info"))
        many.withdrawn.connect(parts.banner.withdraw)
        many.panel_wanted.connect(partial(parts.docks.open, "many"))
        many.session.message_added.connect(parts.log.add)
        many.session.ended.connect(parts.runs.refresh_soon)
        many.group_changed.connect(self._show_group)
        parts.panels.when_made("many", self._connect_panel)

    @Slot()
    def _show_group(self) -> None:
        many = self._parts.many
        state = many.group_state if many.steers_group else None
        name = many.group.group.name if many.group is not None else ""
        self._parts.toolbar.show_group(training=many.session.busy, state=state, name=name)
        self._parts.status.show_group(state, many.group)

    def _connect_panel(self, panel: "ManyRunsPanel") -> None:
        panel.compare_wanted.connect(self._parts.groups.show)
        panel.report_wanted.connect(self._report)

    @Slot(object)
    def _report(self, record: "GroupRecord") -> None:
        runs = self._parts.groups.runs_of(record)
        options = self._parts.comparison.session.name_options(runs)
        self._parts.tasks.report_runs(runs, options)
