"""Environments that need something before they can be played: arguments, or an extra."""

from importlib.resources import files
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from studio.replay.frame_view import FrameView
from studio.replay.pane import ReplayPane
from studio.replay.player import Player
from studio.replay.renderer.camera import Camera
from studio.replay.renderer.protocol import FREE
from td3core import checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env, make_env
from td3core.evaluation.evaluate import evaluate
from tests.studio.replay.scenes import WAIT_MS, endings, load, watched, write_agent
from tests.td3core.envs.test_pybullet import WALKER, needs_pybullet


@pytest.mark.parametrize(
    "choice",
    [
        EnvChoice("Pendulum-v1", '{"g": 20.0, "max_episode_steps": 50}'),
        pytest.param(EnvChoice(WALKER), marks=[needs_pybullet, pytest.mark.slow]),
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
    last = [picture for picture in pictures if picture.step.over]
    assert last[0].step.number == expected.lengths[0]
    assert capfd.readouterr() == ("", "")


def drag(qtbot: QtBot, view: FrameView, button: Qt.MouseButton) -> None:
    middle = view.rect().center()
    qtbot.mousePress(view, button, pos=middle)
    qtbot.mouseMove(view, middle + QPoint(40, 10))
    qtbot.mouseRelease(view, button)


@pytest.mark.slow
def test_a_mujoco_camera_tracks_turns_and_comes_back_to_the_very_same_picture(
    qtbot: QtBot, pane: ReplayPane
) -> None:
    cheetah = Path(str(files("resources") / "agents" / "HalfCheetah-v5.safetensors"))
    player, menu, view = pane.player, pane.camera_menu, pane.view
    load(qtbot, player, cheetah)
    tracking, free, named = menu.actions()
    assert [action.text() for action in menu.actions()] == ["Tracking", "Free", "track"]
    assert tracking.isChecked()

    def drawn() -> bytes:
        """Return the paused step in the environment's own size, whatever size the view has."""
        with qtbot.waitSignal(player.captured, timeout=WAIT_MS) as told:
            player.capture()
        return bytes(told.args[0].constBits())

    def reset() -> None:
        qtbot.mouseDClick(view, Qt.MouseButton.LeftButton)

    first = drawn()
    drag(qtbot, view, Qt.MouseButton.LeftButton)
    turned = drawn()
    assert tracking.isChecked()
    reset()
    assert drawn() == first
    drag(qtbot, view, Qt.MouseButton.RightButton)
    shifted = drawn()
    assert free.isChecked()
    reset()
    assert (drawn() == first, tracking.isChecked()) == (True, True)
    for action, x, y in (("turn", 0.1, 0.0), ("zoom", 0.0, -0.2), ("turn", -0.1, 0.0)):
        player.move_camera(action, x, y)
    player.look()
    # Not drawn in between: no move may be lost, and none from before the reset may count.
    player.move_camera("turn", 0.1, 0.0)
    player.move_camera("turn", -0.1, 0.0)
    assert drawn() == first
    named.trigger()
    assert len({first, turned, shifted, drawn()}) == 4
    load(qtbot, player, Path(str(files("resources") / "agents" / "Pendulum-v1.safetensors")))
    assert not menu.menuAction().isEnabled()


def test_without_a_simulator_of_its_own_kind_the_mouse_moves_no_camera(
    qtbot: QtBot, pane: ReplayPane, agent: Path
) -> None:
    load(qtbot, pane.player, agent)
    with qtbot.assertNotEmitted(pane.view.camera_moved):
        drag(qtbot, pane.view, Qt.MouseButton.LeftButton)
    assert not pane.camera_menu.menuAction().isEnabled()


@pytest.mark.slow
def test_the_free_camera_begins_at_the_agent_however_far_it_has_run() -> None:
    agent = checkpoint.load(Path(str(files("resources") / "agents" / "HalfCheetah-v5.safetensors")))
    env, policy, camera = make_env("HalfCheetah-v5", render=True), agent.policy(), Camera()
    obs, _ = env.reset(seed=0)
    camera.draw(env)
    for _ in range(200):
        obs, *_ = env.step(policy(obs))
    there = env.unwrapped.data.subtree_com[1].copy()
    assert there[0] > 10
    camera.reset(FREE)
    camera.draw(env)
    looking_at = env.unwrapped.mujoco_renderer.viewer.cam.lookat
    assert tuple(looking_at) == pytest.approx(tuple(there))
    for _ in range(50):
        obs, *_ = env.step(policy(obs))
    camera.draw(env)
    assert tuple(looking_at) == pytest.approx(tuple(there)), "free, and not tracking"
    env.close()
