"""Shows a sweep on a terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table

from td3core.cli.terminal import printable

if TYPE_CHECKING:
    from td3core.experiments.sweeps.folder import SweepState, TrialState

_ROWS = 12


class SweepProgress:
    """A ``report`` of a sweep: a live table on a terminal, a line per trial elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._known: dict[int, str] = {}

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, state: "SweepState") -> None:
        """Show the state of the sweep."""
        if not self._known:
            self._console.print(f"Sweep {escape(printable(state.path))}", soft_wrap=True)
        for trial in state.trials:
            if trial.state != self._known.get(trial.number):
                self._known[trial.number] = trial.state
                if trial.state != "running":
                    self._console.print(escape(printable(_line(trial))), soft_wrap=True)
        if self._console.is_terminal:
            self._live.update(_live_view(state), refresh=True)


def summary(state: "SweepState") -> list[str]:
    """Return the lines that end a sweep."""
    counts = [f"{state.count(each)} {each}" for each in ("done", "pruned", "failed")]
    lines = [f"{state.name}: {', '.join(counts)} of {state.wanted} trials"]
    best = state.best
    if best is None:
        return [*lines, "No trial was completed."]
    lines.append(f"best {state.objective} {best.value:.2f} in trial {best.number}")
    lines += [f"  {name} = {shown(value)}" for name, value in best.settings.items()]
    return lines


def trials_table(state: "SweepState") -> None:
    """Print all trials to standard output, the best first."""
    Console(highlight=False).print(_table(state, sorted(state.trials, key=_by_value)))


def shown(value: Any) -> str:
    """Return a value of a setting as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _live_view(state: "SweepState") -> RenderableType:
    best = state.best
    counts = {each: state.count(each) for each in ("running", "done", "pruned", "failed")}
    words = "  ".join(f"{count} {name}" for name, count in counts.items())
    left = "" if state.time_left_s is None else f"  about {_duration(state.time_left_s)} left"
    shown_trials = [each for each in state.trials if each.state == "running"]
    shown_trials += [each for each in reversed(state.trials) if each.state != "running"]
    heading = "no trial completed yet"
    if best is not None:
        heading = f"best {state.objective} {best.value:.2f} (trial {best.number})"
    done = len(state.trials) - counts["running"]
    line = f"{done} of {state.wanted} trials  {words}{left}\n{heading}"
    return Group(_table(state, shown_trials[:_ROWS]), escape(printable(line)))


def _table(state: "SweepState", trials: "list[TrialState]") -> Table:
    names = [Column(escape(name), justify="right") for name in state.space]
    table = Table(
        Column("trial", justify="right"), "state", Column(state.objective, justify="right"), *names
    )
    for each in trials:
        value = "-" if each.value is None else f"{each.value:.1f}"
        settings = [escape(shown(each.settings.get(name, ""))) for name in state.space]
        table.add_row(str(each.number), each.state, value, *settings)
    return table


def _line(trial: "TrialState") -> str:
    value = "" if trial.value is None else f"  {trial.value:.2f}"
    reason = f"  {trial.reason}" if trial.reason else ""
    return f"trial {trial.number:>4}  {trial.state}{value}{reason}  {_settings(trial.settings)}"


def _settings(settings: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={shown(value)}" for name, value in settings.items())


def _by_value(trial: "TrialState") -> float:
    return float("inf") if trial.value is None else -trial.value


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{rest} s"
