"""Does a run resume exactly? Tried on copies, without touching the run."""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from td3core import checkpoint
from td3core.errors import RequestError, RunError
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.resumption import choose_checkpoint
from td3core.runs.tables import read_table
from td3core.training.launch import resume

STEPS = 500

Announce = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ResumeCheck:
    """What came of it. ``differences`` are sentences; none means that the run resumes exactly."""

    from_step: int
    steps: int
    updates: int
    """Gradient updates among these steps; without any, learning was not tried."""
    differences: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """True if a run that is interrupted and resumed equals one that is not, bit for bit."""
        return not self.differences


def verify(
    path: Path,
    *,
    steps: int = STEPS,
    announce: Announce = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> ResumeCheck:
    """Go on from a run's last checkpoint twice: at one go, and with an interruption half-way.

    ``steps`` count from there, or from the end of a warm-up that is still going on.

    Raises:
        RequestError: the run has no checkpoint to go on from.
        RunError: it failed while it went on, or ``stopped`` said so.
    """
    run = RunDirectory.open(path)
    saved, _ = choose_checkpoint(run)
    if saved is None:
        raise RequestError(f"{path.name} has no checkpoint yet to go on from.")
    counters = saved.header.counters
    begin = counters.env_steps
    steps += max(run.config.learning_starts - begin, counters.no_updates_until - begin, 0)
    with tempfile.TemporaryDirectory(prefix="td3-verify-") as folder:
        straight = _copy(run, saved.header.path, Path(folder) / "straight")
        broken = _copy(run, saved.header.path, Path(folder) / "broken")
        announce(f"{steps} steps at one go")
        said = _go_on(straight, begin + steps, Control(), stopped)
        turns = max(steps // (2 * run.config.num_envs), 1)
        announce("the same with an interruption half-way")
        _go_on(broken, begin + steps, _Interruption(turns), stopped)
        said += _go_on(broken, begin + steps, Control(), stopped)
        reached = checkpoint.read_header(straight / "checkpoints" / run.last.name).counters
        differences = (*dict.fromkeys(said), *_differences(straight, broken))
        return ResumeCheck(begin, steps, reached.updates - counters.updates, differences)


def _copy(run: RunDirectory, saved: Path, to: Path) -> Path:
    """Copy what going on needs: settings, tables, buffer, one checkpoint."""
    (to / "checkpoints").mkdir(parents=True)
    for path in run.path.iterdir():
        if path.suffix in (".toml", ".csv", ".jsonl", ".f32"):
            shutil.copyfile(path, to / path.name)
    shutil.copyfile(saved, to / "checkpoints" / run.last.name)
    return to


class _Interruption(Control):
    """Stops a run after so many of its turns; what it is told then is told at a step's border."""

    def __init__(self, turns: int) -> None:
        self._turns, self._asked = turns, False
        super().__init__()

    @property
    def has_requests(self) -> bool:
        """Looked at once a turn."""
        self._turns -= 1
        if self._turns == 0:
            self.stop()
        return self._asked

    @has_requests.setter
    def has_requests(self, value: bool) -> None:
        self._asked = value


def _go_on(run: Path, steps: int, control: Control, stopped: Callable[[], bool]) -> list[str]:
    """Go on to the last of ``steps``, or as far as ``control`` lets it; return the warnings."""
    warnings = []

    def report(event: Event) -> None:
        if isinstance(event, Warned):
            warnings.append(event.message)
        if stopped():
            control.stop()

    outcome = resume(run, control, report, steps=steps)
    if isinstance(outcome, Failed):
        raise RunError(outcome.message)
    if stopped():
        raise RunError("The check was stopped.")
    return warnings


def _differences(one: Path, other: Path) -> list[str]:
    """Compare what two runs have come to, clocks aside."""
    first, second = (
        checkpoint.load(run / "checkpoints" / "last.safetensors") for run in (one, other)
    )
    names = [n for n, a in first.tensors.items() if a.tobytes() != second.tensors[n].tobytes()]
    found = [f"{len(names)} tensors differ, {names[0]} among them."] if names else []
    if first.header.counters != second.header.counters:
        found.append("The counters differ.")
    tables = [
        name
        for name in ("episodes.csv", "evaluations.csv", "training.csv")
        if _rows(one / name) != _rows(other / name)
    ]
    found += [f"{name} differs." for name in tables]
    memories = [run / "replay.f32" for run in (one, other) if (run / "replay.f32").exists()]
    if len({path.read_bytes() for path in memories}) > 1:
        found.append("The replay buffer differs.")
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    rows = read_table(path)
    return [{name: value for name, value in row.items() if name != "time_s"} for row in rows]
