"""An executor whose runs end at once, with the evaluations that a test gives them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from td3core.experiments.sweeps.executor import Executor, Outcome, RunEnd
from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.folder import SweepFolder, SweepState
from td3core.experiments.sweeps.runner import SweepRunner
from td3core.experiments.sweeps.study import SweepStudy
from td3core.protocol.control import Control
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import write_ending
from td3core.text import Text
from tests.support.tables import PLAIN_EVALUATION

Curve = Callable[[RunDirectory], Sequence[float]]
TEXT = """
environment = "Pendulum-v1"
steps = 4000
trials = {trials}
jobs = 1
{more}
[settings]
learning_starts = 100
eval_interval = 1000
[space]
tau = {{ low = 0.0, high = 1.0 }}
gamma = {{ low = 0.9, high = 1.0 }}
"""


def rising(run: RunDirectory) -> Sequence[float]:
    """Return four evaluations; the best tau is 0.3."""
    height = -abs(run.first_tunables.tau - 0.3)
    return [height - 3, height - 2, height - 1, height]


class Killed(BaseException):
    """Stands for a kill of the sweep's process."""


class ScriptedExecutor:
    """Writes one evaluation for each call of :meth:`wait`, for every run it has."""

    def __init__(self, curve: Curve, slots: int = 1, kill_at: int | None = None) -> None:
        self.slots, self._curve, self._kill_at = slots, curve, kill_at
        self.numerics = "auto"
        self.training: dict[Path, list[tuple[int, float]]] = {}
        self.started: list[str] = []
        self.stopped: list[str] = []
        self.outcomes: dict[str, Outcome | None] = {}
        """What runs end with, in place of being finished."""
        self._waits, self._steps = 0, 0

    def start(self, run: Path, steps: int) -> None:
        self.started.append(run.name)
        self._steps = steps
        opened = RunDirectory.open(run)
        done = len(opened.evaluations())
        curve = list(enumerate(self._curve(opened), start=1))[done:]
        self.training[run] = [(index * 1000, value) for index, value in curve]

    def stop(self, run: Path) -> None:
        self.stopped.append(run.name)
        self.training[run] = []

    def wait(self, timeout_s: float) -> list[RunEnd]:
        self._waits += 1
        if self._waits == self._kill_at:
            raise Killed
        ends = []
        for run, left in list(self.training.items()):
            if left:
                add_evaluation(run, *left.pop(0))
                continue
            del self.training[run]
            stopped = "user" if run.name in self.stopped else "finished"
            outcome = self.outcomes.get(run.name, Outcome(stopped=stopped))
            if outcome is None:
                ends.append(RunEnd(run=run, outcome=None, lost=Text("its process was killed")))
                continue
            if outcome.stopped == "locked":
                ends.append(RunEnd(run=run, outcome=outcome))
                continue
            said = {"stopped": outcome.stopped, "message": outcome.message}
            write_ending(run, said | {"env_steps": self._steps})
            ends.append(RunEnd(run=run, outcome=outcome))
        return ends

    def kill(self) -> None:
        self.training.clear()

    def close(self) -> None:
        self.training.clear()


def add_evaluation(run: Path, env_steps: int, mean: float) -> None:
    table = RunDirectory.open(run).table("evaluations", PLAIN_EVALUATION)
    table.add((env_steps, mean, 0.0, "", 0, str(mean), "1", 0, 0.0))
    table.flush()


def conduct(
    runs_dir: Path,
    executor: Executor,
    *,
    trials: int = 4,
    more: str = "",
    template: str = TEXT,
    control: Control | None = None,
    report: Callable[[SweepState], None] = lambda _: None,
) -> tuple[SweepState, SweepRunner]:
    """Conduct a sweep of scripted runs, or continue it."""
    text = template.format(trials=trials, more=more)
    spec = parse(text, "scripted")
    folder = SweepFolder(runs_dir, spec.name)
    folder.begin(text, spec)
    with SweepStudy(folder.study_file, spec) as study:
        runner = SweepRunner(spec, folder, study, executor, control or Control(), report)
        return runner.run(), runner


def state_on_disk(runs_dir: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(
        (runs_dir / "sweeps" / "scripted" / "state.json").read_text("utf-8")
    )
    return found
