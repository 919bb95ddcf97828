"""Signals that end the program: the window saves its run and closes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from td3core import checkpoint
from td3core.protocol.run_status import RunStatus
from td3core.runs.listing import RunSummary, list_runs, summarise
from tests.support.marks import release, slow

CHILD = "tests.support.studio_child"


def the_run(folder: Path) -> RunSummary | None:
    runs = list(list_runs(folder))
    return summarise(runs[0]) if runs else None


@pytest.mark.parametrize("number", [*slow(signal.SIGHUP), *release(signal.SIGTERM, signal.SIGINT)])
@pytest.mark.usefixtures("no_nohup")
def test_a_closed_terminal_saves_the_run_of_the_window(tmp_path: Path, number: int) -> None:
    words, runs = [sys.executable, "-m", CHILD, str(tmp_path)], tmp_path / "runs"
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(words, stdout=out, stderr=out, start_new_session=True)
    try:
        over = time.monotonic() + 120
        while (run := the_run(runs)) is None or run.env_steps < 1:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < over
            time.sleep(0.1)
        # As a terminal does: everything that runs in it.
        os.killpg(process.pid, number)
        assert process.wait(60) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()
    run = the_run(runs)
    assert run is not None
    assert run.state is RunStatus.STOPPED
    header = checkpoint.read_header(run.run / "checkpoints" / "last.safetensors")
    assert header.counters.env_steps == run.env_steps
