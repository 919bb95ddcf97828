"""Shows the progress of a run on a terminal: a bar, and lines for what should stay visible."""

from datetime import timedelta
from typing import Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
)

from td3core.analysis.advice import Health, load_rules
from td3core.cli.terminal import printable
from td3core.protocol import events, wording
from td3core.protocol.time_left import TimeLeft
from td3core.text import Text


class BarReporter:
    """Shows bars on a terminal while it is entered, and nothing of them elsewhere."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._console = console
        self._bar = Progress(
            *columns,
            console=console,
            transient=True,
            # A log file cannot show a moving bar.
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()


class ProgressReporter(BarReporter):
    """A ``report`` for :func:`td3core.training.launch.train` that writes to ``console``."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("{task.fields[phase]:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]:>6.0f} steps/s"),
            TextColumn("{task.fields[left]}", style="progress.remaining"),
        )
        self._task = self._bar.add_task("", total=None, phase="starting", speed=0.0, left="")
        self._time_left: TimeLeft | None = None
        self._health = Health(load_rules())
        self._advised: set[str] = set()

    @property
    def advice(self) -> list[dict[str, Any]]:
        """What is advised for the run, as ``--json`` prints it."""
        return [each.as_dict() for each in self._health.advice]

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        self._show(event)
        self._health.take(event)
        self._advise(over=isinstance(event, events.Ended))

    def _advise(self, *, over: bool) -> None:
        """Print what is newly advised, and at the end what still is."""
        found = self._health.advice
        for each in found:
            if over or each.rule.name not in self._advised:
                self._print(str(each))
        self._advised |= {each.rule.name for each in found}

    def _show(self, event: events.Event) -> None:
        match event:
            case events.Preparing():
                self._bar.update(self._task, phase="preparing")
                self._print(event.message)
            case events.Started():
                self._start(event)
            case events.Progress():
                self._bar.update(
                    self._task,
                    completed=event.env_steps,
                    phase=str(event.phase),
                    speed=event.steps_per_s,
                    left=self._left_after(event),
                )
            case events.Evaluated():
                best = "  best so far" if event.is_best else ""
                reached = f", {wording.success(event)}" if event.success is not None else ""
                result = f"{event.mean:9.2f} ± {event.std:.2f}{reached}"
                self._print(f"step {event.env_steps:>9,}  return {result}{best}")
            case events.Warned():
                self._print(f"Warning: {event.message}")
            case events.Ended():
                word = wording.ending(event)
                self._print(
                    f"{word} at step {event.env_steps:,} after {event.wall_s:.0f} s,"
                    f" {event.steps_per_s:.0f} steps/s"
                )
            case events.Interrupted():
                self._print(f"interrupted at step {event.env_steps:,}")
            case _:
                pass

    def _start(self, event: events.Started) -> None:
        self._time_left = TimeLeft(event.config)
        self._bar.update(self._task, total=event.config.steps)
        self._print(f"Run {event.run}")
        if event.env_steps:
            self._print(f"resumed at step {event.env_steps:,}")
        if event.repeated_steps:
            self._print(wording.repeated_steps(event))
        engine = f", computed with {event.engine}" if event.engine else ""
        self._print(f"{event.device} × {event.threads}{engine}")
        for name, schedule in event.tunables.schedules:
            self._print(f"{name} follows {schedule}")

    def _left_after(self, event: events.Progress) -> str:
        if self._time_left is None:
            return ""
        self._time_left.take(event)
        left = self._time_left.seconds
        return "estimating" if left is None else str(timedelta(seconds=round(left)))

    def _print(self, text: str | Text) -> None:
        self._console.print(escape(printable(str(text))), soft_wrap=True)
