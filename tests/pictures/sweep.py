"""A sweep, with the run of its best trial."""

from importlib.resources import as_file, files

from tests.pictures.patience import be_patient, episode_step
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.choose_from("panels_button", "Sweeps")
    with as_file(files("resources") / "sweeps" / "pendulum.toml") as example:
        by.with_file(example, lambda: by.click("sweep_open_button"))
        by.expect("all trials have ended", lambda: "best" in by.text("sweep_status") and ended(by))
    by.pick("sweep_view_combo", "Parallel")
    best = by.text("sweep_status").partition("in trial ")[2].split()[0]
    by.click_row("sweep_trials", best)
    by.click("sweep_open_run_button")
    by.expect_text("run_title", f"trial {best}")
    by.click_row("checkpoint_list", "best", double=True)
    by.expect_text("replay_title", "best")
    by.expect("its episode is on the way", lambda: episode_step(by) > 30)
    by.take("sweep")


def ended(by: User) -> bool:
    return not by.part("sweep_stop_button").isEnabled()
