"""The replay takes most of the window or the whole screen, and gives the room back."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QWidget

from studio.window.replay_stage import StageSize

WAIT_MS = 20_000


def test_f9_makes_the_replay_large_f11_fills_the_screen_and_escape_leaves(
    qtbot, window, find
) -> None:
    def shown() -> set[str]:
        return {dock.objectName() for dock in window.findChildren(QDockWidget) if dock.isVisible()}

    before, width = shown(), window.replay.view.width()
    assert width >= 400
    qtbot.keyClick(window, Qt.Key.Key_F9)
    assert window.stage.size is StageSize.LARGE
    qtbot.waitUntil(lambda: window.replay.view.width() > 2 * width)
    assert shown() == {"replay_dock"}
    # The plots are a strip beside it, one below the other.
    cards = [window.plots.card(name) for name in ("plot_q", "plot_critic_loss")]
    qtbot.waitUntil(lambda: cards[0].x() == cards[1].x())
    assert all(card.isVisible() for card in cards)
    assert not window.replay.checkpoints.isVisible()
    # It would cover the plots of the strip.
    assert not window.start.isVisible()
    qtbot.mouseClick(find("replay_full_button"), Qt.MouseButton.LeftButton)
    assert window.stage.size is StageSize.FULL
    assert window.isFullScreen()
    bars: list[QWidget] = [window.toolbar, window.statusBar(), window.centralWidget()]
    assert not any(bar.isVisible() for bar in bars)
    # Nor its own title.
    qtbot.waitUntil(lambda: find("replay_dock").widget().y() == 0, timeout=WAIT_MS)
    assert window.replay.timeline.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.stage.size is StageSize.DOCK
    qtbot.waitUntil(lambda: window.replay.view.width() == width)
    assert shown() == before
    qtbot.waitUntil(lambda: find("replay_dock").widget().y() > 0, timeout=WAIT_MS)
    assert all(bar.isVisible() for bar in bars)
    assert not window.isFullScreen()
    assert cards[0].x() != cards[1].x()
    assert window.replay.checkpoints.isVisible()
    assert window.start.isVisible()
