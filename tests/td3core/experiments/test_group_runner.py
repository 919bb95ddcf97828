"""What a runner makes of its runs; their processes are played by the test."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from td3core.checkpoint import read_header
from td3core.config import given
from td3core.errors import RequestError
from td3core.experiments.groups.allocation import Allocation
from td3core.experiments.groups.commands import Command, GroupInbox, request
from td3core.experiments.groups.group import Group, find_group, open_group
from td3core.experiments.groups.runner import GroupRunner
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.jobs import Branch, ResumedRun, perform
from td3core.experiments.run_process import RunProcess
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event
from td3core.protocol.steering import Verb
from td3core.remote.inbox import put
from td3core.runs.branching import branch_settings
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import write_ending
from td3core.text import Text
from tests.td3core.experiments.stage import Actor, Stage, break_the_second, ended, failed, finish
from tests.td3core.helpers import finish as finish_run
from tests.td3core.helpers import new_group


@pytest.fixture
def conduct(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Stage, tuple[SeedStatus, ...]]]:
    """Train a group with such processes; ``at`` maps a seed and state to a command."""

    def train(
        group: Group,
        act: Callable[[Actor], None],
        at: dict[tuple[int, SeedState], Command] | None = None,
        jobs: int = 2,
    ) -> tuple[Stage, tuple[SeedStatus, ...]]:
        stage, waiting = Stage(act), dict(at or {})
        monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)

        def report(status: SeedStatus, event: Event | None) -> None:
            command = waiting.pop((status.seed, status.state), None)
            if command is not None:
                runner.command(command)

        allocation = Allocation(jobs=jobs, threads=1, reason=Text("because"))
        runner = GroupRunner(group, allocation, report)
        return stage, runner.run()

    return train


def test_no_more_runs_train_at_once_than_there_are_places(make_group, conduct) -> None:
    stage, statuses = conduct(make_group((0, 1, 2, 3, 4)), finish)
    assert stage.most == 2
    assert [actor.seed for actor in stage.actors] == [0, 1, 2, 3, 4]
    assert [status.state for status in statuses] == [SeedState.FINISHED] * 5


def test_every_run_has_the_settings_of_the_group_and_its_own_seed(make_group, conduct) -> None:
    group = make_group((3, 7), steps=50)
    stage, _ = conduct(group, finish)
    assert [actor.job.config for actor in stage.actors] == [group.config_of(s) for s in (3, 7)]
    assert {actor.job.group for actor in stage.actors} == {group.name}


def test_a_run_that_a_longer_group_still_begins_has_the_schedules_of_the_others(make_group) -> None:
    longer = make_group(steps=50, tau="0.5, 0.1@100%").with_steps(80)
    assert (longer.config.steps, given(longer.tunables, "tau")) == (80, "0.5@0, 0.1@50")


def test_a_run_that_fails_does_not_stop_the_others(make_group, conduct) -> None:
    _, statuses = conduct(make_group((0, 1, 2)), break_the_second, jobs=1)
    assert [s.state for s in statuses] == [SeedState.FINISHED, SeedState.FAILED, SeedState.FINISHED]
    assert str(statuses[1].message) == "It broke."


def test_a_process_that_cannot_be_started_does_not_stop_the_others(make_group, conduct) -> None:
    def act(actor: Actor) -> None:
        if actor.seed == 0:
            raise OSError(11, "Resource temporarily unavailable")
        finish(actor)

    _, statuses = conduct(make_group((0, 1)), act)
    assert [status.state for status in statuses] == [SeedState.FAILED, SeedState.FINISHED]
    assert "Resource temporarily unavailable" in str(statuses[0].message)


def truncated(text: str) -> str:
    return text[: text.index("[config]") + 40]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("schema = 1", "schema = 99"),
        truncated,
        lambda _: "",
    ],
    ids=["newer", "truncated", "empty"],
)
def test_a_run_that_cannot_be_read_is_not_trained_again(
    make_group, conduct, damage: Callable[[str], str]
) -> None:
    group = make_group((0, 1))
    run = RunDirectory.create(group.runs_dir, group.config_of(1), group.tunables, group=group.name)
    description = run.path / "run.toml"
    description.write_text(damage(description.read_text()))
    stage, statuses = conduct(group, finish)
    assert [actor.seed for actor in stage.actors] == [0]
    assert [status.state for status in statuses] == [SeedState.FINISHED, SeedState.FAILED]
    assert f"{run.path.name}/run.toml cannot be read: " in str(statuses[1].message)
    group.discard()
    assert group.path.is_dir()


@pytest.mark.parametrize("belongs", ["nowhere", "to another group", "to an earlier time"])
def test_an_unreadable_run_of_others_holds_up_no_seed(make_group, conduct, belongs: str) -> None:
    group = make_group((0, 1))
    owner = "another" if belongs == "to another group" else ""
    run = RunDirectory.create(group.runs_dir, group.config_of(1), group.tunables, group=owner)
    (run.path / "run.toml").write_text(truncated((run.path / "run.toml").read_text()))
    if belongs == "to an earlier time":
        (run.path / "run.toml").write_text("")
        name = run.path.name.rpartition("_")[0] + "_20000101-000000"
        run.path.rename(run.path.with_name(name))
    _, statuses = conduct(group, finish)
    assert [status.state for status in statuses] == [SeedState.FINISHED] * 2


@pytest.mark.parametrize(("steps", "done"), [(60, True), (97, False)])
def test_a_run_that_was_given_more_steps_by_itself_has_finished_with_its_group(
    make_group, conduct, steps: int, done: bool
) -> None:
    group = make_group((0, 1), steps=steps)
    config = replace(group.config_of(0), steps=200)
    run = RunDirectory.create(group.runs_dir, config, group.tunables, group=group.name)
    write_ending(run.path, {"stopped": "user", "env_steps": 80})
    stage, statuses = conduct(group, finish)
    assert len(stage.actors) == (1 if done else 2)
    assert [status.state for status in statuses] == [SeedState.FINISHED] * 2


def test_a_process_that_is_killed_leaves_its_run_interrupted(make_group, conduct) -> None:
    def act(actor: Actor) -> None:
        actor.start()
        actor.report(failed("killed by signal 9"))

    _, statuses = conduct(make_group((0,)), act)
    assert statuses[0].state is SeedState.INTERRUPTED


def test_stop_saves_what_trains_and_starts_nothing_more(make_group, conduct) -> None:
    at = {(0, SeedState.TRAINING): Command(verb=Verb.STOP)}
    stage, statuses = conduct(make_group((0, 1)), Actor.start, at, jobs=1)
    assert [actor.asked for actor in stage.actors] == [["stop"]]
    assert [status.state for status in statuses] == [SeedState.STOPPED, SeedState.STOPPED]
    assert [status.run is None for status in statuses] == [False, True]


def end_the_second(actor: Actor) -> None:
    actor.start()
    if actor.seed == 1:
        actor.report(ended(actor.config))


def test_one_run_is_paused_and_the_others_continue(make_group, conduct) -> None:
    at = {
        (0, SeedState.TRAINING): Command(verb=Verb.PAUSE, seed=0),
        (1, SeedState.FINISHED): Command(verb=Verb.STOP, seed=0),
    }
    stage, statuses = conduct(make_group((0, 1)), end_the_second, at)
    assert stage.actors[0].asked == ["pause", "stop"]
    assert stage.actors[1].asked == []
    assert [status.state for status in statuses] == [SeedState.STOPPED, SeedState.FINISHED]


def test_a_waiting_run_that_is_paused_starts_once_it_is_unpaused(make_group, conduct) -> None:
    at = {
        (1, SeedState.WAITING): Command(verb=Verb.PAUSE, seed=1),
        (2, SeedState.FINISHED): Command(verb=Verb.UNPAUSE, seed=1),
    }
    stage, statuses = conduct(make_group((0, 1, 2)), finish, at, jobs=1)
    assert [actor.seed for actor in stage.actors] == [0, 2, 1]
    assert {status.state for status in statuses} == {SeedState.FINISHED}


def end_from_the_third_on(actor: Actor) -> None:
    actor.start()
    if len(actor.stage.actors) > 2:
        actor.report(ended(actor.config))


def test_a_stopped_run_can_be_resumed_while_others_train(make_group, conduct) -> None:
    at = {
        (0, SeedState.TRAINING): Command(verb=Verb.STOP, seed=0),
        (0, SeedState.STOPPED): Command(verb=Verb.RESUME, seed=0),
        (0, SeedState.FINISHED): Command(verb=Verb.STOP, seed=1),
    }
    stage, statuses = conduct(make_group((0, 1)), end_from_the_third_on, at)
    assert [actor.seed for actor in stage.actors] == [0, 1, 0]
    assert [status.state for status in statuses] == [SeedState.FINISHED, SeedState.STOPPED]


def test_a_run_is_unpaused_or_resumed_only_if_asked_for_that(make_group, conduct) -> None:
    at = {
        (0, SeedState.TRAINING): Command(verb=Verb.RESUME, seed=0),
        (1, SeedState.TRAINING): Command(verb=Verb.STOP, seed=1),
        (1, SeedState.STOPPED): Command(verb=Verb.UNPAUSE, seed=1),
        (2, SeedState.TRAINING): Command(verb=Verb.RESUME),
        (2, SeedState.FINISHED): Command(verb=Verb.STOP),
    }
    stage, statuses = conduct(make_group((0, 1, 2)), end_from_the_third_on, at)
    assert [actor.asked for actor in stage.actors] == [["stop"], ["stop"], []]
    assert [status.state for status in statuses] == [
        *(SeedState.STOPPED, SeedState.STOPPED, SeedState.FINISHED)
    ]


def test_an_earlier_program_unpauses_and_resumes_with_one_request(make_group) -> None:
    group = make_group((0, 1))
    inbox = GroupInbox(group)
    inbox.open()
    put(group.path, "resume", {"seed": 1})
    assert inbox.take_commands() == [
        *(Command(verb=Verb.UNPAUSE, seed=1), Command(verb=Verb.RESUME, seed=1))
    ]


def test_ctrl_c_twice_kills_what_trains(make_group, conduct, monkeypatch) -> None:
    def act(actor: Actor) -> None:
        actor.start()
        raise KeyboardInterrupt

    stage = Stage(act)
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)
    allocation = Allocation(jobs=1, threads=1, reason=Text("because"))
    runner = GroupRunner(make_group((0, 1)), allocation, lambda status, event: None)
    with pytest.raises(KeyboardInterrupt):
        runner.run()


def test_no_process_is_waited_for_without_end(make_group, monkeypatch) -> None:
    def act(actor: Actor) -> None:
        if actor.seed == 0:
            finish(actor)
        elif actor.seed == 3:
            raise ZeroDivisionError

    stage = Stage(act)
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)
    allocation = Allocation(jobs=3, threads=1, reason=Text("because"))
    runner = GroupRunner(make_group((0, 1, 2, 3)), allocation, lambda status, event: None)
    with pytest.raises(ZeroDivisionError):
        runner.run()
    # The first has finished, two are left when the group breaks off.
    assert [actor.asked for actor in stage.actors] == [[], ["stop"], ["stop"], []]
    assert len(stage.waited) == 3
    assert all(0 <= seconds <= 60 for seconds in stage.waited)


def test_a_process_that_cannot_be_ended_is_left_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    waited: list[float] = []

    class Hanging:
        pid = 4711

        def __init__(self, *_: object, **__: object) -> None:
            self.killed = False

        def send(self, message: object) -> None:
            pass

        def kill(self) -> None:
            self.killed = True

        def join(self, timeout_s: float) -> bool:
            waited.append(timeout_s)
            return False

    monkeypatch.setattr("td3core.experiments.job_process.MessageProcess", Hanging)
    RunProcess(ResumedRun(run=Path("run")), lambda event: None).join(1.0)
    assert waited == [1.0, 10.0]
    assert "process 4711 could not be ended" in caplog.text


def test_a_group_is_trained_by_one_process_at_a_time(make_group, conduct) -> None:
    group = make_group((0,))
    with (
        group.locked(),
        pytest.raises(RequestError, match="is locked by a living process"),
    ):
        conduct(open_group(group.path), finish)


def test_a_group_starts_though_another_window_looks_at_it_just_then(
    make_group, conduct, monkeypatch
) -> None:
    group = make_group((0,))
    looking = FileLock(group.path / "lock")
    looking.acquire()
    monkeypatch.setattr(time, "sleep", lambda _: looking.release())
    _, statuses = conduct(group, finish)
    assert [status.state for status in statuses] == [SeedState.FINISHED]


def test_a_group_that_this_user_cannot_lock_is_not_taken_for_one_that_trains(
    make_group, monkeypatch
) -> None:
    group = make_group((0,))
    with group.locked():
        assert group.is_training()
        record = (group.path / "lock.json").read_bytes()
    # As a process leaves it that was killed.
    (group.path / "lock").touch()
    (group.path / "lock.json").write_bytes(record)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)
    assert not group.is_training()


@pytest.mark.parametrize("asks", ["its process", "its folder"])
def test_a_stop_ends_the_wait_for_runs_of_an_earlier_process_and_starts_none(
    make_group, monkeypatch, asks: str
) -> None:
    group = make_group((0, 1))
    run = RunDirectory.create(group.runs_dir, group.config_of(0), group.tunables, group=group.name)
    stage, looked = Stage(finish), []
    runner = GroupRunner(
        group, Allocation(jobs=2, threads=1, reason=Text("because")), lambda status, event: None
    )

    def saving(run: Path) -> bool:
        looked.append(run)
        if asks == "its process":
            runner.stop()
        else:
            request(group, Command(verb=Verb.STOP))
        return True

    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", stage)
    monkeypatch.setattr("td3core.experiments.groups.runner.holder", saving)
    statuses = runner.run()
    assert looked == [run.path]
    assert stage.actors == []
    assert [status.state for status in statuses] == [SeedState.STOPPED] * 2


def test_a_group_is_found_by_its_name_and_its_folder(make_group, runs_dir: Path) -> None:
    group = make_group((0, 4), steps=77)
    assert find_group(Path(group.name), runs_dir) == group
    assert find_group(group.path, runs_dir / "elsewhere") == group
    assert find_group(Path("nothing"), runs_dir) is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"schema": 2}',
        '{"schema": 1, "config": {"env": "E"}, "tunables": {}, "jobs": null, "created": "",'
        ' "seeds": [0, 0]}',
        '{"schema": 1, "config": {"env": "E"}, "tunables": {}, "jobs": null, "created": "",'
        ' "seeds": [-1]}',
        "[" * 100_000,
    ],
)
def test_a_damaged_file_of_a_group_is_refused(make_group, content: str) -> None:
    group = make_group()
    (group.path / "group.json").write_text(content)
    with pytest.raises(RequestError, match=r"group\.json cannot be read"):
        open_group(group.path)


def test_a_request_in_the_folder_of_the_group_reaches_its_process(make_group, conduct) -> None:
    group = make_group((0, 1))
    GroupInbox(group).open()
    request(group, Command(verb=Verb.KILL))

    def act(actor: Actor) -> None:
        actor.start()
        if actor.seed == 1:
            for verb in ("format", "detach"):
                put(group.path, verb, {"seed": None})
            for values in ({}, {"seed": 7}, {"seed": [0]}, {"seed": 0, "now": True}, None):
                put(group.path, "kill", values)
            request(group, Command(verb=Verb.STOP))

    stage, statuses = conduct(group, act)
    # The request that came before the group was started is dropped, as is what makes no sense.
    assert [actor.asked for actor in stage.actors] == [["stop"], ["stop"]]
    assert [status.state for status in statuses] == [SeedState.STOPPED] * 2
    assert not list((group.path / "requests").iterdir())


@pytest.mark.skipif(os.name != "posix", reason="needs owners and permissions")
def test_a_group_obeys_nobody_but_its_user(make_group, conduct) -> None:
    group = make_group((0, 1))
    # What an earlier version left: anyone of the user's own group could ask.
    (group.path / "requests").mkdir()
    (group.path / "requests").chmod(0o775)

    def act(actor: Actor) -> None:
        actor.start()
        if actor.seed == 1:
            request(group, Command(verb=Verb.KILL))
            (kill,) = (group.path / "requests").iterdir()
            kill.chmod(0o664)
            request(group, Command(verb=Verb.STOP))

    stage, _ = conduct(group, act)
    assert [actor.asked for actor in stage.actors] == [["stop"], ["stop"]]
    assert (group.path / "requests").stat().st_mode & 0o777 == 0o700


def test_saving_reaches_runs_that_train_and_those_that_wait_still_start(
    make_group, conduct
) -> None:
    group = make_group((0, 1))
    save, stop = Command(verb=Verb.SAVE), Command(verb=Verb.STOP, seed=0)
    at = {(0, SeedState.STARTING): save, (0, SeedState.TRAINING): stop}
    stage, statuses = conduct(group, end_the_second, at, jobs=1)
    assert stage.actors[0].asked == ["save", "stop"]
    assert [s.state for s in statuses] == [SeedState.STOPPED, SeedState.FINISHED]


def test_the_runs_of_a_group_branch_off_its_checkpoint_with_seeds_of_their_own(
    runs_dir: Path,
) -> None:
    parent = RunDirectory.open(finish_run(runs_dir, steps=60).run)
    config, tunables = branch_settings(
        parent.last, read_header(parent.last), {"steps": 90, "tau": 0.5}
    )
    made = new_group(runs_dir, (4, 5), config, tunables, checkpoint=parent.last)
    group = open_group(made.path)
    assert group == made
    runner = GroupRunner(group, Allocation(jobs=1, threads=1, reason=Text("")), lambda *_: None)
    jobs = [runner.job_of(SeedStatus(seed=seed)) for seed in group.seeds]
    assert [type(job) for job in jobs] == [Branch, Branch]
    for seed, job in zip(group.seeds, jobs, strict=True):
        assert isinstance(job, Branch)
        assert job.values == {"steps": 90, "tau": 0.5, "seed": seed}
        outcome = perform(job, Control(), lambda _: None)
        assert isinstance(outcome, Ended)
    runs = group.runs()
    assert list(runs) == [4, 5]
    assert all(found.parent and found.parent.env_steps == 60 for found in runs.values())
