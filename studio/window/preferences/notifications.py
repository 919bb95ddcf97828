"""Notifications about the end of runs, groups and sweeps, and their texts."""

from functools import partial
from typing import TYPE_CHECKING

from studio.experiments.group_session import GroupSession
from studio.formatting import format_return
from studio.session.controller import RunController, SessionState
from studio.session.model import RunModel
from studio.window.preferences.notifier import Notifier
from td3core.protocol.events import Ended, Failed, Interrupted
from td3core.protocol.run_status import RunStatus
from td3core.text import NO_TEXT, Text

if TYPE_CHECKING:
    # Not imported at run time, so that it does not delay the start.
    from studio.experiments.sweep_panel import SweepPanel

_RUN, _GROUP, _SWEEP = "run", "group", "sweep"


def notify_of_runs(notifier: Notifier, controller: RunController, model: RunModel) -> None:
    """Notify of the end of a run."""

    def on_state(state: SessionState) -> None:
        if state is SessionState.STARTING:
            notifier.begin(_RUN)

    def on_ended(event: Ended | Failed | Interrupted) -> None:
        run = model.record.title
        text: Text | str
        match event:
            case Failed() if model.record.outcome is not event:
                # A run that never started has no record: the model's is of the previous run.
                title, text = Text("The run was not started"), event.message
            case Failed():
                title, text = Text("{run} failed", run=run), event.message
            case Interrupted():
                title = Text("{run} was interrupted", run=run)
                text = Text("Resume continues it.")
            case Ended():
                title = Text("{run} was stopped", run=run)
                if event.state is RunStatus.FINISHED:
                    title = Text("{run} has finished", run=run)
                best = format_return(event.best_eval_return)
                text = Text("Best return {mean}", mean=best) if best else NO_TEXT
        notifier.end(_RUN, title, text)

    controller.state_changed.connect(on_state)
    model.run_ended.connect(on_ended)


def notify_of_groups(notifier: Notifier, groups: GroupSession) -> None:
    """Notify of the end of a group."""

    def on_group(busy: bool) -> None:
        if busy:
            notifier.begin(_GROUP)
            return
        group = groups.group
        title = Text("Group {group}", group=group.name) if group else Text("Group")
        notifier.end(_GROUP, title, Text("All its runs are over."))

    groups.busy_changed.connect(on_group)


def notify_of_sweeps(notifier: Notifier, panel: "SweepPanel") -> None:
    """Notify of the end of a sweep."""

    def on_ended(name: str) -> None:
        # Named by the signal: the panel may show another sweep.
        title = Text("Sweep {sweep}", sweep=name)
        notifier.end(_SWEEP, title, Text("It has ended."))

    panel.started.connect(partial(notifier.begin, _SWEEP))
    panel.ended.connect(on_ended)
