"""With fonts of 100 to 200 percent, nothing in the window is clipped or beyond its edges."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, QSize
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.exceptions import TimeoutError as Late
from pytestqt.qtbot import QtBot

from studio.theme.sizes import scale
from studio.window.main_window import MainWindow
from studio.window.panels import PANELS
from td3core.experiments.groups.seed_status import SeedState
from tests.studio.clipped import arrows_of, clipped, unreachable
from tests.studio.experiments.test_groups import PlayedGroup, fill_in, played
from tests.studio.fake_runs import make_run
from tests.studio.theme.test_colours import stands_out
from tests.studio.window.test_enter import dialogs
from tests.support.marks import release, slow

SCREEN = QSize(1280, 800)
WAIT_MS = 20_000
Find = Callable[[str], QWidget]
__all__ = ["played"]


_SCALES = [*slow(1.0), *release(1.25), 1.5, *slow(2.0)]


@pytest.fixture(params=_SCALES, ids=["100%", "125%", "150%", "200%"])
def font(request: pytest.FixtureRequest, qapp: QApplication) -> Iterator[float]:
    before = qapp.font()
    font = QFont(before)
    font.setPointSizeF(before.pointSizeF() * request.param)
    qapp.setFont(font)
    yield request.param
    qapp.setFont(before)


def settle(qtbot: QtBot, window: MainWindow) -> None:
    """Wait until the panels have found their places."""
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=WAIT_MS)
    seen = list[list[QRect]]()

    def at_rest() -> bool:
        QApplication.processEvents()
        seen.append([each.geometry() for each in window.findChildren(QWidget) if each.isVisible()])
        return seen[-1] in seen[-2:-1]

    qtbot.waitUntil(at_rest, timeout=WAIT_MS)


def problems(window: MainWindow) -> list[str]:
    found = [*clipped(window), *unreachable(window)]
    found += [
        f"{arrow.objectName()} of the tabs cannot be seen"
        for arrow in arrows_of(window)
        if arrow.isEnabled() and not stands_out(arrow)
    ]
    if window.size() != SCREEN:
        found.append(f"the window is {window.size().toTuple()}")
    return found


def lasting_problems(qtbot: QtBot, window: MainWindow) -> list[str]:
    """Return the problems that are there once the window has laid out what was read meanwhile."""
    with contextlib.suppress(Late):
        qtbot.waitUntil(lambda: not problems(window), timeout=5_000)
        return []
    return problems(window)


def show_all(qtbot: QtBot, window: MainWindow, runs: Path) -> Iterator[str]:
    """Show one part of the window after the other; yield the name of each."""
    yield "first"
    for spec in PANELS:
        window.docks.open(spec.name)
        qtbot.waitUntil(lambda name=spec.name: window.docks.is_seen(name), timeout=WAIT_MS)
        yield spec.name
    for name in ("log", "runs", "many", "sweeps", "instruments"):
        window.docks.close(name)
    window.comparison.session.compare([make_run(runs, name=name).path for name in "ab"])
    session = window.comparison.session
    qtbot.waitUntil(lambda: session.active and not session.busy, timeout=WAIT_MS)
    yield "comparison"


@pytest.mark.slow
def test_a_group_that_trains_is_whole_and_reached(
    qtbot: QtBot,
    font: float,
    window: MainWindow,
    find: Find,
    played: type[PlayedGroup],
    runs_dir: Path,
) -> None:
    window.resize(SCREEN)
    qtbot.waitUntil(lambda: window.size() == SCREEN)
    fill_in(find, "Pendulum-v1", 20_000, "0-3")
    window.start_request.start()
    qtbot.waitUntil(lambda: window.many.session.busy, timeout=WAIT_MS)
    session = window.comparison.session
    for seed in range(4):
        run = make_run(runs_dir, name=f"seed {seed}").path
        state = SeedState.FINISHED if seed == 0 else SeedState.TRAINING
        played.last.show(seed, state, run=run, env_steps=12_345, steps_per_s=1_234.5)
    qtbot.waitUntil(lambda: session.active and not session.busy, timeout=WAIT_MS)
    settle(qtbot, window)
    assert font
    assert problems(window) == []


@pytest.mark.slow
def test_every_part_of_the_window_is_whole_and_reached(
    qtbot: QtBot, font: float, window: MainWindow, runs_dir: Path
) -> None:
    window.resize(SCREEN)
    qtbot.waitUntil(lambda: window.size() == SCREEN)
    assert scale() == pytest.approx(font, rel=0.1)
    found = {}
    for part in show_all(qtbot, window, runs_dir):
        settle(qtbot, window)
        if here := lasting_problems(qtbot, window):
            found[part] = here
    assert not found, "\n".join(f"{where}: {why}" for where, all_ in found.items() for why in all_)


@pytest.mark.slow
def test_every_dialog_is_whole_and_reached(
    qtbot: QtBot, font: float, window: MainWindow, runs_dir: Path
) -> None:
    found = {}
    for _, dialog in dialogs(window, runs_dir):
        dialog.show()
        # Background reads may still make a dialog grow.
        with contextlib.suppress(Late):
            qtbot.waitUntil(lambda dialog=dialog: not clipped(dialog), timeout=5_000)
        here = [*clipped(dialog), *unreachable(dialog)]
        needed = dialog.minimumSizeHint().expandedTo(dialog.minimumSize())
        if needed.width() > SCREEN.width() or needed.height() > SCREEN.height():
            here.append(f"it needs {needed.toTuple()}")
        if here:
            found[type(dialog).__name__] = here
        dialog.close()
    assert not found, "\n".join(f"{where}: {why}" for where, all_ in found.items() for why in all_)
