"""The main job, clicked through in the real window on a real environment."""

import json
import shutil
from multiprocessing import resource_tracker

import numpy as np
import psutil
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage

from studio.session.controller import SessionState
from studio.window.main_window import MainWindow
from td3core.protocol import events
from td3core.runs.directory import RunDirectory
from tests.studio.plots.layers import ticks_of
from tests.support.marks import release, slow

ASKED = "studio.window.main_window.ask_what_to_do"


class Listener:
    """Collects what the run reported to the window."""

    def __init__(self, window: MainWindow) -> None:
        self.said: list[events.Event] = []
        window.controller.event_reported.connect(self.said.append)

    def all(self, kind):
        return [event for event in self.said if isinstance(event, kind)]


def click(qtbot, widget) -> None:
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


def drag(qtbot, slider, share: float) -> None:
    """Drag a slider's handle from its position to ``share`` of its width, as a mouse does."""
    from PySide6.QtWidgets import QStyle, QStyleOptionSlider

    option = QStyleOptionSlider()
    slider.initStyleOption(option)
    handle = slider.style().subControlRect(
        QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, slider
    )
    start, left = handle.center(), Qt.MouseButton.LeftButton
    end = QPoint(int(slider.width() * share), start.y())
    qtbot.mousePress(slider, left, pos=start)
    for part in (0.25, 0.5, 0.75, 1.0):
        qtbot.mouseMove(slider, start + (end - start) * part)
    qtbot.mouseRelease(slider, left, pos=end)


def start_pendulum(qtbot, window, find, steps: int = 200_000) -> Listener:
    listener = Listener(window)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(steps)
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.RUNNING, timeout=60_000)
    return listener


def test_a_person_trains_tunes_pauses_stops_and_watches(qtbot, window, find):
    listener = start_pendulum(qtbot, window, find)
    qtbot.waitUntil(lambda: len(window.model.record.curves.training) > 5, timeout=60_000)

    for name, share in (
        ("tau", 0.9),
        ("policy_noise", 0.6),
        ("exploration_noise", 0.5),
        ("policy_delay", 0.4),
    ):
        drag(qtbot, find(f"slider_{name}"), share)
        shown = window.live.tunables()
        qtbot.waitUntil(lambda: not window.live.pending, timeout=10_000)
        tuned = listener.all(events.Tuned)[-1]
        assert tuned.tunables == shown
        assert getattr(tuned.tunables, name) != getattr(events.Tunables(), name)
        assert tuned.env_steps > 0
        assert [m.name for m in window.model.record.journal.markers][-1] == name
        assert window.model.record.journal.markers[-1].env_steps == tuned.env_steps

    changed = {"tau", "policy_noise", "exploration_noise", "policy_delay"}
    assert {marker.name for marker in window.model.record.journal.markers} == changed
    steps = sorted(float(marker.env_steps) for marker in window.model.record.journal.markers)
    for plot in ("plot_return", "plot_q", "plot_critic_loss", "plot_actor_loss"):
        card, dashed = window.plots.card(plot), Qt.PenStyle.DashLine
        qtbot.waitUntil(lambda: sorted(ticks_of(card, dashed)) == steps, timeout=5_000)  # noqa: B023
    journal = (window.model.record.run / "journal.jsonl").read_text().splitlines()
    assert {json.loads(line)["field"] for line in journal} == changed

    click(qtbot, find("pause_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.PAUSED, timeout=10_000)
    paused_at = listener.all(events.Progress)[-1].env_steps
    # A save is answered between two steps, so its step proves that none passed while paused.
    click(qtbot, find("save_button"))
    qtbot.waitUntil(lambda: listener.all(events.Saved)[-1:] != [], timeout=10_000)
    qtbot.waitUntil(
        lambda: any(s.path.name.startswith("step_") for s in listener.all(events.Saved))
    )
    assert listener.all(events.Saved)[-1].env_steps == paused_at

    click(qtbot, find("pause_button"))
    qtbot.waitUntil(lambda: listener.all(events.Progress)[-1].env_steps > paused_at, timeout=10_000)
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=20_000)
    assert listener.said[-1].stopped == "user"

    watch_last_checkpoint(qtbot, window, find, listener.said[-1].last_checkpoint)


def watch_last_checkpoint(qtbot, window, find, path) -> None:
    """Select a checkpoint in the list, play it, and see at least 30 different pictures."""
    rows = find("checkpoint_list")
    row = next(
        rows.model().index(i, 0)
        for i in range(rows.model().rowCount())
        if rows.model().index(i, 0).data(Qt.ItemDataRole.UserRole) == path
    )
    rows.scrollTo(row)
    pictures: set[int] = set()

    def look(frame) -> None:
        image = frame.images[0].convertToFormat(QImage.Format.Format_RGB888)
        pictures.add(hash(bytes(np.asarray(image.constBits()))))

    window.replay.player.frame_ready.connect(look)
    qtbot.mouseClick(rows.viewport(), Qt.MouseButton.LeftButton, pos=rows.visualRect(row).center())
    click(qtbot, find("replay_play_button"))
    qtbot.waitUntil(lambda: len(pictures) >= 30, timeout=60_000)


@pytest.mark.slow
def test_training_goes_on_at_once_while_an_agent_is_played(qtbot, window, find):
    listener = start_pendulum(qtbot, window, find)
    frames: list[object] = []
    window.replay.player.frame_ready.connect(frames.append)
    click(qtbot, find("replay_play_button"))
    qtbot.waitUntil(lambda: len(frames) > 10, timeout=60_000)
    before = listener.all(events.Progress)[-1].env_steps
    seen = len(frames)
    qtbot.waitUntil(
        lambda: listener.all(events.Progress)[-1].env_steps > before and len(frames) > seen + 10,
        timeout=20_000,
    )


@pytest.mark.release
@pytest.mark.timeout(900)
def test_clicking_train_with_the_preset_teaches_pendulum(qtbot, window, find):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("seed_spin").setValue(1)
    listener = Listener(window)
    click(qtbot, find("train_button"))
    # A few seconds of processor time, on a machine that may have little of it.
    qtbot.waitUntil(lambda: bool(listener.all(events.Ended)), timeout=840_000)
    ended = listener.all(events.Ended)[0]
    assert ended.stopped == "finished"
    assert ended.env_steps <= 20_000
    assert len(listener.all(events.Evaluated)[-1].returns) == 10
    assert ended.last_eval_return >= -200


@pytest.mark.slow
def test_several_environments_are_trained_to_the_end_from_the_form(qtbot, window, find):
    listener = Listener(window)
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(410)
    values = {"num_envs": 4, "env_processes": 2, "eval_interval": 0, "learning_starts": 100}
    for name, value in values.items():
        find(f"field_{name}").setValue(value)
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: bool(listener.all(events.Ended)), timeout=60_000)
    (ended,) = listener.all(events.Ended)
    # The first step of all four that reaches 410.
    assert (ended.env_steps, ended.stopped) == (412, "finished")
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=10_000)
    assert find("status_progress").value() == find("status_progress").maximum()
    assert "100 %" in find("status_numbers").text()
    assert window.model.record.seconds_left == 0.0
    config = listener.all(events.Started)[0].config
    assert (config.num_envs, config.env_processes) == (4, 2)


def test_closing_while_training_asks_once_saves_and_closes(qtbot, window, find, monkeypatch):
    listener = start_pendulum(qtbot, window, find)
    asked = []

    def answer(*_args, **_more):
        asked.append(True)
        return "stop"

    monkeypatch.setattr(ASKED, answer)
    with qtbot.waitSignal(window.closed, timeout=20_000):
        window.close()
        window.close()
    assert asked == [True]
    assert listener.said[-1].last_checkpoint.exists()
    assert not window.isVisible()


def test_answering_no_keeps_the_run_and_the_window(qtbot, window, find, monkeypatch):
    listener = start_pendulum(qtbot, window, find)
    monkeypatch.setattr(ASKED, lambda *_args, **_more: "cancel")
    window.close()
    before = listener.all(events.Progress)[-1].env_steps
    qtbot.waitUntil(lambda: listener.all(events.Progress)[-1].env_steps > before, timeout=10_000)
    assert window.isVisible()


def test_a_wrong_environment_gets_a_sentence_and_the_window_stays_usable(
    qtbot, window, find, tmp_path
):
    for env, words in (
        ("Pendulum-v7", "Pendulum-v1"),
        ("CartPole-v1", "discrete"),
        ("NoSuchThing-v0", "no environment"),
        ("", "Environment is empty"),
    ):
        window.banner.hide()
        find("env_combo").setCurrentText(env)
        click(qtbot, find("train_button"))
        qtbot.waitUntil(window.banner.isVisible, timeout=60_000)
        assert words in window.banner.text
        idle = SessionState.IDLE
        qtbot.waitUntil(lambda idle=idle: window.controller.state is idle, timeout=60_000)
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").iterdir())
    listener = start_pendulum(qtbot, window, find)
    assert not window.banner.isVisible()
    assert listener.all(events.Started)


def test_a_wrong_layer_list_is_named_with_what_it_takes(qtbot, window, find):
    find("field_actor_hidden").setText("64, many")
    click(qtbot, find("train_button"))
    assert window.banner.text.startswith("Actor layers cannot be")
    assert window.controller.state is SessionState.IDLE


@pytest.mark.parametrize("own_process", [*release(False), *slow(True)], ids=["thread", "process"])
def test_a_window_that_trained_evaluated_and_played_leaves_no_child(
    qtbot, window, find, own_process
):
    # The one that finds leaked memory serves all tests of this process.
    resource_tracker.ensure_running()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    window.controller.set_own_process(own_process)
    listener = start_pendulum(qtbot, window, find)
    qtbot.waitUntil(lambda: bool(listener.all(events.Evaluated)), timeout=120_000)
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=60_000)
    with qtbot.waitSignal(window.replay.player.loaded, timeout=60_000):
        window.replay.choose(listener.said[-1].last_checkpoint)
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=60_000)
    # Zombies included.
    left = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    assert left == []


@pytest.mark.release
def test_a_window_that_trained_a_group_leaves_no_child(qtbot, window, find):
    resource_tracker.ensure_running()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(100_000)
    find("seeds_edit").setText("2")
    click(qtbot, find("train_button"))
    statuses = window.panels.named("many").model
    qtbot.waitUntil(
        lambda: any(each.last is not None for each in statuses.statuses), timeout=120_000
    )
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: not window.many.busy, timeout=60_000)
    window.close()
    qtbot.waitUntil(lambda: not window.isVisible(), timeout=60_000)
    left = [each for each in psutil.Process().children(recursive=True) if each.pid not in before]
    assert left == []


@pytest.mark.parametrize("own_process", [*release(False), *slow(True)], ids=["thread", "process"])
def test_a_run_whose_folder_is_deleted_while_the_window_trains_is_written_again(
    qtbot, window, find, own_process
):
    window.controller.set_own_process(own_process)
    listener = start_pendulum(qtbot, window, find)
    qtbot.waitUntil(lambda: bool(listener.all(events.Saved)), timeout=120_000)
    run = window.model.record.run
    # In one moment, as the trash does: files that come while a folder is emptied would stay.
    shutil.rmtree(run.rename(run.with_name("deleted")))
    # A table that was being written meanwhile may be the first to be told of.
    qtbot.waitUntil(lambda: "deleted or moved" in window.banner.text, timeout=60_000)
    click(qtbot, find("stop_button"))
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=60_000)
    ended = listener.said[-1]
    assert isinstance(ended, events.Ended)
    assert RunDirectory.open(ended.run).last == ended.last_checkpoint
    # The window shows the present files, and continues from there.
    window.runs.refresh()
    qtbot.waitUntil(lambda: window.runs.model.find(ended.run).isValid(), timeout=60_000)
    window.launcher.resume(ended.run)
    qtbot.waitUntil(lambda: len(listener.all(events.Started)) == 2, timeout=60_000)
    assert listener.all(events.Started)[1].env_steps == ended.env_steps
