"""What a file names as arguments of an environment can neither hang nor end a command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from td3core.config import EnvChoice
from td3core.envs.check.rehearsal import rehearse
from td3core.envs.make import make_env
from td3core.errors import RequestError
from tests.td3core.helpers import write_checkpoint


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


def test_an_environment_that_takes_for_ever_is_given_up(endless: EnvChoice) -> None:
    started = time.monotonic()
    with pytest.raises(RequestError, match="could not be made within 1 s"):
        rehearse([endless], limit_s=1.0)
    assert time.monotonic() - started < 10


def test_an_environment_that_cannot_be_made_is_left_to_whoever_makes_it() -> None:
    rehearse([EnvChoice("Pendulum-v1", json.dumps({"g": 1.0})), EnvChoice("Nothing-v0")])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_ends_a_command_whose_environment_is_never_made(
    endless: EnvChoice, tmp_path: Path
) -> None:
    agent = write_checkpoint(tmp_path / "a.safetensors", env="Ant-v5", env_args=endless.args)
    command = [sys.executable, "-m", "td3core", "eval", str(agent)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            about, end = psutil.Process(process.pid), time.monotonic() + 60
            # The one that finds leaked memory, and the one that makes the environment.
            while len(about.children()) < 2 and process.poll() is None:
                assert time.monotonic() < end
            process.send_signal(signal.SIGINT)
            started = time.monotonic()
            assert process.wait(20) == 130
            assert time.monotonic() - started < 4
        finally:
            process.kill()
