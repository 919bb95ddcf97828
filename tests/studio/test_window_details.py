"""Small things that make the window readable: edges, counts, labels, names and widths."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QTextDocumentFragment
from PySide6.QtWidgets import QLabel

from studio.plot_items import ShortAxis
from studio.runs_browser import RunsBrowser
from studio.theme import load_theme
from tests.studio.fake_runs import make_run
from tests.studio.test_runs_browser import read_again


@pytest.fixture
def browser(qtbot, runs_dir: Path) -> Iterator[RunsBrowser]:
    """The list alone, as wide as the window of 1280 pixels leaves it."""
    made = RunsBrowser(runs_dir, load_theme("light"))
    qtbot.addWidget(made)
    made.resize(676, 250)
    made.show()
    yield made
    made.close_errands()


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_empty_replay_has_an_edge_in_either_theme(qtbot, window, name: str) -> None:
    if window._theme.name != name:
        window.switch_theme()
    view = window.replay.view
    theme = load_theme(name)
    seen = view.grab().toImage()
    middle = seen.height() // 2
    edge = {seen.pixelColor(x, middle).name() for x in (0, seen.width() - 1)}
    assert edge == {QColor(theme.border).name()}
    assert theme.border != theme.panel


def test_the_count_says_how_many_of_the_runs_a_search_has_found(qtbot, browser, runs_dir) -> None:
    for seed in range(3):
        make_run(runs_dir, seed=seed, name="wanted" if seed == 1 else "")
    read_again(qtbot, browser)
    count = browser.findChild(QLabel, "runs_count")
    assert count.text() == "3 runs"
    browser.search.setText("wanted")
    assert count.text() == "1 of 3 runs"
    browser.search.clear()
    assert count.text() == "3 runs"


def test_a_parent_shown_for_its_branch_is_not_counted_as_found(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir)
    make_run(runs_dir, first=500, parent=(parent.path.name, 500), name="wanted")
    read_again(qtbot, browser)
    browser.search.setText("wanted")
    assert browser.findChild(QLabel, "runs_count").text() == "1 of 2 runs"


@pytest.mark.parametrize(
    ("low", "high", "pixels"),
    [(-0.1, 1.1, 80), (0.7, 1.1, 60), (-3, 4, 80), (-20, 20, 90), (0.41, 0.43, 200), (2.1, 2.9, 70)],
)
def test_labels_of_a_logarithmic_axis_never_touch(qtbot, low, high, pixels) -> None:
    axis = ShortAxis("left")
    axis.setLogMode(y=True)
    shown = [
        (value, text)
        for spacing, values in axis.tickValues(low, high, pixels)
        for value, text in zip(values, axis.tickStrings(values, 1.0, spacing), strict=True)
        if text
    ]
    assert shown
    assert all(low <= value <= high for value, _ in shown)
    assert all(float(text) == pytest.approx(10**value, rel=0.01) for value, text in shown)
    height = QFontMetricsF(QFont()).height()
    heights = sorted(value * pixels / (high - low) for value, _ in shown)
    assert all(after - before >= height - 1e-6 for before, after in pairwise(heights))


def test_a_low_logarithmic_plot_is_labelled_by_its_decades(qtbot) -> None:
    axis = ShortAxis("left")
    axis.setLogMode(y=True)
    spacing, values = axis.tickValues(-2.5, 2.5, 90)[0]
    assert axis.tickStrings(values, 1.0, spacing) == ["1e-2", "1e-1", "1e0", "1e1", "1e2"]


def open_run(qtbot, window, run) -> None:
    window._show_runs()
    qtbot.waitUntil(lambda: run.path.absolute() in window.runs.model.rows, timeout=20_000)
    window.runs.view.choose([run.path.absolute()], run.path.absolute())
    window.runs.deeds._open()
    qtbot.waitUntil(lambda: window.model.run == run.path, timeout=20_000)


def test_the_title_follows_a_new_name_of_the_run_on_show(qtbot, window, find, runs_dir) -> None:
    run, other = make_run(runs_dir, name="first"), make_run(runs_dir, name="other")
    open_run(qtbot, window, run)
    model, title = window.runs.model, find("run_title")
    assert title.text() == "Pendulum-v1  ·  first"
    model.setData(model.find(run.path.absolute()), "second")
    assert title.text() == "Pendulum-v1  ·  second"
    model.setData(model.find(other.path.absolute()), "third")
    assert title.text() == "Pendulum-v1  ·  second"
    model.setData(model.find(run.path.absolute()), "")
    assert title.text() == f"Pendulum-v1  ·  {run.path.name}"


def test_a_long_name_is_cut_in_the_title_and_whole_in_its_tooltip(
    qtbot, window, find, runs_dir
) -> None:
    name = "<b>bold</b> " + "long" * 75
    before = window.width(), window.minimumSizeHint().width()
    open_run(qtbot, window, make_run(runs_dir, name=name))
    title = find("run_title")
    assert (window.width(), window.minimumSizeHint().width()) == before
    assert find("theme_button").isVisible()
    assert title.shown.endswith("…")
    assert title.fontMetrics().horizontalAdvance(title.shown) <= title.width()
    assert name in plain_text(title.toolTip())


def plain_text(tip: str) -> str:
    """Return what a tooltip says, as it is read."""
    text = QTextDocumentFragment.fromHtml(tip).toPlainText() if Qt.mightBeRichText(tip) else tip
    return text.replace("\u200b", "")
