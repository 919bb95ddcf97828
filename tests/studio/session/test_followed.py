"""A run of another process, watched and steered from the real window."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from studio.app import build_window
from studio.run_browser.columns import RunColumn
from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.protocol.control import Control
from td3core.protocol.events import Event
from td3core.remote.access import RemoteAccess
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.lock import RunLock, holder
from td3core.runs.reader import RunReader
from tests.conftest import ROOT
from tests.studio.disk_guard import DiskGuard
from tests.studio.fake_runs import make_run
from tests.studio.run_browser.runs_list import choose, listed, read_again, show_runs
from tests.studio.window.test_main_job import click
from tests.support.events import progress, started

LONG_MS = 60_000
TINY = {
    "actor_hidden": "8,8",
    "critic_hidden": "8,8",
    "learning_starts": "200",
    "batch_size": "16",
    "buffer_size": "2000",
    "eval_interval": "400",
    "eval_episodes": "1",
    "bias_interval": "0",
    "background_evaluation": "false",
    "checkpoint_interval": "500",
    "keep_every": "1",
}


@pytest.fixture
def child(qtbot, runs_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that trains Pendulum-v1 until it is stopped."""
    words = ["train", "Pendulum-v1", "--steps", "1e7", "--threads", "1"]
    words += ["--runs-dir", str(runs_dir)]
    for name, value in TINY.items():
        words += ["--set", f"{name}={value}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "td3core", *words], cwd=ROOT, stderr=subprocess.DEVNULL
    )
    qtbot.waitUntil(lambda: bool(list(runs_dir.glob("*/status.json"))), timeout=LONG_MS)
    yield process
    process.kill()
    process.wait()


def open_run(qtbot, window: MainWindow, find, runs_dir: Path) -> RunDirectory:
    """Open the only run by the list of runs, and wait until it is followed."""
    (path,) = runs_dir.iterdir()
    run = RunDirectory.open(path)
    show_runs(qtbot, window, find, run)
    click(qtbot, find("runs_open_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING, timeout=LONG_MS)
    return run


@pytest.mark.slow
def test_a_run_of_another_process_is_followed_and_steered(
    qtbot, runs_dir, child, window, find, monkeypatch
) -> None:
    guard = DiskGuard(runs_dir, monkeypatch)
    run = open_run(qtbot, window, find, runs_dir)
    assert listed(window.runs, RunColumn.STATE) == ["running"]
    model, controller = window.model, window.controller
    guard.watch()
    assert "in another process" in find("status_device").text()
    seen = model.record.progress.env_steps
    qtbot.waitUntil(lambda: model.record.progress.env_steps > seen + 600, timeout=LONG_MS)
    qtbot.waitUntil(lambda: len(model.record.curves.evaluations) > 1, timeout=LONG_MS)
    assert len(model.record.curves.training) > 5
    assert len(model.record.curves.episodes) > 1
    rows = window.replay.checkpoints.model.rowCount()
    qtbot.waitUntil(lambda: window.replay.checkpoints.model.rowCount() > rows, timeout=LONG_MS)

    find("spin_tau").setValue(0.2)
    assert "tau" in window.live.pending
    qtbot.waitUntil(lambda: not window.live.pending, timeout=LONG_MS)
    assert window.live.tunables().tau == 0.2
    qtbot.waitUntil(lambda: bool(model.record.journal.markers), timeout=LONG_MS)
    first = model.record.journal.markers[0]
    assert (first.name, first.new) == ("tau", 0.2)

    click(qtbot, find("pause_button"))
    qtbot.waitUntil(lambda: controller.state is SessionState.PAUSED, timeout=LONG_MS)
    paused_at = model.record.progress.env_steps
    click(qtbot, find("save_button"))
    wanted = run.step_checkpoint(paused_at)
    with guard.paused():
        qtbot.waitUntil(wanted.exists, timeout=LONG_MS)
    click(qtbot, find("pause_button"))
    qtbot.waitUntil(lambda: model.record.progress.env_steps > paused_at, timeout=LONG_MS)
    # Tables and status are read one after the other.
    qtbot.waitUntil(lambda: controller.state is SessionState.RUNNING, timeout=LONG_MS)

    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: controller.state is SessionState.IDLE, timeout=LONG_MS)
    assert "stopped" in find("status_state").text()
    assert not controller.following
    assert guard.found == []
    assert child.wait(30) == 0
    (change,) = changes_of(run.journal())
    assert (change.name, change.new) == ("tau", 0.2)


@pytest.mark.slow
def test_a_followed_run_that_is_killed_is_shown_as_interrupted_and_can_be_resumed(
    qtbot, runs_dir, child, window, find
) -> None:
    open_run(qtbot, window, find, runs_dir)
    assert not find("resume_button").isEnabled()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    qtbot.waitUntil(lambda: "interrupted" in find("status_state").text(), timeout=10_000)
    assert window.controller.state is SessionState.IDLE
    assert "was interrupted" in find("banner_text").text()
    read_again(qtbot, window.runs)
    assert listed(window.runs, RunColumn.STATE) == ["interrupted"]
    assert find("resume_button").isEnabled()


@pytest.mark.slow
def test_two_windows_steer_one_run_and_closing_both_leaves_it_running(
    qtbot, runs_dir, child, window, find
) -> None:
    run = open_run(qtbot, window, find, runs_dir)
    other = build_window(runs_dir)
    other.show()
    other.presenter.open_path(run.path)
    windows = (window, other)
    qtbot.waitUntil(lambda: other.controller.state is SessionState.RUNNING, timeout=LONG_MS)
    find("spin_tau").setValue(0.2)
    qtbot.waitUntil(lambda: other.live.tunables().tau == 0.2, timeout=LONG_MS)
    other.findChild(QWidget, "spin_gamma").setValue(0.5)
    qtbot.waitUntil(lambda: window.live.tunables().gamma == 0.5, timeout=LONG_MS)
    assert {each.live.tunables() for each in windows} == {window.live.tunables()}
    assert [change.name for change in changes_of(run.journal())] == ["tau", "gamma"]
    other.close()
    other.deleteLater()
    window.close()
    assert holder(run.path) is not None
    assert child.poll() is None


@pytest.mark.slow
def test_a_look_at_a_run_that_fails_is_told_once_and_its_end_is_noticed_nevertheless(
    qtbot, runs_dir, window, find, monkeypatch
) -> None:
    living, looks = make_run(runs_dir, stopped=None), []
    with RunLock(living.path):
        write_status(living)
        show_runs(qtbot, window, find, living)
        click(qtbot, find("runs_open_button"))
        qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING)

        def fail(_: object) -> tuple[Event, ...]:
            looks.append(len(looks))
            raise OSError(5, "Input/output error")

        monkeypatch.setattr("studio.tasks.follow_loop.AGAIN_S", 0.02)
        said: list[object] = []
        window.controller.refused.connect(said.append)
        with monkeypatch.context() as broken:
            broken.setattr(RunReader, "poll", fail)
            qtbot.waitUntil(lambda: len(looks) > 2)
        assert list(map(str, said)) == ["Failed: Input/output error."]
        assert window.controller.following
    qtbot.waitUntil(lambda: not window.controller.following)
    assert window.controller.state is SessionState.IDLE
    assert "interrupted" in find("status_state").text()
    assert find("resume_button").isEnabled()


@pytest.mark.slow
def test_opening_another_run_ends_the_following(qtbot, runs_dir, window, find) -> None:
    living, ended = make_run(runs_dir, stopped=None), make_run(runs_dir, seed=1)
    with RunLock(living.path):
        write_status(living)
        show_runs(qtbot, window, find, living)
        click(qtbot, find("runs_open_button"))
        qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING)
        assert find("train_button").isEnabled()
        choose(window.runs, ended)
        click(qtbot, find("runs_open_button"))
        qtbot.waitUntil(lambda: window.model.record.run == ended.path)
        assert not window.controller.following
        assert window.controller.state is SessionState.IDLE


@pytest.mark.slow
def test_the_run_left_in_the_background_is_followed_by_the_next_window_and_told_nothing(
    qtbot, runs_dir
) -> None:
    living = make_run(runs_dir, stopped=None, tau=0.02)
    settings = QSettings(
        QSettings.Format.IniFormat, QSettings.Scope.UserScope, "td3-studio", "td3-studio"
    )
    settings.setValue("open_run", str(living.path))
    settings.setValue("forms", json.dumps({"env": "Pendulum-v1", "tau": 0.3}))
    settings.sync()
    with RunLock(living.path):
        write_status(living)
        window = build_window(runs_dir)
        window.show()
        qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING)
        assert window.controller.followed_run == living.path
        assert not window.start.isVisible()
        assert window.live.tunables().tau == 0.02
        window.close()
        assert not list(living.path.glob("requests/*.json"))
    window.deleteLater()


@pytest.mark.slow
def test_a_change_that_the_run_refuses_is_taken_back_with_its_sentence(
    qtbot, runs_dir, window, find, monkeypatch
) -> None:
    # It looks for requests whenever it is asked to.
    monkeypatch.setattr("td3core.remote.access.LOOK_S", 0.0)
    living = make_run(runs_dir, stopped=None, buffer_size=1000)
    with RunLock(living.path):
        access = write_status(living)
        show_runs(qtbot, window, find, living)
        click(qtbot, find("runs_open_button"))
        qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING)
        find("spin_batch_size").setValue(60_000)
        qtbot.waitUntil(lambda: bool(list((living.path / "requests").glob("*.json"))))
        access.idle()
        qtbot.waitUntil(lambda: not window.live.pending)
        qtbot.waitUntil(lambda: window.live.tunables().batch_size == 256)
        assert "is larger than Replay buffer" in find("banner_text").text()
        window.controller.stop_following()


def write_status(run: RunDirectory) -> RemoteAccess:
    """Write what a run writes when it starts; return what answers requests in its place."""
    access = RemoteAccess(run.path, run.config, Control(), lambda event: None)
    tunables = run.first_tunables
    access.report(started(run.config, tunables, run=run.path))
    access.report(progress(500, updates=400, episodes=3, wall_s=5.0, tunables=tunables))
    return access
