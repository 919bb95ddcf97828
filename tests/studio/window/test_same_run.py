"""A run is the same however it is watched: drawn in the window, replayed, or headless."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from studio.session.controller import SessionState
from td3core import checkpoint
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.tables import read_table
from td3core.training.launch import train


def episodes(run):
    return [{k: v for k, v in row.items() if k != "time_s"} for row in read_table(run)]


@pytest.mark.slow
def test_a_run_in_the_window_equals_the_same_run_without_one_bit_for_bit(
    qtbot, window, find, tmp_path
):
    find("env_combo").setCurrentText("Pendulum-v1")
    find("steps_spin").setValue(3000)
    find("seed_spin").setValue(7)
    config, tunables = window.setup.settings(window.live.tunables())
    qtbot.mouseClick(find("replay_play_button"), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(find("train_button"), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: window.controller.state is not SessionState.IDLE, timeout=60_000)
    qtbot.waitUntil(lambda: window.controller.state is SessionState.IDLE, timeout=120_000)
    assert isinstance(window.model.record.outcome, Ended)
    assert len(window.model.record.curves.training) > 10
    drawn = window.model.record.outcome.run

    alone = train(config, tunables, Control(), lambda event: None, tmp_path / "headless")
    assert isinstance(alone, Ended)
    one, two = (
        checkpoint.load(run / "checkpoints" / "last.safetensors").tensors
        for run in (drawn, alone.run)
    )
    assert one.keys() == two.keys()
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert episodes(drawn / "episodes.csv") == episodes(alone.run / "episodes.csv")
    assert episodes(drawn / "evaluations.csv") == episodes(alone.run / "evaluations.csv")
