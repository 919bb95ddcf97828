"""A run that waits for the compiled update says so, and can be stopped meanwhile."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from td3core.algorithm.fused import kernel_cache
from td3core.cli import app
from td3core.cli.experiments.group_progress import GroupProgress
from td3core.cli.progress import ProgressReporter
from td3core.errors import StoppedError
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.jobs import ResumedRun, perform
from td3core.experiments.sweeps.executor import outcome_of
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Failed, Preparing, Started, Warned
from td3core.runs.directory import RunDirectory
from td3core.text import Text
from td3core.training import launch
from td3core.training.verify_resume import verify
from tests.support.scripted import STEPS
from tests.td3core.helpers import Told, finish, run
from tests.td3core.training.resuming import branched, contents, go_on, stopped

WAIT = Text("Compiling the update.")


@pytest.fixture
def compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every run have to wait for the compiled update, a stop of which takes no time."""

    def provide(announce: Callable[[Text], None], stopped: Callable[[], bool], _: int) -> None:
        announce(WAIT)
        if stopped():
            raise StoppedError

    monkeypatch.setattr(kernel_cache, "works", lambda: True)
    monkeypatch.setattr(kernel_cache, "provide", provide)


@pytest.mark.usefixtures("compiling")
def test_a_run_says_what_it_waits_for_before_it_starts(runs_dir: Path) -> None:
    outcome, told = run(runs_dir)
    assert isinstance(outcome, Ended)
    assert [type(event) for event in told.events[:2]] == [Preparing, Started]
    assert told.all(Preparing)[0].message == WAIT


@pytest.mark.usefixtures("compiling")
def test_a_run_that_is_stopped_while_it_waits_leaves_nothing(runs_dir: Path) -> None:
    control = Control()
    control.stop()
    outcome, told = run(runs_dir, control=control)
    assert isinstance(outcome, Failed)
    assert outcome.cancelled
    assert not outcome.request
    assert told.events[1:] == [outcome]
    assert not runs_dir.exists()


@pytest.mark.usefixtures("compiling")
def test_a_runs_folder_that_cannot_be_made_is_refused_before_anything_is_compiled(
    runs_dir: Path, tmp_path: Path
) -> None:
    parent = stopped(runs_dir, 30).last_checkpoint
    assert parent is not None
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "runs"
    for outcome, told in (run(folder), branched(parent, folder, steps=60)):
        assert isinstance(outcome, Failed)
        assert outcome.request
        assert f"{folder} cannot be written" in str(outcome.message)
        assert told.events == [outcome]


@pytest.mark.usefixtures("compiling")
def test_a_run_that_is_not_resumed_after_all_stays_as_it_was(runs_dir: Path) -> None:
    ended = stopped(runs_dir, 30)
    before = RunDirectory.open(ended.run).ending()
    control = Control()
    control.stop()
    found = perform(ResumedRun(run=ended.run, patience_s=1.0), control, Told())
    assert outcome_of(found).stopped == "user"
    assert RunDirectory.open(ended.run).ending() == before


@pytest.mark.usefixtures("compiling")
def test_waiting_is_no_difference_between_two_runs(runs_dir: Path) -> None:
    ended = finish(runs_dir)
    said: list[str] = []
    assert verify(ended.run, steps=20, announce=said.append).exact
    assert WAIT in said


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every compilation fail."""

    def provide(*_: object) -> None:
        raise kernel_cache.KernelError("It could not be compiled.")

    monkeypatch.setattr(kernel_cache, "works", lambda: True)
    monkeypatch.setattr(kernel_cache, "provide", provide)


@pytest.mark.usefixtures("no_compiler")
def test_where_nothing_can_be_compiled_a_run_trains_with_torch_and_says_so(runs_dir: Path) -> None:
    outcome, told = run(runs_dir)
    assert isinstance(outcome, Ended)
    assert [str(warned.message) for warned in told.all(Warned)] == [
        "It could not be compiled. Torch computes the updates of this run, which is slower."
    ]
    assert RunDirectory.open(outcome.run).config.engine == "torch"


@pytest.mark.usefixtures("no_compiler")
def test_a_run_that_asks_for_the_compiled_update_is_told_in_one_sentence(runs_dir: Path) -> None:
    outcome, told = run(runs_dir, engine="compiled")
    assert isinstance(outcome, Failed)
    assert (str(outcome.message), outcome.details) == ("It could not be compiled.", "")
    assert not told.all(Warned)
    assert not runs_dir.exists()


def test_the_terminal_shows_what_a_run_waits_for() -> None:
    console = Console(file=io.StringIO(), width=200)
    ProgressReporter(console)(Preparing(message=WAIT))
    event: Event = Preparing(message=WAIT)
    GroupProgress(console).report(SeedStatus(seed=3), event)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == f"{WAIT}\nseed 3  {WAIT}\n"


def test_a_run_of_a_group_is_preparing_until_it_starts() -> None:
    waiting = SeedStatus(seed=3, state=SeedState.STARTING).after(Preparing(message=WAIT))
    assert waiting.is_preparing
    assert not SeedStatus(seed=3, state=SeedState.STARTING).is_preparing


def test_ctrl_c_while_a_run_waits_ends_the_command_well(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def provide(*_: object) -> None:
        raise StoppedError

    monkeypatch.setattr(kernel_cache, "works", lambda: True)
    monkeypatch.setattr(kernel_cache, "provide", provide)
    assert app.main(["train", STEPS, "--steps=60", "--json", f"--runs-dir={runs_dir}"]) == 0
    captured = capsys.readouterr()
    assert "Stopped before the first step." in captured.err
    found = json.loads(captured.out.splitlines()[-1])
    assert (found["stopped"], found["run"]) == ("user", None)


def test_a_stop_while_a_run_is_prepared_leaves_no_run_and_changes_none(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = stopped(runs_dir, 50)
    before = contents(runs_dir)
    for start in (
        lambda control: run(runs_dir, control=control),
        lambda control: go_on(ended.run, steps=200, control=control),
    ):
        control = Control()
        monkeypatch.setattr(launch, "require_memory", lambda *_, now=control: now.stop())
        outcome, _ = start(control)
        assert isinstance(outcome, Failed)
        assert outcome.cancelled
        assert contents(runs_dir) == before


def test_a_run_of_a_group_that_is_stopped_while_it_waits_has_not_failed() -> None:
    event = Failed(message=Text("Stopped before the first step."), details="", cancelled=True)
    status = SeedStatus(seed=0, state=SeedState.STARTING).after(event)
    assert (status.state, str(status.message)) == (SeedState.STOPPED, "")
