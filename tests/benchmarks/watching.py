"""Measures the replay: how soon another agent is shown, and what its pictures cost.

    python tests/benchmarks/watching.py [--frames 10000]

plays the bundled walker and those it was trained from, then as many pictures as it is asked for:
the time of the window's thread for each, with painting, the memory of both processes, and what a
closed pane takes of the processor. Takes about a minute and a half.
"""

import argparse
import os
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["SDL_VIDEODRIVER"] = "dummy"
os.environ["PYGAME_HIDE_SUPPORT_PROMPT"] = "1"

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QSettings, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402

from studio.consent.code_consent import CodeConsent  # noqa: E402
from studio.replay.pane import ReplayPane  # noqa: E402
from studio.replay.renderer.protocol import Frame  # noqa: E402
from studio.theme.theme import apply_theme, load_theme  # noqa: E402

PATIENCE_MS = 30_000
SETTLED = 2500
"""Pictures after which memory is compared: more than an episode."""
CLOSED_MS = 3000
SIZE = (632, 900)
"""Leaves 600 pixels to the picture and its margins."""


def wait_for(signal, act) -> float:
    """Do something and return the seconds until a signal comes."""
    loop = QEventLoop()
    signal.connect(loop.quit)
    QTimer.singleShot(PATIENCE_MS, loop.quit)
    began = time.perf_counter()
    act()
    loop.exec()
    signal.disconnect(loop.quit)
    return time.perf_counter() - began


def first_frames(pane: ReplayPane, agents: list[Path]) -> list[float]:
    """Return the seconds from choosing each agent to its first picture."""
    player, found = pane.player, []
    for agent in agents:
        player.pause()
        shown: list[float] = []

        def note(_: Frame, shown: list[float] = shown) -> None:
            if player.agent is not None and player.path == player.agent.path:
                shown.append(time.perf_counter())

        began = time.perf_counter()
        pane.timeline.chosen.emit(agent)
        wait_for(player.loaded, lambda: None)
        player.frame_ready.connect(note)
        while not shown:
            wait_for(player.frame_ready, lambda: None)
        player.frame_ready.disconnect(note)
        found.append(shown[0] - began)
    return found


class Costs:
    """Measures what each picture takes of the window's thread: labels, bar and painting."""

    def __init__(self, pane: ReplayPane) -> None:
        self._pane, self._show = pane, pane.player._show
        self.wall: list[float] = []
        self.processor: list[float] = []
        """Less than the other where the computer is busy with other work."""
        pane.player._show = self._measured

    def _measured(self, picture: Frame) -> None:
        began, used = time.perf_counter(), time.thread_time()
        self._show(picture)
        # Paints what has changed, which Qt would do up to 5 ms later.
        QCoreApplication.sendEvent(self._pane.window(), QEvent(QEvent.Type.UpdateRequest))
        self.processor.append(1000 * (time.thread_time() - used))
        self.wall.append(1000 * (time.perf_counter() - began))


def play(pane: ReplayPane, count: int) -> Costs:
    """Play so many pictures, as many a second as the renderer draws."""
    player, costs = pane.player, Costs(pane)
    player.limit_rate(1000.0)
    player.set_speed(8.0)
    player.play()
    renderer = psutil.Process(player.pid)
    settled = min(count // 4, SETTLED)
    before: list[int] = []
    while len(costs.wall) < count:
        wait_for(player.frame_ready, lambda: None)
        if not before and len(costs.wall) >= settled:
            before = memory(renderer)
    growth = [(now - then) / 2**20 for now, then in zip(memory(renderer), before, strict=True)]
    print(
        f"memory from picture {settled} to {count}: window {growth[0]:+.1f} MB,"
        f" renderer {growth[1]:+.1f} MB"
    )
    return costs


def memory(renderer: psutil.Process) -> list[int]:
    """Return the bytes that the window's process and the renderer hold."""
    return [process.memory_info().rss for process in (psutil.Process(), renderer)]


def closed(pane: ReplayPane) -> float:
    """Close the pane; return the share of a processor that the renderer takes then."""
    assert pane.player.pid is not None
    renderer = psutil.Process(pane.player.pid)
    pane.hide()
    rest(500)
    before = sum(renderer.cpu_times()[:2])
    rest(CLOSED_MS)
    return 1000 * (sum(renderer.cpu_times()[:2]) - before) / CLOSED_MS


def rest(milliseconds: int) -> None:
    """Let the window run."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=10_000)
    frames = parser.parse_args().frames
    app = QApplication([])
    theme = load_theme("light")
    apply_theme(app, theme)
    walker = Path(str(files("resources") / "agents" / "BipedalWalker-v3.safetensors"))
    series = [*sorted(walker.with_suffix("").glob("step_*.safetensors")), walker]
    with tempfile.TemporaryDirectory(prefix="td3-studio-watching-") as made:
        window = QWidget()
        settings = QSettings(f"{made}/settings.ini", QSettings.Format.IniFormat)
        pane = ReplayPane(Path(made) / "runs", CodeConsent(window), settings)
        pane.set_theme(theme)
        pane.resize(*SIZE)
        pane.show()
        cold = first_frames(pane, [walker])[0]
        warm = first_frames(pane, series * 3)
        costs = play(pane, frames)
        size = pane.view.image.size() if pane.view.image else None
        share = closed(pane)
        pane.shutdown()
    print(f"first agent, renderer started: {cold * 1000:.0f} ms")
    print(f"another agent: median {np.median(warm) * 1000:.0f} ms, worst {max(warm) * 1000:.0f} ms")
    print(
        f"a picture of {size.width()}x{size.height()}: median {np.median(costs.processor):.2f} ms"
        f" of the window's thread, 99 % below {np.quantile(costs.processor, 0.99):.2f} ms;"
        f" by the clock {np.median(costs.wall):.2f} and {np.quantile(costs.wall, 0.99):.2f} ms"
    )
    print(f"renderer of a closed pane: {share:.1%} of a processor")


if __name__ == "__main__":
    main()
