"""Overall state, progress and speed of a group, from those of its runs."""

from dataclasses import dataclass, field

from studio.formatting import format_count, format_duration, format_share
from studio.session.controller import SessionState
from td3core.experiments.groups.group import Group
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.protocol.events import Phase
from td3core.text import Text, tr


@dataclass(slots=True, eq=False)
class GroupRecord:
    """A group that this window has started or followed."""

    group: Group
    series: str = ""
    """The series that it is compared within, shared by several groups."""
    variant: str = ""
    """Its name within the series; empty for the name from its settings."""
    statuses: dict[int, SeedStatus] = field(init=False)
    """Statuses by seed, in the order of the group."""
    stopping: bool = False
    """True once all its runs were asked to stop."""

    def __post_init__(self) -> None:
        steps = self.group.config.steps
        self.statuses = {seed: SeedStatus(seed=seed, steps=steps) for seed in self.group.seeds}

    def take(self, status: SeedStatus) -> None:
        """Update the status of one run."""
        if status.seed in self.statuses:
            self.statuses[status.seed] = status

    @property
    def state(self) -> SessionState:
        """Its overall state, while it trains."""
        states = {status.state for status in self.statuses.values()}
        if self.stopping:
            return SessionState.STOPPING
        if SeedState.TRAINING in states:
            return SessionState.RUNNING
        if SeedState.STARTING in states:
            return SessionState.STARTING
        if states & {SeedState.PAUSED, SeedState.HELD}:
            return SessionState.PAUSED
        return SessionState.STOPPING if SeedState.SAVING in states else SessionState.STARTING

    @property
    def began(self) -> bool:
        """Whether any of its runs was, or may have been, started."""
        statuses = self.statuses.values()
        return any(s.run is not None or s.state is not SeedState.FAILED for s in statuses)

    @property
    def share(self) -> float:
        """Completed share of all its steps, from 0 to 1."""
        done = sum(min(s.env_steps, s.steps) for s in self.statuses.values())
        return min(done / max(self._steps, 1), 1.0)

    @property
    def _steps(self) -> int:
        return sum(status.steps for status in self.statuses.values())

    def in_words(self) -> str:
        """Return its status in one line."""
        statuses = self.statuses.values()
        over = sum(status.state is SeedState.FINISHED for status in statuses)
        parts = [
            tr("group {name}", name=self.group.name),
            format_share(self.share),
            str(
                Text.counted(
                    "{over} of {n} run finished",
                    "{over} of {n} runs finished",
                    n=len(statuses),
                    over=over,
                )
            ),
        ]
        training = [s for s in statuses if s.state is SeedState.TRAINING]
        if self.state is SessionState.RUNNING:
            speed = sum(s.steps_per_s for s in training)
            parts.append(tr("{speed} steps/s", speed=format_count(speed)))
            parts.append(self._time_left(training))
        elif any(s.is_preparing for s in statuses):
            parts.append(tr("preparing"))
        return "  ·  ".join(parts)

    def _time_left(self, training: list[SeedStatus]) -> str:
        """Estimate the time left as if all training runs were past their warm-up."""
        speeds = [s.steps_per_s for s in training if s.phase != Phase.WARM_UP and s.steps_per_s]
        if not speeds:
            return tr("estimating time left")
        speed = len(training) * sum(speeds) / len(speeds)
        left = (1 - self.share) * self._steps / speed
        return tr("{duration} left", duration=format_duration(left))
