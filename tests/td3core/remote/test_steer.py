"""Requests of another process to a run, through its folder."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core.config import Tunables
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import (
    Ended,
    Failed,
    JournalEvent,
    Noted,
    Phase,
    Progress,
    Saved,
    Tuned,
    Warned,
)
from td3core.protocol.steering import Tune
from td3core.remote.access import RemoteAccess
from td3core.remote.inbox import Inbox, put
from td3core.remote.steer import RemoteControl
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change, changes_of
from td3core.runs.liveness import Liveness
from td3core.runs.status import MOST_TEXT, RequestOutcome, Status
from td3core.text import Text
from td3core.training.launch import resume, train
from tests.support.events import ended, progress, started
from tests.support.lives import differences
from tests.support.scripted import Script
from tests.td3core.helpers import Told, finish, run, tiny

pytestmark = pytest.mark.usefixtures("eager")


class Remote:
    """Makes requests from within the environment, as another process would at that moment."""

    def __init__(self, runs_dir: Path, acts: dict[int, Callable[[RemoteControl], int]]) -> None:
        self._runs_dir, self._acts = runs_dir, acts
        self._control: RemoteControl | None = None

    @property
    def control(self) -> RemoteControl:
        if self._control is None:
            (path,) = self._runs_dir.iterdir()
            self._control = RemoteControl(path)
        return self._control

    def __call__(self, step: int) -> None:
        if step in self._acts:
            self._acts[step](self.control)

    def answers(self) -> dict[int, RequestOutcome]:
        status = Status.read(self.control.run)
        assert status is not None
        return {each.ticket: each.answer for each in self.control.answered(status.answers)}


def steered(
    runs_dir: Path, scripted: Any, acts: dict[int, Callable[[RemoteControl], int]], **values: Any
) -> tuple[Remote, Any, Told]:
    remote = Remote(runs_dir, acts)
    env = scripted(Script(on_step=remote))
    outcome, told = run(runs_dir, env, **values)
    return remote, outcome, told


def test_a_change_is_applied_at_the_next_step_journaled_and_acknowledged(
    runs_dir: Path, scripted: Any
) -> None:
    remote, outcome, told = steered(runs_dir, scripted, {30: lambda c: c.change({"tau": 0.2})})
    assert isinstance(outcome, Ended)
    (tuned,) = told.all(Tuned)
    assert (tuned.env_steps, tuned.changes) == (30, (("tau", 0.005, 0.2),))
    (change,) = changes_of(RunDirectory.open(outcome.run).journal())
    assert (change.env_steps, change.name, change.new) == (30, "tau", 0.2)
    answer = remote.answers()[1]
    assert (answer.done, answer.env_steps, answer.revision) == (True, 30, tuned.revision)
    assert list((outcome.run / "requests").iterdir()) == []


def test_two_controls_change_one_run_and_both_see_the_value_applied_last(
    runs_dir: Path, scripted: Any
) -> None:
    others: list[RemoteControl] = []

    def change_by_another(control: RemoteControl) -> int:
        others.append(RemoteControl(control.run))
        others[0].tune(Tunables(tau=0.3))
        return control.tune(Tunables(tau=0.2, gamma=0.5))

    remote, outcome, told = steered(runs_dir, scripted, {30: change_by_another})
    tuned = told.all(Tuned)[-1]
    assert (tuned.tunables.tau, tuned.tunables.gamma, tuned.revision) == (0.2, 0.5, 2)
    status = Status.read(outcome.run)
    assert status is not None
    (mine,) = remote.answers().values()
    (theirs,) = others[0].answered(status.answers)
    assert (mine.done, theirs.answer.done) == (True, True)


def test_a_change_keeps_what_another_window_has_changed_meanwhile(
    runs_dir: Path, scripted: Any
) -> None:
    acts = {
        25: lambda c: RemoteControl(c.run).change({"gamma": 0.5}),
        30: lambda c: c.tune(Tunables(tau=0.2)),
    }
    # This control has not heard of the other's change.
    remote = Remote(runs_dir, acts)

    def act(step: int) -> None:
        if step == 21:
            remote.control.note_applied(Tunables())
        remote(step)

    _, told = run(runs_dir, scripted(Script(on_step=act)))
    last = told.all(Tuned)[-1].tunables
    assert (last.tau, last.gamma) == (0.2, 0.5)


def test_a_change_joins_the_one_that_this_process_has_requested_but_not_applied() -> None:
    control = Control()
    control.tune(Tunables(tau=0.2), Tunables())
    assert control.change({"gamma": 0.5}) == 2
    assert control.take_requests().values == {"tau": 0.2, "gamma": 0.5}


def test_a_paused_run_can_be_saved_changed_and_continued_from_outside(
    runs_dir: Path, scripted: Any
) -> None:
    remote = Remote(runs_dir, {25: lambda c: c.pause()})
    todo = [
        lambda: remote.control.save(),
        lambda: remote.control.change({"tau": 0.2}),
        # Nothing comes of a second pause, so the next request is made together with it.
        lambda: (remote.control.pause(), remote.control.unpause()),
    ]

    def react(event: Any) -> None:
        if isinstance(event, Progress) and event.phase is Phase.PAUSED and todo:
            todo.pop(0)()

    outcome, told = run(runs_dir, scripted(Script(on_step=remote)), react=react)
    assert isinstance(outcome, Ended)
    answers = remote.answers()
    assert [answers[ticket].done for ticket in (1, 2, 3, 4, 5)] == [True] * 5
    assert {each.env_steps for each in answers.values()} == {25}
    assert told.all(Tuned)[0].env_steps == 25
    assert (outcome.run / "checkpoints/step_000000025.safetensors").exists()


def test_a_stop_from_outside_ends_the_run_at_its_step(runs_dir: Path, scripted: Any) -> None:
    remote, outcome, _ = steered(runs_dir, scripted, {25: lambda c: c.stop()})
    assert (outcome.stopped, outcome.env_steps) == ("user", 25)
    assert remote.answers()[1].done
    with pytest.raises(RequestError, match="is not running; it was stopped"):
        remote.control.require_running()


def test_a_stop_from_outside_is_answered_once_the_agent_is_saved_and_the_ending_recorded(
    runs_dir: Path, scripted: Any
) -> None:
    remote = Remote(runs_dir, {25: lambda c: c.stop()})
    early: list[dict[int, RequestOutcome]] = []

    def react(event: Any) -> None:
        if early or (isinstance(event, Noted) and event.event == "stop"):
            early.append(remote.answers())

    outcome, told = run(runs_dir, scripted(Script(on_step=remote)), react=react)
    assert isinstance(outcome, Ended)
    assert len(told.all(Saved)) == 1
    # The last of these events is the outcome.
    *before, _ = early
    assert len(before) > 2
    assert not any(before)


def test_a_stop_from_outside_says_why_the_agent_could_not_be_saved(
    runs_dir: Path, scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("td3core.training.recorder.checkpoint.save", full)
    remote, outcome, _ = steered(runs_dir, scripted, {25: lambda c: c.stop()})
    answer = remote.answers()[1]
    assert isinstance(outcome, Failed)
    assert (answer.done, str(answer.message)) == (False, str(outcome.message))
    assert "could not be saved" in str(answer.message)


def test_the_answer_of_a_run_that_ends_meanwhile_is_found(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress()
    ticket = control.stop()

    def end(*_: object) -> bool:
        listener.access.report(ended("user", run=path))
        listener.access.close()
        return False

    monkeypatch.setattr(Liveness, "check", end)
    assert control.wait(ticket, 5.0).done


def test_a_save_from_outside_is_acknowledged_once_the_file_is_there(
    runs_dir: Path, scripted: Any
) -> None:
    remote, outcome, _ = steered(runs_dir, scripted, {25: lambda c: c.save()})
    assert remote.answers()[1] == RequestOutcome(
        request=remote_name(outcome.run), done=True, env_steps=25, revision=0
    )
    assert (outcome.run / "checkpoints/step_000000025.safetensors").exists()


def remote_name(path: Path) -> str:
    status = Status.read(path)
    assert status is not None
    return status.answers[-1].request


def test_a_change_that_does_not_fit_the_run_is_refused_with_a_sentence(
    runs_dir: Path, scripted: Any
) -> None:
    act = {25: lambda c: c.change({"batch_size": 5000})}
    remote, _, told = steered(runs_dir, scripted, act)
    answer = remote.answers()[1]
    assert not answer.done
    assert "batch_size 5000 is larger than buffer_size 1000" in str(answer.message)
    assert told.all(Tuned) == []


def test_a_value_that_ends_a_schedule_is_checked_without_that_schedule(
    runs_dir: Path, scripted: Any
) -> None:
    act = {25: lambda c: c.change({"batch_size": 5000})}
    remote, _, told = steered(runs_dir, scripted, act, batch_size="8, 16@55")
    answer = remote.answers()[1]
    assert not answer.done
    assert "batch_size 5000 is larger than buffer_size 1000" in str(answer.message)
    assert told.all(Tuned) == []


def test_a_change_that_the_run_itself_refuses_is_not_answered_as_done(
    runs_dir: Path, scripted: Any
) -> None:
    control = Control()

    def change_together(remote: RemoteControl) -> int:
        # Each is fine for the one who takes requests; the run gets both at once.
        control.change({"batch_size": 5000})
        return remote.change({"tau": 0.2})

    act = {25: change_together}
    remote, _, told = steered(runs_dir, scripted, act, control=control)
    answer = remote.answers()[1]
    assert not answer.done
    assert "batch_size 5000 is larger than buffer_size 1000" in str(answer.message)
    (tuned,) = told.all(Tuned)
    assert (tuned.changes, tuned.refused) == ((), answer.message)


def test_a_value_out_of_range_is_refused_before_anything_is_written(
    runs_dir: Path, scripted: Any
) -> None:
    outcome = finish(runs_dir)
    control = RemoteControl(outcome.run)
    with pytest.raises(RequestError, match="tau cannot be 2"):
        control.change({"tau": 2})
    with pytest.raises(RequestError, match="no live setting called 'seed'"):
        control.change({"seed": 2})
    assert list((outcome.run / "requests").iterdir()) == []


def test_a_run_steered_from_outside_equals_one_that_repeats_its_journal(
    runs_dir: Path, tmp_path: Path, scripted: Any
) -> None:
    acts = {
        30: lambda c: c.change({"tau": 0.2, "exploration_noise": 0.4}),
        45: lambda c: c.change({"tau": 0.3}),
    }
    _, outcome, _ = steered(runs_dir, scripted, acts, eval_interval=20, checkpoint_interval=25)
    config, tunables = tiny(scripted(Script()), eval_interval=20, checkpoint_interval=25)
    schedule = changes_of(RunDirectory.open(outcome.run).journal())
    repeated = train(config, tunables, Control(), Told(), tmp_path / "repeated", schedule)
    assert isinstance(repeated, Ended)
    assert differences(outcome.run, repeated.run) == []


def test_a_request_left_over_from_an_earlier_process_is_refused(
    runs_dir: Path, scripted: Any
) -> None:
    _, outcome, _ = steered(runs_dir, scripted, {25: lambda c: c.stop()})
    late = RemoteControl(outcome.run)
    late.change({"tau": 0.9})
    told = Told()
    resume(outcome.run, Control(), told)
    assert told.all(Tuned) == []
    status = Status.read(outcome.run)
    assert status is not None
    (refused,) = late.answered(status.answers)
    assert (refused.answer.done, refused.answer.env_steps) == (False, 25)
    assert "interrupted" in str(refused.answer.message)


# The object that a run owns, alone ---------------------------------------------------------------


@pytest.fixture
def path(runs_dir: Path) -> Path:
    """Return a run that has ended."""
    return finish(runs_dir).run


class Listener:
    """A run that only reports."""

    def __init__(self, path: Path) -> None:
        self.told, self.control = Told(), Control()
        config, self.tunables = tiny()
        self.access = RemoteAccess(path, config, self.control, self.told)
        self.access.report(started(config, self.tunables, run=path, engine=Text("MKL")))

    def progress(self, env_steps: int = 1) -> None:
        self.access.report(
            progress(env_steps, updates=0, wall_s=1.0, tunables=self.tunables, training=None)
        )


def test_requests_in_a_folder_that_others_may_write_to_are_ignored_with_one_warning(
    path: Path,
) -> None:
    listener = Listener(path)
    (path / "requests").chmod(0o777)
    RemoteControl(path).stop()
    for step in range(5):
        listener.progress(step)
    assert not listener.control.stopping
    assert [str(w.message) for w in listener.told.all(Warned)] == [
        f"Requests in {path / 'requests'} are ignored: only the run's user may own it and write"
        " to it."
    ]
    (path / "requests").chmod(0o700)
    listener.progress()
    assert listener.control.stopping


def test_looking_costs_a_few_file_operations_a_second(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.remote.access.LOOK_S", 0.25)
    monkeypatch.setattr("td3core.remote.access.STATUS_S", 1.0)
    clock = [1000.0]
    monkeypatch.setattr("td3core.remote.access.time.monotonic", lambda: clock[0])
    listener = Listener(path)
    counted = dict.fromkeys(("open", "listdir", "stat", "lstat", "rename", "replace", "fsync"), 0)

    def counting(name: str, function: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            counted[name] += 1
            return function(*args, **kwargs)

        return call

    for name in counted:
        monkeypatch.setattr(os, name, counting(name, getattr(os, name)))
    for tenth in range(1000):
        clock[0] += 0.1
        listener.progress(tenth)
    assert 300 <= counted["listdir"] <= 405
    # Once a second, at the next look.
    assert 75 <= counted["rename"] + counted["replace"] <= 101
    assert counted["fsync"] == 0
    assert sum(counted.values()) <= 800


def test_a_run_that_took_no_requests_yet_says_so(path: Path) -> None:
    (path / "requests").rmdir()
    with pytest.raises(RequestError, match="takes no requests: it has not started yet"):
        RemoteControl(path).stop()


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "belongs to another user"),
        (OSError(errno.ENOSPC, "No space left"), "cannot be steered: No space left."),
    ],
)
def test_a_request_that_cannot_be_written_is_refused_with_a_sentence(
    path: Path, monkeypatch: pytest.MonkeyPatch, problem: OSError, said: str
) -> None:
    def fail(*_: object) -> int:
        raise problem

    control = RemoteControl(path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", fail)
        with pytest.raises(RequestError, match=said):
            control.save()


def test_a_request_that_a_full_disk_takes_no_name_for_leaves_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left")

    control = RemoteControl(path)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(RequestError, match="No space left"):
            control.save()
    assert list((path / "requests").iterdir()) == []


def test_a_run_that_nobody_trains_is_not_waited_for(path: Path) -> None:
    control = RemoteControl(path)
    with pytest.raises(RequestError, match="is not running; it has finished"):
        control.require_running()
    with pytest.raises(RequestError, match="is not running; it has finished"):
        control.wait(control.stop(), 5.0)
    assert list((path / "requests").iterdir()) == []


def test_a_request_is_withdrawn_if_no_answer_comes_unless_it_was_taken(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Liveness, "check", lambda *_: True)
    control = RemoteControl(path)
    with pytest.raises(RequestError, match=r"did not take the request within 0 s, so it was"):
        control.wait(control.stop(), 0.0)
    ticket = control.stop()
    (request,) = (path / "requests").iterdir()
    request.unlink()
    with pytest.raises(RequestError, match=r"took the request, but has not answered within 0 s"):
        control.wait(ticket, 0.0)


def test_a_run_that_ends_answers_what_was_asked_too_late(path: Path) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress()
    asked = [control.save(), control.stop()]
    listener.access.idle()
    late = [control.pause(), control.stop()]
    listener.access.report(ended("user", run=path))
    listener.access.close()
    status = Status.read(path)
    assert status is not None
    done = {each.ticket: each.answer.done for each in control.answered(status.answers)}
    assert done == {asked[0]: False, asked[1]: True, late[0]: False, late[1]: True}


def test_a_save_that_failed_is_not_answered_with_another_agent_that_was_saved(path: Path) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress(7)
    ticket = control.save()
    listener.access.idle()
    listener.access.report(Noted(env_steps=7, event=JournalEvent.SAVE, time=""))
    best = RunDirectory.open(path).best
    listener.access.report(Saved(env_steps=7, path=best, mean_return=1.0, run_bytes=0))
    listener.progress(8)
    answer = control.wait(ticket, 0.0)
    assert (answer.done, str(answer.message)) == (False, "The checkpoint could not be written.")


def test_a_run_that_is_not_paused_says_so_if_it_is_to_continue(path: Path) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress()
    control.unpause()
    listener.progress()
    control.pause()
    control.unpause()
    listener.progress()
    status = Status.read(path)
    assert status is not None
    answers = [each.answer for each in control.answered(status.answers)]
    assert [str(each.message) for each in answers] == ["The run is not paused.", "", ""]
    assert all(each.done for each in answers)


@pytest.mark.parametrize("ask", ["unpause", "resume"])
def test_a_paused_run_continues_also_for_earlier_programs_which_ask_it_to_resume(
    path: Path, ask: str
) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress()
    control.pause()
    listener.progress()
    put(path, ask)
    listener.progress()
    assert not listener.control.take_requests().pause
    status = Status.read(path)
    assert status is not None
    assert [str(answer.message) for answer in status.answers] == ["", ""]


def test_a_run_of_the_first_version_which_knows_no_unpause_continues(path: Path) -> None:
    first_version = Inbox(path, dict.fromkeys(("tune", "pause", "resume", "save", "stop")))
    first_version.open()
    control = RemoteControl(path)
    for ask in (control.pause, control.unpause, control.save, control.stop):
        ask()
    taken = first_version.take()
    assert [request.ask for request in taken] == ["pause", "resume", "save", "stop"]
    assert not any(request.problem for request in taken)


def test_each_of_two_changes_is_answered_once_it_is_applied(path: Path) -> None:
    listener, control = Listener(path), RemoteControl(path)
    listener.progress()
    for tau in (0.1, 0.2):
        control.change({"tau": tau})
        listener.progress()
    for revision in (1, 2):
        listener.access.report(
            Tuned(env_steps=1, updates=0, revision=revision, tunables=listener.tunables, changes=())
        )
        status = Status.read(path)
        assert status is not None
        answers = [each.answer for each in control.answered(status.answers)]
        assert [(each.done, each.revision) for each in answers] == [(True, revision)]


def test_a_change_is_compared_with_the_one_requested_before_it(path: Path) -> None:
    first, control = RunDirectory.open(path).first_tunables, RemoteControl(path)
    control.tune(replace(first, tau=0.2))
    control.tune(first)
    # Neither has been applied, so the run still has the tau that the second asks for.
    files = sorted((path / "requests").iterdir())
    values = [json.loads(file.read_text())["values"] for file in files]
    assert values == [{"tau": 0.2}, {"tau": first.tau}]


def test_what_is_reported_before_the_run_begins_is_not_written(path: Path) -> None:
    (path / "status.json").unlink()
    config, tunables = tiny()
    access = RemoteAccess(path, config, Control(), Told())
    noted = Noted(env_steps=1, event="stop", time="")
    tuned = Tuned(env_steps=1, updates=1, revision=1, tunables=tunables, changes=())
    for event in (progress(1, tunables=tunables), noted, tuned):
        access.report(event)
    access.close()
    assert not (path / "status.json").exists()


def test_the_status_survives_a_folder_that_cannot_be_written(path: Path) -> None:
    listener = Listener(path)
    (path / "status.json").unlink()
    (path / "status.json").mkdir()
    listener.progress()
    (path / "status.json").rmdir()
    listener.progress(7)
    status = Status.read(path)
    assert status is not None
    assert status.env_steps == 7


def test_what_is_wanted_is_compared_with_what_the_journal_has_changed(
    runs_dir: Path, scripted: Any
) -> None:
    def tune_back(control: RemoteControl) -> int:
        return RemoteControl(control.run).tune(RunDirectory.open(control.run).first_tunables)

    acts = {20: lambda c: c.change({"tau": 0.3}), 40: tune_back}
    _, _, told = steered(runs_dir, scripted, acts)
    first, second = told.all(Tuned)
    assert first.changes == (("tau", Tunables().tau, 0.3),)
    assert second.changes == (("tau", 0.3, Tunables().tau),)


def test_what_is_wanted_is_not_compared_with_what_is_only_planned(
    runs_dir: Path, scripted: Any
) -> None:
    remote = Remote(runs_dir, {40: lambda c: c.tune(RunDirectory.open(c.run).first_tunables)})
    config, tunables = tiny(scripted(Script(on_step=remote)))
    first, told = tunables.gamma, Told()
    planned = [Change(30, "gamma", 0.9), Change(55, "gamma", first)]
    outcome = train(config, tunables, Control(), told, runs_dir, planned)
    assert isinstance(outcome, Ended)
    changes = [(each.scheduled, each.changes) for each in told.all(Tuned)]
    assert changes == [(True, (("gamma", first, 0.9),)), (False, (("gamma", 0.9, first),))]


def test_a_request_without_a_difference_is_answered_and_names_no_setting(
    runs_dir: Path, scripted: Any
) -> None:
    def same(control: RemoteControl) -> int:
        tunables = RunDirectory.open(control.run).first_tunables
        return control.request(Tune(tunables, tunables))

    planned = [Change(40, "tau", 0.3)]
    remote = Remote(runs_dir, {20: same})
    config, tunables = tiny(scripted(Script(on_step=remote)))
    outcome = train(config, tunables, Control(), Told(), runs_dir, planned)
    assert isinstance(outcome, Ended)
    assert [answer.done for answer in remote.answers().values()] == [True]
    assert changes_of(RunDirectory.open(outcome.run).journal()) == planned


def test_a_status_says_nothing_that_tables_journal_or_lock_say(path: Path) -> None:
    Listener(path).progress()
    found = json.loads((path / "status.json").read_text())
    assert not {"updates", "tunables", "pid", "host", "time"} & set(found)


def test_a_status_keeps_its_texts_beside_a_sentence_for_scripts(path: Path) -> None:
    listener, remote = Listener(path), RemoteControl(path)
    remote.change({"batch_size": 5000})
    long = Text("{word}!", word="x" * 2 * MOST_TEXT)
    for message in (Text("{n:,} rows were lost.", n=1200), long):
        listener.access.report(Warned(env_steps=1, message=message))
    listener.progress()
    found = json.loads((path / "status.json").read_text())
    (answer,), (lost, cut) = found["answers"], found["warnings"]
    assert lost["message"] == "1,200 rows were lost."
    assert lost["text"] == {"template": "{n:,} rows were lost.", "values": {"n": 1200}}
    assert cut["message"] == "x" * MOST_TEXT
    status = Status.read(path)
    assert status is not None
    assert status.warnings[0].message == Text("{n:,} rows were lost.", n=1200)
    assert status.answers[0].message.english == answer["message"]
    assert status.answers[0].message.values["batch_size"] == 5000


@pytest.mark.parametrize("text", [None, "Another.", {"template": "{n:>9999}", "values": {"n": 1}}])
def test_the_sentence_of_a_status_counts_where_it_has_no_text_that_says_the_same(
    path: Path, text: Any
) -> None:
    listener = Listener(path)
    listener.access.report(Warned(env_steps=1, message=Text("{n} rows were lost.", n=3)))
    listener.progress()
    found = json.loads((path / "status.json").read_text())
    (warning,) = found["warnings"]
    del warning["text"]
    if text is not None:
        warning["text"] = text
    (path / "status.json").write_text(json.dumps(found))
    status = Status.read(path)
    assert status is not None
    assert status.warnings[0].message.english == "3 rows were lost."


def test_an_answer_of_an_earlier_version_that_says_nothing_has_no_message(path: Path) -> None:
    listener, remote = Listener(path), RemoteControl(path)
    remote.change({"batch_size": 5000})
    listener.progress()
    found = json.loads((path / "status.json").read_text())
    for answer in found["answers"]:
        answer.pop("text")
        answer["message"] = ""
    (path / "status.json").write_text(json.dumps(found))
    status = Status.read(path)
    assert status is not None
    assert status.answers
    assert not any(answer.message for answer in status.answers)


def test_a_status_of_the_first_version_is_read(path: Path) -> None:
    Listener(path).progress()
    found = json.loads((path / "status.json").read_text())
    now = Status.read(path)
    found |= {"schema": 1, "pid": 1, "host": "a", "time": "2026-11-23T10:00:00+00:00"}
    found |= {"updates": 3, "tunables": {"tau": 0.3}}
    (path / "status.json").write_text(json.dumps(found))
    assert now is not None
    assert Status.read(path) == now


def test_a_status_of_a_newer_version_or_with_damage_is_read_with_tolerance(path: Path) -> None:
    Listener(path).progress()
    found = json.loads((path / "status.json").read_text())
    found["other"] = {}
    (path / "status.json").write_text(json.dumps(found))
    assert Status.read(path) is not None
    for name in ("beat", "phase", "answers", "env_steps"):
        for wrong in (None, "x", -1, [1], {"tau": 9}, 1e400):
            (path / "status.json").write_text(json.dumps(found | {name: wrong}))
            assert Status.read(path) is None, (name, wrong)
