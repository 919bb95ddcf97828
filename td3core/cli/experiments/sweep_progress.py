"""Shows a sweep on a terminal."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Column, Table

from td3core.cli.terminal import printable, return_cell
from td3core.config.value_text import format_duration, plain_return, typed
from td3core.errors import brief
from td3core.protocol.trial_status import TRIAL_STATES, TrialStatus, names_of_states
from td3core.text import Text, tr

if TYPE_CHECKING:
    from td3core.experiments.sweeps.folder import SweepState, TrialState

_ROWS = 12


class SweepProgress:
    """A ``report`` of a sweep: a live table on a terminal, a line per trial elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, transient=True, auto_refresh=False)
        self._known: dict[int, TrialStatus] = {}
        self._said = ""

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def __call__(self, state: "SweepState") -> None:
        """Show the state of the sweep."""
        if not self._known:
            heading = tr("Sweep {path}", path=state.path)
            self._console.print(escape(printable(heading)), soft_wrap=True)
        for trial in state.trials:
            if trial.state is not self._known.get(trial.number):
                self._known[trial.number] = trial.state
                if trial.state is not TrialStatus.RUNNING:
                    self._console.print(escape(printable(_line(trial))), soft_wrap=True)
        # The message at the end is the command's.
        message = str(state.message) if state.running else ""
        if message and message != self._said:
            self._console.print(escape(printable(message)), soft_wrap=True)
        self._said = message
        if self._console.is_terminal:
            self._live.update(_live_view(state), refresh=True)


def summary(state: "SweepState") -> list[str]:
    """Return the final lines of a sweep."""
    counts = Text.counted(
        "{name}: {done} done, {pruned} pruned, {failed} failed of {n} trial",
        "{name}: {done} done, {pruned} pruned, {failed} failed of {n} trials",
        n=state.wanted,
        name=state.name,
        done=state.count(TrialStatus.DONE),
        pruned=state.count(TrialStatus.PRUNED),
        failed=state.count(TrialStatus.FAILED),
    )
    best = state.best
    if best is None:
        return [str(counts), tr("No trial was completed.")]
    found = tr(
        "best {objective} {value} in trial {number}",
        objective=state.objective,
        value=return_cell(best.value),
        number=best.number,
    )
    lines = [str(counts), found]
    lines += [f"  {name} = {typed(value)}" for name, value in best.settings.items()]
    return lines


def trials_table(state: "SweepState") -> None:
    """Print all trials to standard output, the best first."""
    Console(highlight=False).print(_table(state, sorted(state.trials, key=_by_value)))


def _live_view(state: "SweepState") -> RenderableType:
    best = state.best
    running = state.count(TrialStatus.RUNNING)
    over = len(state.trials) - running
    of_all = Text.counted("{done} of {n} trial", "{done} of {n} trials", n=state.wanted, done=over)
    line = f"{of_all}  " + tr(
        "{running} running  {done} done  {pruned} pruned  {failed} failed",
        running=running,
        done=state.count(TrialStatus.DONE),
        pruned=state.count(TrialStatus.PRUNED),
        failed=state.count(TrialStatus.FAILED),
    )
    if state.time_left_s is not None:
        line += "  " + tr("about {duration} left", duration=format_duration(state.time_left_s))
    shown_trials = [each for each in state.trials if each.state is TrialStatus.RUNNING]
    shown_trials += [
        each for each in reversed(state.trials) if each.state is not TrialStatus.RUNNING
    ]
    heading = tr("no trial completed yet")
    if best is not None:
        heading = tr(
            "best {objective} {value} (trial {number})",
            objective=state.objective,
            value=return_cell(best.value),
            number=best.number,
        )
    table = _table(state, shown_trials[:_ROWS])
    return Group(table, escape(printable(f"{line}\n{heading}")))


def _table(state: "SweepState", trials: "list[TrialState]") -> Table:
    numbers = (state.objective, *map(escape, state.space))
    table = Table(
        Column(tr("trial"), justify="right", overflow="fold"),
        Column(tr("state"), overflow="fold"),
        *(Column(name, justify="right", overflow="fold") for name in numbers),
    )
    states = names_of_states(running=state.running)
    for each in trials:
        settings = [escape(_cell(each.settings.get(name, ""))) for name in state.space]
        table.add_row(str(each.number), str(states[each.state]), return_cell(each.value), *settings)
    return table


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else typed(value)


def _line(trial: "TrialState") -> str:
    value = "" if trial.value is None else f"  {plain_return(trial.value)}"
    reason = f"  {brief(trial.reason)}" if trial.reason else ""
    row = f"{TRIAL_STATES[trial.state]}{value}{reason}  {_settings(trial.settings)}"
    return f"{tr('trial {number:>4}', number=trial.number)}  {row}"


def _settings(settings: Mapping[str, Any]) -> str:
    return "  ".join(f"{name}={typed(value)}" for name, value in settings.items())


def _by_value(trial: "TrialState") -> float:
    return float("inf") if trial.value is None else -trial.value
