"""Several runs on the plots: choose, compare, hide, another axis, numbers, and the way back."""

import csv
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QComboBox, QFileDialog, QSlider, QTreeWidget, QWidget

from studio.plots.compare import session as sessions
from studio.plots.compare.grid import COMPARED
from studio.plots.compare.layer import colour_of, style_of
from studio.plots.compare.run_set import RunSet, read_returns
from studio.plots.compare.table import CompareTable
from studio.plots.compare.view import RunComparisonView
from studio.plots.explanation import ExplanationPopup
from studio.theme.theme import load_theme
from td3core.analysis.comparison import compare, improvement
from td3core.analysis.results import read_results
from td3core.analysis.wording import estimate_text
from td3core.config import sign_of
from td3core.protocol.metrics import TRAINING_COLUMNS
from td3core.runs.directory import RunDirectory
from td3core.runs.metadata import RunLabel, write_label
from tests.studio.disk_guard import DiskGuard
from tests.studio.fake_runs import make_run
from tests.studio.plots.layers import lines_of
from tests.studio.run_browser.runs_list import action
from tests.studio.window.test_details import plain_text
from tests.studio.window.test_main_job import click
from tests.td3core.analysis.many_runs import CAR, two_groups, write_run

pytestmark = pytest.mark.shared_window

CHECKED, UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked


def choose_runs(qtbot, window, find, paths) -> None:
    click(qtbot, find("runs_button"))
    qtbot.waitUntil(lambda: all(path in window.runs.model.rows for path in paths))
    window.runs.view.choose(list(paths), paths[-1])


def settle(qtbot, window) -> None:
    session = window.comparison.session
    qtbot.waitUntil(lambda: session.active and not session.busy, timeout=20_000)
    qtbot.waitUntil(lambda: not window.comparison.plots.redraw_pending)


def start(qtbot, window, find, paths) -> None:
    choose_runs(qtbot, window, find, paths)
    click(qtbot, find("runs_compare_button"))
    settle(qtbot, window)


class Alone:
    """The comparison without its window."""

    def __init__(self) -> None:
        self.comparison = RunComparisonView(load_theme("light"))
        self.said: list[str] = []
        self.comparison.refused.connect(self.said.append)

    def find(self, name: str) -> QWidget:
        found = self.comparison.findChild(QWidget, name)
        assert found is not None, name
        return found

    def start(self, qtbot, paths) -> None:
        self.comparison.session.compare(paths)
        settle(qtbot, self)


@pytest.fixture
def alone(qtbot) -> Iterator[Alone]:
    made = Alone()
    qtbot.addWidget(made.comparison)
    made.comparison.resize(700, 700)
    made.comparison.show()
    yield made
    made.comparison.shutdown()


def lines(window, plot: str = "compare_return"):
    return [(line.x, line.y) for line in lines_of(window.comparison.plots.card(plot))]


def pick(qtbot, window, find, name: str, text: str) -> None:
    combo = find(name)
    assert isinstance(combo, QComboBox)
    at = combo.findText(text)
    combo.setCurrentIndex(at)
    combo.activated.emit(at)
    settle(qtbot, window)


def row(find, at: int):
    tree = find("compare_table")
    assert isinstance(tree, QTreeWidget)
    return tree.topLevelItem(at)


@pytest.fixture
def groups(runs_dir: Path) -> list[Path]:
    return two_groups(runs_dir, seeds=3)


@pytest.mark.slow
def test_the_keyboard_goes_to_the_table_of_a_comparison_and_on_to_the_large_plot(
    qtbot, window, find, groups
) -> None:
    choose_runs(qtbot, window, find, groups)
    qtbot.waitUntil(window.runs.view.hasFocus)
    find("runs_compare_button").click()
    settle(qtbot, window)
    assert window.focusWidget() is find("compare_table")
    # As the start of a run does.
    window.comparison.session.close()
    assert window.focusWidget() is window.plots.card(window.plots.large).plot


def test_a_comparison_leaves_the_focus_in_a_field_that_stays(qtbot, window, find, groups) -> None:
    find("seeds_edit").setFocus()
    qtbot.waitUntil(find("seeds_edit").hasFocus)
    window.comparison.session.compare(groups)
    settle(qtbot, window)
    assert window.focusWidget() is find("seeds_edit")
    window.comparison.session.close()
    assert window.focusWidget() is find("seeds_edit")


def test_the_runs_chosen_are_shown_as_groups_with_the_numbers_of_the_core(
    qtbot, window, find, groups
) -> None:
    wanted = compare([read_results(path) for path in groups], called=sign_of)
    start(qtbot, window, find, groups)
    assert window.comparison.isVisible()
    assert not window.plots.isVisible()
    assert (
        window.comparison.findChild(QWidget, "compare_heading").text()
        == "Comparing 6 runs in 2 groups"
    )
    assert "fewer than 5 runs" in find("compare_notes").text()
    tree = find("compare_table")
    assert [tree.headerItem().text(at) for at in range(5)] == [
        "Group",
        "Runs",
        "Final",
        "Best",
        "τ",
    ]
    for each in wanted.groups:
        item = next(item for item in (row(find, 0), row(find, 1)) if item.text(0) == each.name)
        assert item.text(1) == "3"
        assert item.text(2) == estimate_text(each.final)
        assert item.text(3) == estimate_text(each.best)
        assert item.text(4) == each.group.values("tau")
    better, worse = (find(f"compare_{name}_combo").currentText() for name in ("better", "worse"))
    named = {each.name: each for each in wanted.groups}
    chance = improvement(named[better], named[worse])
    assert find("compare_improvement").text() == f"= {estimate_text(chance, 2)}"
    assert sorted(y[-1] for _, y in lines(window)) == sorted(e.final.value for e in wanted.groups)


def test_a_maximised_plot_of_a_comparison_has_all_the_room_until_it_is_left(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    plots = alone.comparison.plots
    for name in COMPARED.values():
        card = plots.card(name.name)
        before = card.geometry()
        plots.maximise(name.name)
        qtbot.waitUntil(lambda card=card: card.geometry() == plots.rect(), timeout=5_000)
        plots.maximise("")
        qtbot.waitUntil(lambda card=card, at=before: card.geometry() == at, timeout=5_000)


@pytest.mark.slow
def test_a_group_is_hidden_and_one_of_its_runs_is_drawn(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    hidden = row(alone.find, 0).text(0)
    row(alone.find, 0).setCheckState(0, UNCHECKED)
    settle(qtbot, alone)
    assert len(lines(alone)) == 1
    assert hidden not in [each.text for each in card_legend(alone)]
    assert row(alone.find, 0).checkState(0) is UNCHECKED
    row(alone.find, 0).child(0).setCheckState(0, CHECKED)
    settle(qtbot, alone)
    assert len(lines(alone)) == 2
    row(alone.find, 0).setCheckState(0, CHECKED)
    settle(qtbot, alone)
    assert len(lines(alone)) == 3


def type_name(qtbot, alone, at: int, name: str) -> None:
    tree = alone.find("compare_table")
    tree.setCurrentItem(row(alone.find, at))
    qtbot.keyClick(tree, Qt.Key.Key_F2)
    field = alone.find("group_name_edit")
    # News of a training run must not remove the editor.
    alone.comparison.session.shown_changed.emit()
    field.clear()
    qtbot.keyClicks(field, name)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    # Qt adopts the name, and removes the editor, in the next event loop turn.
    qtbot.waitUntil(lambda: alone.comparison.findChild(QWidget, "group_name_edit") is None)
    settle(qtbot, alone)


@pytest.mark.slow
def test_a_group_has_the_name_that_is_typed_in_table_legend_and_figure(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    first, second = (row(alone.find, at).text(0) for at in (0, 1))
    refused: list[object] = []
    alone.comparison.refused.connect(refused.append)
    type_name(qtbot, alone, 0, "slow targets")
    session = alone.comparison.session
    assert row(alone.find, 0).text(0) == alone.find("compare_better_combo").itemText(0)
    assert [each.text for each in card_legend(alone)] == ["slow targets", second]
    assert [line.label for line in session.figure().lines] == [
        "slow targets (n = 3)",
        f"{second} (n = 3)",
    ]
    # A name is that of one group only.
    type_name(qtbot, alone, 1, "slow targets")
    assert [str(each) for each in refused] == ["Another group is called slow targets."]
    assert [row(alone.find, at).text(0) for at in (0, 1)] == ["slow targets", second]
    # It stays when the runs are read again, and is removed when reverted.
    alone.start(qtbot, groups)
    assert row(alone.find, 0).text(0) == "slow targets"
    type_name(qtbot, alone, 0, "")
    assert [row(alone.find, at).text(0) for at in (0, 1)] == [first, second]


def test_the_keyboard_stays_on_its_row_when_the_table_is_filled_again(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    tree = alone.find("compare_table")
    row(alone.find, 1).setExpanded(True)
    tree.setCurrentItem(row(alone.find, 1).child(2))
    # As once a second while a run trains.
    alone.comparison.session.shown_changed.emit()
    assert tree.currentItem() is row(alone.find, 1).child(2)
    row(alone.find, 1).setExpanded(False)
    alone.comparison.session.shown_changed.emit()
    assert tree.currentItem() is row(alone.find, 1)
    assert not row(alone.find, 1).isExpanded()
    type_name(qtbot, alone, 1, "slow targets")
    assert tree.currentItem().text(0) == "slow targets"


def test_the_parts_of_a_comparison_can_be_made_before_the_first_one(qtbot, alone, groups) -> None:
    alone.comparison.make_parts()
    alone.comparison.set_theme(load_theme("dark"))
    made = [alone.find("compare_table"), *alone.comparison.findChildren(QComboBox)]
    alone.start(qtbot, groups)
    assert [alone.find("compare_table"), *alone.comparison.findChildren(QComboBox)] == made
    assert row(alone.find, 0) is not None


def test_a_group_that_is_renamed_stays_expanded(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    row(alone.find, 1).setExpanded(True)
    type_name(qtbot, alone, 1, "slow targets")
    assert [row(alone.find, at).isExpanded() for at in (0, 1)] == [False, True]


def test_an_open_list_of_groups_stays_as_it_is_when_the_table_is_filled_again(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    better = alone.find("compare_better_combo")
    better.showPopup()
    better.view().setCurrentIndex(better.model().index(1, 0))
    alone.comparison.session.shown_changed.emit()
    assert better.view().currentIndex().row() == 1
    better.hidePopup()


def card_legend(window, plot: str = "compare_return"):
    return window.comparison.plots.card(plot).layers[0].legend()


def test_single_runs_have_a_colour_each_and_values_under_the_mouse(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    pick(qtbot, alone, alone.find, "compare_group_combo", "Single runs")
    assert len(lines(alone)) == 6
    assert len({each.colour for each in card_legend(alone)}) == 6
    card = alone.comparison.plots.card("compare_return")
    card.hovered.emit(QPointF(250.0, 0.0))
    assert card.readout.splitlines()[0] == "step 250"
    assert len(card.readout.splitlines()) == 7
    # The latest evaluation before step 250 is the second: the start of the group plus its seed + 1.
    assert card.readout.splitlines()[1].endswith(" 6")


@pytest.mark.slow
def test_runs_are_not_listed_at_steps_they_never_reached(qtbot, alone, runs_dir) -> None:
    short, long = write_run(runs_dir, [1.0, 2.0]), write_run(runs_dir, [5.0] * 10, seed=1)
    alone.start(qtbot, [short, long])
    pick(qtbot, alone, alone.find, "compare_group_combo", "Single runs")
    card = alone.comparison.plots.card("compare_return")
    card.hovered.emit(QPointF(200.0, 0.0))
    assert len(card.readout.splitlines()) == 3
    card.hovered.emit(QPointF(500.0, 0.0))
    assert len(card.readout.splitlines()) == 2
    assert card.readout.endswith(" 5")


@pytest.mark.parametrize(
    ("axis", "end", "heading"), [("Episodes", 100, "episode 50"), ("Wall time (s)", 100, "50 s")]
)
def test_the_x_axis_can_be_another(qtbot, alone, groups, axis, end, heading) -> None:
    alone.start(qtbot, groups)
    assert lines(alone)[0][0][-1] == 1000
    pick(qtbot, alone, alone.find, "compare_x_combo", axis)
    assert lines(alone)[0][0][-1] == end
    card = alone.comparison.plots.card("compare_return")
    low, high = card.plot.getViewBox().viewRange()[0]
    assert low < 0 < end <= high < 1.5 * end
    card.hovered.emit(QPointF(50.0, 0.0))
    assert card.readout.splitlines()[0] == heading


@pytest.mark.slow
def test_runs_without_a_place_on_the_axis_are_not_drawn_and_the_plot_says_so(
    qtbot, alone, runs_dir
) -> None:
    timed, untimed = (write_run(runs_dir, [1.0, 2.0], seed=seed) for seed in (0, 1))
    alone.start(qtbot, [timed, untimed])
    pick(qtbot, alone, alone.find, "compare_x_combo", "Episodes")
    assert not lines(alone)
    card = alone.comparison.plots.card("compare_return")
    assert card.plot.accessibleDescription().startswith("No episodes recorded")
    assert "no episodes on record" in alone.find("compare_notes").text()
    pick(qtbot, alone, alone.find, "compare_x_combo", "Steps")
    assert lines(alone)
    assert not card.plot.accessibleDescription()


def test_a_report_is_asked_for_as_the_runs_are_compared(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    pick(qtbot, alone, alone.find, "compare_x_combo", "Episodes")
    pick(qtbot, alone, alone.find, "compare_group_combo", "Single runs")
    report = alone.comparison.bar.findChild(QAction, "compare_report_action")
    with qtbot.waitSignal(alone.comparison.report_requested) as asked:
        report.trigger()
    runs, options = asked.args
    assert sorted(runs) == sorted(path.absolute() for path in groups)
    assert options == ["--group-by", "run", "--x", "episodes", "--metric", "eval"]


def test_a_report_has_the_groups_that_are_drawn_under_the_names_of_the_window(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    session = alone.comparison.session
    first, second = (each.group.runs for each in session.shown.comparison.groups)
    name = row(alone.find, 1).text(0)
    row(alone.find, 0).setCheckState(0, UNCHECKED)
    settle(qtbot, alone)
    assert session.reported() == [run.path for run in second]
    # By itself, the group would be called after no setting.
    assert session.report_options()[-1] == f"{second[0].path}={name}"
    session.set_run_visible(first[0].path, True)
    settle(qtbot, alone)
    assert session.reported() == [run.path for run in (*first, *second)]
    session.set_run_visible(first[0].path, False)
    settle(qtbot, alone)
    row(alone.find, 1).setCheckState(0, UNCHECKED)
    settle(qtbot, alone)
    alone.comparison.bar.findChild(QAction, "compare_report_action").trigger()
    assert "there is nothing to report" in str(alone.said[-1])


def test_a_run_that_was_deleted_is_struck_out_and_names_no_group_of_a_report(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    type_name(qtbot, alone, 0, "slow targets")
    session = alone.comparison.session
    session.findChild(QTimer, "compare_files_timer").setInterval(50)
    members = [run.path for run in session.shown.comparison.groups[0].group.runs]
    shutil.rmtree(members[0])
    qtbot.waitUntil(lambda: row(alone.find, 0).child(0).font(0).strikeOut(), timeout=20_000)
    about = plain_text(row(alone.find, 0).child(0).toolTip(0))
    assert "can no longer be read" in about
    assert not row(alone.find, 0).child(1).font(0).strikeOut()
    assert not row(alone.find, 0).font(0).strikeOut()
    assert f"{members[1]}=slow targets" in session.report_options()
    assert not any(option.startswith(f"{members[0]}=") for option in session.report_options())
    for path in members[1:]:
        shutil.rmtree(path)
    qtbot.waitUntil(lambda: row(alone.find, 0).font(0).strikeOut(), timeout=20_000)


@pytest.mark.slow
def test_a_report_calls_groups_what_the_user_does(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    type_name(qtbot, alone, 0, "slow targets")
    session = alone.comparison.session
    (first, name) = session.view.names.copy().popitem()
    assert f"{first}={name}" in session.report_options()
    assert session.name_options([]) == []
    # By its own name again, which has the symbols of the window.
    type_name(qtbot, alone, 0, "")
    assert f"{first}=TD3 τ 0.005" in session.report_options()
    # The command gives single runs the same names.
    pick(qtbot, alone, alone.find, "compare_group_combo", "Single runs")
    assert "--rename" not in session.report_options()


def test_smoothing_and_the_metric_change_what_is_drawn(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    before = max(y[-1] for _, y in lines(alone))
    slider = alone.find("compare_smoothing_slider")
    assert isinstance(slider, QSlider)
    slider.setValue(3)
    qtbot.waitUntil(lambda: alone.comparison.session.view.smoothing == 3)
    settle(qtbot, alone)
    # Returns rise by one: the mean of the last three is one lower.
    assert max(y[-1] for _, y in lines(alone)) == pytest.approx(before - 1)
    pick(qtbot, alone, alone.find, "compare_metric_combo", "Episodes")
    assert alone.comparison.session.view.smoothing == 20
    assert sorted(y[-1] for _, y in lines(alone)) == pytest.approx([-99, -96])
    assert row(alone.find, 0).text(2).startswith(("−99.0", "−96.0"))


@pytest.mark.slow
def test_the_table_has_no_columns_of_an_earlier_comparison(qtbot, alone, runs_dir) -> None:
    alone.start(qtbot, two_groups(runs_dir, seeds=1))
    assert alone.find("compare_table").columnCount() == 5
    alone.start(qtbot, [write_run(runs_dir, [1.0] * 10, seed=seed) for seed in (7, 8)])
    assert alone.find("compare_table").columnCount() == 4


def test_live_changes_have_a_column_in_words(qtbot, alone, runs_dir) -> None:
    paths = [write_run(runs_dir, [1.0], seed=seed) for seed in range(2)]
    entry = {"step": 6915, "field": "tau", "old": 0.005, "new": 0.02, "time": ""}
    RunDirectory.open(paths[1]).note(entry)
    alone.start(qtbot, paths)
    head = alone.find("compare_table").headerItem()
    assert head.text(4) == "History"
    assert "live changes" in head.toolTip(4)
    assert [row(alone.find, at).text(4) for at in (0, 1)] == ["none", "τ 0.02 at step 6,915"]
    assert row(alone.find, 1).text(0) == "TD3 (τ 0.02 at step 6,915)"


@pytest.mark.slow
def test_the_bias_of_the_critics_is_compared_like_returns(qtbot, alone, runs_dir) -> None:
    paths = [
        write_run(runs_dir, [1.0] * 10, seed=seed, bias=[(seed / 8, 0.25)] * 10)
        for seed in range(3)
    ]
    alone.start(qtbot, paths)
    pick(qtbot, alone, alone.find, "compare_metric_combo", "Critics' bias")
    card = alone.comparison.plots.card("compare_return")
    assert card.plot.accessibleName() == "Bias of the critics plot"
    assert set(lines(alone)[0][1]) == {0.125}
    assert row(alone.find, 0).text(2) == "0.125 [0.000, 0.250]"
    assert row(alone.find, 0).text(3) == "0.250 [0.250, 0.250]"
    assert alone.find("compare_table").headerItem().text(3) == "Deviation"
    assert alone.comparison.session.figure().y_label.english.startswith("Bias of Q")
    alone.find("compare_return_title").click()
    popup = card.findChild(ExplanationPopup)
    assert "divided by the larger of its absolute mean and 1" in popup.sentences[0].text()
    popup.close()
    pick(qtbot, alone, alone.find, "compare_metric_combo", "Evaluations")
    assert card.plot.accessibleName() == "Return plot"
    assert row(alone.find, 0).text(3).startswith("1.0")


def test_every_plot_shows_the_runs_and_closing_leads_back(qtbot, window, find, runs_dir) -> None:
    runs = [make_run(runs_dir, seed=seed).path for seed in range(2)]
    start(qtbot, window, find, runs)
    for plot in ("compare_return", "compare_q", "compare_critic_loss", "compare_actor_loss"):
        ((x, _),) = lines(window, plot)
        assert len(x) > 3, plot
    click(qtbot, window.comparison.findChild(QWidget, "compare_close_button"))
    assert window.plots.isVisible()
    assert window.comparison.session.shown is None


def test_opening_a_run_leads_back_to_it(qtbot, window, find, runs_dir) -> None:
    runs = [make_run(runs_dir, seed=seed).path for seed in range(2)]
    start(qtbot, window, find, runs)
    window.show_runs()
    window.runs.view.choose(runs[:1], runs[0])
    action(window.runs, "open").trigger()
    qtbot.waitUntil(lambda: window.model.record.run == runs[0])
    assert window.plots.isVisible()


@pytest.mark.slow
def test_the_figure_is_exported_with_its_labels(
    qtbot, alone, groups, tmp_path, monkeypatch
) -> None:
    alone.start(qtbot, groups)
    early = []
    alone.comparison.plots.exported.connect(lambda: early.append(True))
    for kind in ("svg", "csv"):
        target = tmp_path / f"figure.{kind}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, name=str(target): (name, ""))
        export = next(
            act
            for act in alone.find("compare_export_button").menu().actions()
            if act.objectName() == f"export_{kind}"
        )
        with qtbot.waitSignal(alone.comparison.session.exported, timeout=30_000):
            export.trigger()
    plot = alone.comparison.plots.card("compare_q")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "q.csv"), ""))
    with qtbot.waitSignal(alone.comparison.session.exported, timeout=30_000):
        plot.exporter.ask("csv")
    assert (tmp_path / "q.csv").is_file()
    # A plot reports no export of its own: its session does once the file is written.
    assert early == []
    svg = (tmp_path / "figure.svg").read_text()
    for text in ("Pendulum-v1", "Environment steps", "Evaluation return", "TD3 τ 0.01 (n = 3)"):
        assert text in svg
    with (tmp_path / "figure.csv").open() as file:
        assert len(list(csv.reader(file))) == 21


@pytest.mark.slow
def test_a_plot_that_cannot_be_written_is_a_sentence(qtbot, alone, groups, tmp_path) -> None:
    alone.start(qtbot, groups)
    alone.comparison.session.export("return", tmp_path / "nowhere" / "a.svg")
    qtbot.waitUntil(lambda: "cannot be written" in " ".join(map(str, alone.said)), timeout=20_000)


def test_a_long_name_leaves_room_for_the_numbers(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    row(alone.find, 0).setText(0, "a long name " * 20)
    qtbot.waitUntil(lambda: row(alone.find, 0).text(0).startswith("a long name"))
    header = alone.find("compare_table").header()
    qtbot.waitUntil(lambda: header.sectionSize(0) <= alone.comparison.width() // 2)
    assert header.sectionViewportPosition(3) < alone.comparison.width()


def test_names_of_groups_are_told_apart_in_a_table_too_narrow_for_the_figures(
    qtbot, alone, groups
) -> None:
    alone.start(qtbot, groups)
    tree, header = alone.find("compare_table"), alone.find("compare_table").header()
    hints = [max(tree.sizeHintForColumn(at), header.sectionSizeHint(at)) for at in range(4)]
    alone.comparison.table.setFixedWidth(sum(hints) - 20)
    qtbot.waitUntil(lambda: tree.horizontalScrollBar().maximum() > 0)
    assert header.sectionSize(0) == hints[0]


def test_figures_are_whole_in_a_narrow_table(qtbot, alone, groups) -> None:
    alone.start(qtbot, groups)
    tree, header = alone.find("compare_table"), alone.find("compare_table").header()
    alone.comparison.table.setFixedWidth(240)
    qtbot.waitUntil(lambda: tree.viewport().width() < 240)
    row(alone.find, 0).setText(2, "−1,455.2 [−1,485.3, −1,424.1]")
    alone.comparison.table.setFixedWidth(230)
    figures = range(1, 4)
    hints = {at: max(tree.sizeHintForColumn(at), header.sectionSizeHint(at)) for at in figures}
    assert max(hints.values()) > 120
    qtbot.waitUntil(lambda: all(header.sectionSize(at) >= hint for at, hint in hints.items()))
    assert header.sectionSize(0) <= 120


@pytest.mark.parametrize(
    ("last", "text"),
    [("best", "−1,455.2 [−1,485.3, −1,424.1]"), ("setting", "0.0123456789")],
)
def test_the_last_column_is_whole_or_scrolled_to_and_has_the_room_that_is_left(
    qtbot, alone, runs_dir, last: str, text: str
) -> None:
    others = [{"seed": 1}, {"seed": 2}] if last == "best" else [{"tau": 0.0125}, {"gamma": 0.9925}]
    alone.start(qtbot, [make_run(runs_dir, **values).path for values in ({}, *others)])
    tree, header = alone.find("compare_table"), alone.find("compare_table").header()
    at = tree.columnCount() - 1
    row(alone.find, 0).setText(at, text)
    hints = [max(tree.sizeHintForColumn(n), header.sectionSizeHint(n)) for n in range(at + 1)]
    # The names give way only so far.
    narrow, wide = sum(hints[1:]) + 60, sum(hints) + 200
    for width in (narrow, wide, narrow):
        alone.comparison.table.setFixedWidth(width)
        qtbot.waitUntil(lambda: abs(tree.viewport().width() - width) < 50)  # noqa: B023
        assert header.sectionSize(at) >= hints[at]
        bar = tree.horizontalScrollBar()
        qtbot.waitUntil(lambda: (bar.maximum() > 0) is (width == narrow))  # noqa: B023
        assert width == narrow or header.length() == tree.viewport().width()


def test_a_run_that_grows_or_goes_is_followed(qtbot, alone, groups, monkeypatch) -> None:
    alone.start(qtbot, groups)
    session = alone.comparison.session
    session.findChild(QTimer, "compare_files_timer").setInterval(50)
    with (groups[0] / "evaluations.csv").open("a") as file:
        file.write("1100,500.0,1,,0,500,10,0,110\n")
    qtbot.waitUntil(
        lambda: "end between step" in alone.find("compare_notes").text(), timeout=20_000
    )
    assert any(
        item.text(3) != "10.0 [9.0, 11.0]" for item in (row(alone.find, 0), row(alone.find, 1))
    )
    write_label(groups[0], RunLabel(name="calm sea"))

    def named():
        runs = [row(alone.find, at).child(n) for at in (0, 1) for n in range(3)]
        return [run for run in runs if run.text(0) == "calm sea"]

    qtbot.waitUntil(lambda: bool(named()), timeout=20_000)
    assert plain_text(named()[0].toolTip(0)).startswith("calm sea\nFolder: ")
    shutil.rmtree(groups[1])
    qtbot.waitUntil(
        lambda: "can no longer be read" in alone.find("compare_notes").text(), timeout=20_000
    )
    assert alone.find("compare_heading").text().startswith("Comparing 6 runs in 2 groups")


def test_a_group_that_is_joined_by_another_is_compared_with_it(qtbot, alone) -> None:
    table = CompareTable(alone.comparison.session, load_theme("light"))
    qtbot.addWidget(table)
    table.offer_groups(["DDPG"])
    table.offer_groups(["TD3", "DDPG"])
    combos = [table.findChild(QComboBox, f"compare_{one}_combo") for one in ("better", "worse")]
    assert [combo.currentText() for combo in combos] == ["TD3", "DDPG"]


def test_environments_stand_side_by_side_without_a_probability(qtbot, alone, runs_dir) -> None:
    paths = [write_run(runs_dir, [1.0, 2.0]), write_run(runs_dir, [3.0, 4.0], env=CAR)]
    alone.start(qtbot, paths)
    assert {row(alone.find, at).text(0) for at in (0, 1)} == {"Pendulum-v1 TD3", f"{CAR} TD3"}
    assert "cannot be compared" in alone.find("compare_improvement").text()


def test_runs_without_evaluations_are_compared_by_episodes(qtbot, alone, runs_dir) -> None:
    paths = [write_run(runs_dir, [], [float(seed)] * 30, seed=seed) for seed in range(2)]
    alone.start(qtbot, paths)
    assert "2 runs have no evaluations" in alone.find("compare_notes").text()
    assert alone.find("compare_metric_combo").currentText() == "Episodes"
    assert row(alone.find, 0).text(2) == "0.5 [0.0, 1.0]"


def test_too_many_runs_are_cut_with_a_sentence(qtbot, alone, groups, monkeypatch) -> None:
    monkeypatch.setattr("studio.plots.compare.run_set.MOST_RUNS", 4)
    alone.start(qtbot, groups)
    assert "6 runs were chosen; the first 4 are compared." in alone.find("compare_notes").text()
    assert alone.find("compare_heading").text().startswith("Comparing 4 runs")


def test_compare_needs_a_readable_run(qtbot, window, find, groups) -> None:
    (groups[0] / "run.toml").write_text("nonsense =")
    choose_runs(qtbot, window, find, groups[:1])
    qtbot.waitUntil(lambda: window.runs.model.rows[groups[0]].problem != "")
    assert not action(window.runs, "compare").isEnabled()
    window.comparison.session.compare(groups[:1])
    qtbot.waitUntil(lambda: "cannot be read" in window.banner.text)
    assert window.plots.isVisible()


def test_a_comparison_that_is_refused_leaves_the_one_that_is_shown(qtbot, alone, groups) -> None:
    session = alone.comparison.session
    session.compare(groups[:3], "three seeds")
    settle(qtbot, alone)
    heading, view = alone.find("compare_heading").text(), session.view
    (groups[3] / "run.toml").write_text("nonsense =")
    session.compare(groups[3:4], "a series", series=True, names={groups[3]: "other"})
    qtbot.waitUntil(lambda: bool(alone.said) and not session.busy, timeout=20_000)
    assert "cannot be read" in str(alone.said[0])
    assert alone.find("compare_heading").text() == heading
    assert (session.group, session.series) == ("three seeds", False)
    assert session.view == view
    # Another view reads the runs of the comparison again.
    session.change(grouped=False)
    settle(qtbot, alone)
    assert sorted(session.reported()) == sorted(groups[:3])


def test_an_unexpected_error_leaves_the_comparison_that_is_shown(
    qtbot, alone, groups, monkeypatch
) -> None:
    session = alone.comparison.session
    session.compare(groups[:3], "three seeds")
    settle(qtbot, alone)

    def fail(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("studio.plots.compare.session.read_returns", fail)
    session.compare(groups[3:4], "a series", series=True)
    qtbot.waitUntil(lambda: bool(alone.said) and not session.busy)
    assert list(map(str, alone.said)) == ["ZeroDivisionError: by zero"]
    assert (session.group, session.series) == ("three seeds", False)


def test_the_window_reads_no_run_in_its_own_thread(
    qtbot, window, find, groups, runs_dir, monkeypatch
) -> None:
    choose_runs(qtbot, window, find, groups)
    guard = DiskGuard(runs_dir, monkeypatch)
    guard.watch()
    click(qtbot, find("runs_compare_button"))
    settle(qtbot, window)
    pick(qtbot, window, find, "compare_x_combo", "Episodes")
    click(qtbot, window.comparison.findChild(QWidget, "compare_close_button"))
    assert guard.found == []


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_lines_of_four_rounds_are_told_apart_by_colour_or_style(name: str) -> None:
    theme = load_theme(name)
    places = range(4 * len(theme.compare))
    looks = {(colour_of(theme, place), style_of(theme, place)) for place in places}
    assert len(looks) == len(places)
    assert theme.panel not in {colour for colour, _ in looks}


@pytest.mark.own_window
@pytest.mark.slow
def test_numbers_and_names_have_room_in_a_window_of_1280_by_800(
    qtbot, window, find, runs_dir
) -> None:
    changes = ({}, {"tau": 0.01}, {"policy_delay": 1}, {"batch_size": 64}, {"gamma": 0.95})
    runs = [
        make_run(runs_dir, seed=seed, **values).path
        for seed, values in [*((0, each) for each in changes), *((1, each) for each in changes[:3])]
    ]
    window.comparison.session.compare(runs)
    settle(qtbot, window)
    tree, chance = find("compare_table"), find("compare_improvement")
    rows = [tree.visualItemRect(tree.topLevelItem(at)) for at in range(4)]
    room = tree.viewport()
    qtbot.waitUntil(lambda: all(0 <= rect.center().y() < room.height() for rect in rows))
    qtbot.waitUntil(lambda: chance.height() >= chance.heightForWidth(chance.width()))
    assert chance.width() > 400
    legend = window.comparison.plots.card("compare_return").legend
    assert len(legend.names) == 3
    window.comparison.plots.maximise("compare_return")
    qtbot.waitUntil(lambda: len(legend.names) == 5)


def test_the_files_are_not_read_again_more_often_than_once_a_second() -> None:
    assert sessions.REFRESH_MS >= 1000


@pytest.mark.slow
def test_the_plots_of_the_critics_show_another_one_or_the_target(qtbot, alone, groups) -> None:
    for number, path in enumerate(groups):
        table = RunDirectory.open(path).table("training", (*TRAINING_COLUMNS[:8], "time_s"))
        for step in (500, 1000):
            table.add((step, step, *(100 * number + at for at in range(1, 7)), step / 10))
        table.flush()
    alone.start(qtbot, groups)
    pick(qtbot, alone, alone.find, "compare_group_combo", "Single runs")
    shown = {}
    for plot, name in (
        ("compare_q", "Q₁"),
        ("compare_q", "Q₂"),
        ("compare_q", "Target"),
        ("compare_critic_loss", "Q₂ loss"),
    ):
        pick(qtbot, alone, alone.find, f"{plot}_combo", name)
        shown[plot, name] = sorted(y[-1] for _, y in lines(alone, plot))
    for number, found in zip((1, 2, 3, 5), shown.values(), strict=True):
        assert found == [100 * run + number for run in range(6)]
    plotted = alone.comparison.session.figure("critic_loss")
    assert str(plotted.y_label) == "Q₂ loss"


def test_a_run_and_a_link_to_it_are_one_run(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0])
    (runs_dir / "link").symlink_to(path.name)
    found = read_returns(RunSet(), [path, runs_dir / "link"], {}, lambda: False)
    assert [run.path for run in found.runs] == [path]
