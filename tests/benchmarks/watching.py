"""Measures the replay: how soon another agent is on show, and what a picture costs the window.

    python tests/benchmarks/watching.py [--frames 300]

plays the bundled walker and those it was trained from. Takes about half a minute.
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
from PySide6.QtCore import QEventLoop, QSettings, QTimer  # noqa: E402
from PySide6.QtWidgets import QApplication, QWidget  # noqa: E402

from studio.consent.code_consent import CodeConsent  # noqa: E402
from studio.replay.pane import ReplayPane  # noqa: E402
from studio.replay.renderer_client import Picture  # noqa: E402
from studio.theme.theme import apply_theme, load_theme  # noqa: E402

PATIENCE_MS = 30_000
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

        def note(_: Picture, shown: list[float] = shown) -> None:
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


def frame_costs(pane: ReplayPane, count: int) -> list[float]:
    """Return the seconds that each picture takes in the GUI thread: labels, bar and painting."""
    pictures: list[Picture] = []
    pane.player.frame_ready.connect(pictures.append)
    pane.player.play()
    while len(pictures) < count:
        wait_for(pane.player.frame_ready, lambda: None)
    pane.player.pause()
    pane.player.frame_ready.disconnect(pictures.append)
    costs = []
    for picture in pictures:
        began = time.perf_counter()
        pane._show_picture(picture)
        QApplication.processEvents()
        costs.append(time.perf_counter() - began)
    return costs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--frames", type=int, default=300)
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
        costs = np.array(frame_costs(pane, frames)) * 1000
        size = pane.view.image.size() if pane.view.image else None
        pane.shutdown()
    print(f"first agent, renderer started: {cold * 1000:.0f} ms")
    print(f"another agent: median {np.median(warm) * 1000:.0f} ms, worst {max(warm) * 1000:.0f} ms")
    print(
        f"a picture of {size.width()}x{size.height()}: median {np.median(costs):.2f} ms,"
        f" 99 % below {np.quantile(costs, 0.99):.2f} ms of the GUI thread"
    )


if __name__ == "__main__":
    main()
