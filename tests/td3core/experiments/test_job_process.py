"""The processes of runs and groups are ended and explained alike."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from td3core.experiments import job_process
from td3core.experiments.groups.messages import GroupEnded, ResumedGroup
from td3core.experiments.groups.process import GroupProcess
from td3core.experiments.jobs import ResumedRun
from td3core.experiments.run_process import RunProcess
from td3core.protocol.events import Failed
from td3core.protocol.steering import Ask, Verb
from tests.support import events

RUN = (RunProcess, ResumedRun(run=Path("run")), events.ended())
GROUP = (GroupProcess, ResumedGroup(path=Path("group")), GroupEnded())
KINDS = pytest.mark.parametrize(("kind", "job", "last"), [RUN, GROUP], ids=["run", "group"])
Start = Callable[..., tuple[Any, "Played", list[Any]]]


class Played:
    """Stands in for the process behind; the test says what it does."""

    pid = 7

    def __init__(self, _: str, codec: object, say: Any, end: Any, log: Any, **more: Any) -> None:
        self.say, self.end, self.log = say, end, log
        self.sent: list[object] = []
        self.killed = 0

    def send(self, message: object) -> None:
        self.sent.append(message)

    def kill(self) -> None:
        self.killed += 1


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setattr(job_process, "MessageProcess", Played)

    def begin(kind: Any, job: object) -> tuple[Any, Played, list[Any]]:
        reported: list[Any] = []
        process = kind(job, reported.append)
        return process, process._process, reported

    return begin


@KINDS
def test_a_crash_is_reported_with_its_last_line_as_cause_and_all_lines_as_details(
    start: Start, kind: Any, job: object, last: object
) -> None:
    _, played, reported = start(kind, job)
    for line in ("Traceback", "MemoryError: 8 GiB", ""):
        played.log(line)
    played.end(1)
    (told,) = reported
    assert isinstance(told, Failed | GroupEnded)
    cause = told.message if isinstance(told, Failed) else told.problem
    assert (str(cause), told.details) == ("MemoryError: 8 GiB", "Traceback\nMemoryError: 8 GiB\n")


@KINDS
@pytest.mark.parametrize(
    ("code", "cause"),
    [(-9, "The process was killed by signal 9."), (1, "The process ended early.")],
)
def test_a_process_that_says_nothing_is_explained_by_its_exit_code(
    start: Start, kind: Any, job: object, last: object, code: int, cause: str
) -> None:
    _, played, reported = start(kind, job)
    played.end(code)
    (told,) = reported
    assert str(told.message if isinstance(told, Failed) else told.problem) == cause


@KINDS
def test_a_process_that_does_not_exit_after_its_last_message_is_killed_once(
    start: Start, monkeypatch: pytest.MonkeyPatch, kind: Any, job: object, last: object
) -> None:
    monkeypatch.setattr(job_process, "EXIT_S", 0.0)
    process, played, reported = start(kind, job)
    played.say(last)
    played.say(last)
    process._killer.join()
    played.end(-9)
    assert played.killed == 1
    assert last in reported


@KINDS
def test_a_detached_process_is_told_so(start: Start, kind: Any, job: object, last: object) -> None:
    process, played, _ = start(kind, job)
    process.detach()
    assert played.sent == [job, Ask(Verb.DETACH)]
