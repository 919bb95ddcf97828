"""A child with a pipe: its end is noticed, whichever process holds the pipe open."""

import os
import signal

import pytest

from td3core import __version__
from td3core.system.child_process import ChildProcess, UpdatedError
from tests.support.talker import CODEC, leave_a_process
from tests.support.waiting import eventually

WAIT_S = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX only")
def test_the_end_of_a_child_is_noticed_though_another_process_holds_its_pipe() -> None:
    child = ChildProcess("leaving", CODEC, leave_a_process)
    left = None
    try:
        assert child.ready(WAIT_S)
        left = int(child.receive())
        eventually(lambda: child.ready(0.05), WAIT_S)
        with pytest.raises(EOFError):
            child.receive()
    finally:
        if left is not None:
            os.kill(left, signal.SIGKILL)
        child.stop(kill=True)


def test_a_child_of_another_version_refuses_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("td3core.system.child_process.__version__", "0.0.9")
    child = ChildProcess("updated", CODEC, leave_a_process)
    try:
        assert child.ready(WAIT_S)
        with pytest.raises(UpdatedError, match=f"updated from 0.0.9 to {__version__}: restart it"):
            child.receive()
        assert child.exit_code() == 1
    finally:
        child.stop(kill=True)
