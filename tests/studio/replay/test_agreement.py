"""List, timeline, picture and caption of the whole window agree on which agent plays."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.window.main_window import MainWindow
from td3core.envs.make import check_env
from td3core.runs.directory import RunDirectory
from tests.studio.fake_runs import make_run
from tests.studio.replay.scenes import PENDULUM, WAIT_MS, watched, write_agent


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return make_run(tmp_path / "runs", PENDULUM, reached=50)


def save(run: RunDirectory, name: str, env_steps: int) -> Path:
    return write_agent(
        run.path / "checkpoints" / f"{name}.safetensors", check_env(PENDULUM), env_steps
    )


def marked(pane: ReplayPane) -> tuple[str, str, str]:
    """Return the current agent according to list, timeline and caption."""
    current, row = pane.timeline.current, pane.checkpoints.view.currentIndex()
    return (
        str(row.data()) if pane.checkpoints.view.selectionModel().isSelected(row) else "none",
        current.text if current else "none",
        pane.caption.title.text().removeprefix(f"{PENDULUM} · "),
    )


def steps(pane: ReplayPane) -> list[int]:
    return [point.env_steps for point in pane.timeline.points]


def open_best(qtbot: QtBot, window: MainWindow, run: RunDirectory) -> ReplayPane:
    """Show the best agent, of step 2,000, which has no evaluation."""
    pane, best = window.replay, save(run, "best", 2000)
    pane.set_current_run(run.path)
    pane.note_saved(best, 2000, None)
    pane.choose(best)
    expected = ("best  2k", "Step 2,000, best", "newest, step 2,000")
    qtbot.waitUntil(lambda: marked(pane) == expected, timeout=WAIT_MS)
    return pane


@pytest.mark.slow
def test_a_best_agent_that_is_overwritten_while_it_plays_stays_marked_until_its_episode_is_over(
    qtbot: QtBot, window: MainWindow, run: RunDirectory
) -> None:
    pane = open_best(qtbot, window, run)
    pictures = watched(pane.player)
    pane.player.play()
    save(run, "best", 3000)
    pane.note_saved(run.best, 3000, 7.0)
    earlier = ("earlier best  2k", "Step 2,000, earlier best", "earlier best, step 2,000")
    assert marked(pane)[::2] == earlier[::2]
    qtbot.waitUntil(lambda: marked(pane) == earlier, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: steps(pane) == [2000, 3000], timeout=WAIT_MS)
    # The folder is read once more: the row stays while the agent does.
    with qtbot.waitSignal(pane.checkpoints.listed, timeout=WAIT_MS):
        pane.checkpoints.refresh_current()
    assert marked(pane) == earlier
    assert not any(picture.step.over for picture in pictures)
    pane.player.set_speed(8.0)
    newest = ("best  3k  7.0", "Step 3,000, return 7.0, best", "newest, step 3,000")
    qtbot.waitUntil(lambda: marked(pane) == newest, timeout=WAIT_MS)
    assert any(picture.step.over for picture in pictures)
    qtbot.waitUntil(lambda: steps(pane) == [3000], timeout=WAIT_MS)
    assert "earlier" not in " ".join(
        str(pane.checkpoints.model.index(row).data())
        for row in range(pane.checkpoints.model.rowCount())
    )


def test_an_overwritten_best_is_marked_by_the_file_of_its_own_step_if_there_is_one(
    qtbot: QtBot, window: MainWindow, run: RunDirectory
) -> None:
    step = save(run, "step_000002000", 2000)
    pane = open_best(qtbot, window, run)
    save(run, "best", 3000)
    pane.note_saved(run.best, 3000, 7.0)
    expected = ("2k", "Step 2,000", "earlier best, step 2,000")
    qtbot.waitUntil(lambda: marked(pane) == expected, timeout=WAIT_MS)
    assert pane.checkpoints.chosen() == step
    qtbot.waitUntil(lambda: steps(pane) == [2000, 3000], timeout=WAIT_MS)
    # The best one can be chosen: it is another agent than the current one.
    pane.timeline.setFocus()
    qtbot.keyClick(pane.timeline, Qt.Key.Key_Right)
    newest = ("best  3k  7.0", "Step 3,000, return 7.0, best", "newest, step 3,000")
    qtbot.waitUntil(lambda: marked(pane) == newest, timeout=WAIT_MS)


def test_an_agent_that_is_deleted_while_it_is_on_show_is_called_so(
    qtbot: QtBot, window: MainWindow, run: RunDirectory
) -> None:
    old = save(run, "step_000001000", 1000)
    pane = open_best(qtbot, window, run)
    pane.choose(old)
    qtbot.waitUntil(lambda: marked(pane) == ("1k", "Step 1,000", "step 1,000"), timeout=WAIT_MS)
    with qtbot.waitSignal(pane.checkpoints.listed, timeout=WAIT_MS):
        pane.checkpoints.refresh_current()
    old.unlink()
    pane.checkpoints.refresh_current()
    expected = ("deleted  1k", "Step 1,000, deleted", "deleted, step 1,000")
    qtbot.waitUntil(lambda: marked(pane) == expected, timeout=WAIT_MS)
