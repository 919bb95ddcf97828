"""Small things that make the window readable: edges, counts, labels, names and widths."""

from datetime import datetime
from itertools import pairwise

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QTextDocumentFragment,
)
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QLabel,
    QMessageBox,
    QPlainTextEdit,
    QWidget,
)

from studio.formatting import about_steps
from studio.plots.axis import ShortAxis
from studio.run_browser.columns import RunColumn, started
from studio.run_browser.dialogs import SettingsDialog, ask_note, ask_to_trash
from studio.run_browser.rows import RunRow
from studio.run_browser.tree_model import LINES
from studio.session.journal import JournalEntry
from studio.theme.theme import load_theme
from studio.widgets.labels import breakable, plain_tip
from studio.widgets.number_text import read_number
from td3core.runs.listing import summarise
from td3core.runs.metadata import RunLabel, write_label
from td3core.runs.naming import description_of, with_env
from tests.studio.fake_runs import make_run
from tests.studio.run_browser.runs_list import read_again
from tests.support.stretched import OPEN

pytestmark = pytest.mark.shared_window


@pytest.fixture
def browser_size() -> tuple[int, int]:
    """Return the size of the list in a window of 1280 pixels."""
    return 676, 250


@pytest.mark.parametrize("name", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_empty_replay_has_an_edge_in_either_theme(qtbot, window, name: str) -> None:
    if window.theme.name != name:
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
    [
        (-0.1, 1.1, 80),
        (0.7, 1.1, 60),
        (-3, 4, 80),
        (-20, 20, 90),
        (0.41, 0.43, 200),
        (2.1, 2.9, 70),
    ],
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
    assert all(
        read_number(text, whole=False) == pytest.approx(10**value, rel=0.01)
        for value, text in shown
    )
    height = QFontMetricsF(QFont()).height()
    heights = sorted(value * pixels / (high - low) for value, _ in shown)
    assert all(after - before >= height - 1e-6 for before, after in pairwise(heights))


def test_a_low_logarithmic_plot_is_labelled_by_its_decades(qtbot) -> None:
    axis = ShortAxis("left")
    axis.setLogMode(y=True)
    spacing, values = axis.tickValues(-2.5, 2.5, 90)[0]
    assert axis.tickStrings(values, 1.0, spacing) == ["0.01", "0.1", "1", "10", "100"]


def open_run(qtbot, window, run) -> None:
    window.show_runs()
    qtbot.waitUntil(lambda: run.path.absolute() in window.runs.model.rows, timeout=20_000)
    window.runs.view.choose([run.path.absolute()], run.path.absolute())
    window.runs.view.doubleClicked.emit(window.runs.proxy.find(run.path.absolute()))
    qtbot.waitUntil(lambda: window.model.record.run == run.path, timeout=20_000)


@pytest.mark.slow
def test_the_title_follows_a_new_name_of_the_run_on_show(qtbot, window, find, runs_dir) -> None:
    run, other = make_run(runs_dir, name="first"), make_run(runs_dir, name="other")
    open_run(qtbot, window, run)
    model, title = window.runs.model, find("run_title")
    assert title.text() == "Pendulum-v1 · first"
    for renamed, name, shown in (
        (run, "second", "second"),
        (other, "third", "second"),
        (run, "", description_of(run)),
    ):
        with qtbot.waitSignal(model.renamed):
            model.setData(model.find(renamed.path.absolute()), name)
        assert title.text() == f"Pendulum-v1 · {shown}"
        said = plain_text(find("resume_button").toolTip())
        assert said.startswith(f"Continue Pendulum-v1 · {shown} from")
    # Another window, or the command line, may rename it, too.
    write_label(run.path, RunLabel(name="far away"))
    with qtbot.waitSignal(model.renamed, timeout=20_000):
        window.runs.refresh()
    assert title.text() == "Pendulum-v1 · far away"


@pytest.mark.parametrize(
    ("env_id", "name", "shown"),
    [
        ("Pendulum-v1", "my walk", "Pendulum-v1 · my walk"),
        ("Pendulum-v1", "Pendulum-v1_td3_s0_20261122-180000", "Pendulum-v1_td3_s0_20261122-180000"),
        ("cart:Cart", "cart-Cart_td3_s0_20261122-180000", "cart-Cart_td3_s0_20261122-180000"),
        ("Pendulum-v1", "Pendulum-v1", "Pendulum-v1"),
        ("Ant-v5", "Ant-v50", "Ant-v5 · Ant-v50"),
        ("Ant-v5", "", "Ant-v5"),
    ],
)
def test_the_environment_is_not_named_twice(env_id: str, name: str, shown: str) -> None:
    assert with_env(env_id, name) == shown


def test_reading_a_run_does_not_widen_the_window(qtbot, window, find, runs_dir) -> None:
    window.show_runs()
    before = window.minimumSizeHint().width()
    for seed in range(12):
        make_run(runs_dir, seed=seed)
    read_again(qtbot, window.runs)
    window.runs.search.setText("seed")
    window.runs.show_opening(True)
    for _ in range(3):
        QApplication.processEvents()
    assert find("runs_reading").isVisible()
    assert find("runs_count").shown == "12 of 12 runs"
    assert window.minimumSizeHint().width() == before


def test_a_long_name_is_cut_in_the_title_and_whole_in_its_tooltip(
    qtbot, window, find, runs_dir
) -> None:
    name = "<b>bold</b> " + "long" * 75
    before = window.width(), window.minimumSizeHint().width()
    open_run(qtbot, window, make_run(runs_dir, name=name))
    title = find("run_title")
    assert (window.width(), window.minimumSizeHint().width()) == before
    assert find("theme_button").isVisible()
    assert "…" in title.shown
    assert title.fontMetrics().horizontalAdvance(title.shown) <= title.width()
    assert name in plain_text(title.toolTip())


def plain_text(tip: str) -> str:
    """Return the text of a tooltip, as read."""
    text = QTextDocumentFragment.fromHtml(tip).toPlainText() if Qt.mightBeRichText(tip) else tip
    return text.replace("\u200b", "")


BOLD = "<b>x</b> " + "W" * 300


def labels_with(parent: QWidget, text: str) -> list[QLabel]:
    return [each for each in parent.findChildren(QLabel) if text in each.text()]


def assert_as_it_is(label: QLabel) -> None:
    html = label.textFormat() is Qt.TextFormat.AutoText and Qt.mightBeRichText(label.text())
    assert not html
    assert label.textFormat() is not Qt.TextFormat.RichText


def test_a_note_is_asked_for_by_the_plain_name_in_a_dialog_of_bounded_width(
    qtbot, monkeypatch
) -> None:
    seen = []

    def agree(dialog: QDialog) -> int:
        seen.append(dialog)
        dialog.show()
        (about,) = labels_with(dialog, "<b>x</b>")
        assert_as_it_is(about)
        assert dialog.width() < 600
        dialog.findChild(QPlainTextEdit).setPlainText(" new ")
        return QDialog.DialogCode.Accepted

    monkeypatch.setattr(QDialog, "exec", agree)
    parent = QWidget()
    qtbot.addWidget(parent)
    assert ask_note(parent, BOLD, "old") == "new"
    assert len(seen) == 1


def test_the_question_before_deleting_names_the_run_as_it_is(qtbot, monkeypatch, tmp_path) -> None:
    seen = []

    def refuse(box: QMessageBox) -> int:
        box.show()
        seen.append((box.textFormat(), box.text(), box.width()))
        return 0

    monkeypatch.setattr(QMessageBox, "exec", refuse)
    parent = QWidget()
    qtbot.addWidget(parent)
    ask_to_trash(parent, [RunRow(path=tmp_path / ("<b>x<b> " + "W" * 200), stamp=())])
    ((kind, text, width),) = seen
    assert kind is Qt.TextFormat.PlainText
    assert "<b>x<b>" in text
    assert width < 900


def test_a_run_to_be_deleted_is_called_by_its_name_too(qtbot, monkeypatch, runs_dir) -> None:
    seen = []
    monkeypatch.setattr(QMessageBox, "exec", lambda box: seen.append(box.text()) or 0)
    parent = QWidget()
    qtbot.addWidget(parent)
    run = make_run(runs_dir, name="my walk")
    ask_to_trash(parent, [RunRow(path=run.path, stamp=(), summary=summarise(run))])
    assert seen == [f"Move Pendulum-v1 · my walk ({run.path.name}) to the trash?"]


def test_settings_are_told_in_few_digits(qtbot, runs_dir) -> None:
    dialog = SettingsDialog(make_run(runs_dir), "my run")
    qtbot.addWidget(dialog)
    cells = {
        item.text(0): item.text(2)
        for item in map(dialog.tree.topLevelItem, range(dialog.tree.topLevelItemCount()))
    }
    assert (cells["Reward floor"], cells["Discount"]) == ("off", "0.99")


@pytest.mark.parametrize("name", ["seed_spin", "spin_tau", "replay_seed_spin"])
def test_a_number_keeps_off_the_edge_of_its_box(find, name: str) -> None:
    assert find(name).lineEdit().textMargins().left() >= 4


def test_the_banner_shows_what_others_wrote_as_it_is_and_grows_no_wider(qtbot, window) -> None:
    before = window.minimumSizeHint().width()
    window.banner.show_message("error", BOLD)
    assert window.banner.text == BOLD
    (label,) = [window.banner.findChild(QLabel, "banner_text")]
    assert_as_it_is(label)
    assert window.minimumSizeHint().width() == before
    window.runs.interrupted_found.emit(2)
    assert label.textFormat() is Qt.TextFormat.RichText


def test_a_read_out_at_the_crosshair_shows_remarks_as_they_are(window) -> None:
    window.model.record.journal.entries.append(JournalEntry(5, "<b>x</b>", "now"))
    card = window.plots.card("plot_return")
    card.hovered.emit(QPointF(5.0, 0.0))
    assert "<b>x</b> at step 5" in card.readout


@pytest.mark.parametrize("text", [BOLD, "short", "<i>a\nb</i>", "a path/" * 40])
def test_a_tooltip_shows_a_text_as_it_is_in_lines_of_bearable_length(qtbot, text: str) -> None:
    tip = plain_tip(text)
    assert plain_text(tip) == text
    assert len(text) < 80 or Qt.mightBeRichText(tip)
    assert max(map(len, breakable(text).replace("\u200b", " ").split())) <= 31


def test_every_label_for_words_from_outside_takes_them_as_they_are(window, find) -> None:
    outside = [
        window.replay.message,
        window.replay.caption.title,
        window.setup.environment.facts,
    ]
    outside += [find("preset_about"), window.verify.verdict]
    for label in outside:
        label.setText(BOLD)
        assert_as_it_is(label)
    assert "&lt;b&gt;" in plain_tip(BOLD)


def test_the_checkpoints_and_refusals_of_the_replay_have_plain_tooltips(window) -> None:
    window.replay.show_message("<b>x</b> is gone")
    assert plain_text(window.replay.message.toolTip()) == "<b>x</b> is gone"


def test_the_first_column_tells_the_seed_and_the_algorithm(qtbot, browser, runs_dir) -> None:
    make_run(runs_dir, preset="Pendulum-v1 + DDPG", seed=3)
    make_run(runs_dir, seed=4, name="W" * 300)
    make_run(runs_dir, seed=5, first=500, parent=("gone", 500))
    read_again(qtbot, browser)
    cells = [browser.proxy.index(number, RunColumn.RUN) for number in range(3)]
    found = sorted(cell.data(LINES) for cell in cells)
    assert [lines[0][:14] for lines in found] == ["W" * 14, "seed 3 · DDPG ", "seed 5 · TD3 ·"]
    assert found[0][1].startswith("seed 4 · TD3")
    assert found[2][0].endswith("from 500")
    assert found[2][1] == "Pendulum-v1"
    browser.search.setText("ddpg seed 3")
    assert browser.findChild(QLabel, "runs_count").text() == "1 of 3 runs"


def test_runs_of_long_names_are_told_apart_at_1280_pixels(qtbot, browser, runs_dir) -> None:
    parent = make_run(runs_dir, "BipedalWalkerHardcore-v3", seed=12, name="slower critic, again")
    about = (parent.path.name, 500)
    make_run(runs_dir, "BipedalWalkerHardcore-v3", seed=13, first=500, parent=about)
    read_again(qtbot, browser)
    top = browser.proxy.index(0, RunColumn.RUN)
    metrics = browser.view.fontMetrics()
    for cell in (top, browser.proxy.index(0, RunColumn.RUN, top)):
        room = browser.view.visualRect(cell).width() - 14
        lines = cell.data(LINES)
        detail = next(line for line in lines if "seed 1" in line)
        name = next(line for line in lines if line != detail)
        until_seed = detail[: detail.index("seed 1") + len("seed 12")]
        for shown in (name, until_seed):
            assert metrics.horizontalAdvance(f"{shown} …") <= room, shown
        assert browser.view.visualRect(cell).height() >= 2 * metrics.height()


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        (0, "0"),
        (512, "512"),
        (9_773, "9.77k"),
        (11_217, "11.2k"),
        (999_999, "1M"),
        (10**9, "1000M"),
    ],
)
def test_steps_in_the_list_take_few_digits(steps: int, said: str) -> None:
    assert about_steps(steps) == said


def test_the_year_is_told_of_runs_of_other_years() -> None:
    now = datetime(2026, 5, 1)
    assert started("2026-01-03T10:00:00", now) == "Jan 03 10:00"
    assert started("2025-01-03T10:00:00", now) == "2025-01-03 10:00"
    assert started("yesterday", now) == "yesterday"


def test_the_month_of_a_start_is_in_the_language_of_the_window(stretched: None) -> None:
    told = started("2026-10-03T10:00:00", datetime(2026, 11, 1))
    assert told.startswith(f"{OPEN}Oct")
    assert told.endswith(" 03 10:00")


def test_the_detail_is_drawn_below_the_name(qtbot, browser, runs_dir) -> None:
    make_run(runs_dir)
    read_again(qtbot, browser)
    cell = browser.view.visualRect(browser.proxy.index(0, RunColumn.RUN))
    seen = browser.view.viewport().grab(cell).toImage()
    ground = seen.pixelColor(seen.width() - 1, 1)
    middle = seen.height() // 2
    for half in (range(middle), range(middle, seen.height())):
        assert any(seen.pixelColor(x, y) != ground for x in range(5, 60) for y in half)


def test_the_columns_fit_the_width_there_is(qtbot, browser, runs_dir) -> None:
    make_run(runs_dir)
    read_again(qtbot, browser)
    view = browser.view
    for width in (560, 676, 900, 1400, 676):
        browser.resize(width, 250)
        qtbot.waitUntil(lambda: view.header().length() <= view.viewport().width())
        assert not view.horizontalScrollBar().isVisible()
        assert view.columnWidth(RunColumn.RUN) >= 240
    assert not view.isColumnHidden(RunColumn.BEST)
    assert not view.isColumnHidden(RunColumn.STARTED)
    # As wide as next to the other panels of a window of 1280 pixels, with a scroll bar.
    browser.resize(638, 250)
    assert not view.isColumnHidden(RunColumn.STEPS)
    for column, text in ((RunColumn.BEST, "−1,804.6"), (RunColumn.STEPS, "11.2k of 300k")):
        assert view.fontMetrics().horizontalAdvance(text) + 12 <= view.columnWidth(column)
    browser.resize(1400, 250)
    assert not any(view.isColumnHidden(column) for column in RunColumn)


@pytest.mark.own_window
def test_the_message_about_interrupted_runs_leads_to_the_last_of_them(
    qtbot, window, find, runs_dir
) -> None:
    make_run(runs_dir, created="2026-01-03T10:00:00+00:00")
    for day in (1, 2):
        run = make_run(
            runs_dir, stopped=None, reached=700, created=f"2026-01-0{day}T10:00:00+00:00"
        )
    window.runs.refresh()
    qtbot.waitUntil(lambda: len(window.runs.model.rows) == 3)
    assert not find("resume_button").isEnabled()
    window.banner.link_activated.emit("runs")
    assert [row.path for row in window.runs.view.chosen()] == [run.path.absolute()]
    assert find("resume_button").isEnabled()


@pytest.mark.own_window
@pytest.mark.slow
def test_the_window_fits_a_screen_of_1024_pixels_with_any_panel(qtbot, window) -> None:
    window.resize(1024, 700)
    for spec in window.panels.specs:
        window.docks.open(spec.name)
        # Panels fold if need be.
        qtbot.waitUntil(lambda: window.minimumSizeHint().width() <= 1024)
        assert window.minimumSizeHint().height() <= 700, spec.name
        assert (window.width(), window.height()) == (1024, 700), spec.name


@pytest.mark.own_window
@pytest.mark.slow
def test_the_name_of_the_run_on_show_is_not_lost_in_a_narrow_window(
    qtbot, window, find, runs_dir
) -> None:
    name = "calm sea at night with a name that is rather long for a toolbar"
    open_run(qtbot, window, make_run(runs_dir, name=name))
    title = find("run_title")
    for width in (1024, 1600):
        window.resize(width, 768)
        qtbot.waitUntil(lambda width=width: window.width() == width)
        qtbot.waitUntil(lambda: title.visibleRegion().boundingRect().width() > 150)
        # Both ends of it are seen, all of it in the tooltip and in the title of the window.
        assert title.shown.startswith("Pendulum")
        assert title.shown.endswith("toolbar")
        assert plain_text(title.toolTip()) == f"Pendulum-v1 · {name}"
    assert find("help_button").text() == "Help"
    assert window.windowTitle().startswith("Pendulum-v1 · calm sea")
