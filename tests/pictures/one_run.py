"""A run from its start to its branch: tuned, paused, looked into, finished; and one resumed."""

import subprocess
import sys
from pathlib import Path

from td3core.runs.layout import step_checkpoint
from tests.pictures.patience import be_patient, episode_step, watch_newest
from tests.walkthroughs.plots import Plot
from tests.walkthroughs.user import NotSeenError, User

_STEPS = 12_000


def walk(by: User) -> None:
    be_patient(by)
    # First, so that the window's own run has the cores to itself.
    cut_short(by, seed=1, at=6_000)
    cut_short(by, seed=2, at=3_000)
    start(by)
    tune(by)
    step_through(by)
    finish(by)
    resume(by)
    branch(by)
    timeline(by)


def cut_short(by: User, seed: int, at: int) -> None:
    """Train next to the window, and kill the process at a checkpoint."""
    runs = by.home / "runs"
    before = set(runs.glob("*"))
    words = ["train", "Pendulum-v1", "--seed", str(seed), "--runs-dir", str(runs)]
    words += ["--steps", str(_STEPS)]
    for name in ("checkpoint_interval", "eval_interval"):
        words += ["--set", f"{name}=1000"]
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-m", "td3core", *words]
    training = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)

    def saved() -> bool:
        made = set[Path](runs.glob("*")) - before
        return any(step_checkpoint(path, at).exists() for path in made)

    try:
        by.expect(f"seed {seed} is at step {at}", saved)
    finally:
        training.kill()
        training.wait()


def start(by: User) -> None:
    by.fill("env_combo", "Pendulum-v1")
    by.expect_text("env_facts", "3 observations · 1 action")
    by.fill("steps_spin", str(_STEPS))
    by.click_text("Advanced")
    by.fill("field_eval_interval", "1000")
    by.fill("field_checkpoint_interval", "2000")
    by.click_text("Advanced")
    by.click("train_button")


def tune(by: User) -> None:
    """Change two settings, and read the mark of the first one."""
    by.expect_step(4_000)
    by.fill("spin_tau", "0.01")
    by.expect_step(5_500)
    by.fill("spin_exploration_noise", "0.2")
    by.expect_step(6_500)
    by.click("theme_button")
    by.expect_step(8_500)
    by.take("dark")
    by.click("theme_button")
    by.click("pause_button")
    by.expect_state("paused")
    by.click("save_button")
    returns = Plot(by, "plot_return")
    returns.point_at(by.window.model.record.journal.markers[0].env_steps)
    by.take("journal")
    returns.leave()


def step_through(by: User) -> None:
    """Do single updates of the paused run until one has moved all networks."""
    by.choose_from("panels_button", "Algorithm")
    panel = by.part("algorithm_panel")
    moved = False
    while not moved:
        before = panel.seen
        by.click("algorithm_step_button")
        by.expect("the update is shown", lambda b=before: panel.seen is not b)
        moved = panel.seen.moved_actor
    by.take("algorithm")
    by.choose_from("panels_button", "Algorithm")


def finish(by: User) -> None:
    by.click("pause_button")
    by.expect_state("finished")
    watch_newest(by)
    by.take("light")


def resume(by: User) -> None:
    """Resume the first run that was cut short."""
    by.click("runs_button")
    runs, index = by.row("runs_view", "seed 1 · TD3")
    place = runs.visualRect(index).center()
    by.choose("Resume", lambda: by.right_click(runs, place))
    by.expect_state("learning")
    by.expect_step(9_500)
    entries = by.window.model.record.journal.entries
    returns = Plot(by, "plot_return")
    returns.point_at(next(each.env_steps for each in entries if each.event == "resume"))
    by.take("resume")
    returns.leave()
    by.click("stop_button")
    by.expect_state("stopped")


def branch(by: User) -> None:
    """Branch from the run that was tuned, with as little noise as at its start, and longer."""
    open_run(by, "seed 0 · TD3")
    by.click("theme_button")
    agents, index = by.row("checkpoint_list", "10k")
    place = agents.visualRect(index).center()

    def change() -> None:
        by.fill("branch_steps", "18000", enter=False)
        by.fill("branch_exploration_noise", "0.1", enter=False)
        by.click("branch_train_button")

    by.in_dialog(
        "branch_dialog",
        lambda: by.choose("Branch from here", lambda: by.right_click(agents, place)),
        change,
    )
    by.expect_state("learning")
    by.expect_step(15_500)
    by.click("stop_button")
    by.expect_state("stopped")
    by.take("branch")
    by.click("theme_button")


def timeline(by: User) -> None:
    """Go back to the run that was tuned, saved by hand, and branched from."""
    open_run(by, "seed 0 · TD3")
    by.click("runs_button")
    _, best = by.row("checkpoint_list", "best")
    if "12k" in str(best.data()):
        raise NotSeenError("best and last agent are two, each with its mark: take it again")
    by.click_row("checkpoint_list", "8k", double=True)
    by.expect_text("replay_title", "step 8,000")
    by.expect("its episode is on the way", lambda: episode_step(by) > 30)
    by.take("timeline", of="replay_dock")


def open_run(by: User, name: str) -> None:
    by.click_row("runs_view", name, double=True)
    by.expect_text("run_title", name)
