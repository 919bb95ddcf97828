"""The legends of the plots: complete if there is room, with names cut if there is not."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel

from studio.plots.layers.layer import Entry
from studio.plots.legend import Legend
from studio.theme.theme import load_theme
from td3core.config import RunConfig, Tunables
from tests.studio.fake_runs import add_training, make_run
from tests.studio.plots.layers import redraw
from tests.studio.window.test_details import open_run, plain_text
from tests.support.events import started
from tests.support.mouse import turn_wheel

pytestmark = pytest.mark.shared_window

RETURNS = ["episode", "mean of 20", "evaluation"]
NAN = float("nan")


@pytest.fixture
def legend(qtbot) -> Legend:
    made = Legend("What", "What it is about", load_theme("light"))
    qtbot.addWidget(made)
    first, second = Entry(text="first", colour="curve_1"), Entry(text="second", colour="curve_2")
    made.show_entries([first, second, Entry(text="third")])
    made.show()
    return made


def legends(window) -> dict[str, list[str]]:
    """Return the names in each plot's legend, after checking that they are fully visible."""
    found = {}
    for name in ("plot_return", "plot_q", "plot_critic_loss", "plot_actor_loss"):
        label = window.plots.card(name).legend
        seen = QLabel(label.text())
        seen.setProperty("role", "legend")
        seen.setFont(label.font())
        assert seen.sizeHint().width() <= label.contentsRect().width(), name
        assert label.height() >= label.fontMetrics().height()
        found[name] = label.names
    return found


def redrawn(qtbot, window) -> dict[str, list[str]]:
    redraw(qtbot, window)
    QApplication.processEvents()
    return legends(window)


@pytest.mark.slow
@pytest.mark.parametrize("runs_shown", [False, True])
def test_every_legend_is_whole_in_a_window_of_1280_pixels(
    qtbot, window, runs_dir: Path, runs_shown: bool
) -> None:
    window.resize(1280, 800)
    # The previous test's run may still be drawn.
    qtbot.waitUntil(lambda: not any(legends(window).values()))
    parent = make_run(runs_dir, first=0, reached=500)
    branch = make_run(runs_dir, first=500, parent=(parent.path.name, 500))
    open_run(qtbot, window, branch)
    window.docks.dock("runs").setVisible(runs_shown)
    past = "parent"
    shown = redrawn(qtbot, window)
    assert shown.pop("plot_return") == [*RETURNS, past]
    # The three small plots have room for their own curves; the tooltip also names the parent's.
    assert {name: [each for each in names if each != past] for name, names in shown.items()} == {
        "plot_q": ["Q₁", "Q₂", "target"],
        "plot_critic_loss": ["Q₁", "Q₂"],
        "plot_actor_loss": ["actor"],
    }


def test_the_legends_of_one_critic_name_one(qtbot, window) -> None:
    window.resize(1280, 800)
    window.model.handle(started(RunConfig(env="Pendulum-v1", twin_critics=False), Tunables()))
    add_training(
        window.model.record.curves.training,
        [(float(s), s, -5.0, NAN, -5.5, 0.5, NAN, 5.0) for s in range(50, 501, 50)],
    )
    found = redrawn(qtbot, window)
    assert (found["plot_q"], found["plot_critic_loss"]) == (["Q₁", "target"], ["Q₁"])


def test_what_has_no_room_is_counted_and_shown_by_a_click_or_the_wheel(legend) -> None:
    many = [Entry(text=f"group {number}", colour="curve_1") for number in range(7)]
    legend.set_most_lines(2)
    legend.show_entries(many)
    legend.resize(legend.fontMetrics().horizontalAdvance("● group 0  +7") + 12, 40)
    pages = [["group 0", "group 1"], ["group 2", "group 3"], ["group 4", "group 5"]]
    for page in (*pages, ["group 5", "group 6"], pages[0]):
        assert legend.names == page
        assert plain_text(legend.text()).endswith("+5")
        legend.linkActivated.emit("+")
    assert legend.names == pages[1]
    turn_wheel(legend, -1)
    assert legend.names == ["group 3", "group 4"]
    # The same groups with other colours stay in place, others start from the first.
    legend.show_entries([replace(each, colour="curve_2") for each in many])
    assert legend.names == ["group 3", "group 4"]
    for _ in range(5):
        turn_wheel(legend, 1)
    assert legend.names == pages[0]
    legend.linkActivated.emit("+")
    legend.show_entries(many[1:])
    assert legend.names == ["group 1", "group 2"]


def test_what_has_no_room_is_left_out_whole_and_named_in_the_tooltip(legend) -> None:
    legend.resize(600, 20)
    assert legend.names == ["first", "second", "third"]
    assert "+" not in plain_text(legend.text())
    legend.resize(legend.fontMetrics().horizontalAdvance("● first  ● second  +3") + 7, 20)
    assert legend.names == ["first", "second"]
    assert plain_text(legend.text()).endswith("+1")
    tip = plain_text(legend.toolTip())
    assert all(text in tip for text in ("What it is about", "first", "second", "third"))


def test_a_legend_widens_nothing(legend) -> None:
    legend.show_entries([Entry(text="W" * 200, colour="curve_1")])
    assert legend.sizeHint().width() == 0
    assert legend.minimumSizeHint().width() <= 40


def test_a_legend_of_several_lines_wraps_before_it_leaves_out(legend) -> None:
    width = legend.fontMetrics().horizontalAdvance("● second") + 30
    legend.resize(width, 60)
    before = legend.sizeHint().height()
    legend.set_most_lines(3)
    assert legend.names == ["first", "second", "third"]
    assert "+" not in plain_text(legend.text())
    assert legend.sizeHint().height() > before
    legend.set_most_lines(2)
    assert legend.names == ["first", "second"]


def test_a_name_longer_than_a_line_is_cut_in_its_middle_and_whole_in_the_tooltip(legend) -> None:
    name = "TD3 tau 0.005, policy_delay 2, gamma 0.99"
    legend.show_entries([Entry(text=name, colour="curve_1"), Entry(text="other")])
    legend.resize(200, 20)
    seen = QLabel(legend.text())
    seen.setFont(legend.font())
    assert seen.sizeHint().width() <= legend.contentsRect().width()
    shown = plain_text(legend.text())
    assert "TD3" in shown
    assert "0.99" in shown
    assert name in plain_text(legend.toolTip())


def test_tab_marks_each_name_of_a_legend_and_enter_hides_its_curve(qtbot, window, runs_dir) -> None:
    open_run(qtbot, window, make_run(runs_dir))
    legend = window.plots.card("plot_return").legend
    qtbot.waitUntil(lambda: len(legend.names) == 3)
    switched = []
    legend.switched.connect(lambda *what: switched.append(what))
    window.activateWindow()
    legend.setFocus(Qt.FocusReason.TabFocusReason)
    marked = []
    for name in RETURNS:
        marked.append(legend.selectedText().lstrip("●■○\N{NO-BREAK SPACE}"))
        for mark in ("○", "</span>"):
            qtbot.keyClick(legend, Qt.Key.Key_Return)
            qtbot.waitUntil(lambda text=f"{mark}&nbsp;{name}": text in legend.text())
        qtbot.keyClick(legend, Qt.Key.Key_Tab)
    assert marked == RETURNS
    assert [shown for _, shown in switched] == [False, True] * 3
    assert not legend.hasFocus()
    assert window.focusWidget() is window.plots.card("plot_return").plot
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert "evaluation" in legend.selectedText()
    for _ in RETURNS:
        assert legend.hasFocus()
        qtbot.keyClick(legend, Qt.Key.Key_Backtab, Qt.KeyboardModifier.ShiftModifier)
    assert not legend.hasFocus()
