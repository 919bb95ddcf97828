"""Output that cannot be written, and a terminal that closes: training goes on and is saved."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.cli.output import TolerantStream
from td3core.runs.directory import RunDirectory
from tests.support.marks import release, slow
from tests.td3core.cli.test_commands import small

pytestmark = pytest.mark.skipif(os.name != "posix", reason="file descriptors as POSIX has them")


def command(runs_dir: Path, *more: str, steps: int = 60, **values: Any) -> list[str]:
    options = ["--steps", str(steps), "--threads", "1", "--runs-dir", str(runs_dir), *more]
    program = [sys.executable, "-m", "td3core", "train", "Pendulum-v1"]
    return [*program, *options, *small(**{"eval_interval": 20} | values)]


def finished(runs_dir: Path, steps: int = 60) -> RunDirectory:
    """Return the only run of a folder, which must be whole."""
    (path,) = runs_dir.iterdir()
    run = RunDirectory.open(path)
    ending = run.ending()
    assert ending is not None
    assert (ending.stopped, ending.env_steps) == ("finished", steps)
    for each in (run.best, run.last):
        checkpoint.load(each)
    return run


@pytest.mark.parametrize(
    "redirection", [*slow("2>/dev/full"), *release(">&- 2>&- <&-", "2>&-", "2>&1 | true")]
)
def test_a_run_finishes_though_standard_error_cannot_be_written(
    runs_dir: Path, redirection: str
) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    quoted = " ".join(f"'{word}'" for word in command(runs_dir))
    script = f"{quoted} {redirection}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done
    assert done.stdout == b""
    finished(runs_dir)


@pytest.mark.slow
def test_a_result_that_cannot_be_written_is_reported_after_the_run_was_saved(
    runs_dir: Path,
) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    with full.open("w") as out:
        words = command(runs_dir, "--json")
        done = subprocess.run(
            words, stdout=out, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "td3-studio: Standard output cannot be written: No space left on device."
    assert "Traceback" not in done.stderr
    finished(runs_dir)


@pytest.mark.slow
@pytest.mark.parametrize("words", [["list"], ["list", "--json"], ["--help"], ["list", "--help"]])
def test_a_reader_that_has_read_enough_is_no_failure(runs_dir: Path, words: list[str]) -> None:
    words = [*words, "--runs-dir", str(runs_dir)] if "--help" not in words else words
    read, write = os.pipe()
    os.close(read)
    program = [sys.executable, "-m", "td3core", *words]
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            program, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == 0
    assert "Standard output" not in done.stderr


@pytest.mark.parametrize("number", [*slow(signal.SIGHUP), *release(signal.SIGTERM)])
@pytest.mark.usefixtures("no_nohup")
def test_a_closed_terminal_saves_and_stops_the_run_with_its_processes(
    runs_dir: Path, number: int
) -> None:
    more = {"num_envs": 2, "env_processes": 1, "background_evaluation": "true"}
    words = command(runs_dir, "--json", steps=10**7, **more)
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "return" in line:
            break
    # As a terminal does: everything that runs in it, the shell a second time; then it is gone.
    process.stderr.close()
    os.killpg(process.pid, number)
    if number == signal.SIGHUP:
        os.kill(process.pid, number)
    assert process.stdout is not None
    with process.stdout as out:
        printed = out.read()
    assert process.wait(60) == 0
    found = json.loads(printed.splitlines()[-1])
    assert found["stopped"] == "user"
    header = checkpoint.read_header(Path(found["last_checkpoint"]))
    assert header.counters.env_steps == found["env_steps"]


def test_a_hangup_that_is_ignored_stays_ignored(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        # As nohup has it.
        asked: list[int] = []
        real = signal.signal
        monkeypatch.setattr(signal, "signal", lambda n, h: (asked.append(n), real(n, h))[1])
        options = ["--steps", "20", "--threads", "1", "--runs-dir", str(runs_dir)]
        assert app.main(["train", "Pendulum-v1", *options, *small()]) == 0
        assert signal.SIGINT in asked
        assert signal.SIGHUP not in asked
    finally:
        signal.signal(signal.SIGHUP, before)


class Broken(io.StringIO):
    """Fails as it is told to."""

    def __init__(self, problem: Exception) -> None:
        super().__init__()
        self.problem: Exception | None = problem

    def write(self, text: str) -> int:
        if self.problem:
            raise self.problem
        return super().write(text)


@pytest.mark.parametrize(
    "problem",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        BrokenPipeError(errno.EPIPE, "Broken pipe"),
        ValueError("I/O operation on closed file"),
        # A signal handler that writes in the middle of a write.
        RuntimeError("reentrant call inside <_io.BufferedWriter>"),
    ],
    ids=["full", "pipe", "closed", "reentrant"],
)
def test_a_tolerant_stream_drops_what_cannot_be_written_and_tries_again(
    problem: Exception,
) -> None:
    stream = Broken(problem)
    tolerant = TolerantStream(stream)
    assert tolerant.write("lost") == 4
    assert tolerant.failure is problem
    stream.problem = None
    tolerant.write("seen")
    assert stream.getvalue() == "seen"


def test_a_tolerant_stream_writes_what_the_encoding_lacks_as_escapes() -> None:
    raw = io.BytesIO()
    tolerant = TolerantStream(io.TextIOWrapper(raw, "ascii", write_through=True))
    tolerant.write("1.0 ± 0.5")
    assert raw.getvalue() == b"1.0 \\xb1 0.5"


def test_a_stream_that_is_closed_from_the_start_takes_everything() -> None:
    tolerant = TolerantStream(None)
    tolerant.write("lost")
    tolerant.flush()
    assert tolerant.failure is not None
    assert not tolerant.isatty()
