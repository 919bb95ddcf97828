"""Groups and the queue in the whole window."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget

from studio.experiments.followed_group import FollowedGroup
from studio.experiments.group_model import GroupModel, SeedColumn
from studio.experiments.group_session import GroupSession
from studio.experiments.group_table import GroupTable
from studio.experiments.groups_panel import ManyRunsPanel
from studio.experiments.queue_file import QueuedRun, write_queue
from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.config import make_settings
from td3core.experiments.groups.commands import Command, GroupInbox
from td3core.experiments.groups.group import Group, NewGroup
from td3core.experiments.groups.messages import GroupEnded, GroupStarted, ResumedGroup
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.groups.watch import watch
from td3core.experiments.jobs import Job, NewRun
from td3core.protocol.events import Failed
from td3core.protocol.steering import Verb
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs, summarise
from td3core.text import Text
from tests.studio.fake_runs import make_run, open_record
from tests.studio.run_browser.runs_list import action, show_runs
from tests.studio.session.test_controller import PlayedWorker
from tests.studio.settled import settle
from tests.support.marks import slow
from tests.support.scripted import STEPS
from tests.td3core.helpers import new_group

STEPS_ENV = "tests.support.scripted:StepsEnv"
PATIENCE_MS = 60_000
WAIT_S = 10
TINY = {"learning_starts": 20, "buffer_size": 1000, "eval_interval": 100, "eval_episodes": 2}


class PlayedGroup:
    """Stands in for the process of a group."""

    last: "PlayedGroup | None" = None
    """The newest one of the test."""
    suffixes: Iterator[str] = repeat("")
    """Suffixes of the groups' names."""

    def __init__(self, job: NewGroup | ResumedGroup, report: Callable[[Any], None]) -> None:
        PlayedGroup.last = self
        self.job, self.report = job, report
        self.commands: list[Command] = []
        self.detached = False
        if isinstance(job, NewGroup):
            self.group = Group(
                runs_dir=job.runs_dir,
                name="group-" + "-".join(map(str, job.seeds)) + next(self.suffixes),
                seeds=job.seeds,
                config=job.config,
                tunables=job.tunables,
            )
            report(GroupStarted(group=self.group, jobs=2, reason=Text("2 at once")))

    def command(self, command: Command) -> None:
        self.commands.append(command)
        if command.verb is Verb.STOP and command.seed is None:
            self.end()

    def detach(self) -> None:
        self.detached = True

    def show(self, seed: int, state: SeedState, **values: Any) -> None:
        self.report(SeedStatus(seed=seed, state=state, **values))

    def end(self) -> None:
        self.report(GroupEnded())


@pytest.fixture
def played(window: MainWindow, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[PlayedGroup]]:
    monkeypatch.setattr("studio.experiments.group_session.GroupProcess", PlayedGroup)
    PlayedGroup.last = None
    yield PlayedGroup
    window.many.queue.close()
    if window.many.session.busy:
        PlayedGroup.last.end()


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[PlayedWorker]:
    """Return the workers of the runs in processes of their own, all of which are played."""
    made: list[PlayedWorker] = []

    class Kept(PlayedWorker):
        def __init__(self, job: Job) -> None:
            super().__init__(job)
            made.append(self)

    monkeypatch.setattr("studio.session.controller.ProcessWorker", Kept)
    return made


@pytest.fixture
def panel(window: MainWindow) -> ManyRunsPanel:
    return window.panels.named("many")


def fill_in(find: Callable[[str], QWidget], env: str, steps: int, seeds: str = "") -> None:
    find("env_combo").setCurrentText(env)
    find("steps_spin").setValue(steps)
    for name, value in TINY.items():
        find(f"field_{name}").setValue(value)
    find("field_background_evaluation").setChecked(False)
    find("seeds_edit").setText(seeds)


@pytest.mark.slow
def test_a_group_from_setup_trains_its_seeds_in_processes(qtbot, window, find, panel) -> None:
    fill_in(find, STEPS_ENV, 200, "2")
    find("train_button").click()
    qtbot.waitUntil(lambda: window.many.session.busy)
    qtbot.waitUntil(lambda: not window.many.session.busy, timeout=PATIENCE_MS)
    assert not window.banner.isVisible(), window.banner.text
    assert [s.state for s in panel.model.statuses] == [SeedState.FINISHED] * 2
    assert find("many_dock").isVisible()
    runs = [summarise(run) for run in list_runs(window.many.session.group.runs_dir)]
    assert {(run.seed, run.state, run.group) for run in runs} == {
        (seed, "finished", window.many.session.group.name) for seed in (0, 1)
    }
    shown = panel.model.statuses[1]
    panel.table.run_wanted.emit(shown)
    qtbot.waitUntil(lambda: window.model.record.run == shown.run)


@pytest.mark.slow
def test_the_panel_is_hidden_until_it_is_used(window, find, played) -> None:
    assert not find("many_dock").isVisible()
    fill_in(find, "Pendulum-v1", 200, "0-1")
    window.start_request.start()
    assert find("many_dock").isVisible()
    assert played.last.job.seeds == (0, 1)


@pytest.mark.shared_window
def test_wrong_seeds_are_refused_at_their_field(window, find) -> None:
    find("seeds_edit").setText("3,3")
    window.start_request.start()
    assert window.banner.text == "Seeds contains 3 twice; name each seed once."
    assert not window.many.busy


@pytest.mark.shared_window
def test_wrong_seeds_are_marked_with_their_reason_until_they_are_right(qtbot, find) -> None:
    field = find("seeds_edit")
    for right in ("3,4", ""):
        qtbot.keyClicks(field, "3,3")
        assert not field.property("invalid")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        assert field.property("invalid") is True
        reason = "Seeds contains 3 twice; name each seed once."
        assert field.accessibleDescription() == reason
        field.setText(right)
        assert field.property("invalid") is False
        assert field.accessibleDescription() == ""
        field.clear()


@pytest.mark.shared_window
def test_a_refusal_of_the_forms_goes_when_they_are_edited(window, find) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    find("seeds_edit").setText("3,3")
    for name, edit in (
        ("seeds_edit", lambda: find("seeds_edit").setText("3,4,4")),
        ("steps_spin", lambda: find("steps_spin").setValue(777)),
        ("spin_tau", lambda: find("spin_tau").setValue(0.02)),
    ):
        find("train_button").click()
        assert window.banner.isVisible(), name
        edit()
        assert not window.banner.isVisible(), name
    # What else has failed stays.
    window.banner.show_message("error", "The run failed.")
    find("steps_spin").setValue(778)
    assert window.banner.isVisible()


@pytest.mark.slow
def test_resume_is_disabled_with_its_reason_while_a_group_trains(
    qtbot, window, find, played, runs_dir
) -> None:
    run = runs_dir / "one"
    open_record(window, run=run, config=make_settings({"env": "Pendulum-v1"})[0])
    assert find("resume_button").isEnabled()
    fill_in(find, "Pendulum-v1", 200, "0-1")
    find("train_button").click()
    assert not find("resume_button").isEnabled()
    assert "Not now: a group is training" in find("resume_button").toolTip()
    # The list of runs offers it as well.
    window.launcher.resume(run)
    assert window.banner.text.startswith("The group group-0-1 is training.")
    assert window.banner.isVisible()
    played.last.end()
    assert not window.banner.isVisible()
    assert find("resume_button").isEnabled()


@pytest.mark.slow
def test_the_list_of_runs_and_the_replay_take_account_of_a_group_that_trains(
    qtbot, window, find, played, runs_dir, monkeypatch
) -> None:
    rates: list[bool] = []
    monkeypatch.setattr(window.replay.player, "reduce_rate", rates.append)
    show_runs(qtbot, window, find, make_run(runs_dir))
    offered = [action(window.runs, name) for name in ("resume", "repeat")]
    assert all(each.isEnabled() for each in offered)
    fill_in(find, "Pendulum-v1", 200, "0-1")
    find("train_button").click()
    assert not any(each.isEnabled() for each in offered)
    assert all("group group-0-1 is training" in each.toolTip() for each in offered)
    assert rates == [True]
    rows = window.replay.checkpoints
    # Bundled agents are exported ones, which have no branch.
    monkeypatch.setattr(rows.model, "why_no_branch", lambda _: "")
    rows.show_menu(rows.view.visualRect(rows.model.find(rows.model.first())).center())
    rows.menu.hide()
    assert "waits for its turn" in rows.branch_action.toolTip()
    played.last.end()
    assert all(each.isEnabled() for each in offered)
    assert rates == [True, False]


@pytest.mark.slow
def test_one_seed_is_a_run_of_the_window(qtbot, window, find) -> None:
    fill_in(find, STEPS, 40, "7,")
    find("train_button").click()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: window.model.record.config is not None)
    assert window.model.record.config.seed == 7


@pytest.mark.slow
def test_buttons_are_for_the_selected_runs_or_for_all(qtbot, window, find, panel, played) -> None:
    fill_in(find, "Pendulum-v1", 200, "3")
    window.start_request.start()
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 3)
    for seed in range(3):
        played.last.show(seed, SeedState.TRAINING, env_steps=50, steps=200)
    qtbot.waitUntil(find("group_pause_button").isEnabled)
    find("group_pause_button").click()
    panel.table.setCurrentIndex(panel.model.index(1, 0))
    find("group_stop_button").click()
    assert played.last.commands == [Command(verb=Verb.PAUSE), Command(verb=Verb.STOP, seed=1)]
    played.last.show(1, SeedState.STOPPED)
    qtbot.waitUntil(find("group_resume_button").isEnabled)
    find("group_resume_button").click()
    assert played.last.commands[-1] == Command(verb=Verb.RESUME, seed=1)
    played.last.show(1, SeedState.PAUSED)
    find("group_pause_button").click()
    find("group_resume_button").click()
    assert played.last.commands[-1] == Command(verb=Verb.UNPAUSE, seed=1)


@pytest.mark.slow
def test_a_group_that_is_over_is_resumed_from_the_panel(qtbot, window, find, panel, played) -> None:
    fill_in(find, "Pendulum-v1", 200, "2")
    window.start_request.start()
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 2)
    first = played.last
    first.show(0, SeedState.FINISHED)
    first.show(1, SeedState.INTERRUPTED, message="killed")
    first.end()
    qtbot.waitUntil(lambda: not window.many.busy)
    find("group_resume_button").click()
    assert played.last is not first
    assert played.last.job == ResumedGroup(path=first.group.path)


@pytest.mark.slow
def test_the_selected_runs_of_a_group_that_is_over_are_resumed_without_the_others(
    qtbot, window, find, panel, played
) -> None:
    start_three(qtbot, window, find, panel)
    first = played.last
    for seed in range(3):
        first.show(seed, SeedState.STOPPED, env_steps=50, steps=200)
    first.end()
    qtbot.waitUntil(lambda: not window.many.busy)
    panel.table.setCurrentIndex(panel.model.index(1, 0))
    find("group_resume_button").click()
    assert played.last.job == ResumedGroup(path=first.group.path, seeds=(1,))


@pytest.mark.slow
def test_the_end_of_a_group_starts_what_waits(qtbot, window, find, played) -> None:
    fill_in(find, "Pendulum-v1", 200, "2")
    window.start_request.start()
    first = played.last
    find("seeds_edit").setText("5-6")
    window.toolbar.action("queue").trigger()
    assert find("queue_list").count() == 1
    first.end()
    qtbot.waitUntil(lambda: played.last is not first)
    assert played.last.job.seeds == (5, 6)
    assert find("queue_list").count() == 0


@pytest.fixture
def three_waiting(find, window, played) -> None:
    """Let three groups wait, with seeds from 10, 20 and 30 on."""
    for seed in (10, 20, 30):
        fill_in(find, "Pendulum-v1", 200, f"{seed}-{seed + 1}")
        window.toolbar.action("queue").trigger()


def waiting_seeds(window: MainWindow) -> list[int]:
    return [run.seeds[0] for run in window.many.queue.runs]


@pytest.mark.parametrize(
    ("button", "left"),
    [
        ("queue_remove", [30]),
        pytest.param("queue_up", [20, 30], marks=pytest.mark.slow),
        pytest.param("queue_down", [30, 20], marks=pytest.mark.slow),
    ],
)
def test_a_waiting_run_stays_selected_when_another_one_starts(
    qtbot, window, find, played, three_waiting: None, button: str, left: list[int]
) -> None:
    find("queue_list").setCurrentRow(1)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: find("queue_list").count() == 2)
    assert "seeds 20-21" in find("queue_list").currentItem().text()
    find(f"{button}_button").click()
    assert waiting_seeds(window) == left


@pytest.mark.slow
def test_no_waiting_run_is_selected_in_place_of_one_that_starts(
    qtbot, window, find, played, three_waiting
) -> None:
    find("queue_list").setCurrentRow(0)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: find("queue_list").count() == 2)
    assert find("queue_list").selectedItems() == []
    assert find("queue_remove_button").toolTip().endswith("Not now: no run is selected")


@pytest.mark.slow
def test_what_is_started_from_the_queue_by_hand_does_not_go_on_after_a_stop(
    qtbot, window, find, panel, played
) -> None:
    said = []
    window.many.went_on.connect(said.append)
    start_three(qtbot, window, find, panel)
    first = played.last
    window.toolbar.action("stop").trigger()
    qtbot.waitUntil(lambda: not window.many.busy)
    find("seeds_edit").setText("5-6")
    window.toolbar.action("queue").trigger()
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: played.last is not first)
    assert played.last.job.seeds == (5, 6)
    assert said == []
    # After a stop it does.
    find("seeds_edit").setText("7-8")
    window.toolbar.action("queue").trigger()
    window.toolbar.action("stop").trigger()
    qtbot.waitUntil(lambda: played.last.job.seeds == (7, 8))
    assert "seeds 7-8" in str(*said)


@pytest.mark.slow
def test_a_run_that_cannot_start_does_not_block_the_queue(qtbot, window, find, runs_dir) -> None:
    for env, seed in (("No/Such-v0", "1,"), (STEPS, "2,")):
        fill_in(find, env, 40, seed)
        window.toolbar.action("queue").trigger()
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: window.model.record.config is not None, timeout=PATIENCE_MS)
    assert window.model.record.config.seed == 2
    qtbot.waitUntil(lambda: not window.many.busy, timeout=PATIENCE_MS)
    # The other one is kept, with the reason.
    (kept,) = window.many.queue.runs
    assert kept.config.env == "No/Such-v0"
    assert "No/Such-v0" in kept.problem


def test_a_start_that_failed_leaves_queue_form_and_message_alone(
    qtbot, window, find, workers
) -> None:
    fill_in(find, STEPS, 40, "2,")
    window.toolbar.action("queue").trigger()
    fill_in(find, "No/Such-v0", 40)
    find("own_process_check").setChecked(True)
    find("train_button").click()
    ended = []
    window.model.run_ended.connect(ended.append)
    message = Text("There is no environment No/Such-v0.")
    workers[0].event_reported.emit(Failed(message=message, details="", request=True))
    workers[0].finished.emit()
    qtbot.waitUntil(lambda: bool(ended) and not window.many.busy, timeout=PATIENCE_MS)
    # The queue would start the next run in the next turn of the event loop.
    QTimer.singleShot(0, window, partial(ended.append, None))
    qtbot.waitUntil(lambda: len(ended) == 2)
    settle(window.many.queue)
    assert len(window.many.queue.runs) == 1
    assert find("env_combo").currentText() == "No/Such-v0"
    assert window.banner.isVisible()
    assert str(message) in window.banner.text
    find("queue_remove_button").click()


@pytest.mark.slow
def test_a_group_that_fails_before_it_starts_leaves_the_last_one_as_it_is(
    qtbot, window, find, panel, played, monkeypatch
) -> None:
    fill_in(find, "Pendulum-v1", 200, "0-1")
    find("train_button").click()
    last = window.many.session.current
    played.last.end()
    find("seeds_edit").setText("5-6")
    window.toolbar.action("queue").trigger()
    monkeypatch.setattr(played, "__init__", lambda self, _job, report: fails(self, report))

    def fails(process: PlayedGroup, report: Callable[[Any], None]) -> None:
        PlayedGroup.last, process.report = process, report

    find("seeds_edit").setText("7-8")
    find("train_button").click()
    assert window.many.session.busy
    assert window.many.session.current is None
    played.last.report(GroupEnded(problem=Text("No space is left.")))
    assert not window.many.session.busy
    assert window.many.session.current is last
    assert len(window.many.queue.runs) == 1


@pytest.mark.slow
def test_a_group_of_which_nothing_could_start_leaves_the_queue_alone(
    qtbot, window, find, panel, played
) -> None:
    start_three(qtbot, window, find, panel)
    find("seeds_edit").setText("5-6")
    window.toolbar.action("queue").trigger()
    first = played.last
    for seed in range(3):
        first.show(seed, SeedState.FAILED, message="no such environment")
    with qtbot.waitSignal(window.many.session.ended):
        first.end()
    done = []
    QTimer.singleShot(0, window, partial(done.append, None))
    qtbot.waitUntil(lambda: bool(done))
    assert played.last is first
    settle(window.many.queue)
    assert len(window.many.queue.runs) == 1


@pytest.mark.slow
def test_an_idle_queue_says_how_to_start_it(qtbot, window, find, panel, played) -> None:
    assert "Train next" in find("queue_hint").text()
    fill_in(find, STEPS, 40, "2,")
    assert "after the one" not in find("queue_button").toolTip()
    window.toolbar.action("queue").trigger()
    assert find("queue_hint").text() == "Press ▶ to start the first one."
    start_three(qtbot, window, find, panel)
    assert "has ended" in find("queue_hint").text()
    assert "after the current training" in find("queue_button").toolTip()
    find("queue_list").setCurrentRow(0)
    find("queue_remove_button").click()


@pytest.mark.slow
def test_additions_of_another_window_are_listed_by_a_panel_in_sight_and_an_activated_window(
    qtbot, window, find, runs_dir
) -> None:
    queue = window.many.queue
    window.docks.open("many")
    timer = window.panels.named("many").findChild(QTimer, "queue_timer")
    qtbot.waitUntil(timer.isActive)
    waiting = [QueuedRun(config=c, tunables=t) for c, t in [make_settings({"env": STEPS_ENV})] * 2]
    write_queue(runs_dir, waiting[:1])
    timer.timeout.emit()
    qtbot.waitUntil(lambda: find("queue_list").count() == 1)
    window.docks.close("many")
    qtbot.waitUntil(lambda: not timer.isActive())
    write_queue(runs_dir, waiting)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QApplication.sendEvent(window, QEvent(QEvent.Type.ActivationChange))
    qtbot.waitUntil(lambda: len(queue.runs) == 2)
    assert not window.many.busy


@pytest.mark.slow
def test_toolbar_speaks_of_the_group_that_train_starts_and_stop_ends(
    qtbot, window, find, panel, played
) -> None:
    assert find("train_button").toolTip().startswith("Start a new run")
    open_record(window, config=make_settings({"env": "Pendulum-v1"})[0])
    shown = find("run_title").text()
    find("seeds_edit").setText("3")
    assert find("train_button").toolTip().startswith("Start a group of runs")
    start_three(qtbot, window, find, panel)
    assert find("run_title").text() == "Group group-0-1-2"
    played.last.end()
    qtbot.waitUntil(lambda: find("run_title").text() == shown)


@pytest.mark.slow
def test_the_form_is_unlocked_for_the_next_run(qtbot, window, find, workers) -> None:
    fill_in(find, STEPS, 40)
    find("own_process_check").setChecked(True)
    find("train_button").click()
    assert window.controller.state is SessionState.STARTING
    assert not find("steps_spin").isEnabled()
    find("prepare_next_button").click()
    find("steps_spin").setValue(30)
    find("queue_button").click()
    assert [run.config.steps for run in window.many.queue.runs] == [30]
    find("queue_list").setCurrentRow(0)
    find("queue_remove_button").click()
    workers[0].finished.emit()


@pytest.mark.parametrize(
    ("answer", "commands"),
    [
        ("stop", ["stop"]),
        ("keep", []),
        pytest.param("cancel", [], marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_closing_asks_what_becomes_of_a_group(
    qtbot, window, find, played, monkeypatch, answer: str, commands: list[str]
) -> None:
    monkeypatch.setattr("studio.window.main_window.ask_what_to_do", lambda _parent, **_more: answer)
    fill_in(find, "Pendulum-v1", 200, "2")
    window.start_request.start()
    window.close()
    if answer != "cancel":
        qtbot.waitUntil(lambda: not window.isVisible())
    assert window.isVisible() is (answer == "cancel")
    assert [command.verb for command in played.last.commands] == commands
    assert played.last.detached is (answer == "keep")
    played.last.end()
    qtbot.waitUntil(lambda: not window.many.busy)


@pytest.mark.slow
def test_a_run_in_a_process_of_its_own_is_shown_and_steered_live(qtbot, window, find) -> None:
    before = {child.pid for child in psutil.Process().children()}
    fill_in(find, STEPS_ENV, 10_000_000)
    find("own_process_check").setChecked(True)
    find("train_button").click()
    qtbot.waitUntil(
        lambda: (
            window.model.record.progress is not None
            and window.model.record.progress.env_steps > 200
        ),
        timeout=PATIENCE_MS,
    )
    assert {child.pid for child in psutil.Process().children()} - before
    find("spin_tau").setValue(0.02)
    qtbot.waitUntil(lambda: bool(window.model.record.journal.markers), timeout=PATIENCE_MS)
    find("pause_button").click()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.PAUSED, timeout=PATIENCE_MS)
    find("stop_button").click()
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=PATIENCE_MS)
    assert window.model.record.outcome.stopped == "user"


@pytest.mark.slow
def test_where_runs_train_is_remembered(qtbot, window, find, workers, tmp_path: Path) -> None:
    from studio.app import build_window

    find("own_process_check").setChecked(True)
    other = build_window(tmp_path / "other")
    assert other.findChild(QWidget, "own_process_check").checkState() is Qt.CheckState.Checked
    config, tunables = make_settings({"env": "Pendulum-v1"})
    other.controller.begin(NewRun(config=config, tunables=tunables, runs_dir=tmp_path))
    assert other.controller.can_leave
    workers[0].finished.emit()
    qtbot.waitUntil(lambda: other.controller.state is SessionState.IDLE)
    other.close()
    other.deleteLater()


@pytest.fixture
def left_alone(runs_dir: Path) -> Iterator[Group]:
    """A group that another process trains, as far as its folder shows."""
    config, tunables = make_settings({"env": STEPS_ENV, "steps": 200})
    group = new_group(runs_dir, (0, 1), config, tunables)
    RunDirectory.create(runs_dir, group.config_of(0), tunables, group=group.name)
    GroupInbox(group).open()
    with group.locked():
        yield group


@pytest.fixture
def session(qtbot) -> Iterator[GroupSession]:
    """A session that, as in the window, outlives the threads it has."""
    made = GroupSession(lambda _, go: go())
    yield made
    qtbot.waitUntil(lambda: not made.findChildren(FollowedGroup))
    made.deleteLater()


def test_a_group_that_is_followed_is_announced_by_a_session_that_is_busy(
    session: GroupSession, left_alone: Group
) -> None:
    busy = []
    session.group_started.connect(lambda _: busy.append(session.busy))
    session.follow(left_alone)
    assert busy == [True]
    session.detach()


def test_a_look_at_a_group_that_fails_is_told_once_and_its_end_is_noticed_nevertheless(
    qtbot, session: GroupSession, left_alone: Group, monkeypatch
) -> None:
    monkeypatch.setattr("studio.experiments.followed_group._POLL_S", 0.02)
    monkeypatch.setattr("studio.tasks.follow_loop.AGAIN_S", 0.02)
    looks, refused, trains = iter((True, False, False)), [], [True]
    failed = threading.Event()

    def look(group: Group) -> tuple[SeedStatus, ...]:
        works = next(looks, None)
        if works is None:
            failed.set()
        elif not works:
            raise OSError(5, "Input/output error", str(group.path))
        return watch(group)

    monkeypatch.setattr("studio.experiments.followed_group.watch", look)
    monkeypatch.setattr(Group, "is_training", lambda _: trains[0])
    session.refused.connect(refused.append)
    session.follow(left_alone)
    qtbot.waitUntil(lambda: failed.is_set() and bool(refused))
    assert session.busy
    trains[0] = False
    qtbot.waitUntil(lambda: not session.busy)
    assert list(map(str, refused)) == [f"{left_alone.path} cannot be used: Input/output error."]


@pytest.mark.slow
def test_a_group_left_in_the_background_is_shown_and_steered_by_the_next_window(
    qtbot, left_alone, window, panel, find
) -> None:
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 2, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: panel.model.statuses[0].run is not None, timeout=PATIENCE_MS)
    assert window.many.busy
    assert find("many_dock").isVisible()
    run = panel.model.statuses[0].run
    window.launcher.resume(run)
    assert window.banner.text == (
        f"The group {left_alone.name} is training. Wait for its end, or stop it first."
    )
    find("group_stop_button").click()
    asked, inbox = list[Command](), GroupInbox(left_alone)
    qtbot.waitUntil(lambda: asked.extend(inbox.take_commands()) or bool(asked))
    assert asked == [Command(verb=Verb.STOP)]
    window.many.session.detach()
    assert not window.many.busy


@pytest.mark.slow
def test_the_end_of_a_group_left_in_the_background_starts_what_waits(
    qtbot, left_alone, window, panel, find, played
) -> None:
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 2, timeout=PATIENCE_MS)
    fill_in(find, "Pendulum-v1", 200, "5-6")
    window.toolbar.action("queue").trigger()
    assert "has ended" in find("queue_hint").text()
    window.many.session.ended.emit()
    window.many.session.detach()
    # It leaves the list once it is claimed, and starts a little later.
    qtbot.waitUntil(lambda: played.last is not None and played.last.job.seeds == (5, 6))
    assert find("queue_list").count() == 0


@pytest.mark.slow
def test_a_disk_that_does_not_answer_keeps_no_window_open(
    qtbot, left_alone, window, monkeypatch
) -> None:
    looking, answer = threading.Event(), threading.Event()

    def hang(_: object) -> tuple[SeedStatus, ...]:
        looking.set()
        answer.wait(WAIT_S)
        return ()

    monkeypatch.setattr("studio.experiments.followed_group.watch", hang)
    monkeypatch.setattr("studio.window.main_window.wait_for_cancelled", lambda: None)
    monkeypatch.setattr("studio.window.main_window.ask_what_to_do", lambda *_, **__: "keep")
    qtbot.waitUntil(looking.is_set, timeout=PATIENCE_MS)
    for verb in ("pause", "stop"):
        window.many.session.command(verb)
    window.close()
    assert not window.isVisible()
    assert {"follow-group"} <= {thread.name for thread in threading.enumerate()}
    # Once it answers, the pending request is written nevertheless.
    answer.set()
    qtbot.waitUntil(lambda: "follow-group" not in {t.name for t in threading.enumerate()})
    assert [asked.verb for asked in GroupInbox(left_alone).take_commands()] == ["pause", "stop"]


@pytest.mark.parametrize("size", [*slow((1280, 800)), (1024, 700)])
@pytest.mark.slow
def test_the_summary_of_a_group_is_whole_in_a_small_window(
    qtbot, window, panel, played, find, runs_dir, size: tuple[int, int]
) -> None:
    config, tunables = make_settings({"env": STEPS_ENV, "steps": 200})
    window.resize(*size)
    window.docks.open("many")
    job = NewGroup(runs_dir=runs_dir, seeds=(0, 1, 2), config=config, tunables=tunables)
    window.many.session.start(job)
    for seed in range(3):
        state = SeedState.FAILED if seed else SeedState.FINISHED
        played.last.show(seed, state, last=-1234.5 + seed, best=-1112.5 - 9 * seed, env_steps=100)
    label = find("group_summary")
    qtbot.waitUntil(lambda: "failed" in label.text() and "best" in label.text())
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()))
    # What matters most is in the table without scrolling.
    view = find("group_view")
    assert not view.horizontalScrollBar().maximum()
    shown = [SeedColumn.SEED, SeedColumn.STATE]
    if size == (1280, 800):
        # The queue is below it.
        shown += [SeedColumn.LAST, SeedColumn.BEST, SeedColumn.PROGRESS, SeedColumn.SPEED]
    qtbot.waitUntil(lambda: not any(view.isColumnHidden(column) for column in shown))
    assert find("group_pause_button").toolTip().endswith("Not now: its runs do not train")
    assert find("queue_start_button").toolTip().endswith("Not now: the queue is empty")
    assert find("train_button").toolTip().count("Not now: a group is training") == 1
    assert not find("train_button").isEnabled()


def test_a_heading_of_a_group_is_whole_once_its_column_has_room_again(qtbot) -> None:
    view = GroupTable(GroupModel())
    qtbot.addWidget(view)
    header = view.header()
    font = header.font()
    font.setPixelSize(22)
    header.setFont(font)
    view.show()
    for width in (900, 200, *range(250, 950, 50)):
        view.resize(width, 300)
        qtbot.waitUntil(lambda width=width: width - 100 < view.viewport().width() <= width)
        shown = [c for c in SeedColumn if not view.isColumnHidden(c)]
        widths = {c: view.columnWidth(c) for c in shown if c is not SeedColumn.PROGRESS}
        assert all(widths[c] >= header.sectionSizeHint(c) for c in widths)
        assert header.length() <= view.viewport().width()


@pytest.mark.slow
def test_resuming_a_group_asks_for_the_code_that_its_files_name(
    qtbot, window, panel, played, monkeypatch, runs_dir
) -> None:
    config, tunables = make_settings({"env": STEPS_ENV, "steps": 200})
    asked: list[tuple[str, Callable[[], None]]] = []
    monkeypatch.setattr(
        window.consent, "obtain", lambda choice, then, _: asked.append((choice.env_id, then))
    )
    job = NewGroup(runs_dir=runs_dir, seeds=(0,), config=config, tunables=tunables)
    window.many.session.start(job)
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 1)
    played.last.end()
    qtbot.waitUntil(lambda: not window.many.busy)
    window.many.session.resume()
    ((env, allow),) = asked
    assert env == STEPS_ENV
    assert not window.many.busy
    allow()
    assert played.last.job == ResumedGroup(path=played.last.job.path)
    played.last.end()
    qtbot.waitUntil(lambda: not window.many.busy)
    window.many.start(QueuedRun(config=config, tunables=tunables, seeds=(1, 2)))
    asked[1][1]()
    assert played.last.job.seeds == (1, 2)


def start_three(qtbot, window, find, panel) -> None:
    fill_in(find, "Pendulum-v1", 200, "3")
    window.start_request.start()
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 3)


@pytest.mark.slow
def test_the_toolbar_pauses_saves_and_stops_the_group_that_trains(
    qtbot, window, find, panel, played
) -> None:
    start_three(qtbot, window, find, panel)
    assert not find("pause_button").isEnabled()
    assert "Not now: the group is starting" in find("pause_button").toolTip()
    assert find("stop_button").isEnabled()
    played.last.show(0, SeedState.TRAINING, env_steps=50, steps=200)
    qtbot.waitUntil(find("pause_button").isEnabled)
    assert find("pause_button").toolTip() == "Pause all runs of the group (Ctrl+P)"
    find("save_button").click()
    find("pause_button").click()
    for seed, state in enumerate((SeedState.PAUSED, SeedState.HELD, SeedState.HELD)):
        played.last.show(seed, state, env_steps=50, steps=200)
    qtbot.waitUntil(lambda: find("pause_button").text() == "Continue")
    find("pause_button").click()
    find("stop_button").click()
    assert [command.verb for command in played.last.commands] == [
        "save",
        "pause",
        "unpause",
        "stop",
    ]
    qtbot.waitUntil(lambda: not window.many.busy)
    assert not find("stop_button").isEnabled()
    assert "Not now: no run is training" in find("stop_button").toolTip()


@pytest.mark.slow
def test_the_status_bar_speaks_of_the_group_that_trains(qtbot, window, find, panel, played) -> None:
    start_three(qtbot, window, find, panel)
    assert find("status_state").text().endswith("starting")
    played.last.show(0, SeedState.FINISHED, env_steps=200, steps=200)
    played.last.show(1, SeedState.TRAINING, env_steps=100, steps=200, steps_per_s=50.0)
    played.last.show(2, SeedState.TRAINING, env_steps=0, steps=200, steps_per_s=50.0)
    qtbot.waitUntil(lambda: "100 steps/s" in find("status_numbers").text())
    assert find("status_state").text().endswith("training")
    assert find("status_numbers").text() == (
        "group group-0-1-2  ·  50 %  ·  1 of 3 runs finished  ·  100 steps/s  ·  3 s left"
    )
    assert find("status_progress").value() == 500
    # The warm-up is faster than the rest, and not representative.
    warm = {"env_steps": 0, "steps": 200, "steps_per_s": 5000.0, "phase": "warm-up"}
    played.last.show(2, SeedState.TRAINING, **warm)
    qtbot.waitUntil(lambda: "5,050 steps/s" in find("status_numbers").text())
    assert find("status_numbers").text().endswith("  ·  3 s left")
    played.last.show(1, SeedState.TRAINING, **warm)
    qtbot.waitUntil(lambda: find("status_numbers").text().endswith("estimating time left"))
    window.many.session.command(Verb.STOP)
    qtbot.waitUntil(lambda: not window.many.busy)
    assert find("status_state").text().endswith("ready")
    assert not find("status_numbers").text()


@pytest.mark.slow
def test_buttons_are_for_a_followed_run_that_is_none_of_the_group(
    qtbot, window, find, panel, played, monkeypatch
) -> None:
    start_three(qtbot, window, find, panel)
    played.last.show(1, SeedState.TRAINING, run=Path("its run"), env_steps=50, steps=200)
    qtbot.waitUntil(find("pause_button").isEnabled)
    followed = property(lambda _: Path("its run"))
    monkeypatch.setattr(type(window.controller), "followed_run", followed)
    assert window.many.steers_group
    followed = property(lambda _: Path("another run"))
    monkeypatch.setattr(type(window.controller), "followed_run", followed)
    assert not window.many.steers_group


@pytest.mark.slow
def test_a_group_stays_in_its_panel_when_the_next_one_starts(
    qtbot, window, find, panel, played
) -> None:
    start_three(qtbot, window, find, panel)
    first = played.last
    first.show(0, SeedState.FAILED, last=-123.0, message="no reward")
    first.end()
    qtbot.waitUntil(lambda: not window.many.busy)
    groups = find("group_combo")
    assert groups.isHidden()
    find("seeds_edit").setText("5-6")
    window.start_request.start()
    qtbot.waitUntil(lambda: len(panel.model.statuses) == 2)
    assert [groups.itemText(i) for i in range(groups.count())] == ["group-0-1-2", "group-5-6"]
    assert not groups.isHidden()
    groups.setCurrentIndex(0)
    groups.activated.emit(0)
    assert panel.model.statuses[0].state is SeedState.FAILED
    assert panel.model.statuses[0].last == -123.0
    # The buttons of the ended group affect neither it nor the training one.
    played.last.show(5, SeedState.TRAINING, env_steps=10, steps=200)
    qtbot.waitUntil(lambda: find("status_state").text().endswith("training"))
    assert find("group_stop_button").toolTip().endswith("Not now: this group has ended")
    assert not find("group_resume_button").isEnabled()
    assert len(panel.model.statuses) == 3
    window.many.session.command(Verb.STOP)
    qtbot.waitUntil(lambda: not window.many.busy)
    find("group_resume_button").click()
    assert played.last.job == ResumedGroup(path=first.group.path)
