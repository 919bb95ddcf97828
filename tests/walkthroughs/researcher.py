"""A researcher: compares TD3 and DDPG over seeds, and looks for better settings."""

from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTreeView, QTreeWidget

from tests.walkthroughs.seeing import NotSeenError, shown_number
from tests.walkthroughs.user import LEFT, User

_LONG_S = 90
_SWEEP = """
environment = "Pendulum-v1"
trials = 3
steps = 600
sampler = "random"
pruning = "none"

[settings]
learning_starts = 200
eval_interval = 200
eval_episodes = 2

[space]
actor_lr = { low = 1e-4, high = 1e-2, log = true }
tau = { low = 0.002, high = 0.1, log = true }
"""


def walk(by: User) -> None:
    train_group(by)
    train_other_group(by)
    find_runs(by)
    see_settings(by)
    compare(by)
    evaluate(by)
    verify(by)
    sweep(by)
    read_the_manual(by)
    by.expect_no_error()


def train_group(by: User) -> None:
    """Train two seeds, and watch them in the panel of the group."""
    by.fill("env_combo", "Pendulum-v1")
    by.fill("steps_spin", "1 000")
    learn_soon(by)
    by.fill("seeds_edit", "2")
    by.click("train_button")
    by.expect_text("group_summary", "0 of 2 finished")
    by.row("group_view", "1")
    by.take("group")
    by.expect_text("group_summary", "2 of 2 finished", patience_s=_LONG_S)


def learn_soon(by: User) -> None:
    """Begin to learn and evaluate early; a preset takes these values back."""
    by.click_text("Advanced")
    by.fill("field_eval_interval", "500")
    by.fill("field_learning_starts", "300")
    by.click_text("Advanced")


def train_other_group(by: User) -> None:
    """Train the same seeds with the older algorithm."""
    by.pick("variant_combo", "DDPG")
    by.expect_text("steps_spin", "1,000")
    by.expect("DDPG has no delay", lambda: by.number("spin_policy_delay") == 1)
    learn_soon(by)
    by.fill("seeds_edit", "0-1")
    by.click("train_button")
    by.expect_text("group_summary", "0 of 2 finished")
    by.expect_text("group_summary", "2 of 2 finished", patience_s=_LONG_S)


def find_runs(by: User) -> None:
    """List all runs, filter them, name one, and put the best first."""
    by.click("runs_button")
    by.expect_text("runs_count", "4 runs")
    by.fill("runs_search", "ddpg")
    by.expect_text("runs_count", "2 of 4 runs")
    by.click_row("runs_view", "seed 1")
    by.press("F2", by.part("runs_view"))
    by.type("middle seed")
    by.press("Return")
    by.row("runs_view", "middle seed")
    by.take("filtered")
    by.fill("runs_search", "")
    by.expect_text("runs_count", "4 runs")
    runs = by.part("runs_view", QTreeView)
    header = runs.header()
    names = [header.model().headerData(at, Qt.Orientation.Horizontal) for at in range(5)]
    best = names.index("Best")
    middle = header.sectionViewportPosition(best) + header.sectionSize(best) // 2
    QTest.mouseClick(header.viewport(), LEFT, pos=QPoint(middle, header.height() // 2))

    def returns() -> list[float]:
        shown = (runs.model().index(row, best).data() for row in range(runs.model().rowCount()))
        return [shown_number(text) for text in shown if text]

    by.expect(
        "the best of four runs is first",
        lambda: len(returns()) == 4 and returns() == sorted(returns(), reverse=True),
    )


def see_settings(by: User) -> None:
    by.click_row("runs_view", "middle seed")
    by.click("runs_settings_button")
    tree = by.part("runs_settings_dialog").findChild(QTreeWidget)
    rows = [tree.topLevelItem(at) for at in range(tree.topLevelItemCount())]
    bold = {row.text(0): row.text(1) for row in rows if row.font(0).bold()}
    if not any("delay" in name.lower() for name in bold):
        raise NotSeenError(f"the delay is in bold: {bold}")
    by.take("settings_of_a_run")
    by.click_text("Close")
    by.expect_gone("runs_settings_dialog")


def compare(by: User) -> None:
    """Compare the two groups, then single runs, and write figures and numbers."""
    by.click_row("runs_view", "middle seed")
    by.press("Ctrl+A", by.part("runs_view"))
    by.click("runs_compare_button")
    by.expect_text("compare_heading", "Comparing 4 runs in 2 groups")
    table = by.part("compare_table", QTreeWidget)
    by.expect("two groups are listed", lambda: table.topLevelItemCount() == 2)
    groups = [table.topLevelItem(at).text(0) for at in (0, 1)]
    if not any("DDPG" in name for name in groups):
        raise NotSeenError(f"one group is called DDPG: {groups}")
    by.expect_text("compare_improvement", "TD3 has fewer than 3 runs")
    by.take("compared")
    for kind, begin in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("csv", b"")):
        file = by.home / f"figure.{kind}"
        by.with_file(
            file, lambda k=kind: by.choose_from("compare_export_button", f"Export {k.upper()}")
        )
        by.expect(f"{file.name} is written", lambda f=file, b=begin: _begins(f, b))
    by.pick("compare_group_combo", "Single runs")
    by.expect("four runs are listed", lambda: table.topLevelItemCount() == 4)
    by.take("compared_single")
    by.click("compare_close_button")
    by.part("plot_return")


def _begins(file: Path, begin: bytes) -> bool:
    return file.exists() and file.stat().st_size > 100 and file.read_bytes().startswith(begin)


def evaluate(by: User) -> None:
    """Open the best run, and measure its best agent."""
    by.click_row("runs_view", "seed 0 · TD3", double=True)
    by.expect_text("run_title", "seed 0")
    by.click_row("checkpoint_list", "best", double=True)
    by.expect_text("replay_title", "best")
    by.choose_from("replay_share_button", "Evaluate")
    by.fill("evaluate_episodes_spin", "20", enter=False)
    by.click("evaluate_start_button")
    by.expect_text("evaluate_status", "over 20 episodes")
    by.take("evaluated")
    by.click("evaluate_close_button")
    by.expect_gone("evaluate_dialog")


def verify(by: User) -> None:
    runs, index = by.row("runs_view", "seed 0 · TD3")
    place = runs.visualRect(index).center()
    QTest.mouseClick(runs.viewport(), LEFT, pos=place)
    by.choose("Verify this run resumes exactly", lambda: by.right_click(runs, place))
    by.expect_text("verify_verdict", "resumes exactly")
    by.take("verified")
    by.press("Escape", by.part("verify_dialog"))
    by.expect_gone("verify_dialog")


def sweep(by: User) -> None:
    """Run a short sweep, and take over the settings of a trial."""
    file = by.home / "short.toml"
    file.write_text(_SWEEP)
    by.choose_from("panels_button", "Sweeps")
    by.with_file(file, lambda: by.click("sweep_open_button"))
    by.expect_text("sweep_status", "3 done")
    by.click_row("sweep_trials", "1")
    by.take("sweep")
    by.click("sweep_use_button")
    by.expect_text("setup_origin", "Settings of")
    by.expect_text("steps_spin", "600")


def read_the_manual(by: User) -> None:
    by.press("F1")
    by.fill("help_search", "policy delay", enter=False)
    by.expect_text("help_count", "on this page")
    by.take("manual")
    by.press("Escape", by.part("help_viewer"))
    by.expect("the search is empty", lambda: by.text("help_search") == "")
    by.press("Escape", by.part("help_viewer"))
    by.expect_gone("help_viewer")
