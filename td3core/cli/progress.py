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
from td3core.config.value_text import plain_return
from td3core.protocol import events, wording
from td3core.protocol.time_left import TimeLeft
from td3core.text import NO_TEXT, Text, tr


class BarReporter:
    """Shows progress bars while entered, on terminals only."""

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


def speed_text(steps_per_s: float) -> str:
    """Return a speed for a column of a bar."""
    return tr("{speed:>6.0f} steps/s", speed=steps_per_s)


def evaluation_text(event: events.Evaluated, success: Text = NO_TEXT) -> str:
    """Return the line of an evaluation: step, return, success if given, whether it is the best."""
    line = tr(
        "step {step:>9,}  return {mean:>9} ± {std}",
        step=event.env_steps,
        mean=plain_return(event.mean),
        std=plain_return(event.std),
    )
    reached = f", {success}" if success else ""
    return f"{line}{reached}" + (f"  {tr('best so far')}" if event.is_best else "")


def _ending_text(event: events.Ended) -> Text:
    return Text(
        "{ending} at step {step:,} after {seconds:.0f} s, {speed:.0f} steps/s",
        ending=wording.ending(event),
        step=event.env_steps,
        seconds=event.wall_s,
        speed=event.steps_per_s,
    )


class ProgressReporter(BarReporter):
    """A ``report`` for :func:`td3core.training.launch.train` that writes to ``console``."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("{task.fields[phase]:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[left]}", style="progress.remaining"),
        )
        self._task = self._bar.add_task(
            "", total=None, phase=tr("starting"), speed=speed_text(0.0), left=""
        )
        self._time_left: TimeLeft | None = None
        self._health = Health(load_rules())
        self._advised: set[str] = set()

    @property
    def advice(self) -> list[dict[str, Any]]:
        """The advice for the run, as printed with ``--json``."""
        return [each.as_dict() for each in self._health.advice]

    def __call__(self, event: events.Event) -> None:
        """Show one event."""
        self._show(event)
        if isinstance(event, events.Started) and event.env_steps:
            # Here: the reader would delay every command.
            from td3core.cli.advice import read_health

            self._health = read_health(event.run, until=event.env_steps)
        else:
            self._health.take(event)
        self._advise(over=isinstance(event, events.Ended))

    def _advise(self, *, over: bool) -> None:
        """Print new advice, and at the end what still applies."""
        found = self._health.advice
        for each in found:
            if over or each.rule.name not in self._advised:
                self._print(str(each.in_words()))
        self._advised |= {each.rule.name for each in found}

    def _show(self, event: events.Event) -> None:
        match event:
            case events.Preparing():
                self._bar.update(self._task, phase=tr("preparing"))
                self._print(event.message)
            case events.Started():
                self._start(event)
            case events.Progress():
                self._bar.update(
                    self._task,
                    completed=event.env_steps,
                    phase=str(wording.PHASES[event.phase]),
                    speed=speed_text(event.steps_per_s),
                    left=self._left_after(event),
                )
            case events.Evaluated():
                self._print(evaluation_text(event, wording.success(event)))
            case events.Warned():
                self._print(Text("Warning: {message}", message=event.message))
            case events.Ended():
                self._print(_ending_text(event))
            case events.Interrupted():
                self._print(Text("interrupted at step {step:,}", step=event.env_steps))
            case _:
                pass

    def _start(self, event: events.Started) -> None:
        self._time_left = TimeLeft(event.config)
        self._bar.update(self._task, total=event.config.steps)
        self._print(Text("Run {run}", run=event.run))
        if event.branched_from:
            parent, step = event.branched_from, event.env_steps
            self._print(Text("branched from {parent} at step {step:,}", parent=parent, step=step))
        elif event.env_steps:
            self._print(Text("resumed at step {step:,}", step=event.env_steps))
        if event.repeated_steps:
            self._print(wording.repeated_steps(event))
        device = f"{event.device} × {event.threads}"
        if event.engine:
            device = tr("{device}, computed with {engine}", device=device, engine=event.engine)
        self._print(device)
        for name, schedule in event.tunables.schedules:
            self._print(Text("{name} follows {schedule}", name=name, schedule=schedule))

    def _left_after(self, event: events.Progress) -> str:
        if self._time_left is None:
            return ""
        self._time_left.take(event)
        left = self._time_left.seconds
        return tr("estimating") if left is None else str(timedelta(seconds=round(left)))

    def _print(self, text: str | Text) -> None:
        self._console.print(escape(printable(str(text))), soft_wrap=True)
