"""A keyboard user: does everything without the mouse."""

from studio.formatting import short_steps
from tests.walkthroughs.keys import choose_by_keys, focused, tab_to, tour
from tests.walkthroughs.seeing import NotSeenError
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    by.expect_moving()
    look_around(by)
    list_the_keys(by)
    train(by)
    saved = steer(by)
    enlarge(by)
    read_a_plot(by)
    stop(by)
    resume(by)
    find_the_run(by)
    step_through_its_agents(by, saved)
    compare_its_agents(by)
    open_a_panel(by)
    close_dialogs(by)
    by.expect_no_error()
    close_the_window(by)


def look_around(by: User) -> None:
    """Tab passes every part, in a sensible order, and always shows where it is."""
    passed = tour(by)
    order = ("train_button", "env_combo", "steps_spin", "slider_tau", "replay_play_button")
    places = [passed.index(name) for name in order]
    if places != sorted(places) or len(passed) < 50:
        raise NotSeenError(f"Tab goes from {', '.join(order)}, not {', '.join(passed)}")
    tab_to(by, "start_train_button")
    by.take("focus")


def list_the_keys(by: User) -> None:
    by.press("Ctrl+/")
    table = by.part("shortcuts_table")
    listed = [
        [group.child(row).text(column) for column in (0, 1)]
        for group in map(table.topLevelItem, range(table.topLevelItemCount()))
        for row in range(group.childCount())
    ]
    for keys, about in (("Ctrl+T", "Start a new run"), ("F9", "Large replay"), ("F2", "Rename")):
        if not any(each == keys and about in text for each, text in listed):
            raise NotSeenError(f"{keys} is listed as “{about}”: {listed}")
    by.take("shortcuts")
    by.press("Escape", by.part("shortcuts_dialog"))
    by.expect_gone("shortcuts_dialog")


def train(by: User) -> None:
    tab_to(by, "env_combo")
    by.type("Pendulum-v1")
    by.press("Return")
    by.expect_text("env_facts", "3 observations")
    tab_to(by, "steps_spin")
    by.type("30 000")
    by.press("Return")
    by.expect_text("steps_spin", "30,000")
    by.press("Ctrl+T")
    by.expect_state("learning")
    by.expect_step(1_300)
    tour(by)


def steer(by: User) -> int:
    """Move a slider, pause, save and continue; return the step of the checkpoint."""
    tab_to(by, "slider_tau")
    before = by.number("spin_tau")
    for _ in range(3):
        by.press("PgUp")
    by.expect("τ has grown", lambda: by.number("spin_tau") > before)
    by.expect_text("last_change", "Last change: τ")
    grown = by.number("spin_tau")
    by.press("Left")
    by.expect("τ is a little smaller", lambda: before < by.number("spin_tau") < grown)
    by.take("slider")
    by.press("Ctrl+Z")
    by.expect("τ is as before", lambda: by.number("spin_tau") == before)
    by.press("Ctrl+P")
    by.expect_state("paused")
    saved = by.step()
    by.press("Ctrl+S")
    by.row("checkpoint_list", short_steps(saved))
    by.press("Ctrl+P")
    by.expect_state("learning")
    return saved


def enlarge(by: User) -> None:
    """Show the replay large, and on the whole screen."""
    by.expect_step(3_200)
    by.press("F9")
    by.expect_gone("setup_dock", "checkpoint_list")
    by.expect_moving()
    by.take("large")
    by.press("F11")
    by.expect_gone("toolbar", "plot_return")
    by.expect_moving()
    by.take("full_screen")
    by.press("Escape")
    for name in ("toolbar", "setup_dock", "plot_return", "checkpoint_list"):
        by.part(name)


def stop(by: User) -> None:
    by.press("Ctrl+.")
    by.expect_state("stopped")


def read_a_plot(by: User) -> None:
    """Read values one after the other, zoom, and see everything again."""
    tab_to(by, "plot_return")
    card = by.window.plots.card("plot_return")
    by.press("Left")
    by.expect("the last value is read", lambda: card.readout)
    last = card.readout
    for _ in range(3):
        by.press("Left")
    by.expect("an earlier one is read", lambda: card.readout not in ("", last))
    by.expect("it is said", lambda: card.plot.accessibleDescription().startswith("step "))
    by.take("plot")
    whole = card.plot.getViewBox().viewRange()[0]
    by.press("+")
    by.expect("less of it is seen", lambda: card.plot.getViewBox().viewRange()[0] != whole)
    by.press("0")
    by.press("F6")
    by.expect("the replay has the focus", lambda: _is_in(by, "replay"))
    by.press("Shift+F6")
    by.expect("the plots have the focus", lambda: not _is_in(by, "replay"))
    by.expect("nothing is read any more", lambda: not card.readout)


def _is_in(by: User, panel: str) -> bool:
    return bool(by.window.docks.dock(panel).isAncestorOf(focused()))


def resume(by: User) -> None:
    by.press("Ctrl+Shift+R")
    by.expect_state("learning")
    by.press("Ctrl+.")
    by.expect_state("stopped")


def find_the_run(by: User) -> None:
    """Open the list of runs, name the run, and open it."""
    by.press("Ctrl+R")
    by.expect("the list has the focus", lambda: focused().objectName() == "runs_view")
    by.row("runs_view", "seed 0")
    by.press("Home")
    by.press("F2")
    by.expect("a name can be typed", lambda: focused().objectName() != "runs_view")
    by.type("first by keys")
    by.press("Return")
    by.row("runs_view", "first by keys")
    by.expect("the list has the focus", lambda: focused().objectName() == "runs_view")
    by.take("runs")
    by.press("Return")
    by.expect_text("run_title", "first by keys")
    by.press("Ctrl+R")
    by.expect_gone("runs_view")


def step_through_its_agents(by: User, saved: int) -> None:
    by.row("checkpoint_list", short_steps(saved))
    tab_to(by, "replay_timeline")
    first = f"step {saved:,}"

    def at_first() -> bool:
        # The bars of a run that has just been opened come one after the other.
        if first not in by.text("replay_title"):
            by.press("Home")
        return first in by.text("replay_title")

    by.expect("the first agent plays", at_first)
    by.press("Right")
    by.expect("another agent plays", lambda: first not in by.text("replay_title"))
    by.take("timeline")
    by.press("Left")
    by.expect_text("replay_title", first)


def compare_its_agents(by: User) -> None:
    """Tick two agents, and watch them side by side."""

    def tick() -> None:
        agents = by.part("compare_agents")
        by.expect("the agents have the focus", lambda: focused() is agents)
        while sum(agents.item(row).checkState().value > 0 for row in range(agents.count())) < 2:
            by.press("Down", agents)
            if agents.currentItem().checkState().value == 0:
                by.press("Space", agents)
        by.take("agents")
        by.press("Return", agents)

    by.in_dialog("compare_dialog", lambda: by.press("Ctrl+Shift+M"), tick)
    by.part("compare_title_1")
    by.take("side_by_side")
    tab_to(by, "compare_agents_close_button")
    by.press("Space")
    by.expect_gone("compare_title_1")


def open_a_panel(by: User) -> None:
    """Open the menu of the panels, and choose the log."""
    tab_to(by, "panels_button")
    choose_by_keys(by, "Log", lambda: by.press("Space"))
    by.part("log_view")
    by.take("log")
    choose_by_keys(by, "Log", lambda: by.press("Space"))
    by.expect_gone("log_view")


def close_dialogs(by: User) -> None:
    """Every dialog and the manual close with Escape."""
    for keys, name in (("Ctrl+,", "preferences_dialog"), ("F1", "help_viewer")):
        by.press(keys)
        shown = by.part(name)
        by.expect(f"{name} has the keyboard", shown.isActiveWindow)
        by.press("Escape", shown)
        by.expect_gone(name)


def close_the_window(by: User) -> None:
    """While a run trains, closing asks; Escape keeps the window open."""
    by.press("Ctrl+T")
    by.expect_state("learning")

    def look_and_leave() -> None:
        by.expect("it can be stopped", lambda: "Stop and close" in by.text("close_question_stop"))
        by.expect("it can go on", lambda: "Keep training" in by.text("close_question_cancel"))
        by.take("close_question")
        by.press("Escape", by.part("close_question"))

    by.in_dialog("close_question", lambda: by.press("Ctrl+Q"), look_and_leave)
    by.expect_state("learning")
    by.in_dialog(
        "close_question",
        lambda: by.press("Ctrl+Q"),
        lambda: by.press("Return", by.part("close_question_stop")),
    )
    by.expect("the window is closed", lambda: not by.window.isVisible())
