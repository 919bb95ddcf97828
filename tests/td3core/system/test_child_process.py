"""A child with a pipe: its end is noticed, whoever holds the pipe open."""

import os
import signal
import time

import pytest

from td3core.system.child_process import ChildProcess
from tests.support.talker import leave_a_process

WAIT_S = 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX only")
def test_the_end_of_a_child_is_noticed_though_another_process_holds_its_pipe() -> None:
    child = ChildProcess("leaving", leave_a_process)
    left = None
    try:
        assert child.ready(WAIT_S)
        left = child.receive()
        end = time.monotonic() + WAIT_S
        while not child.ready(0.05):
            assert time.monotonic() < end
        with pytest.raises(EOFError):
            child.receive()
    finally:
        if left is not None:
            os.kill(left, signal.SIGKILL)
        child.stop(kill=True)
