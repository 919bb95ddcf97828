"""Compare many long runs in the window: time to open, frames a second while panning, memory.

    python tests/benchmarks/compare.py [--runs 50] [--steps 1000000] [--single]

The runs are made up: tables of the length that such runs have, an evaluation every 5,000 steps,
an episode every 200 and a row of statistics every 50. ``--single`` draws a line per run.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from PySide6.QtCore import QEventLoop, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from studio.plots.compare.view import RunComparisonView  # noqa: E402
from studio.theme.theme import apply_theme, load_theme  # noqa: E402
from td3core.config import make_settings  # noqa: E402
from td3core.protocol.rows import EPISODE_COLUMNS, EVALUATION_COLUMNS  # noqa: E402
from td3core.runs.directory import RunDirectory, training_columns  # noqa: E402

PAN_S = 3.0
SEEDS = 5


def write_table(path: Path, columns: tuple[str, ...], values: dict[str, np.ndarray]) -> None:
    """Write columns of numbers; those without any are 0."""
    rows = len(values["env_steps"])
    table = np.column_stack([values.get(name, np.zeros(rows)) for name in columns])
    np.savetxt(path, table, fmt="%.6g", delimiter=",", header=",".join(columns), comments="")


def write_run(folder: Path, number: int, steps: int) -> Path:
    """Write one made-up run; five in a row differ in the seed only."""
    rng = np.random.default_rng(number)
    values = {"env": "Pendulum-v1", "preset": "Pendulum-v1", "steps": steps}
    tau = 0.001 * (1 + number // SEEDS)
    config = make_settings(values | {"seed": number % SEEDS, "tau": tau})
    run = RunDirectory.create(folder, *config)
    for name, columns, every in (
        ("evaluations", EVALUATION_COLUMNS, 5_000),
        ("episodes", EPISODE_COLUMNS, 200),
        ("training", training_columns(), 50),
    ):
        at = np.arange(every, steps + 1, every, dtype=np.float64)
        learned = 300 * (1 - np.exp(-at / steps * 5)) + rng.normal(0, 30, len(at))
        noise = {key: np.abs(rng.normal(1, 0.3, len(at))) for key in ("critic1_loss", "actor_loss")}
        shown = {
            "mean": learned,
            "returns": learned,
            "return": learned,
            "q1": learned,
            "time_s": at / 150,
        }
        write_table(run.path / f"{name}.csv", columns, {"env_steps": at} | shown | noise)
    return run.path


def until(happened) -> None:
    """Turn the event loop until something has happened."""
    loop, timer = QEventLoop(), QTimer()
    timer.timeout.connect(lambda: loop.quit() if happened() else None)
    timer.start(2)
    loop.exec()


def pan(app: QApplication, view: RunComparisonView, steps: int) -> tuple[float, float]:
    """Return frames a second, and processor time of a frame in ms, while all plots move."""
    box = view.plots.card("compare_return").plot.getViewBox()
    frames, began, busy = 0, time.perf_counter(), time.process_time()
    while (passed := time.perf_counter() - began) < PAN_S:
        left = (0.1 + 0.3 * passed / PAN_S) * steps
        box.setXRange(left, left + 0.5 * steps, padding=0)
        # Paints all four plots; ten times a second it also draws what has come into view.
        app.processEvents()
        frames += 1
    rate = frames / (time.perf_counter() - began)
    return rate, 1e3 * (time.process_time() - busy) / frames


def main() -> int:
    """Print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    app, process = QApplication([]), psutil.Process()
    apply_theme(app, load_theme("light"))
    with tempfile.TemporaryDirectory(prefix="td3-studio-compare-") as name:
        paths = [write_run(Path(name), at, options.steps) for at in range(options.runs)]
        view = RunComparisonView(load_theme("light"))
        view.resize(1280, 800)
        view.show()
        app.processEvents()
        view.session.change(grouped=not options.single)
        view.grab()
        before, began = process.memory_info().rss, time.perf_counter()
        view.session.compare(paths)
        until(lambda: view.session.active)
        view.grab()
        first = time.perf_counter() - began
        until(lambda: not view.session.busy and not view.plots.redraw_pending)
        view.grab()
        whole, memory = time.perf_counter() - began, process.memory_info().rss - before
        rate, each = pan(app, view, options.steps)
        found = {
            "runs": options.runs,
            "steps": options.steps,
            "groups": len(view.session.shown.comparison.groups),
            "returns_shown_s": round(first, 2),
            "all_plots_s": round(whole, 2),
            "frames_per_s": round(rate, 1),
            "frame_cpu_ms": round(each, 1),
            "memory_mb": round(memory / 1e6),
            "whole_process_mb": round(process.memory_info().rss / 1e6),
            "load": os.getloadavg()[0],
        }
        view.shutdown()
    sys.stdout.write(json.dumps(found) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
