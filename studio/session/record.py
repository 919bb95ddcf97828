"""Displayed data of one run, folded from its events or read from its files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from studio.session.curves import RunCurves
from studio.session.journal import JournalEntry, RunJournal
from studio.session.markers import Marker
from td3core.analysis.advice import Health, Rule, load_rules
from td3core.config import RunConfig, Tunables
from td3core.protocol import events
from td3core.protocol.time_left import TimeLeft
from td3core.runs.journal import seconds_of
from td3core.runs.naming import with_env


@dataclass(slots=True, kw_only=True)
class RunRecord:
    """Data of a run. A training run and one read from disk use the same methods."""

    run: Path | None = None
    """None before the first run."""
    deleted: bool = False
    """Whether its folder was deleted while it was shown."""
    config: RunConfig | None = None
    name: str = ""
    """Name of the run among runs of its environment (see :mod:`td3core.runs.naming`)."""
    device: str = ""
    """Empty for a run read from disk."""
    reward_threshold: float | None = None
    first_tunables: Tunables | None = None
    """The live settings it was started with."""
    progress: events.Progress | None = None
    time_left: TimeLeft | None = None
    """None for a run that is not training."""
    outcome: events.Ended | events.Failed | events.Interrupted | None = None
    """None for a training run, and for one that was opened and is not training."""
    curves: RunCurves = field(default_factory=RunCurves)
    parent_curves: RunCurves = field(default_factory=RunCurves)
    """Curves of the run's ancestors, each up to the step of its branch; empty without any."""
    journal: RunJournal = field(default_factory=RunJournal)
    rules: tuple[Rule, ...] = field(default_factory=load_rules)
    """The rules its health is judged by."""
    health: Health | None = None
    """Its health; None before the first run."""

    @property
    def title(self) -> str:
        """Name of the run with its environment; empty before the first run."""
        return with_env(self.config.env if self.config else "", self.name)

    @property
    def seconds_left(self) -> float | None:
        """Time to the last step; None while unknown."""
        return self.time_left.seconds if self.time_left is not None else None

    def take(self, event: events.Event) -> Sequence[Marker]:
        """Process one event of the run; return the markers of its live changes."""
        match event:
            case events.Started():
                self._start(event)
            case events.Progress() | events.Evaluated():
                self._add(event)
            case events.Tuned():
                return self._add_changes(event)
            case events.Noted():
                self.journal.add_entry(
                    JournalEntry(event.env_steps, event.event, event.time, event.message)
                )
            case events.Ended() | events.Failed() | events.Interrupted():
                self.outcome = event
        return ()

    def _start(self, event: events.Started) -> None:
        """Begin, or resume: drop data beyond the first step of this session."""
        if self.run != event.run or self.first_tunables is None:
            self.first_tunables = event.tunables
        self.run, self.config, self.name = event.run, event.config, event.name or event.run.name
        self.device = f"{event.device} × {event.threads}"
        self.reward_threshold, self.outcome = event.reward_threshold, None
        self.time_left = TimeLeft(event.config)
        self.curves.keep_to(event.env_steps)
        self.journal.keep_to(event.env_steps)
        if self.progress is not None:
            self.progress = replace(self.progress, env_steps=event.env_steps)
        if self.health is None:
            self.health = Health(self.rules)
        self.health.take(event)
        if event.env_steps:
            # Health up to here comes from the curves.
            self._judge()

    def judge_by(self, rules: tuple[Rule, ...]) -> None:
        """Judge the health by these rules from now on."""
        if rules != self.rules:
            self.rules = rules
            self._judge()

    def _judge(self) -> None:
        if self.health is not None:
            curves = self.curves
            rows = curves.training.rows(), curves.evaluations.rows()
            self.health = self.health.judged_by(self.rules, *rows)

    def _add(self, event: events.Progress | events.Evaluated) -> None:
        """Add the rows and episodes since the last report."""
        if isinstance(event, events.Progress):
            self.progress = event
            if self.time_left is not None:
                self.time_left.take(event)
        self.curves.add(event)
        if self.health is not None:
            self.health.take(event)

    def _add_changes(self, event: events.Tuned) -> list[Marker]:
        # A schedule is not a dragged slider.
        time = math.nan if event.scheduled else seconds_of(event.time)
        return [
            self.journal.add_change(event.env_steps, *change, time=time, scheduled=event.scheduled)
            for change in event.changes
        ]
