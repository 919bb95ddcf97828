"""How long it takes to make the window, and to redraw it, beside another version of it.

    .venv/bin/python -m tests.benchmarks.window_building [--before FOLDER] [--windows 20]

Off screen, without showing it: windows of one process after the other, as the tests make them, and
the first window of a process, as a user waits for it. Then one that is shown, and takes in the
reports of a run, eight a second: what each costs with plots, status and painting. ``--before``
names a checkout of another version, which takes its turn as well. Medians, in milliseconds of
processor time, which other work on the machine changes less than the time of the clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
MEASURE = """
import gc, json, sys, tempfile, time
from pathlib import Path
from studio.source_reading import stop_source_reading
stop_source_reading()
from PySide6.QtCore import QEvent, QSettings
from PySide6.QtWidgets import QApplication
from studio.app import build_window
found = []
with tempfile.TemporaryDirectory() as folder:
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)
    app = QApplication([])
    for _ in range(int(sys.argv[1])):
        gc.collect()
        gc.disable()
        began = time.process_time()
        window = build_window(Path(folder) / "runs")
        found.append(1000 * (time.process_time() - began))
        gc.enable()
        window.close()
        window.deleteLater()
        app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
print(json.dumps(found))
"""
REDRAW = """
import dataclasses, json, sys, tempfile, time
from pathlib import Path
import numpy as np
from PySide6.QtCore import QEventLoop, QSettings, QTimer
from PySide6.QtWidgets import QApplication
from studio.app import build_window
from td3core.config import make_settings
from td3core.protocol import events
from td3core.protocol.metrics import TRAINING_COLUMNS
config, tunables = make_settings({"env": "BipedalWalker-v3", "steps": 100_000})
known = {"run": Path("run"), "config": config, "tunables": tunables, "env_steps": 0,
    "device": "cpu", "threads": 1, "products": "numba"}
fields = {each.name for each in dataclasses.fields(events.Started)}
source = np.random.default_rng(0)
as_reported = getattr(getattr(events, "Episodes", None), "of", tuple)
def report(number):
    step = 500 * (number + 1)
    rows = source.normal(size=(5, len(TRAINING_COLUMNS)))
    rows[:, 0] = rows[:, 1] = np.arange(step - 400, step + 1, 100)
    # Measured once in 500 updates or 1,000 steps; noise there would break rules of health, and
    # mend them, with every report.
    rows[:, 10:] = np.nan
    ended = [events.EpisodeEnded(episode=number, env_steps=step, episode_return=source.normal(),
        shaped_return=0.0, length=500, terminated=False)]
    return events.Progress(phase=events.Phase.LEARNING, env_steps=step, updates=step,
        episodes=number, steps_per_s=200.0, wall_s=step / 200, exploration_noise=0.1, revision=0,
        tunables=tunables, training=rows, ended=as_reported(ended))
found = []
with tempfile.TemporaryDirectory() as folder:
    QSettings.setPath(QSettings.Format.IniFormat, QSettings.Scope.UserScope, folder)
    app = QApplication([])
    window = build_window(Path(folder) / "runs")
    window.resize(1280, 800)
    window.show()
    window.model.handle(events.Started(**{n: v for n, v in known.items() if n in fields}))
    for number in range(100):
        window.model.handle(report(number))
    for number in range(100, 100 + int(sys.argv[1])):
        loop = QEventLoop()
        QTimer.singleShot(125, loop.quit)
        began = time.process_time()
        window.model.handle(report(number))
        loop.exec()
        found.append(1000 * (time.process_time() - began))
    window.close()
print(json.dumps(found[5:]))
"""


def measure(folder: Path, windows: int, code: str = MEASURE) -> list[float]:
    """Return the milliseconds that each window of one process took, in the code of a folder."""
    env = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", code, str(windows)]
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=env)
    return [float(each) for each in json.loads(said.stdout.splitlines()[-1])]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path, help="folder of another version to compare with")
    parser.add_argument("--windows", type=int, default=20, help="windows of each kind")
    asked = parser.parse_args()
    folders = {"now": ROOT} | ({"before": asked.before.resolve()} if asked.before else {})
    first: dict[str, list[float]] = {name: [] for name in folders}
    later: dict[str, list[float]] = {name: [] for name in folders}
    redrawn: dict[str, list[float]] = {name: [] for name in folders}
    # In turns of five, so that a slow minute of the machine meets all of them.
    for _ in range(max(asked.windows // 5, 1)):
        for name, folder in folders.items():
            one, *others = measure(folder, 6)
            first[name].append(one)
            later[name] += others
            # Plots are redrawn for some reports only, by what a redraw costs.
            redrawn[name].append(statistics.mean(measure(folder, 45, REDRAW)))
    print("| ms | first window of a process | each after it | report of a run |\n|---|---|---|---|")
    middles = {n: [statistics.median(each[n]) for each in (first, later, redrawn)] for n in folders}
    for name, (one, others, redraw) in middles.items():
        print(f"| {name} | {one:.0f} | {others:.0f} | {redraw:.1f} |")
    if "before" in middles:
        ratios = [now / then for now, then in zip(middles["now"], middles["before"], strict=True)]
        print("| now : before | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")


if __name__ == "__main__":
    main()
