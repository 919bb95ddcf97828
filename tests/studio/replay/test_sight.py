"""A hidden replay does not play, and continues where it was once it is visible again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from studio.plots.card import PlotCard
from studio.replay.player import UNPACED, Player, PlayerState
from studio.widgets.sight import Shown, shown_of
from studio.window.main_window import MainWindow
from tests.studio.replay.scenes import WAIT_MS, load, watched

UNSEEN_MS = 300
"""Time in which 30 pictures would be played."""


def ways_to_hide(window: MainWindow) -> dict[str, tuple[Callable[[], object], ...]]:
    """Return how a user hides the replay and shows it again, by name."""
    docks = window.docks

    def cover() -> None:
        window.tabifyDockWidget(docks.dock("replay"), docks.dock("many"))
        docks.open("many")

    return {
        "closed": (lambda: docks.close("replay"), lambda: docks.open("replay")),
        "behind a tab": (cover, lambda: docks.open("replay")),
        "minimised": (window.showMinimized, window.showNormal),
        "window hidden": (window.hide, window.show),
    }


def settle(qtbot: QtBot, player: Player) -> int:
    """Wait until the renderer has obeyed all requests so far; return its step."""
    with qtbot.waitSignal(player.captured, timeout=WAIT_MS) as captured:
        player.capture()
    return int(captured.args[1].step.number)


@pytest.mark.slow
def test_the_player_is_held_while_nothing_of_it_can_be_seen(
    qtbot: QtBot, window: MainWindow
) -> None:
    player = window.replay.player
    for way, (hide, show) in ways_to_hide(window).items():
        qtbot.waitUntil(lambda: not player.held, timeout=WAIT_MS)
        hide()
        qtbot.waitUntil(lambda: player.held, timeout=WAIT_MS)
        assert shown_of(window.replay) is not Shown.SEEN, way
        show()
    qtbot.waitUntil(lambda: not player.held, timeout=WAIT_MS)


@pytest.mark.slow
def test_a_replay_that_cannot_be_seen_waits_and_goes_on_where_it_was(
    qtbot: QtBot, window: MainWindow, staged: Callable[[str], Path]
) -> None:
    pane = window.replay
    player = pane.player
    load(qtbot, player, staged("Sound-v0"))
    pictures = watched(player)
    player.play()
    for way, (hide, show) in ways_to_hide(window).items():
        with qtbot.waitSignals([player.frame_ready] * 3, timeout=WAIT_MS):
            pass
        hide()
        qtbot.waitUntil(lambda: player.held, timeout=WAIT_MS)
        stopped_at = settle(qtbot, player)
        qtbot.wait(UNSEEN_MS)
        assert settle(qtbot, player) == stopped_at, way
        assert player.state is PlayerState.PLAYING, way
        seen = len(pictures)
        with qtbot.waitSignal(player.frame_ready, timeout=WAIT_MS):
            show()
        # The last one may be drawn again, in another size.
        assert pictures[seen].step.number - stopped_at in (0, 1), way


@pytest.mark.slow
def test_what_is_loaded_or_paused_while_the_replay_is_hidden_stays_so(
    qtbot: QtBot, window: MainWindow, staged: Callable[[str], Path]
) -> None:
    player, docks = window.replay.player, window.docks
    qtbot.waitUntil(lambda: not player.held, timeout=WAIT_MS)
    docks.close("replay")
    qtbot.waitUntil(lambda: player.held, timeout=WAIT_MS)
    player.load(staged("Sound-v0"))
    player.play()
    qtbot.waitUntil(lambda: player.state is PlayerState.PLAYING, timeout=WAIT_MS)
    qtbot.wait(UNSEEN_MS)
    assert settle(qtbot, player) == 0
    player.pause()
    docks.open("replay")
    qtbot.waitUntil(lambda: not player.held, timeout=WAIT_MS)
    qtbot.wait(UNSEEN_MS)
    assert settle(qtbot, player) == 0
    assert player.state is PlayerState.PAUSED


@pytest.mark.slow
def test_behind_the_instruments_it_goes_on_for_their_numbers_but_not_once_it_is_closed(
    qtbot: QtBot, window: MainWindow, staged: Callable[[str], Path]
) -> None:
    player, docks = window.replay.player, window.docks
    load(qtbot, player, staged("Sound-v0"))
    docks.open("instruments")
    window.tabifyDockWidget(docks.dock("replay"), docks.dock("instruments"))
    docks.open("instruments")
    qtbot.waitUntil(lambda: shown_of(window.replay) is Shown.BEHIND, timeout=WAIT_MS)
    pictures = watched(player)
    # If it were not held, it would take step after step between two answers.
    player.set_speed(UNPACED)
    player.play()
    qtbot.waitUntil(lambda: len(pictures) > 5, timeout=WAIT_MS)
    docks.close("replay")
    qtbot.waitUntil(lambda: player.held, timeout=WAIT_MS)
    assert len({settle(qtbot, player) for _ in range(3)}) == 1


@pytest.mark.slow
def test_plots_of_a_minimised_window_are_drawn_once_they_are_seen(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bool] = []
    monkeypatch.setattr(PlotCard, "draw", lambda *_, **__: drawn.append(True))
    window.showMinimized()
    qtbot.waitUntil(lambda: shown_of(window.plots) is Shown.BEHIND, timeout=WAIT_MS)
    timer = window.plots.findChild(QTimer, "redraw_timer")
    assert isinstance(timer, QTimer)
    with qtbot.waitSignal(timer.timeout, timeout=WAIT_MS):
        window.plots.redraw_later()
    assert not drawn
    window.showNormal()
    qtbot.waitUntil(lambda: bool(drawn), timeout=WAIT_MS)
