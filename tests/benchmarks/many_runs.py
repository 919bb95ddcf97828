"""Measures what many runs cost the window.

    python tests/benchmarks/many_runs.py compare [--runs 50] [--frames 120]
    python tests/benchmarks/many_runs.py browser [--runs 2000]

``compare`` writes runs of a million steps each, opens them all in the comparison and pans;
``browser`` writes small runs and lists, searches, sorts, scrolls and chooses them, once without and
once with the record of the last time. ``--folder`` keeps the runs. Nothing else should be running.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer  # noqa: E402
from PySide6.QtTest import QTest  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from studio.plots.compare.grid import COMPARED  # noqa: E402
from studio.plots.compare.view import RunComparisonView  # noqa: E402
from studio.run_browser.browser import RunBrowser  # noqa: E402
from studio.run_browser.columns import RunColumn  # noqa: E402
from studio.theme.theme import apply_theme, load_theme  # noqa: E402
from td3core.config import make_settings  # noqa: E402
from td3core.protocol.rows import EPISODE_COLUMNS  # noqa: E402
from td3core.runs.directory import RunDirectory  # noqa: E402
from tests.support.tables import PLAIN_EVALUATION  # noqa: E402

STEPS = 1_000_000
SIZE = (1100, 800)
"""Of the comparison in a window of 1440 x 900 pixels."""
PATIENCE_S = 120.0


def write_long_run(runs_dir: Path, seed: int) -> Path:
    """Write a run of a million steps with as many rows as training writes."""
    made = np.random.default_rng(seed)
    tau = 0.005 if seed % 2 else 0.01
    values = {"env": "BipedalWalker-v3", "steps": STEPS, "seed": seed, "tau": tau}
    run = RunDirectory.create(runs_dir, *make_settings(values))
    rows = STEPS // 50
    steps = np.arange(1, rows + 1) * 50
    level = 300 * (1 - np.exp(-steps / (2e5 + 1e4 * seed)))
    noise = made.normal(size=(rows, 6))
    q1, q2, target = (level + 5 * noise[:, at] for at in range(3))
    loss1, loss2 = (20 * np.exp(0.4 * noise[:, at]) for at in (3, 4))
    columns = (steps, steps, q1, q2, target, loss1, loss2, -q1 + noise[:, 5], steps / 150)
    form = "%d,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.3f\n"
    header = "env_steps,updates,q1,q2,target,critic1_loss,critic2_loss,actor_loss,time_s\n"
    text = "".join(form % row for row in zip(*(column.tolist() for column in columns), strict=True))
    (run.path / "training.csv").write_text(header + text)
    _write_returns(run, made, seed)
    return run.path


def _write_returns(run: RunDirectory, made: np.random.Generator, seed: int) -> None:
    def learned(step: float) -> float:
        return float(300 * (1 - np.exp(-step / (2e5 + 1e4 * seed))) + 30 * made.normal())

    table = run.table("episodes", EPISODE_COLUMNS)
    for number in range(STEPS // 500):
        step, value = 500 * (number + 1), learned(500 * (number + 1))
        table.add((number, step, value, value, 500, 0, step / 150))
    table.flush()
    table = run.table("evaluations", PLAIN_EVALUATION)
    for step in range(5_000, STEPS + 1, 5_000):
        each = [learned(step) for _ in range(10)]
        cells = " ".join(map(str, each)), " ".join(["500"] * 10)
        table.add((step, statistics.mean(each), 30.0, "", 0, *cells, seed, step / 150))
    table.flush()


def write_short_run(runs_dir: Path, seed: int) -> Path:
    """Write a run that has ended, with a few rows."""
    env = ("Pendulum-v1", "BipedalWalker-v3", "HalfCheetah-v5")[seed % 3]
    run = RunDirectory.create(runs_dir, *make_settings({"env": env, "steps": 5_000, "seed": seed}))
    table = run.table("evaluations", PLAIN_EVALUATION)
    for step in range(500, 5_001, 500):
        value = -1_000 + 0.1 * step + seed % 97
        table.add((step, value, 1.0, "", 0, f"{value} {value}", "200 200", seed, step / 100))
    table.flush()
    table = run.table("episodes", EPISODE_COLUMNS)
    for number in range(25):
        table.add((number, 200 * (number + 1), -900.0, -900.0, 200, 0, 2 * (number + 1)))
    table.flush()
    returns = {"last_eval_return": -500.0 + seed % 97, "best_eval_return": -400.0 + seed % 97}
    run.write_ending({"stopped": "finished", "env_steps": 5_000, "wall_s": 50.0, **returns})
    return run.path


def written(folder: Path, count: int, write: Callable[[Path, int], Path]) -> list[Path]:
    """Return that many runs of a folder, written if they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    found = sorted(path for path in folder.iterdir() if (path / "run.toml").exists())
    while len(found) < count:
        found.append(write(folder, len(found)))
    return found[:count]


def wait_until(done: Callable[[], bool]) -> float:
    """Turn the event loop until something is so, and return the seconds that took."""
    began = time.perf_counter()
    # Sleeps between events: turning without end, it would keep the interpreter from other threads.
    ticking = QTimer()
    ticking.start(5)
    while not done():
        if time.perf_counter() - began > PATIENCE_S:
            raise TimeoutError
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
    return time.perf_counter() - began


def memory_mb() -> float:
    """Return the memory that this process has in use."""
    return float(psutil.Process().memory_info().rss / 2**20)


def compare(paths: list[Path], frames: int) -> None:
    """Open runs in the comparison, as single runs and in groups, and pan."""
    view = RunComparisonView(load_theme("light"))
    view.resize(*SIZE)
    view.show()
    QApplication.processEvents()
    view.session.change(grouped=False)
    before = memory_mb()
    first: list[float] = []
    began = time.perf_counter()
    view.session.opened.connect(lambda: first.append(time.perf_counter() - began))
    view.session.compare(paths)
    wait_until(lambda: view.session.active and not view.session.busy)
    wait_until(lambda: not view.plots.redraw_pending)
    for spec in COMPARED.values():
        view.plots.card(spec.name).plot.viewport().repaint()
    complete = time.perf_counter() - began
    lines = len(view.session.shown.lines["q"])
    print(f"{lines} lines: first picture after {first[0]:.2f} s, complete after {complete:.2f} s")
    print(f"memory for them: {memory_mb() - before:.0f} MB")
    pan(view, frames)
    began = time.perf_counter()
    view.session.change(grouped=True)
    wait_until(lambda: not view.session.busy and not view.plots.redraw_pending)
    lines = len(view.session.shown.lines["q"])
    print(f"grouped into {lines} lines after {time.perf_counter() - began:.2f} s")
    pan(view, frames)
    print(f"memory after all: {memory_mb() - before:.0f} MB more than before")
    view.shutdown()


class PaintCounter(QObject):
    """Counts how often widgets are painted."""

    count = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Count a painting."""
        self.count += event.type() == QEvent.Type.Paint
        return super().eventFilter(watched, event)


def pan(view: RunComparisonView, frames: int) -> None:
    """Move all plots by one hundredth of their width per frame, in the right half of the curves."""
    cards = [view.plots.card(spec.name) for spec in COMPARED.values()]
    box = cards[0].plot.getViewBox()
    cards[0].view_moved_by_user.emit()
    box.setXRange(0.3 * STEPS, 0.7 * STEPS, padding=0)
    wait_until(lambda: not view.plots.redraw_pending)
    painted = PaintCounter()
    for card in cards:
        card.plot.viewport().installEventFilter(painted)
    costs = []
    for number in range(frames):
        began = time.perf_counter()
        box.translateBy(x=0.004 * STEPS * (1 if number % 100 < 50 else -1))
        QApplication.processEvents()
        costs.append(time.perf_counter() - began)
    slow = sorted(costs)[int(0.95 * len(costs))]
    median = statistics.median(costs)
    print(
        f"panning: median {1 / median:.0f} frames/s ({1e3 * median:.1f} ms), "
        f"95 % of the frames within {1e3 * slow:.0f} ms, longest {1e3 * max(costs):.0f} ms;"
        f" every plot painted {painted.count / len(cards) / frames:.1f} times per frame"
    )


def browser(folder: Path, count: int) -> None:
    """List runs, then search, sort, scroll and choose."""
    theme = load_theme("light")
    browser = RunBrowser(folder, theme)
    browser.resize(1100, 500)
    began = time.perf_counter()
    browser.show()
    first: list[float] = []
    browser.model.modelReset.connect(lambda: first.append(time.perf_counter() - began))
    wait_until(lambda: len(browser.model.rows) >= count)
    wait_until(lambda: not browser.reading)
    QApplication.processEvents()
    print(
        f"{count} runs: first rows after {first[0]:.2f} s, all after "
        f"{time.perf_counter() - began:.2f} s"
    )
    longest("refresh without changes", [lambda: (browser.refresh(), settle())])
    longest(
        "typing a search",
        [
            lambda text=text: (browser.search.setText(text), settle())
            for text in ("w", "wa", "wal", "walk", "")
        ],
    )
    columns = (RunColumn.RUN, RunColumn.BEST, RunColumn.STEPS, RunColumn.STARTED)
    longest(
        "sorting",
        [
            lambda column=column: (
                browser.view.sortByColumn(column, Qt.SortOrder.DescendingOrder),
                settle(),
            )
            for column in columns
        ],
    )
    bar = browser.view.verticalScrollBar()
    longest(
        "scrolling a page",
        [
            lambda at=at: (bar.setValue(at), settle())
            for at in range(0, bar.maximum(), max(1, bar.maximum() // 50))
        ],
    )
    longest(
        "choosing the next run",
        [lambda: (QTest.keyClick(browser.view, Qt.Key.Key_Down), settle()) for _ in range(30)],
    )
    browser.shutdown()


def settle() -> None:
    """Handle what is waiting, and paint."""
    QApplication.processEvents()


def longest(what: str, acts: list[Callable[[], object]]) -> None:
    """Print how long things took."""
    costs = []
    for act in acts:
        began = time.perf_counter()
        act()
        costs.append(1e3 * (time.perf_counter() - began))
    print(f"{what}: median {statistics.median(costs):.0f} ms, longest {max(costs):.0f} ms")


def main() -> None:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("compare", "browser"))
    parser.add_argument("--runs", type=int)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--folder", type=Path, help="where the runs are kept")
    parser.add_argument("--write-only", action="store_true")
    wanted = parser.parse_args()
    count = wanted.runs or {"compare": 50, "browser": 2_000}[wanted.what]
    write = {"compare": write_long_run, "browser": write_short_run}[wanted.what]
    app = QApplication.instance() or QApplication(sys.argv[:1])
    apply_theme(app, load_theme("light"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = wanted.folder or Path(temporary)
        paths = written(folder, count, write)
        if not wanted.write_only:
            if wanted.what == "compare":
                compare(paths, wanted.frames)
            else:
                os.environ["XDG_CACHE_HOME"] = temporary
                for _ in range(2):
                    browser(folder, count)


if __name__ == "__main__":
    main()
