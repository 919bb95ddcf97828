"""A tinkerer: changes settings while it learns, takes one back, branches and resumes."""

from PySide6.QtCore import Qt

from tests.walkthroughs.user import User


def _saved(by: User) -> bool:
    """The agents of a run are sorted by their steps: one saved by hand has an odd number."""
    _, index = by.row("checkpoint_list", "This run", below=1)
    return "." in str(index.data()).partition(" ")[0]


def walk(by: User) -> None:
    by.fill("env_combo", "Pendulum-v1")
    by.fill("steps_spin", "1e4")
    by.expect_text("steps_spin", "10")
    by.take("settings")
    by.click("train_button")
    by.expect_step(1_500)
    before = by.text("spin_tau")
    by.drag_slider("slider_tau", 0.9)
    by.expect("tau has changed", lambda: by.text("spin_tau") != before)
    by.drag_slider("slider_exploration_noise", 0.6)
    by.drag_slider("slider_policy_delay", 0.4)
    by.expect_text("last_change", "d ")
    by.take("changed")
    delay = by.text("spin_policy_delay")
    by.click("undo_button")
    by.expect("the delay is back", lambda: by.text("spin_policy_delay") != delay)
    by.click("save_button")
    by.expect("the agent saved is listed", lambda: _saved(by))
    by.take("saved")
    by.click("stop_button")
    by.expect_state("stopped")
    by.click_row("checkpoint_list", "This run", below=1)
    right = Qt.MouseButton.RightButton
    by.choose("Branch", lambda: by.click_row("checkpoint_list", "This run", below=1, button=right))
    by.part("branch_dialog")
    by.take("branch")
    by.click("branch_train_button")
    by.expect_state("learning", "training")
    by.wait(1_000)
    by.click("stop_button")
    by.expect_state("stopped")
    by.click("resume_button")
    by.expect_state("learning", "training")
    by.take("resumed")
    by.click("stop_button")
    by.expect_state("stopped")
    by.expect_no_error()
