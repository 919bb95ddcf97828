"""An environment's arguments from a file can neither hang nor end a command."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import psutil
import pytest

from td3core.checkpoint import load
from td3core.config import EnvChoice
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.make import check_env, make_env
from td3core.envs.trust import with_user_consent
from td3core.errors import RequestError, RunError
from td3core.evaluation.evaluate import evaluate
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed, Preparing
from td3core.text import Text
from td3core.training.launch import branch, resume, train
from td3core.training.verify_resume import verify
from tests.support.marks import release, slow
from tests.support.stranger import Stranger
from tests.support.waiting import eventually
from tests.td3core.helpers import finish, tiny, write_checkpoint

NAME = "theirs_env"
ENV = EnvChoice(f"{NAME}:Slide")
ONE_OF_EACH = {
    ("train", "step"),
    ("train --seeds 2", "reset"),
    ("check", "__init__"),
    ("sweep", "__init__"),
}
SOON_S = 30.0
"""Ctrl-C takes a fraction of a second, but for a machine that is busy."""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_arguments_that_name_a_pipe_or_a_device_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ant.xml")
    for name in (str(tmp_path / "ant.xml"), "/dev/zero"):
        with pytest.raises(RequestError, match="is not a regular file"):
            make_env(EnvChoice("Ant-v5", json.dumps({"xml_file": name})))


@pytest.fixture(params=["model", "step"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> EnvChoice:
    """Return an environment whose model, or whose first step, takes for ever."""
    if request.param == "step":
        return EnvChoice("Ant-v5", json.dumps({"frame_skip": 2_000_000_000}))
    body = "<body><geom size='1'/></body>"
    many = f"<replicate count='3000000'>{body}</replicate>"
    (tmp_path / "a.xml").write_text(f"<mujoco><worldbody>{many}</worldbody></mujoco>")
    return EnvChoice("Ant-v5", json.dumps({"xml_file": str(tmp_path / "a.xml")}))


@pytest.mark.slow
def test_an_environment_that_takes_for_ever_is_given_up(endless: EnvChoice) -> None:
    with pytest.raises(RequestError, match="could not be made within 1 s"):
        rehearse([endless], limit_s=1.0)


def test_an_environment_that_cannot_be_made_is_left_to_whoever_makes_it() -> None:
    said: list[Text] = []
    impossible = EnvChoice("Nothing-v0", json.dumps({"g": 1.0}))
    rehearse([EnvChoice("Pendulum-v1", json.dumps({"g": 1.0})), impossible], announce=said.append)
    assert [impossible.env_id in str(each) for each in said] == [False, True]
    with pytest.raises(RequestError, match="Nothing"):
        make_env(impossible)


@pytest.fixture
def hanging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a run whose environment, a module, is never made again."""
    stranger = Stranger(tmp_path, monkeypatch)
    stranger.write(NAME)
    run = finish(tmp_path / "runs", ENV.env_id, checkpoint_interval=30).run
    stranger.hang(NAME)
    stranger.allow(NAME)
    yield run
    stranger.leave(NAME)
    gym.registry.pop("StrangerSlide-v0", None)


class Stopper:
    """Asks for a stop once the environment is being made."""

    def __init__(self) -> None:
        self.control = Control()

    def report(self, event: Event) -> None:
        if isinstance(event, Preparing):
            self.stop(str(event.message))

    def stop(self, message: Text) -> None:
        if NAME in str(message):
            self.control.stop()

    def stopped(self) -> bool:
        return self.control.stopping


def test_training_stops_while_the_environment_of_a_file_is_made(hanging: Path) -> None:
    with_user_consent(ENV)
    last = hanging / "checkpoints" / "last.safetensors"
    config, tunables = tiny(ENV.env_id)
    runs = hanging.parent
    before = sorted(runs.rglob("*"))

    def resumed(stopper: Stopper) -> object:
        return resume(hanging, stopper.control, stopper.report, steps=80)

    def branched(stopper: Stopper) -> object:
        return branch(last, {"steps": 80}, stopper.control, stopper.report, runs)

    def new(stopper: Stopper) -> object:
        return train(config, tunables, stopper.control, stopper.report, runs)

    for start in (resumed, branched, new):
        outcome = start(Stopper())
        assert isinstance(outcome, Failed)
        assert outcome.cancelled, outcome
        assert sorted(runs.rglob("*")) == before
    assert NAME not in sys.modules


def test_a_check_and_an_evaluation_stop_while_the_environment_is_made(hanging: Path) -> None:
    with_user_consent(ENV)
    stopper = Stopper()
    with pytest.raises(RunError, match="stopped"):
        verify(hanging, announce=stopper.stop, stopped=stopper.stopped)
    policy = load(hanging / "checkpoints" / "last.safetensors").policy()
    going_on = iter([True, False])
    stopped = evaluate(policy, ENV, episodes=1, seed=0, keep_going=lambda: next(going_on))
    assert stopped is None
    assert NAME not in sys.modules


def test_an_environment_is_tried_in_another_process_once_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = EnvChoice("Pendulum-v1", json.dumps({"g": 1.23}))
    said: list[str] = []
    for _ in range(2):
        rehearse([choice, EnvChoice("Pendulum-v1")], announce=said.append)
    assert len(said) == 1
    stranger = Stranger(tmp_path, monkeypatch)
    stranger.write(NAME)
    # Without consent nothing would be imported there either.
    rehearse([ENV], announce=said.append)
    assert (len(said), stranger.imported) == (1, set())


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("command", [*slow("resume"), *release("eval", "verify")])
def test_ctrl_c_ends_a_command_whose_own_environment_is_never_made(
    hanging: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(hanging.parents[1] / "theirs"), prepend=os.pathsep)
    words = [sys.executable, "-m", "td3core", command, str(hanging)]
    words += ["--steps", "80"] if command == "resume" else []
    interrupt([*words, "--trust-env"])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_a_command_whose_environment_is_never_made(
    endless: EnvChoice, tmp_path: Path
) -> None:
    agent = write_checkpoint(tmp_path / "a.safetensors", env="Ant-v5", env_args=endless.args)
    interrupt([sys.executable, "-m", "td3core", "eval", str(agent)])


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    ("command", "place"),
    [
        pytest.param(
            command,
            place,
            marks=pytest.mark.slow if (command, place) in ONE_OF_EACH else pytest.mark.release,
        )
        for command in ("train", "train --seeds 2", "check", "sweep")
        for place in ("__init__", "reset", "step")
    ],
)
def test_ctrl_c_ends_a_command_whose_typed_environment_never_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, place: str
) -> None:
    Stranger(tmp_path, monkeypatch).write_deaf(NAME, place)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "theirs"), prepend=os.pathsep)
    words, runs = [*command.split(), ENV.env_id], tmp_path / "runs"
    if command == "sweep":
        words = ["sweep", str(tmp_path / "sweep.toml"), "--env-module", NAME]
        (tmp_path / "sweep.toml").write_text(
            "environment = 'Deaf-v0'\nobjective = 'last_eval'\ntrials = 2\nsteps = 50000\n"
            "[space]\ntau = { choices = [0.01, 0.1] }\n"
        )
    words += [] if command == "check" else ["--runs-dir", str(runs)]
    interrupt([sys.executable, "-m", "td3core", *words])
    assert not [*runs.rglob("run.toml")]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("more", [*slow(()), *release(("--seeds", "2"))])
def test_ctrl_c_ends_training_whose_typed_arguments_keep_a_simulator_busy(
    endless: EnvChoice, tmp_path: Path, more: tuple[str, ...]
) -> None:
    words = ["train", endless.env_id, "--set", f"env_args={endless.args}", *more]
    interrupt([sys.executable, "-m", "td3core", *words, "--runs-dir", str(tmp_path)])


def test_an_environment_is_usable_only_once_another_process_took_its_steps() -> None:
    choice = EnvChoice("Pendulum-v1", json.dumps({"g": 2.34}))
    check_env(choice)
    said: list[str] = []
    for _ in range(2):
        rehearse([choice], announce=said.append)
    assert len(said) == 1


@pytest.mark.slow
def test_a_rehearsal_takes_as_many_steps_as_the_check_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Stranger(tmp_path, monkeypatch).write_deaf(NAME, "step", after=90)
    with pytest.raises(RequestError, match="could not be made within 2 s"):
        rehearse([with_user_consent(ENV)], limit_s=2.0)


def interrupt(command: list[str]) -> None:
    """Press Ctrl-C once a command makes an environment in another process; it ends soon."""
    # A shell tells what it starts in the background to ignore Ctrl-C, which is inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    signal.signal(signal.SIGINT, before)
    with started as process:
        try:
            about = psutil.Process(process.pid)
            eventually(lambda: about.children() or process.poll() is not None, 240)
            process.send_signal(signal.SIGINT)
            assert process.wait(SOON_S) == 130
        finally:
            process.kill()
