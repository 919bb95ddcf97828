"""Environments that need something before they can be played: arguments, or an extra."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.player import Player
from td3core import checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env
from td3core.evaluation.evaluate import evaluate
from tests.studio.replay.scenes import WAIT_MS, endings, load, pixels, watched, write_agent
from tests.td3core.envs.test_pybullet import WALKER, needs_pybullet


@pytest.mark.parametrize(
    "choice",
    [
        EnvChoice("Pendulum-v1", '{"g": 20.0, "max_episode_steps": 50}'),
        pytest.param(EnvChoice(WALKER), marks=needs_pybullet),
    ],
    ids=["arguments", "PyBullet"],
)
def test_an_agent_is_played_as_it_is_measured(
    qtbot: QtBot,
    player: Player,
    tmp_path: Path,
    choice: EnvChoice,
    capfd: pytest.CaptureFixture[str],
) -> None:
    agent = write_agent(tmp_path / "agent.safetensors", check_env(choice))
    expected = evaluate(checkpoint.load(agent).policy(), choice, episodes=2, seed=0)
    assert expected is not None
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, agent)
    player.play()
    assert tuple(endings(qtbot, pictures, 2)) == expected.returns
    last = [picture for picture in pictures if picture.moment.over]
    assert last[0].moment.step == expected.lengths[0]
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_mujoco_camera_tracks_turns_and_resets_with_the_mouse(
    qtbot: QtBot, pane: ReplayPane
) -> None:
    cheetah = Path(str(files("resources") / "agents" / "HalfCheetah-v5.safetensors"))
    player, menu, pictures = pane.player, pane.camera_menu, watched(pane.player)

    def changed(act: Callable[[], object]) -> bytes:
        """Return the next picture that differs, of the same step."""
        before = pictures[-1]
        act()
        qtbot.waitUntil(lambda: pixels(pictures[-1]) != pixels(before), timeout=WAIT_MS)
        assert pictures[-1].moment == before.moment
        return pixels(pictures[-1])

    with qtbot.waitSignals([player.loaded, player.frame_ready], timeout=WAIT_MS):
        player.load(cheetah)
    tracking, free, named = menu.actions()
    assert [action.text() for action in menu.actions()] == ["Tracking", "Free", "track"]
    assert tracking.isChecked()

    def settled() -> bool:
        """Return whether the picture has the size that the view asked for."""
        size = pictures[-1].image.size()
        view, keep = pane.view.size(), Qt.AspectRatioMode.KeepAspectRatio
        return size == size.scaled(view, keep)

    qtbot.waitUntil(settled, timeout=WAIT_MS)
    first = pixels(pictures[-1])
    view, middle = pane.view, pane.view.rect().center()

    def drag() -> None:
        qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=middle)
        qtbot.mouseMove(view, middle + QPoint(40, 10))
        qtbot.mouseRelease(view, Qt.MouseButton.LeftButton)

    turned = changed(drag)
    assert tracking.isChecked()
    reset = changed(lambda: qtbot.mouseDClick(view, Qt.MouseButton.LeftButton))
    assert reset != turned
    views = {first, turned, changed(named.trigger)}
    assert changed(free.trigger) not in views - {first}
    load(qtbot, player, Path(str(files("resources") / "agents" / "Pendulum-v1.safetensors")))
    assert not menu.menuAction().isEnabled()


def test_without_a_simulator_of_its_own_kind_the_mouse_moves_no_camera(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    load(qtbot, pane.player, agent)
    assert not pane.view.moves_camera
    assert not pane.camera_menu.menuAction().isEnabled()
