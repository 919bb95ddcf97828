"""The parts of the replay, each on its own: pictures in shared memory, the clock."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from studio.replay.caption import PictureCaption
from studio.replay.renderer.camera import Camera
from studio.replay.renderer.clock import Clock
from studio.replay.renderer.frame_ring import SLOTS, RingReader, RingWriter
from studio.replay.renderer.loaded_agents import LoadedAgents
from studio.replay.renderer.protocol import Frame, Load
from studio.replay.renderer.scaling import fitted
from td3core.envs.trust import allow_named
from td3core.playing.step import RolloutStep
from tests.studio.replay.scenes import blocks
from tests.td3core.helpers import write_checkpoint


def test_a_slot_is_written_again_only_after_its_release() -> None:
    ring, reader = RingWriter("td3_test_"), RingReader("td3_test_")
    try:
        picture = np.full((4, 5, 3), 7, np.uint8)
        assert ring.fit(picture) == "td3_test_0"
        reader.attach("td3_test_0")
        slots = [ring.write(picture * n) for n in range(SLOTS)]
        assert not ring.has_room
        with reader.view(slots[1], 5, 4) as view:
            assert bytes(view) == bytes([7] * 60)
        ring.release(slots[1])
        assert ring.has_room
        assert ring.write(picture) == slots[1]
        larger = np.zeros((8, 5, 3), np.uint8)
        assert ring.fit(larger) == "td3_test_1"
        reader.attach("td3_test_1")
        for _ in range(SLOTS):
            ring.write(larger)
        ring.release(slots[0])
        assert not ring.has_room, "a slot of the block before is none of this one's"
    finally:
        ring.close()
        reader.close()
    assert not blocks()


def test_a_block_that_was_never_announced_is_swept_away() -> None:
    ring, reader = RingWriter("td3_swept_"), RingReader("td3_swept_")
    ring.fit(np.zeros((2, 2, 3), np.uint8))
    reader.sweep()
    ring.close()
    assert not blocks()


@pytest.mark.parametrize(
    ("drawing_s", "speed", "shown_at_least"), [(0.005, 1.0, 95), (0.08, 1.0, 18), (0.005, 8.0, 8)]
)
def test_steps_keep_the_pace_and_slow_pictures_are_left_out(
    drawing_s: float, speed: float, shown_at_least: int
) -> None:
    time = [0.0]
    clock = Clock(lambda: time[0])
    clock.fps, clock.speed = 50.0, speed
    clock.restart()
    shown = 0
    for _ in range(100):
        time[0] += clock.wait_s()
        clock.tick()
        if clock.may_draw():
            began = clock.now()
            time[0] += drawing_s
            clock.note_drawn(began)
            shown += 1
    assert time[0] == pytest.approx(100 / 50 / speed, abs=0.1)
    assert shown_at_least <= shown <= 60 * 1.2 * time[0]


def test_an_environment_too_slow_for_the_speed_is_still_seen() -> None:
    time = [0.0]
    clock = Clock(lambda: time[0])
    clock.fps, clock.speed = 50.0, 8.0
    shown = 0
    for _ in range(100):
        time[0] += clock.wait_s() + 0.05  # the step itself
        clock.tick()
        if clock.may_draw():
            clock.note_drawn(clock.now())
            shown += 1
    assert shown >= 30


@pytest.mark.parametrize(
    ("most", "fps", "shown"), [(30.0, 50.0, 60), (60.0, 50.0, 100), (30.0, 30.0, 60)]
)
def test_pictures_come_as_often_as_they_may_and_no_more_often(
    most: float, fps: float, shown: int
) -> None:
    time = [0.0]
    clock = Clock(lambda: time[0])
    clock.fps, clock.pictures_per_s = fps, most
    clock.restart()
    drawn = 0
    for _ in range(int(2 * fps)):
        time[0] += clock.wait_s()
        clock.tick()
        if clock.may_draw():
            clock.note_drawn(clock.now())
            drawn += 1
    assert drawn == pytest.approx(shown, abs=2)


@given(
    picture=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    box=st.tuples(st.integers(1, 90), st.integers(1, 90)),
)
def test_a_picture_fits_its_box_as_qt_would_fit_it(
    picture: tuple[int, int], box: tuple[int, int]
) -> None:
    wanted = QSize(*picture).scaled(QSize(*box), Qt.AspectRatioMode.KeepAspectRatio)
    wide, high = max(wanted.width(), 1), max(wanted.height(), 1)
    colours = np.full((picture[1], picture[0], 3), (200, 100, 50), np.uint8)
    scaled = fitted(colours, *box)
    assert scaled.shape == (high, wide, 3)
    assert np.abs(scaled.astype(int) - (200, 100, 50)).max() <= 6


SWING = """
'''Before.'''
import gymnasium as gym
import numpy as np

class Swing(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (3,))
    action_space = gym.spaces.Box(-1, 1, (2,))

    def reset(self, *, seed=None, options=None):
        return np.zeros(3, "f"), {}
"""


def test_an_agent_plays_in_the_corrected_environment_once_it_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "swing.py").write_text(SWING)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = write_checkpoint(tmp_path / "agent.safetensors", env="swing:Swing")

    def played() -> str | None:
        load = Load(ticket=1, path=path, seed=0, playing=False)
        allow_named(["swing"])
        agents = LoadedAgents(load, Camera())
        agents.begin(seed=0, index=0, draws=False).close()
        return sys.modules["swing"].__doc__

    assert played() == "Before."
    (tmp_path / "swing.py").write_text(SWING.replace("Before", "Anew"))
    assert played() == "Anew."
    del sys.modules["swing"]


def test_the_numbers_below_a_picture_change_without_a_layout(qtbot: QtBot) -> None:
    caption = PictureCaption()
    qtbot.addWidget(caption)
    caption.resize(400, 60)
    caption.show()

    def shown(step: int) -> Frame:
        reached = RolloutStep(step, 1.0, 10.0 * step, terminated=False, truncated=False)
        return Frame(episode=step, step=reached)

    caption.show_frame(shown(1))
    QApplication.processEvents()
    seen: list[QEvent.Type] = []

    class Watcher(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
            seen.append(event.type())
            return False

    watcher = Watcher()
    caption.installEventFilter(watcher)
    caption.show_frame(shown(1000))
    QApplication.processEvents()
    caption.removeEventFilter(watcher)
    texts = [label.text() for label in caption.findChildren(QLabel) if label.isVisible()]
    assert texts == ["step 1000", "return 10,000.0", "episode 1001"]
    assert QEvent.Type.LayoutRequest not in seen
