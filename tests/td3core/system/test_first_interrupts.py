"""Ctrl-C while the program is still being imported."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PRESS = """
import os, signal, sys

class Press:
    def find_spec(self, name, path=None, target=None):
        if name == "td3core.system.numerics":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Press())
"""
"""Presses Ctrl-C when the program imports a module that it always does."""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(
    "words",
    [
        ["-m", "td3core", "list"],
        ["-m", "studio", "list"],
        ["-c", "from studio.__main__ import main; raise SystemExit(main())"],
    ],
    ids=["engine", "window", "script"],
)
def test_an_interrupt_during_the_imports_ends_the_program_without_a_traceback(
    root: Path, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "sitecustomize.py").write_text(PRESS)
    paths = os.pathsep.join([str(tmp_path), str(root)])
    # A shell tells what it starts in the background to ignore Ctrl-C, which is inherited.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = subprocess.run(
            [sys.executable, *words],
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found.returncode, found.stderr) == (-signal.SIGINT, "")
