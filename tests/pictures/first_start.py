"""The window when it is opened for the first time."""

from tests.pictures.patience import be_patient, episode_step
from tests.walkthroughs.user import User


def walk(by: User) -> None:
    be_patient(by)
    by.expect_text("replay_title", "BipedalWalker-v3")
    by.expect("the walker walks", lambda: episode_step(by) > 60)
    by.take("start")
