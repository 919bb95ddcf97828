"""The pane shows the newest agent of a run, and list, picture and caption agree on it."""

import os
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.player import PlayerState
from studio.session.agents import SavedAgents
from td3core.envs.make import check_env
from tests.studio.replay.scenes import PENDULUM, WAIT_MS, load, watched, write_agent


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "run"


def save(run: Path, name: str, env_steps: int) -> Path:
    path = run / "checkpoints" / f"{name}.safetensors"
    return write_agent(path, check_env(PENDULUM), env_steps)


def agents(of: Path, *paths: Path) -> SavedAgents:
    """Return the saved agents of a run; the first is its best."""
    stamps = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in paths}
    favourite = next(iter(paths), None)
    return SavedAgents(run=of, stamps=stamps, means={}, favourite=favourite, run_bytes=0)


def agrees(pane: ReplayPane, path: Path, words: str) -> bool:
    """Return whether list, player and caption name the same agent."""
    return (
        pane.player.agent is not None
        and pane.player.agent.path == path
        and row_of(pane, words) == (path if "earlier" not in words else "earlier best")
        and pane.caption.title.text() == f"Pendulum-v1 · {words}"
    )


def row_of(pane: ReplayPane, words: str) -> object:
    """Return the file of the selected row; its name if the file holds another agent."""
    index = pane.checkpoints.view.currentIndex()
    return str(index.data()).partition("  ")[0] if "earlier" in words else pane.checkpoints.chosen()


def click(qtbot: QtBot, pane: ReplayPane) -> None:
    pane.controls.follow_check.click()


def test_a_run_that_trains_shows_its_newest_agent_at_once_and_each_later_one(
    qtbot: QtBot, bundled: Path, pane: ReplayPane, run: Path
) -> None:
    click(qtbot, pane)
    assert pane.controls.follows_latest
    load(qtbot, pane.player, bundled)
    pane.player.play()
    pane.set_current_run(run)
    first = save(run, "step_000001000", 1000)
    pane.note_saved(first, 1000, None)
    # Not after the episode of the bundled agent, which has nothing to do with this run.
    assert pane.player.path == first
    qtbot.waitUntil(lambda: agrees(pane, first, "newest, step 1,000"), timeout=WAIT_MS)
    assert pane.player.state is PlayerState.PLAYING
    pane.controls.speed_combo.setCurrentIndex(pane.controls.speed_combo.findText("8×"))
    pictures = watched(pane.player)
    second = save(run, "step_000002000", 2000)
    pane.note_saved(second, 2000, None)
    assert agrees(pane, first, "step 1,000")
    qtbot.waitUntil(lambda: agrees(pane, second, "newest, step 2,000"), timeout=WAIT_MS)
    assert any(picture.step.over for picture in pictures)
    # A paused picture stays; Play starts with the newest agent.
    pane.player.pause()
    third = save(run, "step_000003000", 3000)
    pane.note_saved(third, 3000, None)
    assert pane.player.path == second
    qtbot.mouseClick(pane.controls.play_button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: agrees(pane, third, "newest, step 3,000"), timeout=WAIT_MS)


def test_an_agent_that_proves_to_be_the_best_one_late_is_not_the_newest(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    pane.set_current_run(run)
    newest = save(run, "step_000010000", 10_000)
    pane.note_saved(newest, 10_000, None)
    click(qtbot, pane)
    qtbot.waitUntil(lambda: agrees(pane, newest, "newest, step 10,000"), timeout=WAIT_MS)
    # Agents are evaluated in the background.
    pane.note_saved(save(run, "best", 7500), 7500, 5.0)
    assert agrees(pane, newest, "newest, step 10,000")
    assert pane.player.path == newest


def test_ticking_follow_latest_shows_the_newest_agent_at_once_and_choosing_another_unticks_it(
    qtbot: QtBot, bundled: Path, pane: ReplayPane, run: Path
) -> None:
    assert not pane.controls.follows_latest
    load(qtbot, pane.player, bundled)
    pane.set_current_run(run)
    newest = save(run, "step_000001000", 1000)
    pane.note_saved(newest, 1000, None)
    assert pane.player.path == bundled
    click(qtbot, pane)
    qtbot.waitUntil(lambda: agrees(pane, newest, "newest, step 1,000"), timeout=WAIT_MS)
    assert pane.player.state is PlayerState.PAUSED
    pane.checkpoints.view.setCurrentIndex(pane.checkpoints.model.find(bundled))
    qtbot.waitUntil(lambda: agrees(pane, bundled, "step 50,000"), timeout=WAIT_MS)
    assert not pane.controls.follows_latest
    # The next run is followed again: only the user's own click is remembered.
    pane.set_current_run(run.with_name("next"))
    assert pane.controls.follows_latest


@pytest.mark.slow
def test_who_follows_late_sees_the_newest_agent_at_once_and_each_later_one_after_the_episode(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    pane.set_current_run(run)
    first = save(run, "step_000001000", 1000)
    pane.note_saved(first, 1000, None)
    click(qtbot, pane)
    qtbot.waitUntil(lambda: agrees(pane, first, "newest, step 1,000"), timeout=WAIT_MS)
    pane.player.play()
    second = save(run, "step_000002000", 2000)
    pane.note_saved(second, 2000, None)
    assert pane.player.path == first
    pane.controls.speed_combo.setCurrentIndex(pane.controls.speed_combo.findText("8×"))
    qtbot.waitUntil(lambda: agrees(pane, second, "newest, step 2,000"), timeout=WAIT_MS)


@pytest.mark.slow
def test_an_agent_whose_file_was_overwritten_is_called_earlier_until_it_is_loaded_anew(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    best = save(run, "best", 1000)
    pane.set_current_run(run)
    pane.note_saved(best, 1000, 5.0)
    qtbot.waitUntil(lambda: pane.checkpoints.model.find(best).isValid())
    pane.checkpoints.view.setCurrentIndex(pane.checkpoints.model.find(best))
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 1,000"), timeout=WAIT_MS)
    save(run, "best", 2000)
    pane.note_saved(best, 2000, 6.0)
    assert agrees(pane, best, "earlier best, step 1,000")
    pane.choose(best)
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 2,000"), timeout=WAIT_MS)
    pane.controls.speed_combo.setCurrentIndex(pane.controls.speed_combo.findText("8×"))
    pane.player.play()
    # One that plays is exchanged when its episode is over.
    save(run, "best", 3000)
    pane.note_saved(best, 3000, 7.0)
    assert agrees(pane, best, "earlier best, step 2,000")
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 3,000"), timeout=WAIT_MS)


def test_an_agent_of_the_run_before_is_called_that_until_the_next_run_saves_one(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    best, later = save(run, "best", 1000), run.with_name("later")
    pane.show_run(agents(run, best))
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 1,000"), timeout=WAIT_MS)
    pane.set_current_run(later)
    pane.checkpoints.listed.emit(agents(later))
    assert pane.caption.title.text() == "Pendulum-v1 · from run (earlier run), step 1,000"
    # Still from the first run, whose file exists.
    pane.checkpoints.listed.emit(agents(later, save(later, "best", 10)))
    assert pane.caption.title.text() == "Pendulum-v1 · from run (earlier run), step 1,000"


def test_a_resumed_run_stays_on_its_newest_agent_until_another_is_chosen_by_hand(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    best = save(run, "best", 1000)
    last = save(run, "last", 2000)
    os.utime(best, ns=(0, 1))
    saved = agents(run, best, last)
    pane.show_run(saved)
    qtbot.waitUntil(lambda: agrees(pane, best, "best, step 1,000"), timeout=WAIT_MS)
    pane.options.set_follow_latest(True)
    pane.set_current_run(run)
    qtbot.waitUntil(lambda: agrees(pane, last, "newest, step 2,000"), timeout=WAIT_MS)
    # Resumed once more: the run is opened first.
    pane.show_run(saved)
    pane.set_current_run(run)
    assert pane.player.path == last
    # By hand, before the resumed run has saved anything.
    pane.checkpoints.view.setCurrentIndex(pane.checkpoints.model.find(best))
    qtbot.waitUntil(lambda: agrees(pane, best, "best, step 1,000"), timeout=WAIT_MS)
    assert not pane.controls.follows_latest
    pane.note_saved(save(run, "step_000003000", 3000), 3000, None)
    assert pane.player.path == best


def test_a_bundled_agent_plays_at_start_unless_that_is_switched_off_or_one_is_chosen(
    qtbot: QtBot, bundled: Path, pane: ReplayPane
) -> None:
    pane.options.play_at_start_action.trigger()
    pane.play_at_start()
    assert pane.player.state is PlayerState.EMPTY
    pane.options.play_at_start_action.trigger()
    pane.play_at_start()
    qtbot.waitUntil(lambda: agrees(pane, bundled, "step 50,000"), timeout=WAIT_MS)
    assert pane.player.state is PlayerState.PLAYING
    pane.player.pause()
    pane.play_at_start()
    assert pane.player.state is PlayerState.PAUSED


def test_a_run_that_is_opened_at_start_plays_its_best_agent_unless_the_user_stopped_it(
    qtbot: QtBot, bundled: Path, pane: ReplayPane, run: Path
) -> None:
    best = save(run, "best", 1000)
    pane.show_run(agents(run, best))
    pane.play_at_start()
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 1,000"), timeout=WAIT_MS)
    assert pane.player.state is PlayerState.PLAYING
    pane.player.pause()
    pane.play_at_start()
    assert pane.player.state is PlayerState.PAUSED


def test_an_agent_that_was_chosen_or_stepped_at_start_is_not_played_by_itself(
    qtbot: QtBot, pane: ReplayPane, run: Path
) -> None:
    best = save(run, "best", 1000)
    pane.show_run(agents(run, best))
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 1,000"), timeout=WAIT_MS)
    with qtbot.waitSignal(pane.player.frame_ready, timeout=WAIT_MS):
        pane.controls.step_clicked.emit()
    pane.play_at_start()
    assert not pane.player.playing
    # The same holds for the next opened run, and for the agents it saves.
    later = run.with_name("later")
    pane.show_run(agents(later, save(later, "best", 10)))
    pane.play_at_start()
    assert not pane.player.playing


@pytest.mark.parametrize("same_run", [True, False])
def test_a_picture_that_nobody_chose_makes_way_for_the_agents_that_a_run_saves(
    qtbot: QtBot, pane: ReplayPane, run: Path, same_run: bool
) -> None:
    best = save(run, "best", 1000)
    pane.show_run(agents(run, best))
    qtbot.waitUntil(lambda: agrees(pane, best, "newest, step 1,000"), timeout=WAIT_MS)
    pane.options.set_follow_latest(True)
    trains = run if same_run else run.with_name("later")
    pane.set_current_run(trains)
    saved = save(trains, "step_000002000", 2000)
    pane.note_saved(saved, 2000, None)
    qtbot.waitUntil(lambda: agrees(pane, saved, "newest, step 2,000"), timeout=WAIT_MS)
    assert pane.player.state is PlayerState.PLAYING
