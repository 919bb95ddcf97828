"""The episodes played are those of an evaluation, at the requested pace."""

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QSize
from pytestqt.qtbot import QtBot

from studio.replay.player import Player, PlayerState
from studio.replay.renderer.frame_ring import SLOTS
from td3core import checkpoint
from td3core.envs.make import check_env
from td3core.evaluation.evaluate import evaluate
from tests.studio.replay.scenes import (
    PENDULUM,
    WAIT_MS,
    endings,
    load,
    pixels,
    watched,
    write_agent,
)


def test_loading_shows_the_first_state_and_stands_still(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    pictures = watched(player)
    load(qtbot, player, agent)
    assert player.state is PlayerState.PAUSED
    assert [picture.step.number for picture in pictures] == [0]
    assert pictures[0].images[0].width() == 500


def test_playing_shows_thirty_different_pictures(qtbot: QtBot, player: Player, agent: Path) -> None:
    pictures = watched(player)
    player.set_speed(4.0)
    load(qtbot, player, agent)
    player.play()
    assert player.state is PlayerState.PLAYING
    qtbot.waitUntil(lambda: len({pixels(p) for p in pictures}) >= 30, timeout=WAIT_MS)


def test_a_step_takes_one_step_and_shows_one_picture(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    load(qtbot, player, agent)
    pictures = watched(player)
    for _ in range(5):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) >= 5, timeout=WAIT_MS)
    assert [picture.step.number for picture in pictures] == [1, 2, 3, 4, 5]
    assert player.state is PlayerState.PAUSED


def test_pausing_ends_the_pictures(qtbot: QtBot, player: Player, agent: Path) -> None:
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, agent)
    player.play()
    qtbot.waitUntil(lambda: len(pictures) > 5, timeout=WAIT_MS)
    player.pause()
    assert player.state is PlayerState.PAUSED
    before = len(pictures)
    player.step()
    player.step()
    player.step()
    # If it had continued playing, the last two steps would not be consecutive.
    qtbot.waitUntil(lambda: len(pictures) >= before + 3, timeout=WAIT_MS)
    steps = [picture.step.number for picture in pictures]
    qtbot.waitUntil(
        lambda: np.diff([p.step.number for p in pictures][-3:]).tolist() == [1, 1], timeout=WAIT_MS
    )
    # The picture still on its way when it paused, and the three steps.
    assert len(pictures) <= before + SLOTS + 1 + 3, steps


def test_the_pane_shows_the_very_episode_that_an_evaluation_measures(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    expected = evaluate(checkpoint.load(agent).policy(), PENDULUM, episodes=1, seed=7)
    pictures = watched(player)
    player.set_speed(8.0)
    player.start_over(7)
    load(qtbot, player, agent)
    player.play()
    first = endings(qtbot, pictures, 1)
    assert expected is not None
    assert first[0] == expected.returns[0]
    pictures.clear()
    player.start_over(7)
    assert endings(qtbot, pictures, 1) == first
    pictures.clear()
    player.start_over(8)
    assert endings(qtbot, pictures, 1) != first


# Importing Box2D while warnings are errors ends the interpreter.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning")
def test_every_episode_begins_in_a_fresh_world_as_in_an_evaluation(
    qtbot: QtBot, player: Player, tmp_path: Path
) -> None:
    lander = write_agent(tmp_path / "lander.safetensors", check_env("LunarLanderContinuous-v3"))
    policy = checkpoint.load(lander).policy()
    expected = evaluate(policy, "LunarLanderContinuous-v3", episodes=3, seed=0)
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, lander)
    player.play()
    assert expected is not None
    assert tuple(endings(qtbot, pictures, 3)) == expected.returns
    last = [picture for picture in pictures if picture.step.over]
    assert [picture.episode for picture in last[:3]] == [0, 1, 2]
    assert last[0].step.terminated


@pytest.mark.slow
def test_a_checkpoint_saved_by_the_run_can_wait_for_the_end_of_the_episode(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    pictures = watched(player)
    player.set_speed(8.0)
    load(qtbot, player, agent)
    player.play()
    newer = staged("Sound-v0")
    with qtbot.waitSignal(player.loaded, timeout=WAIT_MS) as said:
        player.load(newer, at_episode_end=True)
        assert player.state is PlayerState.PLAYING
    assert said.args[0].path == newer
    assert any(picture.step.over for picture in pictures)
    assert player.state is PlayerState.PLAYING


def test_of_many_loads_in_a_row_the_last_one_stays(
    qtbot: QtBot, player: Player, agent: Path, staged: Callable[[str], Path]
) -> None:
    said = []
    player.loaded.connect(said.append)
    last = staged("Sound-v0")
    for path in (agent, last, agent, agent, last):
        player.load(path)
    qtbot.waitUntil(lambda: player.state is PlayerState.PAUSED, timeout=WAIT_MS)
    assert player.path == last
    assert [loaded.path for loaded in said] == [last]


def test_pictures_may_change_their_size(
    qtbot: QtBot, player: Player, staged: Callable[[str], Path]
) -> None:
    pictures = watched(player)
    load(qtbot, player, staged("Growing-v0"))
    for _ in range(6):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) == 7, timeout=WAIT_MS)
    assert [picture.images[0].height() for picture in pictures] == [20, 30, 40, 50, 60, 70, 80]
    for picture in pictures:
        line = picture.images[0].bytesPerLine()
        assert pixels(picture)[line : line + 3] == bytes([picture.step.number] * 3)


def test_pictures_are_drawn_in_the_size_that_there_is_room_for(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    player.fit(QSize(300, 200))
    pictures = watched(player)
    load(qtbot, player, agent)
    assert pictures[-1].images[0].size() == QSize(200, 200)
    # It stands still, and is drawn again.
    player.fit(QSize(120, 700))
    qtbot.waitUntil(lambda: pictures[-1].images[0].size() == QSize(120, 120), timeout=WAIT_MS)
    assert pictures[-1].step == pictures[0].step
    player.close()
    load(qtbot, player, agent)
    assert pictures[-1].images[0].size() == QSize(120, 120)


def test_fewer_pictures_are_drawn_while_a_run_needs_the_processor(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    pictures = watched(player)
    player.set_speed(8.0)
    player.reduce_rate(True)
    load(qtbot, player, agent)
    player.play()

    def steps_apart() -> float:
        """Return how many steps usually lie between two of the last pictures."""
        steps = [picture.step.number for picture in pictures[-12:]]
        apart = [after - before for before, after in itertools.pairwise(steps) if after > before]
        return statistics.median(apart)

    # Pendulum's 240 steps a second: 8 for each of 30 pictures a second, 4 for each of 60. A
    # computer that is busy with other things draws fewer, never more.
    qtbot.waitUntil(lambda: len(pictures) >= 14, timeout=WAIT_MS)
    sparing = steps_apart()
    player.reduce_rate(False)
    qtbot.waitUntil(lambda: steps_apart() < 0.8 * sparing, timeout=WAIT_MS)
