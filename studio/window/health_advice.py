"""Connects the health of a run with the window: badge, panel, and paired test of a change."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from studio.experiments.paired_test_file import KeptTest
from studio.experiments.paired_test_session import PairedTestSession, PairedTestStage
from studio.experiments.queue_file import QueuedRun
from studio.health.advice_card import in_words
from studio.health.board import AdviceBoard
from studio.session.record import RunRecord
from studio.tasks.background_task import BackgroundTask
from studio.window.parts import WindowParts
from studio.window.preferences.dialog import PreferencesPage
from td3core.checkpoint import Header
from td3core.config import Tunables, specs, with_values
from td3core.errors import RequestError
from td3core.experiments.paired_tests import plan_paired_test
from td3core.protocol.events import Saved
from td3core.runs.branching import branch_settings
from td3core.runs.directory import RunDirectory, header_of
from td3core.runs.layout import run_of
from td3core.text import Text, tr

if TYPE_CHECKING:
    from studio.health.health_panel import HealthPanel
    from td3core.analysis.advice import Advice, SettingChange
    from td3core.experiments.paired_tests import PairedTest

_STAGES = {
    PairedTestStage.WAITING: Text("Waiting for a free core."),
    PairedTestStage.WITH_CHANGE: Text("Training the runs with the change."),
    PairedTestStage.WITHOUT: Text("Training the runs without the change."),
    PairedTestStage.JUDGING: Text("Comparing."),
}


class HealthAdvice(QObject):
    """The advice on the current run, and the paired test of a change."""

    def __init__(self, parts: WindowParts) -> None:
        super().__init__(parts.window)
        self._parts = parts
        self.board = AdviceBoard(parts.model, parts.settings, self)
        self.paired_tests = PairedTestSession(parts.runs_dir, self._cores_in_use, self)
        self._reader = BackgroundTask("read-newest-agent", self)
        self._reader.failed.connect(self._refuse)
        self._awaited: tuple[Advice, RunRecord] | None = None
        """Advice to try, and its run's record, until a checkpoint of that run has been saved."""
        self.board.changed.connect(self._show_badge)
        parts.model.run_opened.connect(self._show_badge)
        parts.model.run_started.connect(self._show_badge)
        parts.model.checkpoint_saved.connect(self._on_saved)
        parts.model.run_ended.connect(self._on_run_ended)
        parts.status.health_wanted.connect(partial(parts.docks.open, "health"))
        for changed in (
            parts.controller.state_changed,
            parts.many.session.busy_changed,
            parts.model.run_ended,
        ):
            changed.connect(self.paired_tests.begin_if_free)
        self.paired_tests.refused.connect(self._refuse)
        self.paired_tests.groups.message_added.connect(parts.log.add)
        self.paired_tests.changed.connect(self._show_paired_test)
        self.paired_tests.judged.connect(self._on_judged)
        self.paired_tests.judged.connect(parts.runs.refresh_soon)
        self.paired_tests.found.connect(self._on_found)
        self.paired_tests.busy_changed.connect(self._update_obstacle)
        parts.panels.when_made("health", self._connect_panel)

    def shutdown(self) -> None:
        """Stop reading."""
        self._reader.cancel()
        self.paired_tests.stop()
        self.paired_tests.shutdown()

    def _cores_in_use(self) -> int:
        controller, group = self._parts.controller, self._parts.many.session
        config = self._parts.model.record.config
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
        panel.paired_test.stop_wanted.connect(self.paired_tests.stop)
        panel.paired_test.accepted.connect(self.accept)
        panel.paired_test.continued.connect(self.proceed)
        panel.paired_test.closed.connect(self.paired_tests.close)
        self._show_paired_test()
        self._update_obstacle()

    @property
    def _panel(self) -> "HealthPanel | None":
        panel: QWidget | None = self._parts.panels.if_made("health")
        return panel  # type: ignore[return-value]

    @Slot()
    def _show_badge(self) -> None:
        if not self._parts.panels.has("health"):
            return
        self._parts.status.show_advice([str(rule.title) for rule in self.board.broken])

    # Trying -------------------------------------------------------------------------------------

    @Slot(object)
    def ask(self, advice: "Advice") -> None:
        """Try the change suggested in ``advice``; a training run is saved first."""
        record = self._parts.model.record
        if advice.change is None or record.run is None:
            return
        self._awaited = None
        if self._parts.model.in_progress:
            # ``last`` is overwritten during training, and other checkpoints may be deleted.
            self._awaited = advice, record
            self._parts.controller.save()
            return
        self._read(partial(_newest, record.run), partial(self._ask, advice, record))

    @Slot(object)
    def _on_saved(self, event: Saved) -> None:
        awaited = self._take_awaited()
        if awaited is not None:
            self._read(lambda _: event.path, partial(self._ask, *awaited))

    @Slot()
    def _on_run_ended(self) -> None:
        awaited = self._take_awaited()
        if awaited is not None:
            self.ask(awaited[0])

    def _take_awaited(self) -> "tuple[Advice, RunRecord] | None":
        """Return the advice that waits for its run; none if another run is shown by now."""
        awaited, self._awaited = self._awaited, None
        same = awaited is not None and awaited[1].run == self._parts.model.record.run
        return awaited if same else None

    def _read(
        self, find: Callable[[object], Path], then: Callable[[tuple[Path, Header]], None]
    ) -> None:
        def read(stopped: object) -> tuple[Path, Header]:
            path = find(stopped)
            return path, header_of(path)

        self._reader.read(read, then)

    def _ask(self, advice: "Advice", record: RunRecord, found: tuple[Path, Header]) -> None:
        # Imported on first use, so that it does not delay the start.
        from studio.health.paired_test_dialog import PairedTestDialog

        path, header = found
        change = advice.change
        assert change is not None

        dialog = PairedTestDialog(
            change,
            header.counters.env_steps,
            header.config.steps,
            self._parts.window,
            steps_per_s=speed_of(record),
            free_cores=self.paired_tests.free_cores,
        )

        def begin() -> None:
            try:
                test = plan_paired_test(
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
            start = partial(self._begin, change, record.title, test)
            self._parts.consent.obtain(header.config.choice, start, lambda _: None)

        dialog.accepted.connect(begin)
        dialog.open()

    def _begin(self, change: "SettingChange", title: str, test: "PairedTest") -> None:
        series = f"{in_words(change)} · {title}"
        run = run_of(test.checkpoint)
        assert run is not None
        self.paired_tests.start(KeptTest(test=test, run=run, series=series))

    @Slot()
    def _on_judged(self) -> None:
        kept = self.paired_tests.kept
        assert kept is not None
        paths = [path for runs in self.paired_tests.runs for path in runs.values()]
        self._parts.comparison.session.compare(paths, kept.series, series=True)
        self._tell(kept)

    @Slot()
    def _on_found(self) -> None:
        """Show a paired test left by an earlier window, and its outcome."""
        if self.paired_tests.kept is not None:
            self._tell(self.paired_tests.kept)

    def _tell(self, kept: KeptTest) -> None:
        self._parts.docks.open("health")
        line = Text("Tried {change}. {told}", change=in_words(kept.change), told=self._told(kept))
        self._parts.log.add("info", line)

    def _told(self, kept: KeptTest) -> Text:
        """Return the outcome of a finished paired test in words."""
        paired_tests = self.paired_tests
        if paired_tests.verdict is not None:
            return paired_tests.verdict.in_words(kept.test.steps)
        return Text.counted(
            "Ended without a verdict; {done} of {n} run finished. Continue trains the others"
            " from where they were saved.",
            "Ended without a verdict; {done} of {n} runs finished. Continue trains the others"
            " from where they were saved.",
            n=2 * len(kept.test.seeds),
            done=paired_tests.finished,
        )

    @Slot()
    def _show_paired_test(self) -> None:
        panel, kept, stage = self._panel, self.paired_tests.kept, self.paired_tests.stage
        if panel is None:
            return
        if kept is None:
            panel.paired_test.hide()
            return
        change = in_words(kept.change)
        if stage is PairedTestStage.DONE:
            panel.paired_test.show_verdict(change, self._told(kept), self._accepting(kept))
        elif stage is PairedTestStage.ENDED:
            panel.paired_test.show_ended(change, self._told(kept))
        elif stage in _STAGES:
            panel.paired_test.show_progress(change, _STAGES[stage], self.paired_tests.share)

    @Slot()
    def proceed(self) -> None:
        """Continue the paired test that ended without a verdict."""
        kept = self.paired_tests.kept
        if kept is not None:
            choice = kept.test.without.config.choice
            self._parts.consent.obtain(choice, self.paired_tests.proceed, lambda _: None)

    @Slot()
    def _update_obstacle(self) -> None:
        panel = self._panel
        if panel is not None:
            panel.set_obstacle(
                tr("another change is being tried") if self.paired_tests.busy else ""
            )

    # Accepting ----------------------------------------------------------------------------------

    def _is_live(self, tried: KeptTest) -> bool:
        """Return whether the change can be made in the run itself."""
        controller, record = self._parts.controller, self._parts.model.record
        trains = (controller.busy or controller.following) and self._parts.model.in_progress
        return trains and record.run == tried.run and tried.change.setting in dict(specs(Tunables))

    def _accepting(self, tried: KeptTest) -> str:
        if self._is_live(tried):
            return tr("Apply this change to the running training")
        return tr("Train a branch of the run with this change")

    @Slot()
    def accept(self) -> None:
        """Make the tried change: in the run if it is training, else in a branch of it."""
        tried = self.paired_tests.kept
        if tried is None:
            return
        change, live = tried.change, self._parts.live
        if self._is_live(tried):
            try:
                wanted = with_values(live.tunables(), {change.setting: change.new})
            except RequestError as problem:
                # The verdict stays, and can be accepted once the invalid field is corrected.
                self._refuse(problem.message)
                return
            self.paired_tests.close()
            live.apply(wanted)
            return
        self._read(partial(_newest, tried.run), partial(self._branch, change))

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
        self.paired_tests.close()
        run = QueuedRun(config=config, tunables=tunables, checkpoint=path)
        many = self._parts.many
        many.add(run) if many.busy else many.start(run)

    def _refuse(self, problem: Text | str) -> None:
        self._parts.banner.show_message("error", problem)


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


def speed_of(record: RunRecord) -> float | None:
    """Return the steps per second of a run; None if unknown."""
    now = record.progress
    if now is not None and now.steps_per_s > 0.0:
        return now.steps_per_s
    # Between two times of its own: the steps of a branch count from its parent's first.
    timed = record.curves.clock[1:]
    steps, seconds = timed[-1] - timed[0] if len(timed) else (0.0, 0.0)
    return float(steps / seconds) if seconds > 0.0 else None


def _newest(run: Path, _: object) -> Path:
    """Return the newest checkpoint of a run that is not training.

    Raises:
        RequestError: the run has no checkpoint.
    """
    for path in RunDirectory.open(run).newest_first():
        return path
    raise RequestError("{run} has no checkpoint to branch off.", run=run.name)
