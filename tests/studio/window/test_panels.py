"""The dock panels: a panel that is registered gets everything from the window."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QPoint, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QDockWidget, QTabBar, QWidget

from studio.health.board import AdviceBoard
from studio.session.controller import RunController, SessionState
from studio.theme.theme import Theme, load_theme, take_off_theme
from studio.widgets.form_area import FormArea
from studio.window.main_window import MainWindow
from studio.window.panels import PANELS, PanelContext, PanelSpec
from td3core.analysis.advice import load_rules
from td3core.config import make_settings
from tests.studio.fake_runs import open_record
from tests.support.marks import slow


class Probe(QWidget):
    """A panel that implements every protocol and records the calls."""

    refused = Signal(str)

    def __init__(self, context: PanelContext) -> None:
        super().__init__()
        self.context = context
        self.themes: list[str] = []
        self.busy: list[bool] = []
        self.shutdowns = 0

    def set_theme(self, theme: Theme) -> None:
        self.themes.append(theme.name)

    def set_busy(self, busy: bool) -> None:
        self.busy.append(busy)

    def shutdown(self) -> None:
        self.shutdowns += 1


PROBE = PanelSpec(name="probe", title="Probe", side="right", make=Probe, size=300)


@pytest.fixture
def settings(tmp_path: Path) -> QSettings:
    return QSettings(str(tmp_path / "layout.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def build(
    qapp: QApplication, tmp_path: Path, settings: QSettings
) -> Iterator[Callable[..., MainWindow]]:
    """Return a function that builds a window with further panels, and close those windows."""
    built = []

    def make(*further: PanelSpec, without: str = "") -> MainWindow:
        take_off_theme(qapp)
        panels = (*(spec for spec in PANELS if spec.name != without), *further)
        window = MainWindow(tmp_path / "runs", settings, load_theme("light"), panels=panels)
        built.append(window)
        window.resize(1280, 1000)
        window.show()
        QApplication.processEvents()
        return window

    yield make
    for window in built:
        window.close()
        window.deleteLater()


def entry(window: MainWindow, title: str):
    return next(action for action in window.docks.menu.actions() if action.text() == title)


def test_todays_panels_keep_the_dock_names_that_saved_layouts_refer_to(window) -> None:
    names = [
        f"{name}_dock"
        for name in (
            *("setup", "live", "replay", "algorithm", "log", "runs", "many", "sweeps"),
            *("health", "instruments"),
        )
    ]
    assert [dock.objectName() for dock in window.findChildren(QDockWidget)] == names
    *panels, _, settings = window.docks.menu.actions()
    assert settings is window.toolbar.action("settings")
    assert [entry.text() for entry in panels] == [
        "Setup",
        "Live settings",
        "Replay",
        "Algorithm",
        "Log",
        "Runs",
        "Group and queue",
        "Sweeps",
        "Health",
        "Instruments",
    ]


def test_a_registered_panel_gets_parts_a_dock_an_entry_and_a_place_for_refusals(
    build, tmp_path
) -> None:
    window = build(PROBE)
    context = window.panels.get(Probe).context
    assert (context.model, context.controller) == (window.model, window.controller)
    assert context.runs_dir == tmp_path / "runs"
    dock = window.findChild(QDockWidget, "probe_dock")
    assert dock.isVisible()
    assert window.dockWidgetArea(dock) is Qt.DockWidgetArea.RightDockWidgetArea
    assert dock.geometry().top() > window.docks.dock("replay").geometry().bottom()
    entry(window, "Probe").trigger()
    assert not dock.isVisible()
    window.panels.get(Probe).refused.emit("There is no run to examine.")
    assert window.banner.isVisible()
    assert window.banner.text == "There is no run to examine."


@pytest.mark.slow
def test_a_panel_hears_of_themes_runs_and_the_end(build, monkeypatch) -> None:
    window = build(PROBE)
    panel = window.panels.get(Probe)
    window.switch_theme()
    assert panel.themes == ["light", "dark"]
    assert panel.busy == [False]
    # A run of another process, which is only followed, leaves the panels free.
    window.controller.state_changed.emit(SessionState.RUNNING)
    with monkeypatch.context() as patch:
        patch.setattr(RunController, "busy", property(lambda _: True))
        window.controller.state_changed.emit(SessionState.STARTING)
    window.controller.state_changed.emit(SessionState.IDLE)
    assert panel.busy == [False, False, True, False]
    assert panel.shutdowns == 0
    window.close()
    assert panel.shutdowns == 1


@pytest.mark.slow
def test_a_panel_may_be_a_plain_widget_and_closed_at_first(build) -> None:
    spec = PanelSpec(
        name="notes",
        title="Notes",
        side="right",
        make=lambda _: QWidget(),
        size=300,
        tabbed=True,
        hidden=True,
    )
    window = build(spec)
    dock = window.docks.dock("notes")
    assert not dock.isVisible()
    window.docks.open("notes")
    assert dock.isVisible()
    assert window.tabifiedDockWidgets(dock) == [window.docks.dock("replay")]
    window.switch_theme()


def test_a_window_without_the_panel_of_the_health_advises_nothing(build, monkeypatch) -> None:
    window = build(without="health")
    found = SimpleNamespace(rule=load_rules()[0])
    monkeypatch.setattr(AdviceBoard, "advice", property(lambda _: (found,)))
    window.health.board.changed.emit()
    assert not window.findChild(QWidget, "status_advice").isVisible()


def test_an_opened_panel_is_large_enough_to_be_of_use(build) -> None:
    window = build()
    window.docks.open("runs")
    QApplication.processEvents()
    assert window.docks.dock("runs").height() >= 290
    assert window.docks.is_seen("runs")
    window.docks.open("log")
    QApplication.processEvents()
    assert not window.docks.is_seen("runs")


def test_a_further_form_on_the_left_gets_a_share_of_what_setup_leaves(build) -> None:
    spec = PanelSpec(name="more", title="More", side="left", make=lambda _: QWidget(), size=292)
    window = build(spec)
    for _ in range(4):
        QApplication.processEvents()
    docks = [window.docks.dock(name) for name in ("setup", "live", "more")]
    setup, live, more = (dock.height() for dock in docks)
    assert abs(live - more) <= 10
    assert setup > live
    assert docks[0].widget().verticalScrollBar().maximum() == 0


@pytest.mark.slow
def test_a_moved_panel_is_where_it_was_in_the_next_window(build) -> None:
    first = build(PROBE)
    first.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, first.docks.dock("probe"))
    first.docks.close("log")
    first.docks.open("runs")
    first.close()
    second = build(PROBE)
    dock = second.docks.dock("probe")
    assert second.dockWidgetArea(dock) is Qt.DockWidgetArea.LeftDockWidgetArea
    assert second.docks.dock("runs").isVisible()


def test_a_panel_chosen_from_the_menu_comes_before_its_neighbours(qtbot, window) -> None:
    window.docks.open("many")
    window.docks.dock("sweeps").toggleViewAction().trigger()
    qtbot.waitUntil(lambda: window.docks.is_seen("sweeps"), timeout=5_000)
    assert not window.docks.is_seen("many")


def dock_of(window: MainWindow, name: str) -> QDockWidget:
    return window.docks.dock(name)


@pytest.mark.parametrize("name", ["runs", "many", "sweeps"])
def test_a_panel_that_would_squeeze_the_plots_is_a_tab_on_the_right(
    qtbot, window, find, name: str
) -> None:
    open_record(window, config=make_settings({"env": "Pendulum-v1"})[0])
    window.docks.open(name)
    qtbot.waitUntil(lambda: window.docks.is_seen(name))
    assert dock_of(window, "replay") in window.tabifiedDockWidgets(dock_of(window, name))
    assert window.plots.card("plot_return").plot.height() >= 200
    if name == "runs":
        assert find("runs_search").width() >= 160
    window.docks.close(name)
    window.resize(1280, 1000)
    qtbot.waitUntil(lambda: window.centralWidget().height() > 900)
    window.docks.open(name)
    qtbot.waitUntil(lambda: window.docks.is_seen(name))
    area = window.dockWidgetArea(dock_of(window, name))
    assert area is Qt.DockWidgetArea.BottomDockWidgetArea
    assert window.docks.is_seen("replay")


@pytest.fixture
def font_scale(qapp: QApplication) -> Iterator[Callable[[float], None]]:
    before = qapp.font()

    def scale(by: float) -> None:
        font = QFont(before)
        font.setPointSizeF(before.pointSizeF() * by)
        qapp.setFont(font)

    yield scale
    qapp.setFont(before)


@pytest.mark.parametrize("scale", [*slow(1.25, 1.5), 2.0])
@pytest.mark.slow
def test_everything_can_be_reached_with_large_fonts(qtbot, font_scale, build, scale: float) -> None:
    font_scale(scale)
    window = build()
    window.resize(1280, 800)
    for name in ("runs", "many", "sweeps", "instruments", "log", "setup", "live", "replay"):
        window.docks.open(name)
        qtbot.waitUntil(lambda name=name: window.docks.is_seen(name))
        QApplication.processEvents()
        needed = window.minimumSizeHint()
        assert (needed.width() <= 1280, needed.height() <= 800) == (True, True), name
        assert window.size() == QSize(1280, 800)
    bottom = window.status.mapTo(window, window.status.rect().bottomRight())
    assert window.rect().contains(bottom)
    share = window.findChild(QWidget, "replay_share_button")
    assert share.isVisible()
    assert window.rect().contains(share.mapTo(window, share.rect().bottomRight()))


@pytest.mark.slow
def test_panels_fold_in_a_narrow_window_and_unfold_in_a_wide_one(qtbot, build) -> None:
    window = build()
    needed = window.minimumSizeHint().width()
    places = {name: window.dockWidgetArea(dock_of(window, name)) for name in ("live", "replay")}
    window.resize(needed - 100, 800)
    qtbot.waitUntil(lambda: window.docks.fold.folded)
    assert window.width() == needed - 100
    assert dock_of(window, "live") in window.tabifiedDockWidgets(dock_of(window, "replay"))
    window.docks.close("live")
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: not window.docks.fold.folded)
    assert {n: window.dockWidgetArea(dock_of(window, n)) for n in places} == places
    assert dock_of(window, "live").isHidden()
    assert not window.tabifiedDockWidgets(dock_of(window, "replay"))


@pytest.mark.slow
def test_another_theme_moves_no_panel_of_a_folded_window(qtbot, build) -> None:
    window = build()
    window.resize(853, 760)
    qtbot.waitUntil(lambda: window.docks.fold.folded and window.docks.is_seen("setup"))
    window.docks.open("live")
    qtbot.waitUntil(lambda: window.docks.is_seen("live"))
    centre = window.centralWidget().geometry()
    moved = []
    window.docks.fold.changed.connect(lambda: moved.append(window.docks.fold.folded))
    for _ in range(2):
        window.toolbar.action("theme").trigger()
        for _ in range(10):
            QApplication.processEvents()
    assert moved == []
    assert window.docks.is_seen("live")
    assert window.centralWidget().geometry() == centre


def test_panels_fold_to_the_left_whichever_was_raised_last(qtbot, build) -> None:
    window = build()
    for name in ("setup", "live"):
        dock_of(window, name).raise_()
    window.resize(853, 760)
    qtbot.waitUntil(lambda: window.docks.fold.folded)
    left = Qt.DockWidgetArea.LeftDockWidgetArea
    assert window.dockWidgetArea(dock_of(window, "replay")) == left
    assert window.dockWidgetArea(dock_of(window, "setup")) == left


@pytest.mark.slow
def test_panels_opened_and_closed_in_a_folded_window_are_so_at_the_next_start(qtbot, build) -> None:
    window = build()
    places = {name: window.dockWidgetArea(dock_of(window, name)) for name in ("live", "replay")}
    window.resize(853, 533)
    qtbot.waitUntil(lambda: window.docks.fold.folded)
    window.docks.open("log")
    window.docks.close("replay")
    window.close()
    window = build()
    assert not window.docks.fold.folded
    assert not dock_of(window, "log").isHidden()
    assert dock_of(window, "replay").isHidden()
    assert {n: window.dockWidgetArea(dock_of(window, n)) for n in places} == places


@pytest.mark.slow
def test_what_is_too_wide_for_a_folded_window_scrolls_sideways(qtbot, font_scale, build) -> None:
    font_scale(2.0)
    window = build()
    window.resize(1024, 700)
    for panel, name in (("many", "queue_remove_button"), ("sweeps", "sweep_stop_button")):
        window.docks.open(panel)
        qtbot.waitUntil(lambda panel=panel: window.docks.is_seen(panel))
        qtbot.waitUntil(lambda: window.minimumSizeHint().width() <= 1024)
        button = window.findChild(QWidget, name)

        def end(button: QWidget = button) -> QPoint:
            return button.mapTo(window, button.rect().bottomRight())

        qtbot.waitUntil(lambda: window.rect().contains(end()))
    bar = window.findChild(FormArea, "centre_area").horizontalScrollBar()
    qtbot.waitUntil(lambda: bar.isVisible() and bar.maximum() > 0)
    font_scale(1.0)
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: not window.docks.fold.folded and not bar.isVisible())
    off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
    areas = window.findChildren(FormArea)
    qtbot.waitUntil(lambda: {area.horizontalScrollBarPolicy() for area in areas} == {off})


@pytest.mark.parametrize("size", [(853, 533), (640, 400)])
@pytest.mark.slow
def test_every_panel_is_whole_or_scrolls_in_a_low_window(
    qtbot, build, size: tuple[int, int]
) -> None:
    """A display of 1280 x 800 at a scale of 150 and of 200 percent."""
    window = build()
    window.resize(*size)
    qtbot.waitUntil(lambda: window.docks.fold.folded)
    assert window.size() == QSize(*size)
    qtbot.waitUntil(lambda: window.docks.is_seen("setup"))
    assert not window.findChild(QWidget, "qt_toolbar_ext_button").isVisible()
    for name in ("setup", "live", "replay", "runs", "many"):
        entry(window, dock_of(window, name).windowTitle()).trigger()
        if not window.docks.is_seen(name):
            window.docks.open(name)
        qtbot.waitUntil(lambda name=name: window.docks.is_seen(name))
        tabs = next(
            bar
            for bar in window.findChildren(QTabBar)
            if bar.count() > 1 and window.rect().contains(bar.geometry())
        )
        dock = dock_of(window, name)
        qtbot.waitUntil(lambda dock=dock, tabs=tabs: dock.geometry().bottom() <= tabs.y())
        assert tabs.geometry().bottom() < window.status.y(), name
        assert window.size() == QSize(*size)
        centre = window.centralWidget()
        assert centre.width() >= centre.minimumSizeHint().width()


def test_a_panel_behind_others_is_raised_by_the_menu_and_hidden_once_it_is_seen(
    qtbot, window
) -> None:
    window.resize(853, 533)
    qtbot.waitUntil(lambda: window.docks.fold.folded and window.docks.is_seen("setup"))
    choose = entry(window, "Replay")
    choose.trigger()
    qtbot.waitUntil(lambda: window.docks.is_seen("replay"))
    assert choose.isChecked()
    choose.trigger()
    assert dock_of(window, "replay").isHidden()
    assert not choose.isChecked()


def test_folding_shows_the_panel_that_is_in_use(qtbot, window, find) -> None:
    window.activateWindow()
    find("slider_tau").setFocus()
    window.resize(853, 533)
    qtbot.waitUntil(lambda: window.docks.fold.folded)
    qtbot.waitUntil(lambda: window.docks.is_seen("live"))


def test_a_form_fills_the_height_of_a_place_that_it_shares(qtbot, window) -> None:
    window.resize(853, 760)
    qtbot.waitUntil(lambda: window.docks.fold.folded and window.docks.is_seen("setup"))
    dock, direct = dock_of(window, "setup"), Qt.FindChildOption.FindDirectChildrenOnly

    def tops() -> list[int]:
        """Return where the rows of tabs of more than one panel begin."""
        rows = window.findChildren(QTabBar, options=direct)
        return [row.geometry().top() for row in rows if row.count() > 1]

    # Room between them would belong to no panel.
    qtbot.waitUntil(lambda: tops() == [dock.geometry().bottom() + 1])
    assert dock.widget().geometry().bottom() == dock.rect().bottom()
    assert dock.widget().height() > dock.widget().wanted_height()


def test_tab_stops_at_no_row_of_tabs_that_cannot_be_seen(qtbot, window) -> None:
    for name in ("many", "runs"):
        window.docks.open(name)
        qtbot.waitUntil(lambda name=name: window.docks.is_seen(name))
    # One is in front, the other covered.
    for name in ("many", "runs"):
        window.docks.close(name)
    qtbot.waitUntil(lambda: window.docks.is_seen("replay"))
    stops = Qt.FocusPolicy.TabFocus
    qtbot.waitUntil(
        lambda: all(
            not bar.visibleRegion().isEmpty()
            for bar in window.findChildren(QTabBar)
            if bar.isVisible() and bar.focusPolicy() & stops
        )
    )


def test_the_replay_keeps_its_share_of_a_window_that_grows_and_shrinks(qtbot, window) -> None:
    window.resize(1280, 800)
    dock = window.docks.dock("replay")
    qtbot.waitUntil(lambda: window.width() == 1280 and dock.width() >= 400)
    share = dock.width() / 1280
    window.resize(2560, 1440)
    qtbot.waitUntil(lambda: abs(dock.width() / 2560 - share) < 0.01)
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: abs(dock.width() / 1280 - share) < 0.01)


@pytest.mark.slow
def test_a_late_panel_is_made_when_it_is_opened_and_told_what_it_has_missed(build) -> None:
    made: list[Probe] = []

    def make(context: PanelContext) -> Probe:
        made.append(Probe(context))
        return made[-1]

    spec = PanelSpec(
        name="late", title="Late", side="right", make=make, size=300, hidden=True, late=True
    )
    window = build(spec)
    window.switch_theme()
    window.panels.set_busy(True)
    assert not made
    entry(window, "Late").trigger()
    (panel,) = made
    assert panel.isVisible()
    assert panel.context.theme is window.theme
    assert panel.busy == [True]
    panel.refused.emit("Too late.")
    assert window.banner.text == "Too late."
    window.docks.close("late")
    window.docks.open("late")
    assert made == [panel]
    window.close()
    assert panel.shutdowns == 1
    # It was open when the window closed.
    again = build(spec)
    assert len(made) == 2
    assert again.docks.dock("late").widget() is made[1]
    assert made[1].isVisible()


@pytest.mark.slow
def test_a_late_panel_behind_a_tab_is_made_when_the_tab_is_chosen(qtbot, build) -> None:
    first = build()
    first.docks.open("sweeps")
    first.docks.open("many")
    first.close()
    window = build()
    assert window.docks.is_seen("many")
    assert window.panels.if_made("sweeps") is None
    window.docks.dock("sweeps").raise_()
    qtbot.waitUntil(lambda: window.docks.is_seen("sweeps"), timeout=5_000)
    assert window.findChild(QWidget, "sweep_combo").isVisible()


def test_a_sweep_that_trains_in_the_background_opens_its_panel(qtbot, build, monkeypatch) -> None:
    monkeypatch.setattr("studio.experiments.many_runs.running_sweep", lambda _: "night")
    window = build()
    qtbot.waitUntil(lambda: window.docks.is_seen("sweeps"), timeout=5_000)
    assert window.panels.if_made("sweeps") is not None
