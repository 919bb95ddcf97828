"""The executor of this machine; its processes are played by the test."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from td3core.experiments.jobs import ResumedRun
from td3core.experiments.sweeps.executor import LocalExecutor, Outcome, RunEnd
from td3core.experiments.sweeps.folder import SweepState
from td3core.protocol.control import Control
from td3core.protocol.events import Event
from tests.support.events import ended
from tests.td3core.experiments.sweeps.scripted_runs import conduct

PATIENCE_S = 60.0


class Lingering:
    """A process whose run ends at once, and which a thread of its environment keeps alive."""

    pid = 4711

    def __init__(
        self,
        _module: str,
        _codec: object,
        on_message: Callable[[Event], None],
        on_end: Callable[[int], None],
        *_: object,
        **__: object,
    ) -> None:
        self._on_message, self._on_end = on_message, on_end
        self._dead = threading.Event()

    def send(self, message: object) -> None:
        if isinstance(message, ResumedRun):
            self._on_message(ended("finished"))

    def kill(self) -> None:
        self._on_end(-9)
        self._dead.set()

    def join(self, timeout_s: float) -> bool:
        return self._dead.wait(timeout_s)


def test_a_run_has_ended_though_a_thread_of_its_environment_keeps_the_process_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("td3core.experiments.job_process.MessageProcess", Lingering)
    monkeypatch.setattr("td3core.experiments.job_process.EXIT_S", 0.0)
    executor, run = LocalExecutor(1, tmp_path), Path("run")
    executor.start(run, 60)
    assert executor.wait(PATIENCE_S) == [RunEnd(run=run, outcome=Outcome(stopped="finished"))]
    executor.close()


@pytest.mark.slow
def test_the_second_ctrl_c_of_a_sweep_kills_its_runs_without_waiting_for_them(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    class Hanging(Lingering):
        def send(self, message: object) -> None:
            pass

        def join(self, timeout_s: float) -> bool:
            dead = super().join(0.0)
            waited.extend([] if dead else [timeout_s])
            return dead

    monkeypatch.setattr("td3core.experiments.job_process.MessageProcess", Hanging)
    control = Control()

    def press(state: SweepState) -> None:
        # The first one came before this report.
        control.stop()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        conduct(runs_dir, LocalExecutor(1, tmp_path), control=control, report=press)
    # Only looked after.
    assert set(waited) == {0.0}
