"""Processes that cannot be started, and those that outlive what started them."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QObject

from studio.experiments.group_session import GroupSession
from studio.launch.beside import RunsBeside
from studio.tasks.cli_process import CliProcess
from td3core.config import make_settings
from td3core.errors import no_process
from td3core.experiments.groups.group import NewGroup
from td3core.experiments.jobs import NewRun
from td3core.text import Text

FULL = OSError(11, "Resource temporarily unavailable")


def fail(*_: Any) -> None:
    raise FULL


def test_a_group_and_a_run_beside_say_why_no_process_could_be_started(
    qtbot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("studio.experiments.group_session.GroupProcess", fail)
    monkeypatch.setattr("studio.launch.beside.RunProcess", fail)
    config, tunables = make_settings({"env": "Pendulum-v1"})
    parent, refused = QObject(), []
    session, beside = GroupSession(lambda _, go: go(), parent), RunsBeside(parent)
    for each in (session, beside):
        each.refused.connect(refused.append)
    session.start(NewGroup(runs_dir=tmp_path, seeds=(0,), config=config, tunables=tunables))
    beside.start(NewRun(config=config, tunables=tunables, runs_dir=tmp_path))
    assert refused == [no_process(FULL)] * 2
    said = "No process could be started: Resource temporarily unavailable."
    assert list(map(str, refused)) == [said] * 2
    assert not session.busy


def test_a_process_may_report_after_the_session_that_started_it_is_gone(
    qtbot, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reports: list[Callable[[object], None]] = []

    def start(_: object, report: Callable[[object], None]) -> SimpleNamespace:
        reports.append(report)
        return SimpleNamespace(detach=lambda: None)

    monkeypatch.setattr("studio.experiments.group_session.GroupProcess", start)
    monkeypatch.setattr("studio.launch.beside.RunProcess", start)
    config, tunables = make_settings({"env": "Pendulum-v1"})
    parent = QObject()
    session, beside = GroupSession(lambda _, go: go(), parent), RunsBeside(parent)
    session.start(NewGroup(runs_dir=tmp_path, seeds=(0,), config=config, tunables=tunables))
    beside.start(NewRun(config=config, tunables=tunables, runs_dir=tmp_path))
    session.detach()
    beside.leave()
    shiboken6.delete(parent)
    for report in reports:
        report(Text("still there"))
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (["/no/such/program"], "No process could be started: "),
        ([sys.executable, "-c", "exit(1)"], "The command ended without an answer."),
        ([sys.executable, "-c", "exit('no disk')"], "no disk"),
        ([sys.executable, "-c", """print('{"error": "No such run."}')"""], "No such run."),
    ],
)
def test_a_command_without_an_answer_has_one_signal_with_the_sentence(
    qtbot, monkeypatch: pytest.MonkeyPatch, program: Sequence[str], said: str
) -> None:
    monkeypatch.setattr("studio.tasks.cli_process.command_line", lambda _: program)
    command = CliProcess()
    with qtbot.waitSignal(command.refused) as refused:
        command.run([])
    assert isinstance(refused.args[0], Text)
    assert str(refused.args[0]).startswith(said)
    assert not command.busy
