"""A process that cannot be started is refused in the same words, whatever it was for."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject

from studio.experiments.group_session import GroupSession
from studio.launch.beside import RunsBeside
from td3core.config import make_settings
from td3core.errors import no_process
from td3core.experiments.groups.group import NewGroup
from td3core.experiments.jobs import NewRun

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
