"""Environments that need something before they can be played: arguments, or an extra."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.replay.player import Player
from td3core import checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env
from td3core.evaluation.evaluate import evaluate
from tests.studio.replay.scenes import endings, load, watched, write_agent
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
