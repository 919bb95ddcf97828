"""The process of a group and the messages of its parent."""

import os
import queue
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.analysis.measured import MeasuredRun
from td3core.envs.trust import with_user_consent
from td3core.experiments.groups import child
from td3core.experiments.groups.group import NewGroup
from td3core.experiments.groups.messages import (
    CODEC,
    GroupEnded,
    ResumedGroup,
    SeedEvent,
)
from td3core.experiments.groups.process import GroupProcess
from td3core.experiments.groups.seed_status import SeedState
from td3core.protocol.events import Progress
from tests.support.stranger import Stranger
from tests.td3core.experiments.conftest import STEPS_ENV
from tests.td3core.experiments.stage import Actor, Stage, finish
from tests.td3core.helpers import run, tiny

WAIT_S = 60


class Parent:
    """Sends one job, and keeps what comes back."""

    def __init__(self, job: object) -> None:
        self.job, self.received = job, list[Any]()

    def receive(self) -> object:
        return self.job

    def send(self, message: object) -> None:
        self.received.append(message)

    def listen(self, *_: object) -> None:
        pass


@pytest.mark.parametrize("resumed", [False, True])
def test_a_group_is_begun_and_resumed_with_the_code_that_its_process_may_import(
    make_group, runs_dir: Path, monkeypatch: pytest.MonkeyPatch, resumed: bool
) -> None:
    config, tunables = tiny(STEPS_ENV)
    with_user_consent(config.choice)
    if resumed:
        job: object = ResumedGroup(path=make_group((0, 1)).path)
    else:
        job = NewGroup(runs_dir=runs_dir, seeds=(0, 1), config=config, tunables=tunables)
    parent, stage = Parent(job), Stage(finish)
    monkeypatch.setattr(child, "ParentLink", lambda _: parent)
    monkeypatch.setattr(child, "ignore_terminal", lambda: None)
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)
    child.main()
    ended = parent.received[-1]
    assert isinstance(ended, GroupEnded)
    assert ended.problem is None
    assert [status.state for status in ended.statuses] == [SeedState.FINISHED] * 2


def test_only_the_seeds_of_a_job_are_resumed_and_the_others_can_be_later(
    make_group, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_user_consent(tiny(STEPS_ENV)[0].choice)
    parent = Parent(ResumedGroup(path=make_group((0, 1, 2)).path, seeds=(1,)))
    stage = Stage(finish)
    monkeypatch.setattr(child, "ParentLink", lambda _: parent)
    monkeypatch.setattr(child, "ignore_terminal", lambda: None)
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)
    child.main()
    *_, ended = parent.received
    assert [actor.seed for actor in stage.actors] == [1]
    assert [(each.state, each.state.is_resumable) for each in ended.statuses] == [
        (SeedState.STOPPED, True),
        (SeedState.FINISHED, False),
        (SeedState.STOPPED, True),
    ]


@pytest.mark.slow
def test_a_window_hears_all_that_the_runs_of_a_group_report(
    make_group, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.training.trainer.REPORT_S", 0.0)
    reported = {
        seed: run(tmp_path, STEPS_ENV, seed=seed, eval_interval=20)[1].events for seed in (0, 1)
    }
    parent = Parent(ResumedGroup(path=make_group((0, 1)).path))

    def act(actor: Actor) -> None:
        for event in reported[actor.seed]:
            actor.report(event)

    monkeypatch.setattr(child, "ParentLink", lambda _: parent)
    monkeypatch.setattr(child, "ignore_terminal", lambda: None)
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", Stage(act))
    child.main()
    heard = [CODEC.decode(CODEC.encode(message)) for message in parent.received]
    for seed, events in reported.items():
        sent = [each.event for each in heard if isinstance(each, SeedEvent) and each.seed == seed]
        # Progress comes in fewer reports, all else as it was.
        others = [event for event in events if not isinstance(event, Progress)]
        assert [event for event in sent if not isinstance(event, Progress)] == others
        assert len(sent) < len(events)
        live, told = MeasuredRun(), MeasuredRun()
        for each, found in ((sent, live), (events, told)):
            for event in each:
                found.take(event)
        for name in ("evaluations", "episodes", "training", "reached"):
            one, other = (getattr(found.measured, name) for found in (live, told))
            assert len(other), name
            np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_the_processes_of_a_group_import_what_was_allowed_though_no_answer_is_remembered(
    make_group, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = Stranger(tmp_path, monkeypatch)
    stranger.write("theirs_env")
    stranger.trusted.mkdir()
    env = "theirs_env:Slide"
    config, tunables = tiny(env)

    def ending(job: NewGroup | ResumedGroup) -> GroupEnded:
        ends: queue.SimpleQueue[object] = queue.SimpleQueue()
        GroupProcess(job, ends.put)
        while not isinstance(message := ends.get(timeout=WAIT_S), GroupEnded):
            pass
        return message

    new = NewGroup(runs_dir=runs_dir, seeds=(0, 1), config=config, tunables=tunables)
    resumed = ResumedGroup(path=make_group((2, 3), env).path)
    refused = ending(new).problem
    assert refused is not None
    assert "theirs_env.py, which you have not allowed" in str(refused)
    assert stranger.imported == set()
    with_user_consent(config.choice)
    for job in (new, resumed):
        states = [status.state for status in ending(job).statuses]
        assert states == [SeedState.FINISHED] * 2
    assert os.getpid() not in stranger.processes
