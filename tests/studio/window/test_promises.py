"""Promises that hold for all controls of the window at once, and small ones of a single place."""

import re
from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPalette
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QLineEdit,
    QScrollBar,
    QTabBar,
    QWidget,
)

from studio.formatting import format_number
from studio.help.shortcuts import ShortcutsDialog
from studio.session.controller import SessionState
from td3core.config.presets import load_presets
from td3core.protocol import events
from tests.studio.fake_runs import make_run
from tests.support.marks import release, slow

pytestmark = pytest.mark.shared_window

WAIT_MS = 20_000
CONTROLS = (QAbstractButton, QAbstractSlider, QAbstractSpinBox, QComboBox, QLineEdit)


def controls(window: QWidget) -> Iterator[QWidget]:
    """Yield usable controls, except parts of other controls."""
    for found in window.findChildren(QWidget):
        inside = found.parentWidget()
        part = isinstance(inside, QComboBox | QAbstractSpinBox | QAbstractItemView | QLineEdit)
        own = found.objectName().startswith("qt_") or isinstance(found, QScrollBar)
        scrolls_tabs = found.objectName() in ("ScrollLeftButton", "ScrollRightButton")
        if not part and not own and not scrolls_tabs:
            yield found


def open_run(qtbot, window, run) -> None:
    window.presenter.open_path(run.path)
    qtbot.waitUntil(lambda: window.model.record.run == run.path, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=WAIT_MS)


@pytest.mark.own_window
@pytest.mark.parametrize("theme", [*slow("light"), *release("dark")])
def test_whatever_the_tab_key_reaches_shows_that_it_has_the_focus(
    qtbot, window, runs_dir, theme: str
) -> None:
    if window.theme.name != theme:
        window.switch_theme()
    open_run(qtbot, window, make_run(runs_dir))
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5_000)
    seen, unseen = set(), set()
    for spec in window.panels.specs:
        window.docks.open(spec.name)
        QApplication.processEvents()
        for widget in controls(window):
            tabbed = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            if not (tabbed and widget.isVisible() and widget.isEnabled()) or widget in seen:
                continue
            if isinstance(widget, QTabBar) and widget.visibleRegion().isEmpty():
                # Not laid out yet.
                continue
            window.setFocus()
            before = widget.grab().toImage()
            widget.setFocus(Qt.FocusReason.TabFocusReason)
            QApplication.processEvents()
            seen.add(widget)
            if widget.grab().toImage() == before:
                inside = type(widget.parentWidget()).__name__
                unseen.add(f"{type(widget).__name__} {widget.objectName()} in {inside}")
    assert len(seen) > 80
    assert unseen == set()


@pytest.mark.own_window
def test_every_control_that_is_disabled_says_why(qtbot, window, runs_dir) -> None:
    reason = re.compile(r"Not now: \w|^No change to|[Nn]o earlier runs")

    def unexplained() -> list[str]:
        found = []
        for widget in controls(window):
            inside = widget.parentWidget()
            if not isinstance(widget, CONTROLS) or widget.isEnabled():
                continue
            # What is locked as a whole is explained by a button in its place.
            shown = widget.currentText() if isinstance(widget, QComboBox) else ""
            explained = reason.search(f"{widget.toolTip()} {shown}")
            if inside is not None and inside.isEnabled() and not explained:
                found.append(f"{widget.objectName()}: {widget.toolTip()}")
        return found

    for spec in window.panels.specs:
        window.docks.open(spec.name)
    assert unexplained() == []
    open_run(qtbot, window, make_run(runs_dir))
    assert unexplained() == []
    for state in (SessionState.STARTING, SessionState.RUNNING, SessionState.STOPPING):
        window.toolbar.show_state(state)
        window.panels.set_busy(True)
        assert unexplained() == []
    window.panels.set_busy(False)


@pytest.mark.own_window
@pytest.mark.slow
def test_the_fields_of_setup_stay_where_they_are_while_hints_come_and_go(
    qtbot, window, find
) -> None:
    names = ("preset_combo", "variant_combo", "seed_spin", "seeds_edit", "steps_spin")
    toggle = find("setup_disk")

    def places() -> list[int]:
        # Layouts are asked for in events.
        QApplication.processEvents()
        return [find(name).mapTo(window, QPoint()).y() for name in names] + [
            toggle.geometry().bottom()
        ]

    before = places()
    described = sorted({preset.env for preset in load_presets().values() if preset.env})
    # The last one is half typed: nothing is known about it.
    for env in (*described, "Walker2DBulletEnv-v0", "Bip"):
        find("env_combo").setCurrentText(env)
        assert places() == before, env
    find("env_combo").setCurrentText("BipedalWalker-v3")
    for steps in (1, 1_000_000_000):
        find("steps_spin").setValue(steps)
        assert places() == before


def test_dragging_moves_the_plots_and_changes_no_scale(qtbot, window, runs_dir) -> None:
    open_run(qtbot, window, make_run(runs_dir))
    card = window.plots.card("plot_return")
    box, view = card.plot.getViewBox(), card.plot.viewport()
    box.setXRange(200, 600, padding=0)
    (low, high), (bottom, top) = box.viewRange()
    start = view.rect().center()

    def mouse(kind: QEvent.Type, at: QPoint, buttons: Qt.MouseButton) -> None:
        left = Qt.MouseButton.LeftButton
        button = Qt.MouseButton.NoButton if kind is QEvent.Type.MouseMove else left
        place, outside = QPointF(at), QPointF(view.mapToGlobal(at))
        keys = Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(view, QMouseEvent(kind, place, outside, button, buttons, keys))

    mouse(QEvent.Type.MouseButtonPress, start, Qt.MouseButton.LeftButton)
    for along in range(10, 61, 10):
        mouse(QEvent.Type.MouseMove, start + QPoint(along, along // 2), Qt.MouseButton.LeftButton)
    mouse(QEvent.Type.MouseButtonRelease, start + QPoint(60, 30), Qt.MouseButton.NoButton)
    (low_now, high_now), (bottom_now, top_now) = box.viewRange()
    assert low_now < low
    assert high_now - low_now == pytest.approx(high - low)
    assert bottom_now > bottom
    assert top_now - bottom_now == pytest.approx(top - bottom)
    # All plots are moved along, and new data does not take the view away.
    assert window.plots.card("plot_q").plot.getViewBox().viewRange()[0] == [low_now, high_now]
    window.model.curves_changed.emit()
    qtbot.waitUntil(lambda: not window.plots.redraw_pending, timeout=WAIT_MS)
    assert box.viewRange()[0] == [low_now, high_now]


@pytest.mark.parametrize(
    ("stopped", "word", "colour"),
    [("user", "stopped", "muted"), ("finished", "finished", "good"), ("failed", "failed", "bad")],
)
def test_a_run_is_green_only_if_it_is_complete(
    qtbot, window, find, runs_dir, stopped: str, word: str, colour: str
) -> None:
    open_run(qtbot, window, make_run(runs_dir, stopped=stopped, message="It broke."))
    text = find("status_state").text()
    assert word in text
    assert getattr(window.theme, colour) in text
    assert (window.theme.good in text) == (stopped == "finished")


def test_the_time_left_follows_the_speed_of_learning_and_is_estimated_before(
    window, find, runs_dir
) -> None:
    run = make_run(runs_dir, learning_starts=400)
    tell = window.model.handle
    started = {"env_steps": 0, "device": "cpu", "threads": 1}
    tell(events.Started(run=run.path, config=run.config, tunables=run.first_tunables, **started))
    window.status.show_state(SessionState.RUNNING)
    nothing = np.empty((0, 8), np.float32)
    common = {"env_steps": 500, "episodes": 5, "revision": 0, "tunables": run.first_tunables}
    for speed, updates, wall_s, left, short in (
        (9999.0, 0, 10.0, "estimating time left", "estimating"),
        (0.5, 1, 10.1, "estimating time left", "estimating"),
        (5.0, 6, 11.1, "2 min left", "2 min"),
        (50.0, 20, 12.0, "10 s left", "10 s"),
    ):
        report = events.Progress(
            updates=updates,
            phase=events.Phase.LEARNING if updates else events.Phase.WARM_UP,
            steps_per_s=speed,
            wall_s=wall_s,
            training=nothing,
            exploration_noise=0.1,
            **common,
        )
        tell(report)
        assert find("status_numbers").text().endswith(left)
        assert find("headline_left").text() == short


def apart(first: QColor, second: QColor) -> float:
    """Return the distance of two colours, on a scale of 441."""
    return float(np.linalg.norm(np.subtract(first.getRgb()[:3], second.getRgb()[:3])))


@pytest.mark.slow
def test_the_selection_follows_the_theme(qtbot, window, runs_dir) -> None:
    run = make_run(runs_dir)
    window.show_runs()
    qtbot.waitUntil(lambda: run.path.absolute() in window.runs.model.rows, timeout=WAIT_MS)
    window.runs.view.choose([run.path.absolute()], run.path.absolute())
    view = window.runs.view
    for _ in range(2):
        window.switch_theme()
        accent = QColor(window.theme.accent)
        assert window.log.palette().color(QPalette.ColorRole.Highlight) == accent
        row = view.visualRect(view.currentIndex())
        picture = view.viewport().grab(row).toImage()
        ground = picture.pixelColor(picture.width() - 3, 3)
        panel = QColor(window.theme.panel)
        assert apart(ground, accent) < 40 < apart(ground, panel)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (999.94, "999.9"),
        (1234.0, "1,234"),
        (6000.0, "6,000"),
        (12345.6, "12,346"),
        (-0.25, "−0.25"),
    ],
)
def test_thousands_are_grouped_in_every_number(value: float, text: str) -> None:
    assert format_number(value) == text


def test_the_controls_of_a_comparison_are_whole_in_a_small_window(
    qtbot, window, find, runs_dir
) -> None:
    window.resize(1024, 700)
    runs = [make_run(runs_dir, seed=seed).path for seed in range(2)]
    with qtbot.waitSignal(window.comparison.session.opened, timeout=WAIT_MS):
        window.comparison.session.compare(runs)
    QApplication.processEvents()
    for name in ("group", "x", "metric"):
        combo = find(f"compare_{name}_combo")
        text = combo.fontMetrics().horizontalAdvance(combo.currentText())
        # The frame and the arrow take 30 pixels.
        assert combo.width() >= text + 30, name
    heading = find("compare_heading")
    assert heading.shown == heading.text()


@pytest.mark.own_window
@pytest.mark.slow
def test_the_name_of_an_axis_ends_with_the_axis(qtbot, window, runs_dir) -> None:
    open_run(qtbot, window, make_run(runs_dir))
    axis = window.plots.card("plot_return").plot.getAxis("left")
    name = axis.labelText
    assert name == "return per episode"
    window.docks.open("runs")
    # Where it would take height from the plots; by default it goes beside them.
    window.addDockWidget(Qt.DockWidgetArea.BottomDockWidgetArea, window.docks.dock("runs"))
    window.resize(1024, 700)
    window.resizeDocks([window.docks.dock("runs")], [290], Qt.Orientation.Vertical)
    # It is elided, or left out where too little of it fits.
    qtbot.waitUntil(lambda: axis.labelText != name, timeout=5_000)
    assert axis.toolTip() == name
    assert axis.label.boundingRect().width() <= axis.height() + 12
    # A small plot has no names, whatever its size.
    assert not window.plots.card("plot_q").plot.getAxis("left").label.isVisible()
    window.docks.close("runs")
    window.resize(1280, 900)
    qtbot.waitUntil(lambda: axis.labelText == name, timeout=5_000)


def test_a_second_click_on_the_list_of_shortcuts_opens_no_second_one(window) -> None:
    for _ in range(2):
        window.toolbar.action("keys").trigger()
    (dialog,) = window.findChildren(ShortcutsDialog)
    assert dialog.isVisible()
    dialog.close()
