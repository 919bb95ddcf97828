"""The cost of watching: window thread, memory, and nothing at all once the pane is closed."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from studio.replay.pane import ReplayPane
from studio.replay.renderer.protocol import Frame
from tests.studio.replay.scenes import WAIT_MS, blocks, load, renderers

MOST_MS = 2.0
"""Milliseconds of the window's thread per picture."""
MOST_GROWTH = 8 * 2**20


class Costs:
    """Measures the time per picture in the window's thread, painting included."""

    def __init__(self, pane: ReplayPane) -> None:
        self._pane, self._show = pane, pane.player._show
        self.seconds: list[float] = []
        pane.player._show = self._measured  # type: ignore[method-assign]

    def _measured(self, picture: Frame) -> None:
        # Processor time: other work on the machine does not count.
        began = time.thread_time()
        self._show(picture)
        # Paint changes now, which Qt would do up to 5 ms later.
        QCoreApplication.sendEvent(self._pane.window(), QEvent(QEvent.Type.UpdateRequest))
        self.seconds.append(time.thread_time() - began)


def test_an_environment_is_freed_with_its_episode_though_it_refers_to_itself(
    qtbot: QtBot, pane: ReplayPane, staged: Callable[[str], Path]
) -> None:
    load(qtbot, pane.player, staged("Heavy-v0"))
    (renderer,) = renderers()
    before = renderer.memory_info().rss
    for seed in range(10):
        shown = pane.player.frame
        assert shown is not None

        def is_next(picture: Frame, playback: int = shown.playback_id) -> bool:
            return picture.playback_id > playback

        with qtbot.waitSignal(pane.player.frame_ready, timeout=WAIT_MS, check_params_cb=is_next):
            pane.player.start_over(seed)
    assert renderer.memory_info().rss - before < 3 * 8 * 2**20


@pytest.mark.release
def test_thousands_of_pictures_leave_no_memory_behind_and_a_closed_pane_costs_nothing(
    qtbot: QtBot, pane: ReplayPane, staged: Callable[[str], Path]
) -> None:
    pane.resize(632, 900)
    player, costs = pane.player, Costs(pane)
    load(qtbot, player, staged("Sound-v0"))
    (renderer,) = renderers()
    player.limit_rate(2000.0)
    player.set_speed(8.0)
    player.play()

    def used_after(pictures: int) -> tuple[int, int]:
        qtbot.waitUntil(lambda: len(costs.seconds) >= pictures, timeout=90_000)
        return psutil.Process().memory_info().rss, renderer.memory_info().rss

    # More than one episode: the recording is then at its largest.
    before = used_after(1500)
    shared = blocks()
    after = used_after(4000)
    growth = [later - earlier for earlier, later in zip(before, after, strict=True)]
    assert max(growth) < MOST_GROWTH, growth
    assert blocks() == shared
    assert pane.view.image is not None
    assert pane.view.image.width() * pane.view.image.height() > 600 * 400
    assert np.median(costs.seconds) * 1000 < MOST_MS
    pane.hide()
    # A picture already in progress is still shown.
    qtbot.wait(500)
    shown, used = len(costs.seconds), renderer.cpu_times()
    qtbot.wait(2000)
    later = renderer.cpu_times()
    assert later.user + later.system - used.user - used.system <= 0.03
    assert len(costs.seconds) == shown
