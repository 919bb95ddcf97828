"""How long the window keeps a person waiting while it trains and replays.

    .venv/bin/python tests/benchmarks/window_gaps.py [--env BipedalWalker-v3] [--seconds 30]

Opens the real window, starts a run, plays a bundled agent meanwhile, and measures the time between
two turns of the window's event loop (a 1 ms timer). Prints one row for each phase of the run. The
timer takes time itself: ``--no-gaps`` leaves it out, to measure steps per second alone.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np
from PySide6.QtCore import QEventLoop, QSettings, Qt, QTimer
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QDoubleSpinBox

from studio.app import SWITCH_INTERVAL_S, build_window
from studio.session.controller import SessionState
from td3core.protocol.events import Phase, Progress
from tests.benchmarks.many_runs import wait_until


class Gaps:
    """Times between two firings of a timer, gathered by the phase the run was in."""

    def __init__(self) -> None:
        self.phase = "idle"
        self.by_phase: dict[str, list[float]] = defaultdict(list)
        self._last = time.perf_counter()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(1)
        self._timer.timeout.connect(self._tick)

    def start(self) -> None:
        """Measure from now on."""
        self._timer.start()

    def _tick(self) -> None:
        now = time.perf_counter()
        self.by_phase[self.phase].append(1000 * (now - self._last))
        self._last = now

    def note(self, event: object) -> None:
        """Follow the run from phase to phase."""
        if isinstance(event, Progress):
            self.phase = str(event.phase)


def spin(seconds: float) -> None:
    """Let the event loop turn for a while."""
    loop = QEventLoop()
    QTimer.singleShot(int(1000 * seconds), loop.quit)
    loop.exec()


def main() -> None:
    """Run the measurement and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="BipedalWalker-v3")
    parser.add_argument("--seconds", type=float, default=30, help="time given to learning")
    parser.add_argument("--warm-up", type=int, default=60_000, help="steps of warm-up")
    parser.add_argument("--no-replay", action="store_true")
    parser.add_argument("--no-eval", action="store_true")
    parser.add_argument("--no-gaps", action="store_true", help="measure steps per second alone")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    chosen = parser.parse_args()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with tempfile.TemporaryDirectory() as folder:
        QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)
        app = QApplication([])
        window = build_window(Path(folder) / "runs")
        # The offscreen display is smaller: the replay would be behind a tab, and wait there.
        window.resize(1280, 800)
        window.show()
        spin(0.5)
        window.findChild(QComboBox, "env_combo").setCurrentText(chosen.env)
        window.setup.make_all_fields()
        window.findChild(QDoubleSpinBox, "field_learning_starts").setValue(chosen.warm_up)
        if chosen.no_eval:
            window.findChild(QDoubleSpinBox, "field_eval_interval").setValue(0)
        # Loading torch is a start-up matter, measured apart.
        import td3core.training.launch  # noqa: F401

        frames: list[float] = []
        window.replay.player.frame_ready.connect(lambda _: frames.append(time.perf_counter()))
        if chosen.no_replay:
            window.docks.close("replay")
        else:
            play = window.findChild(QAbstractButton, "replay_play_button")
            # The list of agents is read in the background: until then there is none to play.
            wait_until(lambda: window.replay.checkpoints.model.first() is not None)
            play.click()
            wait_until(lambda: len(frames) > 0)
            spin(4)
        gaps = Gaps()
        if not chosen.no_gaps:
            gaps.start()
        window.controller.event_reported.connect(gaps.note)
        window.findChild(QAbstractButton, "train_button").click()
        frames.clear()
        began = time.perf_counter()
        while gaps.phase in ("idle", str(Phase.WARM_UP)):
            spin(0.2)
        spin(chosen.seconds)
        frame_rate = len(frames) / (time.perf_counter() - began)
        window.controller.stop()
        while window.controller.state is not SessionState.IDLE:
            spin(0.05)
        assert chosen.no_replay or frame_rate > 1, "the replay does not play"
        speed = window.model.record.outcome.steps_per_s
        window.close()
        report(gaps, chosen, speed, frame_rate)
        app.quit()


def report(gaps: Gaps, chosen: argparse.Namespace, speed: float, frame_rate: float) -> None:
    """Print the table."""
    print(
        f"{chosen.env}: {speed:.0f} steps/s while learning, replay at {frame_rate:.0f} frames/s\n"
    )
    print("| phase | turns | median ms | p99 ms | max ms |\n|---|---|---|---|---|")
    figures: dict[str, object] = {"steps_per_s": speed, "frames_per_s": frame_rate}
    for phase in (Phase.WARM_UP, Phase.LEARNING, Phase.EVALUATING):
        values = gaps.by_phase[str(phase)]
        if values:
            median, p99 = np.percentile(values, (50, 99))
            figures[str(phase)] = {"median": median, "p99": p99, "max": max(values)}
            print(f"| {phase} | {len(values)} | {median:.1f} | {p99:.1f} | {max(values):.1f} |")
    if chosen.json:
        chosen.json.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
