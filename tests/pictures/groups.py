"""Groups of seeds: compared with one another, and in a report."""

import subprocess
import sys

from PySide6.QtWidgets import QTreeWidget

from tests.pictures.page import draw
from tests.pictures.patience import all_drawn, be_patient
from tests.walkthroughs.user import User

_RUNS = 15


def walk(by: User) -> None:
    be_patient(by)
    by.fill("env_combo", "Pendulum-v1")
    by.expect_text("env_facts", "3 observations · 1 action")
    published = train(by)
    by.pick("variant_combo", "DDPG")
    train(by)
    by.pick("variant_combo", "TD3")
    by.fill("spin_tau", "0.02")
    faster = train(by)
    compare(by)
    report(by, sorted(published | faster))


def train(by: User) -> set[str]:
    """Train five seeds; return the names of the runs."""
    runs = by.home / "runs"
    before = {path.name for path in runs.glob("Pendulum-v1*")}
    by.fill("steps_spin", "5 000")
    by.click_text("Advanced")
    by.fill("field_eval_interval", "250")
    by.click_text("Advanced")
    by.fill("seeds_edit", "5")
    by.click("train_button")
    by.expect_text("group_summary", "0 of 5 finished")
    by.expect_text("group_summary", "5 of 5 finished")
    by.expect("another training can begin", by.part("train_button").isEnabled)
    return {path.name for path in runs.glob("Pendulum-v1*")} - before


def compare(by: User) -> None:
    """Compare all runs, with the room of the panels on the right."""
    by.click("compare_close_button")
    by.click("runs_button")
    by.expect_text("runs_count", f"{_RUNS} runs")
    by.click_row("runs_view", "seed 0")
    by.press("Ctrl+A", by.part("runs_view"))
    by.click("runs_compare_button")
    by.expect_text("compare_heading", f"Comparing {_RUNS} runs in 3 groups")
    table = by.part("compare_table", QTreeWidget)
    by.expect("three groups are listed", lambda: table.topLevelItemCount() == 3)
    by.expect("all curves are drawn", lambda: all_drawn(by))
    table.collapseAll()
    for panel in ("runs", "many", "replay"):
        by.window.docks.close(panel)
    by.take("compare")


def report(by: User, runs: list[str]) -> None:
    """Write of two groups, and look at it in a browser and on paper."""
    words = ["--title", "Faster targets on Pendulum", "--runs-dir", str(by.home / "runs")]
    words += ["--question", "Does a larger τ learn sooner, and at what price?"]
    files = by.home / "report.html", by.home / "report.pdf"
    for file in files:
        command = [sys.executable, "-m", "td3core", "report", *runs, "--out", str(file), *words]
        writing = subprocess.Popen(command)
        by.expect(f"{file.name} is written", lambda w=writing: w.poll() is not None)
    by.keep("report", draw(by, *files))
