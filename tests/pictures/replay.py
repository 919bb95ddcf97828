"""The bundled walker: the numbers of its episode, and several of its agents side by side."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QListWidget

from tests.pictures.patience import be_patient, episode_step
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.expect_text("replay_title", "BipedalWalker-v3")
    instruments(by)
    compare_agents(by)


def instruments(by: User) -> None:
    """Go back to the middle of an episode that has ended."""
    by.choose_from("panels_button", "Instruments")
    for name in ("observations", "sweep"):
        by.click(f"instrument_switch_{name}")
    dock = by.part("instruments_dock", QDockWidget)
    dock.setFloating(True)
    # As wide as all five need, which the window of a picture does not have below its plots.
    dock.resize(1160, 340)
    by.expect("the episode ends", lambda: by.text("replay_chip"))
    by.click("replay_play_button")
    by.drag_slider("replay_scrub_bar", 0.5)
    by.take("instruments", of="instruments_panel")
    by.choose_from("panels_button", "Instruments")


def compare_agents(by: User) -> None:
    """Compare the walker with itself: earlier, with noise, and after a push."""
    by.choose_from("replay_menu_button", "Compare agents")
    agents = by.part("compare_agents", QListWidget)
    (earlier,) = agents.findItems("70,000", Qt.MatchFlag.MatchContains)
    earlier.setCheckState(Qt.CheckState.Checked)
    by.click("compare_noise_check")
    by.click("compare_push_check")
    by.click("compare_start_button")
    by.press("F9")
    by.expect_text("compare_agents_heading", "step ")
    if by.part("replay_play_button").accessibleName() == "Play":
        by.click("replay_play_button")
    by.expect("the push is over", lambda: episode_step(by, "compare_agents_heading") > 150)
    by.take("compare_agents")
