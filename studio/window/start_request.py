"""Train and Train next: read the form, ask the user if necessary, and start or queue a run."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.consent.code_consent import CodeConsent, nothing_started
from studio.experiments.many_runs import ManyRuns
from studio.experiments.queue_file import QueuedRun
from studio.formatting import format_count
from studio.live.live_panel import LivePanel
from studio.setup.setup_panel import SetupPanel
from studio.widgets.messages import Banner, choose
from studio.window.preferences.preferences import Preferences
from td3core.config import RunConfig, check_together
from td3core.errors import RequestError
from td3core.system.allowed_code import LocatedModule
from td3core.text import tr

_SHORT_WARM_UP = 500
"""Warm-up steps offered for a run that would end before it learns; fewer for a shorter run."""


class StartRequest(QObject):
    """Starts or queues the run described in the forms, or shows why that is not possible."""

    panel_wanted = Signal(str)
    """Names the panel with the value to correct, which may be closed or behind another one."""

    def __init__(
        self,
        setup: SetupPanel,
        live: LivePanel,
        many: ManyRuns,
        consent: CodeConsent,
        banner: Banner,
        window: QWidget,
        preferences: Preferences,
    ) -> None:
        super().__init__(window)
        self._setup, self._live, self._many = setup, live, many
        self._consent, self._banner, self._window = consent, banner, window
        self._preferences = preferences
        self._refusal = ""
        """The last error message about a value in the forms."""
        for edited in (setup.edited, setup.seeds.textChanged, live.edited):
            edited.connect(self._withdraw_refusal)

    @Slot()
    def start(self) -> None:
        """Start a run with the current settings."""
        run = self._run_in_setup()
        if run is not None:
            self._obtain_consent(run, self._start)

    @Slot()
    def queue(self) -> None:
        """Queue a run with the current settings to start after the current one."""
        run = self._run_in_setup()
        if run is not None:
            self._obtain_consent(run, self._queue)

    def _queue(self, run: QueuedRun) -> None:
        self._setup.forget_entries()
        self._many.add(run)

    def _start(self, run: QueuedRun) -> None:
        self._setup.origin.forget()
        self._many.start(run)

    def _run_in_setup(self) -> QueuedRun | None:
        """Return the run described in the form; None if a value is refused or the user declines."""
        try:
            config, tunables = self._setup.entered(self._live.next_tunables)
            check_together(config, tunables)
            seeds = self._setup.seeds.read()
        except RequestError as problem:
            name = problem.message.setting
            live = name is not None and name in self._live.names
            if name is not None:
                # A hidden field takes no focus.
                self.panel_wanted.emit("live" if live else "setup")
            self._refusal = self._setup.point_out(problem)
            if name is not None and live:
                self._live.row(name).point_out()
            self._banner.show_message("error", self._refusal)
            return None
        self._banner.hide()
        if config.steps <= config.learning_starts:
            warm_up = self._choose_warm_up(config)
            if warm_up is None:
                self.panel_wanted.emit("setup")
                self._setup.focus_steps()
                return None
            config = replace(config, learning_starts=warm_up)
        if len(seeds) == 1:
            return QueuedRun(config=replace(config, seed=seeds[0]), tunables=tunables)
        return QueuedRun(config=config, tunables=tunables, seeds=seeds)

    @Slot()
    def _withdraw_refusal(self) -> None:
        """Withdraw the refusal of a value in the forms once they are edited."""
        if self._refusal:
            self._banner.withdraw(self._refusal)
            self._refusal = ""

    def _choose_warm_up(self, config: RunConfig) -> int | None:
        """Ask about a run that ends before it learns; return its warm-up, None for no run."""
        if not self._preferences.asks_too_short:
            return config.learning_starts
        shorter = min(_SHORT_WARM_UP, config.steps // 2)
        ways = {
            "learn": tr("Learn after {steps} steps", steps=format_count(shorter)),
            "accept": tr("Train anyway"),
        }
        way = choose(
            self._window,
            "warm_up_question",
            tr("This run would only collect random steps"),
            tr(
                "It ends after {steps} steps, and learning starts after {warm_up}. Choose more"
                " steps, or fewer warm-up steps under Advanced, for a run that learns.",
                steps=format_count(config.steps),
                warm_up=format_count(config.learning_starts),
            ),
            ways,
        )
        if way == "learn":
            self._setup.use_warm_up(shorter)
            return shorter
        return config.learning_starts if way == "accept" else None

    def _obtain_consent(self, run: QueuedRun, then: Callable[[QueuedRun], None]) -> None:
        typed = self._setup.environment.is_typed(run.config.choice)
        go_on = partial(then, run)
        self._consent.obtain(run.config.choice, go_on, self._on_declined, typed=typed)

    def _on_declined(self, module: LocatedModule) -> None:
        text = nothing_started(module)
        self._banner.show_message("error", text)
