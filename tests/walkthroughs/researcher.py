"""A researcher: trains a group of seeds, compares it, exports the comparison and opens a sweep."""

from tests.walkthroughs.user import User

_SWEEP = """
name = "small"
environment = "Pendulum-v1"
trials = 2
steps = 800
jobs = 1
[settings]
learning_starts = 200
eval_interval = 400
eval_episodes = 1
batch_size = 32
actor_hidden = [8]
critic_hidden = [8]
[space]
tau = { low = 0.001, high = 0.1, log = true }
"""


def walk(by: User) -> None:
    by.fill("env_combo", "Pendulum-v1")
    by.fill("steps_spin", "2,000")
    by.fill("seeds_edit", "2")
    by.click("train_button")
    by.expect_text("group_summary", "2 of 2 finished")
    by.take("group")
    by.press("Ctrl+R")
    by.row("runs_view", "Pendulum-v1")
    by.press("Ctrl+A", by.part("runs_view"))
    by.take("runs")
    by.click("runs_compare_button")
    by.expect_text("compare_heading", "Comparing 2 runs")
    by.take("comparison")
    for kind in ("png", "csv"):
        target = by.home / f"comparison.{kind}"
        by.with_file(
            target,
            lambda kind=kind: by.choose_from("compare_export_button", f"Export {kind.upper()}"),
        )
        by.expect(f"{target.name} is written", lambda target=target: target.is_file())
    by.click("compare_close_button")
    file = by.home / "small.toml"
    file.write_text(_SWEEP)
    by.choose_from("panels_button", "Sweeps")
    by.with_file(file, lambda: by.click("sweep_open_button"))
    by.expect_text("sweep_status", "2 of 2")
    by.take("sweep")
    by.expect_no_error()
