"""How long it takes to make the window, beside another version of it.

    .venv/bin/python -m tests.benchmarks.window_building [--before FOLDER] [--windows 20]

Off screen, without showing it: windows of one process after the other, as the tests make them, and
the first window of a process, as a user waits for it. ``--before`` names a checkout of another
version, which takes its turn as well. Medians, in milliseconds of processor time, which other work
on the machine changes less than the time of the clock.
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


def measure(folder: Path, windows: int) -> list[float]:
    """Return the milliseconds that each window of one process took, in the code of a folder."""
    env = os.environ | {"QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", MEASURE, str(windows)]
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
    # In turns of five, so that a slow minute of the machine meets all of them.
    for _ in range(max(asked.windows // 5, 1)):
        for name, folder in folders.items():
            one, *others = measure(folder, 6)
            first[name].append(one)
            later[name] += others
    print("| ms to make a window | first of a process | each after it |\n|---|---|---|")
    middles = {n: [statistics.median(each[n]) for each in (first, later)] for n in folders}
    for name, (one, others) in middles.items():
        print(f"| {name} | {one:.0f} | {others:.0f} |")
    if "before" in middles:
        ratios = [now / then for now, then in zip(middles["now"], middles["before"], strict=True)]
        print(f"| now : before | {ratios[0]:.2f} | {ratios[1]:.2f} |")


if __name__ == "__main__":
    main()
