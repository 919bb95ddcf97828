"""Shows a group on a terminal: a line for each run, a table at the end."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn
from rich.table import Column, Table

from td3core.cli.progress import BarReporter
from td3core.cli.terminal import printable
from td3core.experiments.groups.seed_status import SeedState, SeedStatus, spread
from td3core.protocol.events import Evaluated, Event, Preparing, Warned


class GroupProgress(BarReporter):
    """A listener for a :class:`~td3core.experiments.groups.runner.GroupRunner`."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("seed {task.fields[seed]:<6}"),
            TextColumn("{task.fields[state]:<11}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:>9,.0f} of {task.total:,.0f}"),
            TextColumn("{task.fields[speed]:>6.0f} steps/s"),
            TextColumn("return {task.fields[last]:>8} best {task.fields[best]:>8}"),
        )
        self._tasks: dict[int, TaskID] = {}
        self._states: dict[int, SeedState] = {}

    def report(self, status: SeedStatus, event: Event | None) -> None:
        """Show where a run stands now."""
        seed = status.seed
        if seed not in self._tasks:
            self._tasks[seed] = self._bar.add_task("", **_fields(status))
        self._bar.update(
            self._tasks[seed],
            completed=status.env_steps,
            total=max(status.steps, 1),
            **_fields(status),
        )
        if isinstance(event, Evaluated):
            best = "  best so far" if event.is_best else ""
            result = f"{event.mean:9.2f} ± {event.std:.2f}"
            self._print(
                seed,
                f"step {event.env_steps:>9,}  return {result}{best}",
            )
        elif isinstance(event, Preparing):
            self._print(seed, str(event.message))
        elif isinstance(event, Warned):
            self._print(seed, f"Warning: {event.message}")
        if status.state is not self._states.get(seed):
            self._states[seed] = status.state
            if status.state.is_over and event is not None:
                why = f": {status.message}" if status.message else ""
                self._print(seed, f"{status.state} at step {status.env_steps:,}{why}")

    def log(self, seed: int, line: str) -> None:
        """Show a line that a run wrote to standard error."""
        self._print(seed, line)

    def _print(self, seed: int, text: str) -> None:
        self._console.print(f"seed {seed}  {escape(printable(text))}", soft_wrap=True)


def _fields(status: SeedStatus) -> dict[str, Any]:
    return {
        "seed": status.seed,
        "state": str(status.state),
        "speed": status.steps_per_s if status.state.is_running else 0.0,
        "last": _number(status.last),
        "best": _number(status.best),
    }


def result_table(group: str, statuses: Sequence[SeedStatus]) -> Table:
    """Return the table that ends a group: one line for each run, and the mean over them."""
    table = Table(
        *("seed", "state"),
        *(Column(name, justify="right") for name in ("steps", "last return", "best return")),
        title=f"Group {escape(printable(group))}",
    )
    for each in statuses:
        numbers = (_number(each.last), _number(each.best))
        table.add_row(str(each.seed), str(each.state), f"{each.env_steps:,}", *numbers)
    means = []
    for values in ([each.last for each in statuses], [each.best for each in statuses]):
        found = spread(values)
        means.append(f"{found.mean:.1f} ± {found.std:.1f}" if found else "-")
    table.add_section()
    table.add_row("mean ± std", "", "", *means)
    return table


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
