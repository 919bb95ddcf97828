"""A child that talks with its parent: whatever happens on either side, its end is noticed."""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from td3core import __version__
from td3core.system.message_process import MessageProcess
from tests.support.talker import CODEC

WAIT_S = 20
Started = tuple[MessageProcess, "queue.SimpleQueue[int]"]


@pytest.fixture
def start() -> Iterator[Callable[..., Started]]:
    """Start a talking child; its exit code arrives in the queue."""
    made: list[MessageProcess] = []

    def begin(on_message: Callable[[Any], None], **more: Any) -> Started:
        codes: queue.SimpleQueue[int] = queue.SimpleQueue()
        made.append(MessageProcess("tests.support.talker", CODEC, on_message, codes.put, **more))
        return made[-1], codes

    yield begin
    for process in made:
        process.kill()
        assert process.join(WAIT_S)


def is_reaped(process: MessageProcess) -> bool:
    return not psutil.pid_exists(process.pid)


def test_a_message_that_cannot_be_handled_ends_the_child_and_is_logged(start, caplog) -> None:
    def fail(message: object) -> None:
        raise ZeroDivisionError(message)

    process, codes = start(fail)
    process.send("hello")
    assert codes.get(timeout=WAIT_S) == 0
    assert process.join(WAIT_S)
    assert is_reaped(process)
    (record,) = caplog.records
    assert "ZeroDivisionError: hello" in record.exc_text


def test_a_line_that_cannot_be_handled_does_not_hold_up_the_child(start, caplog) -> None:
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()

    def fail(line: str) -> None:
        raise ZeroDivisionError(line)

    process, _ = start(messages.put, on_log=fail)
    process.send("write")
    assert messages.get(timeout=WAIT_S) == "write"
    (record,) = caplog.records
    assert "ZeroDivisionError: line 0" in record.exc_text


def test_a_child_that_cannot_handle_a_message_ends_as_without_its_parent(start) -> None:
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()
    lines: list[str] = []
    process, codes = start(messages.put, on_log=lines.append)
    process.send("fail")
    assert messages.get(timeout=WAIT_S) == "the parent is gone"
    assert codes.get(timeout=WAIT_S) == 0
    assert process.join(WAIT_S)
    assert "KeyError: 'fail'" in lines


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked on POSIX only")
def test_the_end_of_a_child_is_noticed_though_another_process_holds_its_pipes(
    start, monkeypatch
) -> None:
    monkeypatch.setattr("td3core.system.message_process._LAST_MESSAGES_S", 0.1)
    monkeypatch.setattr("td3core.system.message_process._LOG_S", 0.1)
    messages: queue.SimpleQueue[str] = queue.SimpleQueue()
    process, codes = start(messages.put)
    process.send("fork")
    assert messages.get(timeout=WAIT_S) == "fork"
    (left,) = psutil.Process(process.pid).children()
    try:
        process.kill()
        assert codes.get(timeout=WAIT_S) == -9
        assert process.join(WAIT_S)
        assert is_reaped(process)
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            left.kill()


def test_a_child_that_does_not_read_holds_up_nobody_for_long(start) -> None:
    process, codes = start(lambda _: None)
    process.send("hang")
    started = time.monotonic()
    for _ in range(3):
        process.send("more than a pipe holds" * 100_000)
    assert time.monotonic() - started < WAIT_S / 2
    process.kill()
    assert codes.get(timeout=WAIT_S) == -9
    assert process.join(WAIT_S)
    assert not [each for each in threading.enumerate() if each.name.startswith("write-")]


def test_a_child_of_another_version_refuses(start, monkeypatch) -> None:
    monkeypatch.setattr("td3core.system.message_process.__version__", "0.0.9")
    lines: list[str] = []
    process, codes = start(lambda _: None, on_log=lines.append)
    assert codes.get(timeout=WAIT_S) == 1
    assert process.join(WAIT_S)
    assert lines == [f"TD3 Studio was updated from 0.0.9 to {__version__}: restart it."]
