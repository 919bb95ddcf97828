"""A run with a broken setting, and the trial of the advice against it."""

from tests.pictures.patience import all_drawn, be_patient, watch_newest
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.fill("env_combo", "Pendulum-v1")
    by.expect_text("env_facts", "3 observations · 1 action")
    by.fill("seed_spin", "203")
    by.fill("steps_spin", "4 000")
    by.fill("spin_tau", "1")
    by.click("train_button")
    by.expect_state("finished")
    by.choose_from("panels_button", "Health")
    by.click("try_target_missing")
    by.part("trial_dialog")
    by.fill("trial_steps", "2500", enter=False)
    by.fill("trial_pairs", "3", enter=False)
    by.click("trial_begin")
    by.part("trial_accept")
    by.expect("the trial has ended", by.part("trial_accept").isEnabled)
    by.expect_text("compare_heading", "0.005")
    by.expect("all curves are drawn", lambda: all_drawn(by))
    watch_newest(by)
    by.take("health")
