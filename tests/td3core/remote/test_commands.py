"""The commands that watch and steer a run, while one trains."""

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from td3core.cli import app
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.protocol.run_status import RunStatus
from td3core.runs.reader import RunReader
from td3core.training.launch import resume, train
from tests.support.scripted import Script
from tests.support.waiting import eventually
from tests.td3core.helpers import Told, finish, tiny

pytestmark = pytest.mark.usefixtures("eager")


@pytest.fixture
def living(runs_dir: Path, scripted: Any) -> Iterator[Path]:
    """A run that trains in a thread until the end of the test."""
    # A pause at each step: the run must not keep the interpreter to itself.
    env = scripted(Script(on_step=lambda step: time.sleep(0.001)))
    config, tunables = tiny(env, steps=1_000_000)
    control, told = Control(), Told()
    thread = threading.Thread(target=train, args=(config, tunables, control, told, runs_dir))
    thread.start()
    try:
        (status,) = eventually(lambda: list(runs_dir.glob("*/status.json")))
        yield status.parent
    finally:
        control.stop()
        thread.join()


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any, str]:
    """Run a command; return its status, its object and what it says besides."""
    status = app.main([*words, "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out.splitlines()[-1]), err


def test_a_living_run_is_tuned_paused_saved_continued_and_stopped(
    living: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, tuned, _ = call(capsys, "tune", str(living), "tau=0.01", "gamma=0.9")
    assert status == 0
    assert tuned.keys() == {"run", "request", "env_steps", "revision", "message"}
    assert (tuned["request"], tuned["revision"]) == ("tune", 1)
    status, _, said = call(capsys, "tune", str(living), "dropped_quantiles=1")
    assert (status, said) == (0, "dropped_quantiles has no effect with td3.\n")
    _, paused, _ = call(capsys, "pause", str(living))
    _, saved, _ = call(capsys, "save", str(living))
    assert saved["env_steps"] == paused["env_steps"] > tuned["env_steps"]
    assert (living / f"checkpoints/step_{saved['env_steps']:09d}.safetensors").exists()
    assert app.main(["unpause", str(living)]) == 0
    assert capsys.readouterr().out == f"applied at step {paused['env_steps']}\n"
    status, stopped, _ = call(capsys, "stop", str(living))
    assert (status, stopped["request"]) == (0, "stop")
    status, followed, err = call(capsys, "follow", str(living))
    assert (status, followed["state"]) == (0, "stopped")
    assert followed["env_steps"] == stopped["env_steps"]
    assert "stopped and saved at step" in err


def test_a_run_that_does_not_answer_gets_its_request_withdrawn(
    living: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (living / "requests").chmod(0o777)
    status, answer, _ = call(capsys, "save", str(living), "--timeout", "0.3")
    assert status == 2
    assert answer["error"].endswith("did not take the request within 0.3 s, so it was withdrawn.")
    assert list((living / "requests").iterdir()) == []


def test_a_run_that_is_not_running_is_not_steered(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = finish(runs_dir).run
    status, answer, _ = call(capsys, "pause", str(path))
    assert (status, answer["error"]) == (2, f"{path.name} is not running; it has finished.")
    (path / "ending.json").unlink()
    (path / "lock.json").write_text('{"pid": 1, "host": "", "since": ""}')
    status, answer, _ = call(capsys, "stop", str(path))
    assert (status, answer["error"]) == (2, f"{path.name} is not running; it was interrupted.")
    status, answer, _ = call(capsys, "follow", str(path))
    assert (status, answer["state"]) == (1, "interrupted")


@pytest.mark.slow
def test_a_run_that_was_resumed_is_reported_with_the_speed_of_its_last_process(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = finish(runs_dir)
    _, answer, _ = call(capsys, "follow", str(first.run))
    assert answer["steps_per_s"] == first.steps_per_s > 0
    again = resume(first.run, Control(), lambda _: None, steps=600)
    assert isinstance(again, Ended)
    _, answer, _ = call(capsys, "follow", str(first.run))
    assert answer["steps_per_s"] == again.steps_per_s


def test_ctrl_c_ends_the_following_as_any_command_that_trains_nothing_and_says_where_the_run_is(
    living: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = RunReader.poll

    def press_once_it_runs(reader: RunReader) -> Any:
        events = poll(reader)
        if reader.state is RunStatus.RUNNING:
            raise KeyboardInterrupt
        return events

    monkeypatch.setattr(RunReader, "poll", press_once_it_runs)
    status, answer, said = call(capsys, "follow", str(living))
    reason = "Stopped following; the run continues."
    assert status == 130
    assert answer == {"run": str(living), "state": "running", "error": reason}
    assert said.endswith(f"{reason}\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["tau"], "tune takes NAME=VALUE, not 'tau'."),
        (["tau=2"], "tau cannot be 2.0"),
        (["seed=2"], "There is no live setting called 'seed'."),
        (["tua=2"], "There is no live setting called 'tua'. Did you mean tau?"),
    ],
)
def test_a_change_that_makes_no_sense_is_refused(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    path = finish(runs_dir).run
    status, answer, _ = call(capsys, "tune", str(path), *words)
    assert status == 2
    assert sentence in answer["error"]


def test_following_a_run_that_failed_has_status_one(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], scripted: Any
) -> None:
    def explode(step: int) -> None:
        raise ValueError("the motor is hot")

    config, tunables = tiny(scripted(Script(on_step=explode)))
    train(config, tunables, Control(), Told(), runs_dir)
    (path,) = runs_dir.iterdir()
    status, answer, _ = call(capsys, "follow", str(path))
    assert (status, answer["state"], answer["stopped"]) == (1, "failed", "failed")
    assert "the motor is hot" in answer["error"]
