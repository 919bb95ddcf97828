"""Connects the settings and the notifications with the window."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings

from studio.formatting import format_return
from studio.replay.replay_options import OPENGL_CHOICES
from studio.session.controller import SessionState
from studio.window.preferences.dialog import Page, PreferencesDialog, Selection, Switch
from studio.window.preferences.notifier import Notifier
from td3core.protocol.events import Ended, Failed, Interrupted
from td3core.protocol.run_status import RunStatus
from td3core.text import Text, tr

if TYPE_CHECKING:
    from studio.experiments.sweep_panel import SweepPanel
    from studio.window.main_window import MainWindow

_NOTIFY = "notifications"
ASK_TOO_SHORT = "ask_too_short"
_RUN, _GROUP, _SWEEP = "run", "group", "sweep"


def install_preferences(window: "MainWindow", settings: QSettings, runs_dir: Path) -> Notifier:
    """Let a window show its settings, and notify of the end of long work."""
    notifier = Notifier(window, lambda: bool(settings.value(_NOTIFY, True, bool)))

    def show() -> None:
        dialog = PreferencesDialog(
            (*_switches(window, settings), _opengl(window), _thresholds(window)),
            window.theme.name,
            partial(_choose_theme, window),
            runs_dir,
            window,
        )
        # In front of the window, whose own switches would contradict it.
        dialog.open()

    window.toolbar.action("settings").triggered.connect(show)
    window.closed.connect(notifier.stop)
    _follow_run(window, notifier)
    _follow_others(window, notifier)
    return notifier


def _choose_theme(window: "MainWindow", name: str) -> None:
    if name != window.theme.name:
        window.switch_theme()


def _switches(window: "MainWindow", settings: QSettings) -> tuple[Switch, ...]:
    start, follow = window.replay.options.play_at_start_action, window.replay.controls.follow_check

    def stored(key: str) -> bool:
        return bool(settings.value(key, True, bool))

    def follow_latest(on: bool) -> None:
        window.replay.options.set_follow_latest(on)
        follow.setChecked(on)

    return (
        Switch(
            name="play_at_start",
            group=tr("Replay"),
            text=tr("Play an agent when the window opens"),
            tip=tr("A bundled agent; choosing another one ends it"),
            read=start.isChecked,
            write=start.setChecked,
        ),
        Switch(
            name="follow_latest",
            group=tr("Replay"),
            text=tr("Follow the latest agent of a run"),
            tip=tr("Show each new checkpoint of the current run as soon as it is saved"),
            read=lambda: window.replay.options.follow_latest,
            write=follow_latest,
        ),
        Switch(
            name="notifications",
            group=tr("Messages"),
            text=tr("Notify me when long work ends"),
            tip=tr(
                "Training, films and evaluations of 30 s or more, while another window is in front"
            ),
            read=partial(stored, _NOTIFY),
            write=partial(settings.setValue, _NOTIFY),
        ),
        Switch(
            name="ask_too_short",
            group=tr("Messages"),
            text=tr("Ask before a run that is too short to learn"),
            tip=tr("Questions before runs are stopped, deleted or run new code are always asked"),
            read=partial(stored, ASK_TOO_SHORT),
            write=partial(settings.setValue, ASK_TOO_SHORT),
        ),
    )


def _opengl(window: "MainWindow") -> Selection:
    options = window.replay.options
    return Selection(
        name="opengl",
        group=tr("Replay"),
        text=tr("MuJoCo draws with"),
        tip=tr("Automatic takes the first of them that works"),
        choices=OPENGL_CHOICES,
        fixed=options.opengl_fixed,
        read=lambda: options.opengl,
        write=options.set_opengl,
    )


def _thresholds(window: "MainWindow") -> Page:
    def show() -> None:
        # Imported on first use, so that it does not delay the start.
        from studio.health.thresholds_dialog import ThresholdsDialog

        ThresholdsDialog(window.health.board, window).open()

    return Page(
        name="thresholds",
        group=tr("Health"),
        text=tr("Thresholds…"),
        tip=tr("From where on the quantities of a run are out of order"),
        open=show,
    )


def _follow_run(window: "MainWindow", notifier: Notifier) -> None:
    def on_state(state: SessionState) -> None:
        if state is SessionState.STARTING:
            notifier.begin(_RUN)

    def on_ended(event: Ended | Failed | Interrupted) -> None:
        run = window.model.record.title
        text: Text | str
        match event:
            case Failed(cancelled=True):
                title, text = Text("{run} was not started", run=run), event.message
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
                text = Text("Best return {mean}", mean=best) if best else Text("")
        notifier.end(_RUN, title, text)

    window.controller.state_changed.connect(on_state)
    window.model.run_ended.connect(on_ended)


def _follow_others(window: "MainWindow", notifier: Notifier) -> None:
    def on_group(busy: bool) -> None:
        if busy:
            notifier.begin(_GROUP)
            return
        group = window.many.session.group
        title = Text("Group {group}", group=group.name) if group else Text("Group")
        notifier.end(_GROUP, title, Text("All its runs are over."))

    def follow_sweeps(panel: "SweepPanel") -> None:
        def on_sweep() -> None:
            title = Text("Sweep {sweep}", sweep=panel.name)
            notifier.end(_SWEEP, title, Text("It has ended."))

        panel.started.connect(partial(notifier.begin, _SWEEP))
        panel.ended.connect(on_sweep)

    shared = window.share.tasks
    shared.began.connect(notifier.begin)
    shared.ended.connect(notifier.end)
    window.many.session.busy_changed.connect(on_group)
    window.panels.when_made("sweeps", follow_sweeps)
