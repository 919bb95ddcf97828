"""What the controller of a run says of its state, with a process that is played."""

from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Signal, Slot

from studio.session.controller import RunController, SessionState
from td3core.config import make_settings
from td3core.experiments.jobs import Job, NewRun
from td3core.protocol.control import Control


class PlayedWorker(QObject):
    """Stands in for a run in a process of its own that answers nothing."""

    event_reported = Signal(object)
    finished = Signal()

    def __init__(self, job: Job) -> None:
        super().__init__()
        self.job, self.process = job, Control()

    @Slot()
    def run(self) -> None:
        """Begin nothing."""


def test_a_run_just_asked_to_end_is_not_offered_to_be_ended_at_once(
    qtbot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.session.controller.ProcessWorker", PlayedWorker)
    monkeypatch.setattr("studio.session.controller._PATIENCE_MS", 50)
    controller = RunController()
    controller.set_own_process(True)
    config, tunables = make_settings({"env": "Pendulum-v1"})
    controller.begin(NewRun(config=config, tunables=tunables, runs_dir=Path("runs")))
    offered: list[bool] = []
    controller.state_changed.connect(lambda _: offered.append(controller.can_give_up))
    controller.stop()
    assert offered == [False]
    qtbot.waitUntil(lambda: offered == [False, True])
    controller._worker.finished.emit()
    qtbot.waitUntil(lambda: controller.state is SessionState.IDLE)
