"""The past of an episode: which pictures are kept, and that they match the episode."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from studio.replay.player import UNPACED, Player, PlayerState
from studio.replay.renderer.protocol import Frame
from studio.replay.renderer.recording import Recording
from studio.replay.transport.scrub_bar import ScrubBar
from td3core.playing.step import RolloutStep
from tests.studio.replay.scenes import WAIT_MS, endings, load, watched

_CODEC_ERROR = 3.0
"""Mean difference of a colour channel, of 255, that compression may cause."""


def frame_at(step: int, *, over: bool = False) -> Frame:
    reached = RolloutStep(step, 1.0, float(step), over, False)
    return Frame(episode=0, step=reached)


def rgb(picture: Frame) -> np.ndarray:
    image = picture.images[0]
    pixels = np.frombuffer(image.constBits(), np.uint8)
    return pixels.reshape(image.height(), image.width(), 4)[:, :, :3].astype(float)


def test_ten_thousand_frames_stay_within_the_bound_and_the_whole_episode_can_be_seen() -> None:
    picture = np.random.default_rng(0).integers(0, 255, (16, 24, 3), np.uint8)
    recording = Recording(most_bytes=400_000)
    for step in range(10_000):
        recording.add(picture, frame_at(step, over=step == 9_999))
        assert recording.bytes <= 400_000
    first, last, middle = recording.at(0), recording.at(9_999), recording.at(5_000)
    assert first is not None
    assert middle is not None
    assert last is not None
    assert (first.step, last.step) == (0, 9_999)
    assert 4_900 < middle.step <= 5_000
    recording.clear()
    assert recording.bytes == 0
    assert recording.at(9_999) is None


def test_scrubbed_steps_equal_the_played_ones_in_numbers_and_pixels(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    pictures = watched(player)
    playbacks = set()
    player.frame_ready.connect(lambda picture: playbacks.add(picture.playback_id))
    load(qtbot, player, agent)
    for _ in range(12):
        player.step()
    qtbot.waitUntil(lambda: len(pictures) == 13, timeout=WAIT_MS)
    played = {picture.step.number: picture for picture in pictures}
    for step in (3, 9, 0, 11):
        pictures.clear()
        player.seek(step)
        qtbot.waitUntil(lambda: bool(pictures), timeout=WAIT_MS)
        assert pictures[-1].step == played[step].step
        assert pictures[-1].latest == 12
        assert np.abs(rgb(pictures[-1]) - rgb(played[step])).mean() < _CODEC_ERROR
    # Another step looks different, so the comparison above proves something.
    assert np.abs(rgb(played[0]) - rgb(played[11])).mean() > _CODEC_ERROR
    for move, step in ((player.step_back, 10), *((player.step, step) for step in (11, 12, 13))):
        pictures.clear()
        move()
        qtbot.waitUntil(lambda: bool(pictures), timeout=WAIT_MS)
        assert pictures[-1].step.number == step
    assert len(playbacks) == 1
    assert player.state is PlayerState.PAUSED


@pytest.mark.slow
def test_playing_from_the_past_reaches_the_end_of_the_episode_as_an_evaluation_does(
    qtbot: QtBot, player: Player, agent: Path
) -> None:
    pictures = watched(player)
    player.set_speed(UNPACED)
    player.set_loop(True)
    load(qtbot, player, agent)
    player.play()
    first = endings(qtbot, pictures, 1)
    # The same episode again: loop.
    pictures.clear()
    assert endings(qtbot, pictures, 1) == first
    assert {picture.episode for picture in pictures} == {0}
    player.pause()
    player.seek(0)
    qtbot.waitUntil(lambda: pictures[-1].step.number == 0, timeout=WAIT_MS)
    pictures.clear()
    player.play()
    assert endings(qtbot, pictures, 1) == first
    player.set_loop(False)
    pictures.clear()
    qtbot.waitUntil(lambda: any(p.episode == 1 for p in pictures), timeout=WAIT_MS)


@pytest.mark.parametrize("key", ["Left", "Right"])
def test_the_scrub_bar_steps_with_the_arrow_keys(qtbot: QtBot, key: str) -> None:
    bar = ScrubBar()
    qtbot.addWidget(bar)
    bar.setEnabled(True)
    with qtbot.waitSignal(bar.stepped) as said:
        qtbot.keyClick(bar, Qt.Key[f"Key_{key}"])
    assert said.args == [key == "Left"]


def test_the_scrub_bar_shows_the_step_of_the_picture_wherever_it_is_dragged(qtbot: QtBot) -> None:
    bar = ScrubBar()
    qtbot.addWidget(bar)
    bar.resize(200, 20)
    bar.show_frame(frame_at(5)._replace(latest=5))
    left, right = QPoint(2, 10), QPoint(190, 10)
    with qtbot.waitSignal(bar.wanted) as wanted:
        qtbot.mousePress(bar, Qt.MouseButton.LeftButton, pos=right)
    # No picture follows: nothing has changed.
    assert (wanted.args[0] > 5, bar.sliderPosition()) == (True, 5)
    qtbot.mouseMove(bar, left)
    assert bar.sliderPosition() == 0
    # The nearest step that was drawn.
    bar.show_frame(frame_at(1)._replace(latest=5))
    qtbot.mouseRelease(bar, Qt.MouseButton.LeftButton, pos=left)
    assert (bar.value(), bar.sliderPosition()) == (1, 1)
