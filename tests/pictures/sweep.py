"""A sweep, with the run of its best trial."""

from importlib.resources import as_file, files

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget

from tests.pictures.patience import all_drawn, be_patient
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.choose_from("panels_button", "Sweeps")
    with as_file(files("resources") / "sweeps" / "pendulum.toml") as example:
        by.with_file(example, lambda: by.click("sweep_open_button"))
        by.expect("all trials have ended", lambda: "best" in by.text("sweep_status") and ended(by))
    show(by)


def show(by: User) -> None:
    """Open the run of the best trial; give the panel beside its plots more width."""
    by.pick("sweep_view_combo", "Parallel")
    best = by.text("sweep_status").partition("in trial ")[2].split()[0]
    by.click_row("sweep_trials", best)
    by.click("sweep_open_run_button")
    by.expect_text("run_title", f"trial {best}")
    by.expect("its curves are drawn", lambda: all_drawn(by))
    # As a user drags the borders.
    dock = by.part("sweeps_dock", QDockWidget)
    by.window.resizeDocks([dock], [600], Qt.Orientation.Horizontal)
    by.part("sweep_trials").parentWidget().setSizes([240, 340])
    by.take("sweep")


def ended(by: User) -> bool:
    return not by.part("sweep_stop_button").isEnabled()
