"""What the panel of sweeps shows of trials in a narrow dock: whole numbers, whole sentences."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QLabel, QWidget

from studio.consent.code_consent import CodeConsent
from studio.experiments.sweep_panel import SweepPanel
from studio.experiments.sweep_plots import SweepPlots, View
from studio.experiments.sweep_table import SORT, TrialTable, words_of
from studio.formatting import format_value
from studio.theme.theme import load_theme
from td3core.cli.experiments.sweep_progress import trials_table
from td3core.config import label_of
from td3core.experiments.sweeps.folder import SweepFolder, SweepState, TrialState
from td3core.protocol.importance import too_few_trials
from td3core.protocol.trial_status import TrialStatus
from td3core.system.files import make_folder
from tests.support.mouse import double_click, turn_wheel

PATIENCE_MS = 30_000
WIDTH = 330
SPACE = {
    "actor_lr": {"low": 1e-4, "high": 1e-2, "log": True, "whole": False},
    "tau": {"low": 0.005, "high": 0.1, "log": True, "whole": False},
}


def state_of(trials: int, folder: Path = Path()) -> SweepState:
    done = tuple(
        TrialState(
            number=number,
            state=TrialStatus.DONE,
            settings={"actor_lr": 1e-4 * 2**number, "tau": 0.005 * 1.5**number},
            value=-1474.0 + 200 * number,
            env_steps=1500,
        )
        for number in range(trials)
    )
    return SweepState(
        name="narrow",
        environment="Pendulum-v1",
        objective="last_eval",
        path=str(folder),
        wanted=6,
        trials=done,
        space=SPACE,
    )


@pytest.fixture
def plots(qtbot) -> SweepPlots:
    plots = SweepPlots(load_theme("light"))
    qtbot.addWidget(plots)
    plots.resize(193, 620)
    plots.show()
    plots.show_state(state_of(6))
    return plots


def test_the_values_of_trials_are_written_as_elsewhere_in_the_window() -> None:
    values = (True, 300_000, 123_456.0, 0.00012345678, [64, 64], [])
    names = tuple(f"searched_{n}" for n in range(len(values)))
    (trial,) = state_of(1).trials
    settings = dict(zip(names, values, strict=True))
    table = TrialTable(load_theme("light"))
    table.show_state(
        replace(
            state_of(0),
            trials=(replace(trial, settings=settings),),
            space={name: {"choices": [value]} for name, value in settings.items()},
        )
    )
    shown = [table.index(0, column).data() for column in range(3, table.columnCount())]
    assert shown == ["on", "300,000", "123456", "0.000123457", "64, 64", "none"]
    assert shown == [format_value(value) for value in values]


def note(plots: SweepPlots) -> str:
    return plots.findChild(QLabel, "sweep_note").text()


def test_every_slice_has_the_ends_of_its_setting_below_and_its_label(plots: SweepPlots) -> None:
    plots.show_view(View.SLICES)
    for row, (label, low, high) in enumerate(
        [("Actor learning rate", "0.0001", "0.01"), ("Target averaging", "0.005", "0.1")]
    ):
        axis = plots.area.getItem(row, 0).getAxis("bottom")
        assert axis.labelText == label
        assert drawn(plots, axis) == [low, high]
    assert plots.area.getItem(0, 1) is None
    plots.resize(600, 620)
    assert plots.area.getItem(0, 1) is not None


def test_a_trial_whose_algorithm_fixes_a_setting_is_drawn_with_the_others(
    qtbot, plots: SweepPlots
) -> None:
    state = state_of(6)
    fixed = replace(state.trials[2], settings={"actor_lr": 1e-3})
    state = replace(state, trials=(*state.trials[:2], fixed, *state.trials[3:]))
    plots.show_state(state)
    for view in View:
        plots.show_view(view)
        plots.area.grab()
    plots.show_view(View.SLICES)
    (points,) = plots.area.getItem(1, 0).listDataItems()
    assert np.isfinite(points.getData()[0]).sum() == 5
    table = TrialTable(load_theme("light"))
    table.show_state(state)
    assert [
        table.data(table.index(2, 4), role) for role in (Qt.ItemDataRole.DisplayRole, SORT)
    ] == ["", -np.inf]


def ranges(plots: SweepPlots) -> list[list[float]]:
    """Return what the first plot shows along x and y."""
    plots.grab()
    return plots.area.getItem(0, 0).getViewBox().viewRange()


def zoom(plots: SweepPlots) -> list[list[float]]:
    """Turn the wheel in the first plot; return what it shows then."""
    box = plots.area.getItem(0, 0).getViewBox()
    middle = plots.area.mapFromScene(box.sceneBoundingRect().center())
    turn_wheel(plots.area.viewport(), at=middle)
    return ranges(plots)


def test_a_running_sweep_draws_only_new_trials(
    plots: SweepPlots, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn_at: list[int] = []
    monkeypatch.setattr(plots, "draw", lambda: drawn_at.append(len(plots._trials())))
    begun = TrialState(number=6, state=TrialStatus.RUNNING, settings={"tau": 0.01})
    state = replace(state_of(6), running=True)
    state = replace(state, trials=(*state.trials, begun))
    plots.show_state(state)
    assert drawn_at == [7]
    later = replace(begun, value=-900.0, env_steps=1_000)
    plots.show_state(replace(state, seconds=9.0, time_left_s=3.0))
    plots.show_state(replace(state, trials=(*state.trials[:6], later)))
    assert drawn_at == [7]
    ended = replace(later, state=TrialStatus.DONE)
    plots.show_state(replace(state, trials=(*state.trials[:6], ended)))
    assert drawn_at == [7, 7]


@pytest.mark.parametrize("view", [View.BEST, View.PARALLEL, View.SLICES])
@pytest.mark.slow
def test_what_is_zoomed_in_a_view_stays_when_trials_are_added(
    plots: SweepPlots, view: View
) -> None:
    plots.show_state(state_of(4))
    plots.show_view(view)
    fitted = ranges(plots)
    zoomed = zoom(plots)
    assert zoomed != fitted
    plots.show_state(state_of(6))
    plots.set_theme(load_theme("dark"))
    assert ranges(plots) == zoomed
    double_click(plots.area.viewport())
    whole = ranges(plots)
    assert whole != zoomed
    assert zoom(plots) != whole
    plots.show_view(View.IMPORTANCE)
    plots.show_view(view)
    assert ranges(plots) == whole
    assert zoom(plots) != whole
    # Another sweep is shown in full, too.
    plots.show_state(replace(state_of(6), name="other"))
    assert ranges(plots) == whole


def test_only_the_rows_of_trials_that_changed_are_drawn_again(qtbot) -> None:
    begun = TrialState(number=6, state=TrialStatus.RUNNING, settings={"tau": 0.01})
    state = replace(state_of(6), running=True)
    state = replace(state, trials=(*state.trials, begun))
    table = TrialTable(load_theme("light"))
    table.show_state(state)
    rows: list[tuple[int, int]] = []
    table.dataChanged.connect(lambda first, last: rows.append((first.row(), last.row())))
    table.show_state(replace(state, seconds=1.0))
    assert rows == []
    later = replace(begun, value=-900.0, state=TrialStatus.DONE)
    table.show_state(replace(state, trials=(*state.trials[:6], later)))
    assert rows == [(6, 6)]
    best = replace(begun, value=9.0, state=TrialStatus.DONE)
    table.show_state(replace(state, trials=(*state.trials[:6], best)))
    # The sixth is no longer the best.
    assert rows == [(6, 6), (5, 6)]


def test_a_value_that_no_logarithm_has_is_not_drawn(plots: SweepPlots) -> None:
    state = state_of(6)
    beyond = replace(state.trials[2], settings={"actor_lr": 0.0, "tau": -1.0})
    plots.show_view(View.SLICES)
    plots.show_state(replace(state, trials=(*state.trials[:2], beyond, *state.trials[3:])))
    for row in range(2):
        (points,) = plots.area.getItem(row, 0).listDataItems()
        assert np.isfinite(points.getData()[0]).sum() == 5


def test_negative_values_have_a_minus_sign(qtbot, plots: SweepPlots) -> None:
    plots.show_view(View.SLICES)
    axis = plots.area.getItem(0, 0).getAxis("left")
    qtbot.waitUntil(lambda: bool(drawn(plots, axis)))
    assert all(each.startswith("−") for each in drawn(plots, axis))


def test_numbers_of_an_axis_have_thousands_separators(plots: SweepPlots) -> None:
    plots.show_view(View.SLICES)
    axis = plots.area.getItem(0, 0).getAxis("left")
    assert axis.tickStrings([-1500.0, 12_000.0, 0.0], 1.0, 500.0) == ["−1,500", "12,000", "0"]


def test_no_trial_is_numbered_that_there_is_not(plots: SweepPlots) -> None:
    plots.show_view(View.BEST)
    axis = plots.area.getItem(0, 0).getAxis("bottom")
    assert drawn(plots, axis) == ["0", "1", "2", "3", "4", "5"]


SIX = {
    name: {"low": 0.005, "high": 0.1, "log": True, "whole": False}
    for name in ("actor_lr", "critic_lr", "tau", "exploration_noise", "policy_noise", "noise_clip")
}


@pytest.mark.parametrize(("width", "height"), [(193, 620), (240, 420), (340, 300), (700, 420)])
@pytest.mark.parametrize("axes", [2, 4, 6])
def test_no_label_of_a_parallel_axis_covers_another(
    qtbot, plots: SweepPlots, width: int, height: int, axes: int
) -> None:
    plots.show_view(View.PARALLEL)
    names = list(SIX)[:axes]
    state = state_of(6)
    settings = dict.fromkeys(names, 0.05)
    trials = tuple(replace(each, settings=settings) for each in state.trials)
    plots.show_state(replace(state, space={n: SIX[n] for n in names}, trials=trials))
    plots.resize(width, height)
    plots.area.grab()
    texts = [i for i in plots.area.getItem(0, 0).items if isinstance(i, pg.TextItem)]
    assert len(texts) == 3 * (axes + 1)
    places = [each.textItem.mapRectToScene(ink(each)) for each in texts]
    area = QRectF(plots.area.rect())
    assert all(area.contains(place) for place in places)
    for one, other in combinations(places, 2):
        assert not one.intersects(other)
    tips = [each.toolTip() for each in texts if each.toolTip()]
    assert tips == [*map(label_of, names), "last_eval"]


def ink(label: pg.TextItem) -> QRectF:
    """Return the place of a label without the margin around it."""
    margin = label.textItem.document().documentMargin()
    return label.textItem.boundingRect().adjusted(margin, margin, -margin, -margin)


def test_importance_says_whether_it_is_computed_or_lacks_trials(qtbot, plots: SweepPlots) -> None:
    plots.show_view(View.IMPORTANCE)
    assert note(plots) == "Computing…"
    plots.show_importance({})
    assert note(plots) == "Shown after 20 completed trials; there are 6 so far."
    assert str(too_few_trials(1)) == "Shown after 20 completed trials; there is 1 so far."
    plots.show_importance({}, missing="The study cannot be read.")
    assert note(plots) == "The study cannot be read."
    about = plots.findChild(QLabel, "sweep_about")
    assert not about.isVisible()
    plots.show_importance({"tau": 0.7, "actor_lr": 0.3}, 24)
    assert note(plots) == ""
    assert about.isVisible()
    assert about.text().startswith("How much the best tenth of 24 trials differ")
    axis = plots.area.getItem(0, 0).getAxis("left")
    labels = ["Actor\nlearning\nrate", "Target\naveraging"]
    qtbot.waitUntil(lambda: drawn(plots, axis) == labels)
    plots.show_view(View.BEST)
    assert not about.isVisible()


@pytest.mark.parametrize("height", [110, 160, 240, 420])
def test_no_name_of_an_importance_covers_another(qtbot, plots: SweepPlots, height: int) -> None:
    plots.show_view(View.IMPORTANCE)
    plots.show_importance({name: 0.5 / 2**place for place, name in enumerate(SIX)}, 24)
    plots.resize(300, height)
    axis = plots.area.getItem(0, 0).getAxis("left")
    qtbot.waitUntil(lambda: 0 < plots.area.height() < height and bool(painted(plots, axis)))
    found = painted(plots, axis)
    for (one, _), (other, _) in combinations(found, 2):
        assert not one.intersects(other)
    most = next(iter(SIX))
    assert label_of(most) in [text.replace("\n", " ") for _, text in found]
    assert height < 240 or len(found) == len(SIX)


def test_plots_are_no_wider_than_their_place_after_a_sentence(plots: SweepPlots) -> None:
    plots.show_view(View.IMPORTANCE)
    plots.grab()
    plots.show_importance({"tau": 0.7, "actor_lr": 0.3})
    plots.grab()
    item = plots.area.getItem(0, 0)
    assert item.mapToScene(QPointF(item.size().width(), 0)).x() <= plots.area.width()


def test_the_values_of_trials_that_came_later_are_shown_in_full(qtbot, tmp_path: Path) -> None:
    make_folder(tmp_path / "sweeps" / "narrow")
    folder = SweepFolder(tmp_path, "narrow")
    (folder.path / "sweep.toml").write_text("")
    outer = QWidget()
    qtbot.addWidget(outer)
    panel = SweepPanel(tmp_path, CodeConsent(outer), load_theme("light"), outer)
    panel.resize(WIDTH, 620)
    outer.show()
    for trials in (0, 6):
        folder.write_state(state_of(trials, folder.path))
        panel.look()
        qtbot.waitUntil(lambda: len(panel.table.trials) == trials, timeout=PATIENCE_MS)  # noqa: B023
        qtbot.waitUntil(lambda: panel.name == "narrow", timeout=PATIENCE_MS)
    cell = panel.view.visualRect(panel.view.model().index(5, 2))
    assert panel.view.viewport().rect().contains(cell)
    assert cell.width() >= panel.view.sizeHintForColumn(2)
    # The plots have as much room: below the trials, or beside them where that is too low.
    across = panel.plots.width()
    assert across > panel.view.x() + WIDTH * 0.9
    panel.resize(WIDTH, 300)
    qtbot.waitUntil(lambda: panel.plots.width() < across)
    assert panel.plots.width() >= 130
    panel.resize(2 * WIDTH, 620)
    qtbot.waitUntil(lambda: panel.plots.x() > panel.view.geometry().right())
    assert panel.plots.width() >= 260
    panel.shutdown()


def drawn(plots: SweepPlots, axis) -> list[str]:
    """Return the labels of an axis that are painted, from left to right or from below."""
    across = axis.orientation == "bottom"
    labels = painted(plots, axis)
    labels.sort(key=lambda each: each[0].center().x() if across else -each[0].center().y())
    return [text for _, text in labels]


def painted(plots: SweepPlots, axis) -> list[tuple[QRectF, str]]:
    """Return the labels of an axis that are painted, and where."""
    # Painting lays the plots out.
    plots.grab()
    page = QImage(10, 10, QImage.Format.Format_RGB32)
    painter = QPainter(page)
    _, _, labels = axis.generateDrawSpecs(painter)
    painter.end()
    return [(QRectF(place), text) for place, _, text in labels]


@pytest.mark.parametrize("running", [True, False])
def test_a_trial_runs_only_while_its_sweep_does(qtbot, capsys, running: bool) -> None:
    begun = TrialState(number=0, state=TrialStatus.RUNNING, settings={})
    state = replace(state_of(0), trials=(begun,), running=running)
    said = "running" if running else "stopped"
    table = TrialTable(load_theme("light"))
    table.show_state(state)
    assert table.index(0, 1).data() == said
    assert f"1 {said}" in words_of(state)
    trials_table(state)
    assert ("running" in capsys.readouterr().out) is running
