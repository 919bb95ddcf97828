"""The replay takes most of the window or the whole screen, and gives the room back."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from studio.widgets.form_area import FormArea
from studio.window.main_window import MainWindow
from studio.window.replay_stage import StageSize
from tests.studio.fake_runs import make_run

WAIT_MS = 20_000

pytestmark = pytest.mark.shared_window


# It sees the start page, which the shared window has no more.
@pytest.mark.own_window
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


def test_an_error_is_seen_on_the_full_screen_above_the_controls(qtbot, window, find) -> None:
    find("env_combo").setCurrentText("")
    qtbot.keyClick(window, Qt.Key.Key_F11)
    assert window.stage.size is StageSize.FULL
    window.toolbar.action("train").trigger()
    assert window.banner.isVisible()
    shown, controls = window.banner.visibleRegion().boundingRect(), window.replay.controls
    assert shown == window.banner.rect()
    below = window.banner.mapTo(window, window.banner.rect().bottomLeft()).y()
    assert below < controls.mapTo(window, controls.rect().topLeft()).y()
    # It goes on over the plots.
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert window.stage.size is StageSize.DOCK
    centre = window.centralWidget()
    assert centre.isAncestorOf(window.banner)
    assert window.banner.isVisible()
    qtbot.waitUntil(lambda: window.banner.geometry().bottom() > centre.height() - 20)


@pytest.mark.parametrize("key", [Qt.Key.Key_F9, Qt.Key.Key_F11])
def test_space_plays_an_enlarged_replay_and_the_list_has_the_focus_again_after_it(
    qtbot: QtBot,
    window: MainWindow,
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    key: Qt.Key,
) -> None:
    played: list[None] = []
    monkeypatch.setattr(window.replay, "toggle_play", lambda: played.append(None))
    run = make_run(runs_dir)
    window.runs.refresh()
    qtbot.waitUntil(lambda: run.path in window.runs.model.rows, timeout=WAIT_MS)
    window.show_runs()
    qtbot.waitUntil(window.runs.view.hasFocus)
    qtbot.keyClick(window, key)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Space)
    assert played
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert QApplication.focusWidget() is window.runs.view
    # A part that stays visible keeps the focus.
    plot = window.plots.card(window.plots.large).plot
    for _ in range(2):
        plot.setFocus()
        qtbot.keyClick(window, Qt.Key.Key_F9)
        assert QApplication.focusWidget() is plot


@pytest.mark.parametrize(
    ("key", "panel"),
    [
        (Qt.Key.Key_F11, "runs"),
        *((Qt.Key.Key_F9, panel) for panel in ("runs", "many", "sweeps")),
    ],
)
def test_a_panel_opened_beside_a_large_replay_leaves_no_row_of_tabs(
    qtbot: QtBot, window: MainWindow, key: Qt.Key, panel: str
) -> None:
    def rows_seen() -> list[list[str]]:
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        bars = window.findChildren(QTabBar, options=direct)
        return sorted(
            [bar.tabText(at) for at in range(bar.count())]
            for bar in bars
            if bar.isVisible() and bar.geometry().intersects(window.rect())
        )

    window.docks.open("runs")
    qtbot.waitUntil(lambda: window.docks.is_seen("runs"))
    before = rows_seen()
    qtbot.keyClick(window, key)
    qtbot.waitUntil(lambda: not window.docks.is_seen("runs"))
    window.docks.open(panel)
    qtbot.waitUntil(lambda: window.docks.is_seen(panel))
    qtbot.keyClick(window, key)
    # At once: if Qt forgets a row here, it may stay over the window for good.
    assert rows_seen() == before


@pytest.mark.own_window
@pytest.mark.parametrize("keys", ["F11 F9 F9", "F9 F11 F11", "F11 F11"])
@pytest.mark.slow
def test_setup_is_as_tall_as_its_form_again_after_the_full_screen(
    qtbot: QtBot, window: MainWindow, keys: str
) -> None:
    form = window.docks.dock("setup").widget()
    assert isinstance(form, FormArea)
    screen = window.screen().size()
    window.resize(screen.width(), screen.height() - 80)
    qtbot.waitUntil(lambda: form.height() == form.wanted_height())
    for key in keys.split():
        qtbot.keyClick(window, getattr(Qt.Key, f"Key_{key}"))
        full = window.stage.size is StageSize.FULL
        qtbot.waitUntil(lambda: (window.size() == screen) is full)  # noqa: B023
    assert window.stage.size is StageSize.DOCK
    QApplication.processEvents()
    assert form.height() == form.wanted_height()
