"""Connects the health of a run with the window: badge, panel, and trial of a change."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings, Slot
from PySide6.QtWidgets import QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.many_runs import ManyRuns
from studio.experiments.queue_file import QueuedRun
from studio.experiments.trial_file import KeptTrial
from studio.experiments.trial_session import TrialSession, TrialStage
from studio.health.advice_card import in_words
from studio.health.board import AdviceBoard
from studio.live.live_panel import LivePanel
from studio.plots.compare.session import CompareSession
from studio.run_browser.browser import RunBrowser
from studio.session.controller import RunController
from studio.session.model import RunModel
from studio.session.record import RunRecord
from studio.tasks.background_task import BackgroundTask
from studio.widgets.messages import Banner, Log
from studio.window.docks import Docks
from studio.window.panels import Panels
from studio.window.preferences.dialog import PreferencesPage
from studio.window.status_bar import StatusBar
from td3core.checkpoint import Header, read_header
from td3core.config import Tunables, specs, with_values
from td3core.errors import RequestError
from td3core.experiments.trials import plan_trial
from td3core.protocol.events import Saved
from td3core.runs.branching import branch_settings
from td3core.runs.directory import RunDirectory, note_module_folder
from td3core.runs.layout import run_of
from td3core.text import Text, tr

if TYPE_CHECKING:
    from studio.health.health_panel import HealthPanel
    from td3core.analysis.advice import Advice, SettingChange
    from td3core.experiments.trials import Trial

_STAGES = {
    TrialStage.WAITING: Text("Waiting for a free core."),
    TrialStage.WITH_CHANGE: Text("Training the runs with the change."),
    TrialStage.WITHOUT: Text("Training the runs without the change."),
    TrialStage.JUDGING: Text("Comparing."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthParts:
    """The parts of the window used here."""

    model: RunModel
    controller: RunController
    many: ManyRuns
    consent: CodeConsent
    comparing: CompareSession
    panels: Panels
    docks: Docks
    status: StatusBar
    banner: Banner
    log: Log
    runs: RunBrowser
    live: LivePanel
    widget: QWidget
    """The window itself, the parent of dialogs."""


class HealthAdvice(QObject):
    """The advice on the current run, and the trial of a change."""

    def __init__(self, window: HealthParts, runs_dir: Path, settings: QSettings) -> None:
        super().__init__(window.widget)
        self._window = window
        self.board = AdviceBoard(window.model, settings, self)
        self.trials = TrialSession(runs_dir, self._cores_in_use, self)
        self._reader = BackgroundTask("read-newest-agent", self)
        self._reader.failed.connect(self._refuse)
        self._awaited: tuple[Advice, RunRecord] | None = None
        """Advice to try, and its run's record, until a checkpoint of that run has been saved."""
        self.board.changed.connect(self._show_badge)
        window.model.run_opened.connect(self._show_badge)
        window.model.run_started.connect(self._show_badge)
        window.model.checkpoint_saved.connect(self._on_saved)
        window.model.run_ended.connect(self._on_run_ended)
        window.status.health_wanted.connect(partial(window.docks.open, "health"))
        for changed in (
            *(window.controller.state_changed, window.many.session.busy_changed),
            window.model.run_ended,
        ):
            changed.connect(self.trials.begin_if_free)
        self.trials.refused.connect(self._refuse)
        self.trials.groups.message_added.connect(window.log.add)
        self.trials.changed.connect(self._show_trial)
        self.trials.judged.connect(self._on_judged)
        self.trials.judged.connect(window.runs.refresh_soon)
        self.trials.found.connect(self._on_found)
        self.trials.busy_changed.connect(self._update_obstacle)
        window.panels.when_made("health", self._connect_panel)

    def shutdown(self) -> None:
        """Stop reading."""
        self._reader.cancel()
        self.trials.stop()
        self.trials.shutdown()

    def _cores_in_use(self) -> int:
        controller, group = self._window.controller, self._window.many.session
        config = self._window.model.record.config
        cores = 0
        if controller.busy or controller.following:
            cores += config.torch_threads if config is not None else 1
        if group.busy:
            record = group.current
            cores += sum(s.state.is_running for s in record.statuses.values()) if record else 1
        return cores

    def _connect_panel(self, panel: "HealthPanel") -> None:
        panel.use_board(self.board)
        panel.try_wanted.connect(self.ask)
        panel.trial.stop_wanted.connect(self.trials.stop)
        panel.trial.accepted.connect(self.accept)
        panel.trial.continued.connect(self.proceed)
        panel.trial.closed.connect(self.trials.close)
        self._show_trial()
        self._update_obstacle()

    @property
    def _panel(self) -> "HealthPanel | None":
        panel: QWidget | None = self._window.panels.if_made("health")
        return panel  # type: ignore[return-value]

    @Slot()
    def _show_badge(self) -> None:
        if not self._window.panels.has("health"):
            return
        self._window.status.show_advice([str(rule.title) for rule in self.board.broken])

    # Trying -------------------------------------------------------------------------------------

    @Slot(object)
    def ask(self, advice: "Advice") -> None:
        """Try the change suggested in ``advice``; a training run is saved first."""
        record = self._window.model.record
        if advice.change is None or record.run is None:
            return
        self._awaited = None
        if self._window.model.in_progress:
            # ``last`` is overwritten during training, and other checkpoints may be deleted.
            self._awaited = advice, record
            self._window.controller.save()
            return
        self._read(advice, record, partial(_newest, record.run))

    @Slot(object)
    def _on_saved(self, event: Saved) -> None:
        awaited = self._take_awaited()
        if awaited is not None:
            self._read(*awaited, lambda _: event.path)

    @Slot()
    def _on_run_ended(self) -> None:
        awaited = self._take_awaited()
        if awaited is not None:
            self.ask(awaited[0])

    def _take_awaited(self) -> "tuple[Advice, RunRecord] | None":
        """Return the advice that waits for its run; none if another run is shown by now."""
        awaited, self._awaited = self._awaited, None
        same = awaited is not None and awaited[1].run == self._window.model.record.run
        return awaited if same else None

    def _read(self, advice: "Advice", record: RunRecord, find: Callable[[object], Path]) -> None:
        def read(stopped: object) -> tuple[Path, Header]:
            path = find(stopped)
            note_module_folder(path)
            return path, read_header(path)

        self._reader.read(read, partial(self._ask, advice, record))

    def _ask(self, advice: "Advice", record: RunRecord, found: tuple[Path, Header]) -> None:
        # Imported on first use, so that it does not delay the start.
        from studio.health.trial_dialog import TrialDialog

        path, header = found
        change = advice.change
        assert change is not None

        def seconds(steps: int, pairs: int) -> float | None:
            speed = _speed(record)
            jobs = max(min(self.trials.free_cores, pairs), 1)
            return None if speed is None else 2 * -(-pairs // jobs) * steps / speed

        dialog = TrialDialog(
            change,
            header.counters.env_steps,
            header.config.steps,
            seconds,
            self._window.widget,
            waits=self.trials.free_cores < 1,
        )

        def begin() -> None:
            try:
                trial = plan_trial(
                    path,
                    header,
                    {change.setting: change.new},
                    steps=dialog.steps.entered(),
                    pairs=dialog.pairs.entered(),
                )
            except RequestError as problem:
                self._refuse(problem.message)
                return
            # With the title of the advice's run: another run may be shown by now.
            start = partial(self._begin, change, record.title, trial)
            self._window.consent.obtain(header.config.choice, start, lambda _: None)

        dialog.accepted.connect(begin)
        dialog.open()

    def _begin(self, change: "SettingChange", title: str, trial: "Trial") -> None:
        series = f"{in_words(change)} · {title}"
        run = run_of(trial.checkpoint)
        assert run is not None
        self.trials.start(KeptTrial(trial=trial, run=run, series=series))

    @Slot()
    def _on_judged(self) -> None:
        kept = self.trials.kept
        assert kept is not None
        paths = [path for runs in self.trials.runs for path in runs.values()]
        self._window.comparing.compare(paths, kept.series, series=True)
        self._tell(kept)

    @Slot()
    def _on_found(self) -> None:
        """Show a trial left by an earlier window, and its outcome."""
        if self.trials.kept is not None:
            self._tell(self.trials.kept)

    def _tell(self, kept: KeptTrial) -> None:
        self._window.docks.open("health")
        line = Text("Tried {change}. {told}", change=in_words(kept.change), told=self._told(kept))
        self._window.log.add("info", line)

    def _told(self, kept: KeptTrial) -> Text:
        """Return the outcome of a finished trial in words."""
        trials = self.trials
        if trials.verdict is not None:
            return trials.verdict.in_words(kept.trial.steps)
        return Text(
            "Ended without a verdict; {done} of {count} runs finished. Continue trains the others"
            " from where they were saved.",
            done=trials.finished,
            count=2 * len(kept.trial.seeds),
        )

    @Slot()
    def _show_trial(self) -> None:
        panel, kept, stage = self._panel, self.trials.kept, self.trials.stage
        if panel is None:
            return
        if kept is None:
            panel.trial.hide()
            return
        change = in_words(kept.change)
        if stage is TrialStage.DONE:
            panel.trial.show_verdict(change, self._told(kept), self._accepting(kept))
        elif stage is TrialStage.ENDED:
            panel.trial.show_ended(change, self._told(kept))
        elif stage in _STAGES:
            panel.trial.show_progress(change, _STAGES[stage], self.trials.share)

    @Slot()
    def proceed(self) -> None:
        """Continue the trial that ended without a verdict."""
        kept = self.trials.kept
        if kept is not None:
            choice = kept.trial.without.config.choice
            self._window.consent.obtain(choice, self.trials.proceed, lambda _: None)

    @Slot()
    def _update_obstacle(self) -> None:
        panel = self._panel
        if panel is not None:
            panel.set_obstacle(tr("another change is being tried") if self.trials.busy else "")

    # Accepting ----------------------------------------------------------------------------------

    def _is_live(self, tried: KeptTrial) -> bool:
        """Return whether the change can be made in the run itself."""
        controller, record = self._window.controller, self._window.model.record
        trains = (controller.busy or controller.following) and self._window.model.in_progress
        return trains and record.run == tried.run and tried.change.setting in dict(specs(Tunables))

    def _accepting(self, tried: KeptTrial) -> str:
        if self._is_live(tried):
            return tr("Apply this change to the running training")
        return tr("Train a branch of the run with this change")

    @Slot()
    def accept(self) -> None:
        """Make the tried change: in the run if it is training, else in a branch of it."""
        tried = self.trials.kept
        if tried is None:
            return
        change, live = tried.change, self._window.live
        if self._is_live(tried):
            try:
                wanted = with_values(live.tunables(), {change.setting: change.new})
            except RequestError as problem:
                # The verdict stays, and can be accepted once the invalid field is corrected.
                self._refuse(problem.message)
                return
            self.trials.close()
            live.apply(wanted)
            return

        def read(stopped: object) -> tuple[Path, Header]:
            path = _newest(tried.run, stopped)
            note_module_folder(path)
            return path, read_header(path)

        self._reader.read(read, partial(self._branch, change))

    def _branch(self, change: "SettingChange", found: tuple[Path, Header]) -> None:
        path, header = found
        reached, total = header.counters.env_steps, header.config.steps
        steps = total if total > reached else 2 * reached
        values = {change.setting: change.new, "steps": steps}
        try:
            config, tunables = branch_settings(path, header, values)
        except RequestError as problem:
            self._refuse(problem.message)
            return
        self.trials.close()
        run = QueuedRun(config=config, tunables=tunables, checkpoint=path)
        many = self._window.many
        many.add(run) if many.busy else many.start(run)

    def _refuse(self, problem: Text | str) -> None:
        self._window.banner.show_message("error", problem)


def thresholds_page(board: AdviceBoard, window: QWidget) -> PreferencesPage:
    """Return the settings of the rules, for the dialog of the window's settings."""

    def show() -> None:
        # Imported on first use, so that it does not delay the start.
        from studio.health.thresholds_dialog import ThresholdsDialog

        ThresholdsDialog(board, window).open()

    return PreferencesPage(
        name="thresholds",
        group=tr("Health"),
        text=tr("Thresholds…"),
        tip=tr("Limits beyond which a quantity counts as unhealthy"),
        open=show,
    )


def _speed(record: RunRecord) -> float | None:
    """Return the steps per second of a run; None if unknown."""
    now = record.progress
    if now is None or not now.env_steps:
        return None
    if now.steps_per_s > 0.0:
        return now.steps_per_s
    return now.env_steps / now.wall_s if now.wall_s > 0.0 else None


def _newest(run: Path, _: object) -> Path:
    """Return the newest checkpoint of a run that is not training.

    Raises:
        RequestError: the run has no checkpoint.
    """
    found = RunDirectory.open(run)
    saved = found.saved()
    if found.last in saved:
        return found.last
    if not saved:
        raise RequestError("{run} has no checkpoint to branch off.", run=run.name)
    return saved[-1]
