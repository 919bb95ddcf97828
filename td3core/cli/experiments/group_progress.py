"""Shows a group on a terminal: a line for each run, a table at the end."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TaskID, TextColumn
from rich.table import Column, Table

from td3core.cli.progress import BarReporter, evaluation_text, speed_text
from td3core.cli.terminal import printable, return_cell
from td3core.config.value_text import plain_return
from td3core.experiments.groups.seed_status import SEED_STATES, SeedState, SeedStatus, spread
from td3core.protocol.events import Evaluated, Event, Preparing, Warned
from td3core.text import tr


class GroupProgress(BarReporter):
    """A listener for a :class:`~td3core.experiments.groups.runner.GroupRunner`."""

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("{task.fields[seed]}"),
            TextColumn("{task.fields[state]:<11}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[done]}"),
            TextColumn("{task.fields[speed]}"),
            TextColumn("{task.fields[returns]}"),
        )
        self._tasks: dict[int, TaskID] = {}
        self._states: dict[int, SeedState] = {}

    def report(self, status: SeedStatus, event: Event | None) -> None:
        """Show the current status of a run."""
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
            self._print(seed, evaluation_text(event))
        elif isinstance(event, Preparing):
            self._print(seed, str(event.message))
        elif isinstance(event, Warned):
            self._print(seed, tr("Warning: {message}", message=event.message))
        if status.state is not self._states.get(seed):
            self._states[seed] = status.state
            if status.state.is_over and event is not None:
                self._print(seed, _over_text(status))

    def log(self, seed: int, line: str) -> None:
        """Show a line of a run's standard error."""
        self._print(seed, line)

    def _print(self, seed: int, text: str) -> None:
        line = f"{tr('seed {seed}', seed=seed)}  {text}"
        self._console.print(escape(printable(line)), soft_wrap=True)


def _over_text(status: SeedStatus) -> str:
    values = {"state": SEED_STATES[status.state], "step": status.env_steps}
    if status.message:
        return tr("{state} at step {step:,}: {reason}", reason=status.message, **values)
    return tr("{state} at step {step:,}", **values)


def _fields(status: SeedStatus) -> dict[str, Any]:
    return {
        "seed": tr("seed {seed:<6}", seed=status.seed),
        "state": str(SEED_STATES[status.state]),
        "done": tr("{done:>9,} of {steps:,}", done=status.env_steps, steps=max(status.steps, 1)),
        "speed": speed_text(status.steps_per_s if status.state.is_running else 0.0),
        "returns": tr(
            "return {last:>8} best {best:>8}",
            last=return_cell(status.last),
            best=return_cell(status.best),
        ),
    }


def result_table(group: str, statuses: Sequence[SeedStatus]) -> Table:
    """Return the final table of a group: one line per run, and the mean over them."""
    table = Table(
        tr("seed"),
        tr("state"),
        *(
            Column(name, justify="right")
            for name in (tr("steps"), tr("last return"), tr("best return"))
        ),
        title=escape(printable(tr("Group {group}", group=group))),
    )
    for each in statuses:
        numbers = (return_cell(each.last), return_cell(each.best))
        table.add_row(str(each.seed), str(SEED_STATES[each.state]), f"{each.env_steps:,}", *numbers)
    means = []
    for values in ([each.last for each in statuses], [each.best for each in statuses]):
        found = spread(values)
        means.append(return_cell(None if found is None else found.mean))
        if found is not None and found.std is not None:
            means[-1] += f" ± {plain_return(found.std)}"
    table.add_section()
    table.add_row(tr("mean ± std"), "", "", *means)
    return table
