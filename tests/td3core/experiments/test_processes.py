"""Groups and runs in real processes: what they compute, and what is left when one is killed."""

import json
import os
import queue
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from td3core import checkpoint
from td3core.envs.trust import with_user_consent
from td3core.experiments.groups.allocation import Allocation
from td3core.experiments.groups.group import Group, open_group
from td3core.experiments.groups.runner import GroupRunner
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.jobs import NewRun
from td3core.experiments.run_process import RunProcess
from td3core.protocol.events import Ended, Event, Failed, Progress, Started, Tuned
from td3core.remote.steer import RemoteControl
from td3core.runs.listing import list_runs
from td3core.runs.lock import holder
from td3core.text import Text
from tests.support.waiting import eventually
from tests.td3core.experiments.conftest import STEPS_ENV
from tests.td3core.helpers import finish, tiny

PATIENCE_S = 60
ENDLESS = 10_000_000
TABLES = ("episodes.csv", "training.csv", "evaluations.csv")


def contents(run: Path) -> dict[str, list[list[str]]]:
    """Return the tables of a run without the last column, the time."""
    found = {}
    for name in TABLES:
        path = run / name
        lines = path.read_text().splitlines() if path.exists() else []
        found[name] = [line.split(",")[:-1] for line in lines]
    return found


def assert_same_run(one: Path, other: Path) -> None:
    first, second = (checkpoint.load(run / "checkpoints/last.safetensors") for run in (one, other))
    assert first.tensors.keys() == second.tensors.keys()
    for name, tensor in first.tensors.items():
        assert tensor.tobytes() == second.tensors[name].tobytes(), name
    assert contents(one) == contents(other)


def alone(runs_dir: Path, **values: Any) -> Path:
    """Train a single run, in this process."""
    return finish(runs_dir, STEPS_ENV, **values).run


class Reported:
    """Collects the events of a run process."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()

    def __call__(self, event: Event) -> None:
        self.events.put(event)

    def until(self, kind: type[Any], fits: Callable[[Any], bool] = lambda event: True) -> Any:
        while True:
            event = self.events.get(timeout=PATIENCE_S)
            if isinstance(event, kind) and fits(event):
                return event
            assert not isinstance(event, Ended | Failed), event


@contextmanager
def running(runs_dir: Path, **values: Any) -> Iterator[tuple[RunProcess, Reported]]:
    config, tunables = tiny(STEPS_ENV, **values)
    reported = Reported()
    with_user_consent(config.choice)
    job = NewRun(config=config, tunables=tunables, runs_dir=runs_dir)
    process = RunProcess(job, reported)
    try:
        yield process, reported
    finally:
        process.kill()
        process.join(PATIENCE_S)


@pytest.mark.slow
def test_a_run_in_a_process_is_steered_like_any_other(runs_dir: Path) -> None:
    with running(runs_dir, steps=ENDLESS) as (process, reported):
        started = reported.until(Started)
        revision = process.tune(tiny(tau=0.25)[1])
        assert reported.until(Tuned).revision == revision
        process.pause()
        reported.until(Progress, lambda event: event.phase == "paused")
        process.unpause()
        reported.until(Progress, lambda event: event.phase == "learning")
        # What others ask for is acknowledged to them, and is no answer to this process.
        RemoteControl(started.run).change({"tau": 0.5})
        assert reported.until(Tuned).revision == revision
        revision = process.tune(tiny(tau=0.125)[1])
        assert reported.until(Tuned).revision == revision
        process.stop()
        outcome = reported.until(Ended)
        assert (outcome.stopped, outcome.run) == ("user", started.run)


@pytest.mark.slow
def test_a_run_whose_process_is_killed_ends_as_failed(runs_dir: Path) -> None:
    with running(runs_dir, steps=ENDLESS) as (process, reported):
        started = reported.until(Started)
        os.kill(process.pid, signal.SIGKILL)
        failed = reported.until(Failed)
        assert "killed by signal 9" in str(failed.message)
        eventually(lambda: holder(started.run) is None)


@pytest.mark.slow
def test_a_detached_run_outlives_the_process_that_started_it(runs_dir: Path, root: Path) -> None:
    code = (
        "import sys, threading, os\n"
        "from pathlib import Path\n"
        "from tests.td3core.experiments.test_processes import *\n"
        f"config, tunables = tiny(STEPS_ENV, steps={ENDLESS})\n"
        "reported = Reported()\n"
        "with_user_consent(config.choice)\n"
        "folder = Path(sys.argv[1])\n"
        "job = NewRun(config=config, tunables=tunables, runs_dir=folder)\n"
        "process = RunProcess(job, reported)\n"
        "reported.until(Started)\n"
        "process.detach()\n"
        "print(process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(runs_dir)], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    child = psutil.Process(int(done.stdout.split()[-1]))
    (run,) = list_runs(runs_dir)
    before = run.steps_on_record()
    try:
        eventually(lambda: run.steps_on_record() > before + 1000)
    finally:
        child.terminate()
    eventually(lambda: run.ending() is not None)
    assert run.ending().stopped == "user"


def conduct(group: Group, on_status: Callable[[SeedStatus], None] = lambda status: None) -> Any:
    allocation = Allocation(jobs=2, threads=1, reason=Text("because"))
    with_user_consent(group.config.choice)
    report = lambda status, event: on_status(status)  # noqa: E731
    return GroupRunner(group, allocation, report).run()


@pytest.mark.slow
def test_the_runs_of_a_group_equal_single_runs_of_their_seeds(
    make_group, runs_dir: Path, tmp_path: Path
) -> None:
    group = make_group((3, 5), steps=300, eval_interval=100)
    statuses = conduct(group)
    assert [status.state for status in statuses] == [SeedState.FINISHED] * 2
    for status in statuses:
        single = alone(tmp_path / "single", steps=300, eval_interval=100, seed=status.seed)
        assert_same_run(status.run, single)
    assert {run.group for run in list_runs(runs_dir)} == {group.name}


@pytest.mark.release
def test_a_killed_run_is_resumed_with_its_group_and_equals_a_single_one(
    make_group, tmp_path: Path
) -> None:
    # Long enough that a fast machine is still training when its first report is heard.
    values = {"steps": 20_000, "checkpoint_interval": 250, "eval_interval": 8000}
    group = make_group((0, 1), **values)

    def kill_the_second(status: SeedStatus) -> None:
        if status.seed == 1 and status.env_steps > 600 and status.state is SeedState.TRAINING:
            (child,) = [c for c in psutil.Process().children() if owns(c, status.run)]
            child.kill()

    def owns(child: psutil.Process, run: Path) -> bool:
        found = holder(run)
        return found is not None and found.pid == child.pid

    first = conduct(group, kill_the_second)
    assert [status.state for status in first] == [SeedState.FINISHED, SeedState.INTERRUPTED]
    then = conduct(group)
    assert [status.state for status in then] == [SeedState.FINISHED, SeedState.FINISHED]
    assert [status.run for status in then] == [status.run for status in first]
    assert_same_run(then[1].run, alone(tmp_path / "single", seed=1, **values))


@pytest.mark.slow
def test_a_group_whose_parent_is_killed_is_resumed_with_equal_results(
    runs_dir: Path, tmp_path: Path, root: Path
) -> None:
    words = ["--runs-dir", str(runs_dir), "--json"]
    values = {"steps": 1500, "checkpoint_interval": 250}
    settings = [f"--set={n}={v}" for n, v in shortened(tiny(STEPS_ENV, **values)).items()]
    command = [sys.executable, "-m", "td3core"]
    train = [*command, "train", STEPS_ENV, "--seeds", "3", "--jobs", "2", *settings, *words]
    with subprocess.Popen(train, cwd=root, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        eventually(lambda: any(run.steps_on_record() > 300 for run in list_runs(runs_dir)))
        one.kill()
    (name,) = (path.name for path in (runs_dir / "groups").iterdir())
    # What it had started saves and ends by itself; the group waits for that.
    resumed = subprocess.run(
        [*command, "resume", name, *words], cwd=root, capture_output=True, text=True
    )
    assert resumed.returncode == 0, resumed.stderr
    answer = json.loads(resumed.stdout.splitlines()[-1])
    assert answer["group"] == name
    assert [run["seed"] for run in answer["runs"]] == [0, 1, 2]
    assert {run["stopped"] for run in answer["runs"]} == {"finished"}
    for run in answer["runs"]:
        single = alone(tmp_path / "single", seed=run["seed"], **values)
        assert_same_run(Path(run["run"]), single)
    assert open_group(runs_dir / "groups" / name).seeds == (0, 1, 2)


def shortened(settings: Any) -> dict[str, Any]:
    """Return the settings of a tiny run as the command line takes them."""
    config, tunables = settings
    names = ("actor_hidden", "critic_hidden", "buffer_size", "learning_starts", "steps")
    names += (
        "eval_interval",
        "env_check",
        "background_evaluation",
        "checkpoint_interval",
        "threads",
    )
    found = {name: getattr(config, name) for name in names} | {"batch_size": tunables.batch_size}
    return {n: ",".join(map(str, v)) if isinstance(v, tuple) else v for n, v in found.items()}
