"""Waits that the pictures share."""

from PySide6.QtWidgets import QLabel

from tests.walkthroughs.user import User

_PATIENCE_S = 900
"""A training takes seconds, or minutes where others train on the same cores."""


def be_patient(by: User) -> None:
    """Wait for trainings as long as they take on a busy machine."""
    by.patience_s = _PATIENCE_S


def episode_step(by: User, name: str = "replay_step_label") -> int:
    """Return the step of the episode that is shown; 0 without one."""
    words = by.text(name).split()
    return int(words[1].replace(",", "")) if words[:1] == ["step"] else 0


def watch_newest(by: User) -> None:
    """Wait until the newest agent plays, which begins when the episode before it has ended."""
    by.expect_text("replay_title", "newest")
    by.expect("its episode is on the way", lambda: 30 < episode_step(by) < 190)


def all_drawn(by: User) -> bool:
    """Return whether every plot has its curves, and nothing is being read for a comparison."""
    labels = (each for each in by.window.findChildren(QLabel) if each.isVisible())
    waits = any(label.text().startswith("No updates yet") for label in labels)
    return not waits and "reading" not in by.text("compare_heading")
