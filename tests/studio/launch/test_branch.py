"""A new run begins at a saved agent, with other settings, and shows what came before."""

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDoubleSpinBox,
    QLabel,
    QPushButton,
    QWidget,
)

from studio.experiments.queue_file import QueuedRun, read_queue, write_queue
from studio.launch import launcher
from studio.launch.branch_dialog import BranchDialog, When
from studio.session.agents import read_agents
from studio.session.controller import SessionState
from studio.session.curves import RunCurves
from studio.session.history import read_parent_curves
from td3core.checkpoint import read_header
from td3core.config import Tunables, make_settings
from td3core.experiments.jobs import Branch
from td3core.exporters import weights
from td3core.protocol.events import Ended, Event, Failed, Started
from td3core.runs.branching import branch_settings
from td3core.runs.directory import RunDirectory
from td3core.runs.resumption import FIXED_BY_CHECKPOINT
from td3core.system.allowed_code import LocatedModule
from td3core.text import Text
from tests.studio.launch.test_resume import open_run, train_before, wait_until_idle
from tests.studio.plots.layers import curves_of
from tests.studio.window.test_main_job import Listener, click
from tests.support.events import started as began
from tests.support.marks import slow


@pytest.fixture
def parent(runs_dir: Path) -> RunDirectory:
    """A run of 1500 steps with checkpoints at 500, 1000 and 1500."""
    return train_before(runs_dir, steps=1500, checkpoint_interval=500, stop_at=10**9)


@pytest.fixture
def dialog(qtbot, parent: RunDirectory) -> BranchDialog:
    made = BranchDialog(parent.step_checkpoint(1000), read_header(parent.step_checkpoint(1000)))
    qtbot.addWidget(made)
    made.show()
    return made


def part(dialog: QWidget, kind: type, name: str):
    found = dialog.findChild(kind, name)
    assert found is not None, name
    return found


def menu_at(qtbot, window, path: Path) -> QAction:
    """Request the actions on an agent, as by a right click."""
    rows = window.replay.checkpoints
    index = rows.model.find(path)
    assert index.isValid()
    rows.view.scrollTo(index)
    rows.view.customContextMenuRequested.emit(rows.view.visualRect(index).center())
    qtbot.waitUntil(rows.menu.isVisible)
    rows.menu.hide()
    return rows.branch_action


@pytest.mark.slow
def test_a_branch_begins_at_its_checkpoint_below_the_dimmed_curves_of_its_parent(
    qtbot, window, find, parent, monkeypatch
):
    def answer(dialog: BranchDialog) -> int:
        part(dialog, QDoubleSpinBox, "branch_steps").setValue(2000)
        part(dialog, QDoubleSpinBox, "branch_tau").setValue(0.02)
        part(dialog, QPushButton, "branch_train_button").click()
        return dialog.result()

    monkeypatch.setattr(BranchDialog, "exec", answer)
    open_run(qtbot, window, parent)
    action = menu_at(qtbot, window, parent.step_checkpoint(1000))
    assert action.isEnabled()
    listener = Listener(window)
    action.trigger()
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    started = listener.all(Started)[0]
    assert started.env_steps == 1000
    assert started.run != parent.path
    assert (started.config.steps, started.tunables.tau) == (2000, 0.02)
    assert find("spin_tau").value() == 0.02
    past = window.model.record.parent_curves
    assert past.episodes.column("env_steps")[-1] == 1000.0
    assert past.training.column("env_steps")[-1] == 1000.0
    wait_until_idle(qtbot, window)
    assert isinstance(listener.said[-1], Ended)
    steps = window.model.record.curves.training.column("env_steps")
    assert (steps[0] > 1000, steps[-1]) == (True, 2000)
    card = window.plots.card("plot_q")
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=5_000)
    dimmed = curves_of(card)[5].xData
    assert (dimmed[0] < 200, dimmed[-1]) == (True, 1000)
    assert RunDirectory.open(started.run).parent.run == parent.path.name


def test_what_is_learnt_depends_on_is_shown_and_cannot_be_changed(dialog, parent):
    header = read_header(parent.step_checkpoint(1000))
    for name in FIXED_BY_CHECKPOINT:
        assert dialog.findChild(QWidget, f"branch_{name}") is None
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert "Pendulum-v1" in texts
    assert ", ".join(map(str, header.config.actor_hidden)) in texts


def test_only_what_was_changed_is_handed_on(dialog):
    # The parent has come to its end, so that a branch from it needs a later one of its own.
    assert dialog.values() == {}
    part(dialog, QDoubleSpinBox, "branch_batch_size").setValue(16)
    part(dialog, QDoubleSpinBox, "branch_gamma").setValue(0.9)
    assert dialog.values() == {"batch_size": 16, "gamma": 0.9}


def test_settings_of_another_algorithm_are_not_offered(qtbot, parent, dialog):
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert dialog.findChild(QWidget, "branch_dropped_quantiles") is None
    assert "Quantiles" not in texts
    header = read_header(parent.last)
    of_tqc = replace(header, config=replace(header.config, algorithm="tqc"))
    other = BranchDialog(parent.last, of_tqc)
    qtbot.addWidget(other)
    assert other.findChild(QWidget, "branch_dropped_quantiles") is not None
    assert "Quantiles" in [label.text() for label in other.findChildren(QLabel)]


def test_a_branch_from_the_end_is_offered_more_steps(qtbot, parent):
    made = BranchDialog(parent.last, read_header(parent.last))
    qtbot.addWidget(made)
    assert made.values() == {"steps": 3000}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("steps", 1000, "Steps cannot be 1000"), ("batch_size", 5000, "larger than Replay buffer")],
)
def test_settings_that_cannot_be_keep_the_dialog_open_and_say_why(qtbot, dialog, name, value, says):
    part(dialog, QDoubleSpinBox, f"branch_{name}").setValue(value)
    train = part(dialog, QPushButton, "branch_train_button")
    click(qtbot, train)
    assert dialog.isVisible()
    assert says in dialog.problem.text()
    part(dialog, QDoubleSpinBox, "branch_steps").setValue(1600)
    part(dialog, QDoubleSpinBox, "branch_batch_size").setValue(8)
    click(qtbot, train)
    assert dialog.result() == QDialog.DialogCode.Accepted


def test_an_agent_without_all_that_learning_needs_says_why_it_has_no_branch(
    qtbot, window, parent, tmp_path
):
    exported = parent.checkpoints / "step_000000700.safetensors"
    weights.export(parent.last, exported)
    window.replay.show_run(read_agents(parent))
    action = menu_at(qtbot, window, exported)
    assert not action.isEnabled()
    assert "cannot be trained further" in action.toolTip()
    inspect = window.replay.checkpoints.inspect_action
    assert not inspect.isEnabled()
    assert "an exported agent has only its networks, and no replay" in inspect.toolTip()
    menu_at(qtbot, window, parent.last)
    assert inspect.isEnabled()
    bundled = window.replay.checkpoints.model.first()
    if not read_header(bundled).complete:
        assert not menu_at(qtbot, window, bundled).isEnabled()


class PlayedProcess:
    """Stands in for the process of a run next to the window."""

    def __init__(self, job: Branch, report: Callable[[Event], None]) -> None:
        PlayedProcess.last = self
        self.job, self.report, self.detached = job, report, False

    def detach(self) -> None:
        self.detached = True


def answer_with(monkeypatch, when: When | None) -> None:
    """Accept the dialog, with another tau and a time to start."""

    def answer(dialog: BranchDialog) -> int:
        part(dialog, QDoubleSpinBox, "branch_tau").setValue(0.02)
        part(dialog, QDoubleSpinBox, "branch_steps").setValue(1600)
        choice = dialog.findChild(QComboBox, "branch_when")
        assert (choice is None) is (when is None)
        if when is not None:
            choice.setCurrentIndex(choice.findData(when.value))
        part(dialog, QPushButton, "branch_train_button").click()
        return dialog.result()

    monkeypatch.setattr(BranchDialog, "exec", answer)


@pytest.mark.slow
def test_a_branch_while_something_trains_waits_for_its_turn(
    qtbot, window, find, parent, monkeypatch
):
    window.replay.show_run(read_agents(parent))
    window.replay.checkpoints.set_busy(True)
    busy = property(lambda _: True)
    monkeypatch.setattr(type(window.controller), "busy", busy)
    answer_with(monkeypatch, When.QUEUED)
    action = menu_at(qtbot, window, parent.step_checkpoint(500))
    assert action.isEnabled()
    assert "in a process of its own" in action.toolTip()
    action.trigger()
    qtbot.waitUntil(lambda: len(window.many.queue.runs) == 1, timeout=20_000)
    assert window.many.queue.runs[0].checkpoint == parent.step_checkpoint(500)
    assert "branch from step_000000500" in find("queue_list").item(0).text()
    monkeypatch.undo()
    listener = Listener(window)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    started = listener.all(Started)[0]
    assert (started.env_steps, started.tunables.tau, started.config.steps) == (500, 0.02, 1600)
    wait_until_idle(qtbot, window)


def test_a_branch_that_waits_is_kept_in_the_queues_file(runs_dir, parent):
    header = read_header(parent.last)
    run = QueuedRun(config=header.config, tunables=header.tunables, checkpoint=parent.last)
    write_queue(runs_dir, [run])
    assert read_queue(runs_dir) == (run,)


def test_a_branch_that_has_waited_changes_only_what_was_chosen(qtbot, window, parent, monkeypatch):
    asked = []
    monkeypatch.setattr(window.controller, "begin", asked.append)
    agent, chosen = parent.step_checkpoint(500), {"steps": 1600, "tau": 0.02}
    config, tunables = branch_settings(agent, read_header(agent), chosen)
    window.many.start(QueuedRun(config=config, tunables=tunables, checkpoint=agent))
    qtbot.waitUntil(lambda: bool(asked), timeout=20_000)
    # A setting among them would not change on the parent's schedule any more.
    assert (asked[0].checkpoint, asked[0].values) == (agent, chosen)


def waiting_branch(agent: Path) -> QueuedRun:
    config, tunables = branch_settings(agent, read_header(agent), {"steps": 1600})
    return QueuedRun(config=config, tunables=tunables, checkpoint=agent)


@pytest.mark.slow
def test_a_waiting_branch_whose_checkpoint_is_gone_is_named_and_the_next_one_starts(
    qtbot, window, find, parent, runs_dir
):
    gone, there = parent.step_checkpoint(500), parent.step_checkpoint(1000)
    for agent in (gone, there):
        window.many.add(waiting_branch(agent))
    kept = gone.read_bytes()
    gone.unlink()
    listener = Listener(window)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    assert listener.all(Started)[0].env_steps == 1000
    # The start of the next one has not cleared it.
    assert window.banner.isVisible()
    for text in (window.banner.text, window.log.toPlainText().replace("\xa0", " ")):
        assert "Pendulum-v1 · branch from step_000000500" in text
        assert f"could not start. There is no checkpoint at {gone}." in text
    wait_until_idle(qtbot, window)
    assert find("queue_list").count() == 1
    item = find("queue_list").item(0)
    assert "Pendulum-v1\nfailed · branch from step_000000500" in item.text()
    assert "There is no checkpoint at" in item.toolTip()
    assert find("queue_note").text() == "1 failed"
    assert find("queue_hint").text() == "Press ▶ to try again."
    # It is not tried again automatically, but is on request.
    assert len(listener.all(Started)) == 1
    gone.write_bytes(kept)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: len(listener.all(Started)) == 2, timeout=60_000)
    assert listener.all(Started)[1].env_steps == 500
    wait_until_idle(qtbot, window)
    assert window.many.queue.runs == ()


@pytest.mark.slow
def test_a_waiting_run_whose_code_is_not_allowed_does_not_hold_up_the_next_one(
    qtbot, window, find, parent, monkeypatch
):
    def obtain(choice, then, declined):
        if "module:" in choice.env_id:
            declined(LocatedModule("module", Path("/module.py")))
        else:
            then()

    monkeypatch.setattr(window.consent, "obtain", obtain)
    config, tunables = make_settings({"env": "module:Own-v0"})
    window.many.add(QueuedRun(config=config, tunables=tunables))
    window.many.add(waiting_branch(parent.step_checkpoint(1000)))
    listener = Listener(window)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    wait_until_idle(qtbot, window)
    assert [run.problem for run in window.many.queue.runs] == [
        "The code in /module.py was not allowed to run."
    ]


@pytest.mark.parametrize("seeds", [*slow(()), (0, 1)])
@pytest.mark.slow
def test_a_waiting_run_whose_environment_is_gone_does_not_hold_up_the_next_one(
    qtbot, window, find, parent, seeds
):
    config, tunables = make_settings({"env": "Missing-v0", "steps": 1600})
    window.many.add(QueuedRun(config=config, tunables=tunables, seeds=seeds))
    window.many.add(waiting_branch(parent.step_checkpoint(1000)))
    listener = Listener(window)
    find("queue_start_button").click()
    qtbot.waitUntil(lambda: bool(listener.all(Started)), timeout=60_000)
    wait_until_idle(qtbot, window)
    (left,) = window.many.queue.runs
    assert left.config.env == "Missing-v0"
    assert "Missing-v0" in left.problem
    assert left.problem in window.banner.text


def test_a_branch_that_is_read_while_something_else_starts_waits_again(
    qtbot, window, parent, monkeypatch
):
    window.many.queue.add(waiting_branch(parent.step_checkpoint(500)))
    with monkeypatch.context() as patch:
        patch.setattr(window.launcher, "obstacle", lambda: "A group is training.")
        with qtbot.waitSignal(window.launcher.branch_refused, timeout=20_000):
            window.many.queue.start_next()
    assert [run.problem for run in window.many.queue.runs] == [""]


@pytest.mark.slow
def test_an_accepted_branch_is_not_lost_to_what_is_asked_for_while_it_is_read(
    qtbot, window, parent, monkeypatch
):
    read, may_go_on, started = threading.Event(), threading.Event(), []

    def slowly(checkpoint: Path, stopped) -> RunCurves:
        read.set()
        may_go_on.wait(20)
        return read_parent_curves(checkpoint, stopped)

    monkeypatch.setattr(launcher, "read_parent_curves", slowly)
    monkeypatch.setattr(window.controller, "begin", started.append)
    window.launcher.branch_with_half_rates(parent.step_checkpoint(500))
    qtbot.waitUntil(read.is_set, timeout=20_000)
    window.launcher.resume(parent.path)
    assert window.banner.text == "The run that you have just accepted is about to start."
    may_go_on.set()
    qtbot.waitUntil(lambda: bool(started), timeout=20_000)
    assert [job.checkpoint for job in started] == [parent.step_checkpoint(500)]


@pytest.mark.slow
def test_a_branch_while_something_trains_can_have_a_process_of_its_own(
    qtbot, window, parent, monkeypatch
):
    monkeypatch.setattr("studio.launch.beside.RunProcess", PlayedProcess)
    monkeypatch.setattr(window.launcher, "obstacle", lambda: Text("A group is training."))
    answer_with(monkeypatch, When.BESIDE)
    PlayedProcess.last = None
    window.launcher.branch(parent.step_checkpoint(500))
    qtbot.waitUntil(lambda: PlayedProcess.last is not None, timeout=20_000)
    process = PlayedProcess.last
    assert process.job.checkpoint == parent.step_checkpoint(500)
    assert process.job.values == {"steps": 1600, "tau": 0.02}
    assert process.job.numerics == parent.config.numerics != "auto"
    assert not process.detached
    started = began(parent.config, Tunables(), 500, run=parent.path)
    process.report(started)
    qtbot.waitUntil(lambda: process.detached)
    assert f"{parent.path.name} is training in a separate process." in window.banner.text
    window.launcher.beside.start(process.job)
    PlayedProcess.last.report(Failed(message=Text("No room."), details=""))
    qtbot.waitUntil(lambda: window.banner.text == "No room.")


@pytest.mark.slow
def test_a_run_that_diverged_offers_a_branch_with_half_its_learning_rates(
    qtbot, window, find, runs_dir, monkeypatch
):
    run = train_before(runs_dir, actor_lr=4e-4, critic_lr=2e-3, stop_at=600)
    from td3core.training import trainer
    from td3core.training.divergence import DivergedError

    sound = trainer.require_finite_metrics

    def blow_up(metrics, env_steps, **_):
        raise DivergedError("critic1_loss", math.inf, env_steps)

    monkeypatch.setattr(trainer, "require_finite_metrics", blow_up)
    listener = Listener(window)
    window.launcher.resume(run.path)
    qtbot.waitUntil(lambda: bool(listener.all(Failed)), timeout=60_000)
    wait_until_idle(qtbot, window)
    assert listener.all(Failed)[0].diverged
    assert "critic1_loss became inf by step" in window.banner.text
    monkeypatch.setattr(trainer, "require_finite_metrics", sound)
    button = find("banner_action_button")
    assert "half the learning rates" in button.text()
    reached = read_header(run.last).counters.env_steps
    click(qtbot, button)
    qtbot.waitUntil(lambda: len(listener.all(Started)) == 2, timeout=60_000)
    started = listener.all(Started)[1]
    assert started.env_steps == reached
    assert (started.tunables.actor_lr, started.tunables.critic_lr) == (2e-4, 1e-3)
    wait_until_idle(qtbot, window)
    # Any other message comes without that button.
    window.banner.show_message("info", "all is well")
    assert not button.isVisible()


@pytest.mark.slow
def test_a_checkpoint_that_is_not_kept_leaves_the_list(qtbot, window, parent):
    window.replay.show_run(read_agents(parent))
    rows = window.replay.checkpoints.model
    assert rows.find(parent.step_checkpoint(500)).isValid()
    parent.step_checkpoint(500).unlink()
    window.replay.checkpoints.note_saved(parent.last, 1500, None)
    qtbot.waitUntil(lambda: not rows.find(parent.step_checkpoint(500)).isValid())
    assert rows.find(parent.step_checkpoint(1000)).isValid()


@pytest.mark.slow
def test_the_list_says_how_much_room_the_run_takes(window, parent):
    window.replay.show_run(read_agents(parent))
    rows = window.replay.checkpoints.model
    heading = rows.index(0).data(Qt.ItemDataRole.DisplayRole)
    assert heading.startswith("This run")
    assert heading.endswith("on disk")
    assert any(unit in heading for unit in ("kB", "MB"))


@pytest.mark.slow
def test_the_defaults_of_the_sliders_stay_those_of_the_preset(qtbot, window, find, parent):
    values = {"steps": 1600, "tau": 0.3}
    config, tunables = branch_settings(parent.last, read_header(parent.last), values)
    with qtbot.waitSignal(window.model.run_ended, timeout=60_000):
        window.launcher.branch_as(parent.last, config, tunables)
    wait_until_idle(qtbot, window)
    assert window.controller.state is SessionState.IDLE
    assert window.live.tunables().tau == 0.3
    click(qtbot, find("reset_tau"))
    assert window.live.tunables().tau == Tunables().tau
