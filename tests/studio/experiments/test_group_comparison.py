"""A group shows its curves while it trains, and again after its end."""

from pathlib import Path

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QTreeWidget

from studio.plots.compare import run_set
from studio.plots.compare.session import CompareSession
from studio.share.report_dialog import ReportDialog
from studio.window.main_window import MainWindow
from td3core.experiments.groups.messages import SeedEvent
from td3core.experiments.groups.seed_status import SeedState
from td3core.protocol.events import Failed
from td3core.text import Text
from tests.studio.experiments.test_groups import PlayedGroup, fill_in, panel, played
from tests.studio.plots.layers import lines_of
from tests.studio.session.test_live_runs import started as began
from tests.support.events import evaluated
from tests.td3core.analysis.many_runs import write_run

__all__ = ["panel", "played"]


@pytest.fixture
def started(window: MainWindow, find, played: type[PlayedGroup]) -> PlayedGroup:
    """A group of two seeds that has just been started."""
    fill_in(find, "Pendulum-v1", 1000, "0-1")
    find("train_button").click()
    return played.last


def rows(find) -> list[tuple[str, str]]:
    """Return names and final returns of the runs below the only group."""
    tree: QTreeWidget = find("compare_table")
    assert tree.topLevelItemCount() == 1
    group = tree.topLevelItem(0)
    assert group.isExpanded()
    return [(group.child(at).text(0), group.child(at).text(2)) for at in range(group.childCount())]


@pytest.mark.slow
def test_the_curves_of_a_group_open_with_its_first_run_and_take_in_the_next(
    qtbot, window, find, started, runs_dir: Path
) -> None:
    comparing, name = window.comparison.session, started.group.name
    assert not comparing.active
    first = write_run(runs_dir, [3.0, 4.0], seed=1, group=name)
    started.show(1, SeedState.TRAINING, run=first)
    qtbot.waitUntil(lambda: comparing.active)
    assert find("compare_view").isVisible()
    assert find("many_dock").isVisible()
    assert find("compare_heading").text().startswith(f"Group {name}  ·  1 run")
    # Seeds stay in order, whichever begins first.
    second = write_run(runs_dir, [1.0, 2.0], seed=0, group=name)
    started.show(0, SeedState.TRAINING, run=second)
    qtbot.waitUntil(lambda: rows(find) == [("seed 0", "2.0"), ("seed 1", "4.0")])
    # A line for each seed in addition to the group's.
    assert [line.label for line in comparing.shown.lines["return"]] == [
        name,
        "seed 0",
        "seed 1",
    ]


@pytest.mark.slow
def test_what_a_run_of_the_group_adds_is_drawn_while_it_trains(
    qtbot, window, find, started, runs_dir: Path
) -> None:
    comparing = window.comparison.session
    comparing.findChild(QTimer, "compare_files_timer").setInterval(20)
    path = write_run(runs_dir, [1.0, 2.0], seed=0, group=started.group.name)
    started.show(0, SeedState.TRAINING, run=path)
    qtbot.waitUntil(lambda: comparing.active and not comparing.busy)
    with (path / "evaluations.csv").open("a") as file:
        file.write("300,9,1,,0,9,10,0,30\n")
    qtbot.waitUntil(lambda: comparing.shown.lines["return"][0].curve.x[-1] == 300)


@pytest.mark.slow
def test_a_run_of_the_group_is_drawn_by_what_it_reports_and_its_files_are_left_alone(
    qtbot, window, find, started, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparing = window.comparison.session
    comparing.findChild(QTimer, "compare_live_timer").setInterval(20)
    path = write_run(runs_dir, [], seed=0, group=started.group.name)
    read: list[Path] = []
    monkeypatch.setattr(run_set, "read_results", lambda path, _: read.append(path))
    about = began(path)
    started.report(SeedEvent(seed=0, event=about))
    started.show(0, SeedState.TRAINING, run=path)
    qtbot.waitUntil(lambda: comparing.active and not comparing.busy, timeout=20_000)
    # It has its place in the legend before its first point.
    card = window.comparison.plots.card("compare_return")
    qtbot.waitUntil(
        lambda: [entry.text for entry in card.layers[0].legend()] == [started.group.name],
        timeout=20_000,
    )
    assert lines_of(card) == []
    for step, mean in ((100, 1.0), (200, 4.0)):
        started.report(SeedEvent(seed=0, event=evaluated(step, mean)))
        qtbot.waitUntil(lambda: last_drawn(comparing) == (step, mean), timeout=20_000)  # noqa: B023
    assert read == []
    # Once it is over, its files determine its state, whichever process continues it.
    monkeypatch.undo()
    started.report(SeedEvent(seed=0, event=Failed(message=Text("killed"), details="")))
    with (path / "evaluations.csv").open("a") as file:
        file.write("100,1,1,,0,1,10,0,10\n200,4,1,,0,4,10,0,20\n300,9,1,,0,9,10,0,30\n")
    comparing.findChild(QTimer, "compare_files_timer").setInterval(20)
    qtbot.waitUntil(lambda: last_drawn(comparing) == (300, 9.0), timeout=20_000)


def last_drawn(comparing: CompareSession) -> tuple[float, float] | None:
    lines = comparing.shown.lines["return"]
    if not lines or not len(lines[0].curve.x):
        return None
    return lines[0].curve.x[-1], lines[0].curve.middle[-1]


@pytest.mark.slow
def test_a_comparison_that_was_closed_stays_closed_until_it_is_asked_for(
    qtbot, window, find, panel, started, runs_dir: Path
) -> None:
    comparing = window.comparison.session
    path = write_run(runs_dir, [1.0, 2.0], seed=0, group=started.group.name)
    started.show(0, SeedState.TRAINING, run=path)
    qtbot.waitUntil(lambda: comparing.active and not comparing.busy)
    find("compare_close_button").click()
    started.show(0, SeedState.TRAINING, run=path, env_steps=500)
    assert not comparing.active
    assert not comparing.busy
    started.end()
    find("group_compare_button").click()
    qtbot.waitUntil(lambda: comparing.active)
    assert comparing.group == started.group.name
    find("group_report_button").click()
    qtbot.waitUntil(lambda: bool(window.findChildren(ReportDialog)))
    (dialog,) = window.findChildren(ReportDialog)
    assert dialog.subject.sources == (str(path),)
    dialog.close()


@pytest.mark.slow
def test_a_run_in_the_list_leads_to_the_curves_of_its_group(
    qtbot, window, find, runs_dir: Path
) -> None:
    paths = [write_run(runs_dir, [float(seed)], seed=seed, group="three") for seed in range(3)]
    other = write_run(runs_dir, [5.0], seed=7)
    window.show_runs()
    runs = window.runs
    qtbot.waitUntil(lambda: len(runs.model.rows) == 4)
    action = window.findChild(QAction, "runs_compare_group")
    runs.view.choose([other], other)
    assert not action.isEnabled()
    assert "Not now: it was not started in a group" in action.toolTip()
    runs.view.choose([paths[1]], paths[1])
    action.trigger()
    qtbot.waitUntil(lambda: window.comparison.session.active)
    assert [name for name, _ in rows(find)] == ["seed 0", "seed 1", "seed 2"]
