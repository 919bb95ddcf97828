"""A tinkerer: changes everything that can be changed while the pendulum learns."""

from pathlib import Path

from PySide6.QtGui import QImage

from studio.formatting import short_steps
from tests.walkthroughs.plots import Plot
from tests.walkthroughs.user import NotSeenError, User


def walk(by: User) -> None:
    start(by)
    tune(by)
    correct(by)
    undo(by)
    saved = save(by)
    look_closely(by)
    export(by)
    resume(by)
    branch(by, saved)
    change_the_theme(by)
    by.expect_no_error()


def start(by: User) -> None:
    by.fill("env_combo", "Pendulum-v1")
    by.expect_text("env_facts", "3 observations · 1 action")
    by.fill("steps_spin", "2e4")
    by.expect_text("steps_spin", "20,000")
    by.click("train_button")
    by.expect_state("learning")
    by.expect_step(1_300)


def tune(by: User) -> None:
    """Drag three sliders while it learns."""
    for name, symbol, to in (
        ("tau", "τ", 0.75),
        ("exploration_noise", "σ", 0.4),
        ("policy_delay", "d", 0.3),
    ):
        before = by.number(f"spin_{name}")
        by.drag_slider(f"slider_{name}", to)
        by.expect(
            f"{name} follows its slider",
            lambda n=name, b=before: by.number(f"spin_{n}") > b,
        )
        by.expect_text("last_change", f"Last change: {symbol} ")
        by.expect(f"the run uses {name}", lambda n=name: "…" not in by.text(f"label_{n}"))
    by.take("tuned")


def correct(by: User) -> None:
    """Type what is no number, and what is out of range; then what is right."""
    by.fill("spin_tau", "fast")
    by.expect_wrong("spin_tau", "not a number")
    by.expect_text("spin_tau", "fast")
    by.take("no_number")
    by.fill("spin_exploration_noise", "-1")
    by.expect_wrong("spin_exploration_noise", "below the smallest allowed value")
    by.take("out_of_range")
    by.fill("spin_tau", "0,01")
    by.fill("spin_exploration_noise", "0.2")
    for name, value in (("spin_tau", 0.01), ("spin_exploration_noise", 0.2)):
        by.expect_right(name)
        by.expect(f"{name} is {value}", lambda n=name, v=value: by.number(n) == v)


def undo(by: User) -> None:
    by.expect_text("last_change", "→ 0.2")
    by.click("undo_button")
    by.expect("σ is as before", lambda: by.number("spin_exploration_noise") != 0.2)
    by.expect_text("last_change", "Last change: τ")
    by.press("Ctrl+Shift+Z")
    by.expect("σ is 0.2 again", lambda: by.number("spin_exploration_noise") == 0.2)


def save(by: User) -> str:
    """Pause, save by hand, and continue; return what the checkpoint is called."""
    by.expect_step(3_200)
    by.click("pause_button")
    by.expect_state("paused")
    saved = short_steps(by.step())
    by.click("save_button")
    by.row("checkpoint_list", saved)
    by.take("paused")
    by.click("pause_button")
    by.expect_state("learning")
    return saved


def look_closely(by: User) -> None:
    """Read the marks of the changes, maximise a plot, hide a curve, zoom, pan and fit."""
    returns = Plot(by, "plot_return")
    returns.expect_marker("→ 0.01")
    by.take("marker")
    returns.leave()
    by.click("plot_q_title")
    by.click("plot_q_maximise")
    by.expect_gone("plot_return", "plot_critic_loss", "plot_actor_loss")
    plot = Plot(by, "plot_q")
    plot.click_legend("target")
    plot.expect("shows its target as hidden", lambda: plot.struck_out("target"))
    whole = plot.range("x")
    plot.turn_wheel()
    plot.expect("is zoomed", lambda: _width(plot.range("x")) < _width(whole))
    seen = plot.range("x")
    plot.drag(60)
    plot.expect("is moved to the left", lambda: plot.range("x")[0] < seen[0])
    height = plot.range("y")
    plot.turn_wheel(ctrl=True)
    plot.expect("is zoomed in height", lambda: _width(plot.range("y")) < _width(height))
    by.take("maximised")
    plot.double_click()
    plot.expect("shows everything again", lambda: _width(plot.range("x")) >= _width(whole))
    plot.click_legend("target")
    plot.expect("shows its target again", lambda: not plot.struck_out("target"))
    plot.leave()
    by.press("Escape")
    by.part("plot_critic_loss")
    by.click("plot_critic_loss_title")
    by.take("other_plot_large")
    by.click("plot_return_title")


def _width(shown: tuple[float, float]) -> float:
    return shown[1] - shown[0]


def export(by: User) -> None:
    for kind, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("csv", b"curve,env_steps")):
        file = by.home / f"return.{kind}"
        by.with_file(
            file, lambda k=kind: by.choose_from("plot_return_export", f"Export {k.upper()}")
        )
        by.expect(f"{file.name} is written", lambda f=file, b=begin: _begins(f, b))
    by.expect(
        "the drawing has its title", lambda: "Pendulum" in (by.home / "return.svg").read_text()
    )
    if QImage(str(by.home / "return.png")).width() < 600:
        raise NotSeenError("the picture of the plot is large enough to read")


def _begins(file: Path, begin: bytes) -> bool:
    return file.exists() and file.read_bytes().startswith(begin)


def resume(by: User) -> None:
    """Stop, and resume with the values changed last."""
    by.click("stop_button")
    by.expect_state("stopped")
    by.take("stopped")
    reached = by.step()
    by.click("resume_button")
    by.expect_state("learning")
    by.expect("it uses the last τ", lambda: by.number("spin_tau") == 0.01)
    by.expect_step(reached + 300)
    by.click("stop_button")
    by.expect_state("stopped")


def branch(by: User, saved: str) -> None:
    """Start a new run from the checkpoint saved by hand, with another learning rate."""
    before = by.text("run_title")
    rows, index = by.row("checkpoint_list", saved)
    place = rows.visualRect(index).center()

    def change_the_rate() -> None:
        by.fill("branch_actor_lr", "3e-4", enter=False)
        by.take("branch_dialog")
        by.click("branch_train_button")

    by.in_dialog(
        "branch_dialog",
        lambda: by.choose("Branch from here", lambda: by.right_click(rows, place)),
        change_the_rate,
    )
    by.expect_state("learning")
    by.expect("another run is shown", lambda: by.text("run_title") != before)
    by.expect("it has the new learning rate", lambda: by.number("spin_actor_lr") == 3e-4)
    by.expect_step(3_600)
    by.take("branched")
    by.click("stop_button")
    by.expect_state("stopped")


def change_the_theme(by: User) -> None:
    dark = by.text("theme_button") == "Light"
    by.choose_from("panels_button", "Settings")
    by.dialog("preferences_dialog")
    by.take("settings")
    by.pick("preferences_theme", "Light" if dark else "Dark")
    by.expect_text("theme_button", "Dark" if dark else "Light")
    by.take("other_theme")
    by.press("Escape", by.part("preferences_dialog"))
    by.expect_gone("preferences_dialog")
