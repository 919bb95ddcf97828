"""A newcomer: watches the walker, trains a first agent and plays it."""

from tests.walkthroughs.user import User


def walk(by: User) -> None:
    by.expect_moving()
    by.take("launch")
    by.click_text("Train your first agent")
    by.expect_step(3_000)
    # The first evaluation, of an agent that is then the newest.
    by.expect_step(5_000)
    by.expect_text("replay_title", "newest")
    by.expect_moving()
    by.take("training")
    by.click("pause_button")
    by.expect_state("paused")
    by.expect_text("pause_button", "Continue")
    by.take("paused")
    by.click("pause_button")
    by.expect_state("learning")
    by.click("stop_button")
    by.expect_state("stopped")
    by.take("stopped")
    by.click_row("checkpoint_list", "last", double=True)
    by.expect_moving()
    by.click("replay_large_button")
    by.expect_moving()
    by.take("replay_large")
    by.click("replay_large_button")
    by.expect_no_error()
