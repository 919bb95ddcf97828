"""Somebody without a mouse: every step by Tab, Enter and the window's keys."""

from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QWidget

from tests.walkthroughs.user import NotSeenError, User

_STOPS = 14


def _focus_seen(by: User) -> None:
    """Compare the part that has the focus with what it looks like without.

    Raises:
        NotSeenError: there is no difference, or no focus.
    """
    part = QApplication.focusWidget()
    if not isinstance(part, QWidget) or not part.isVisible():
        raise NotSeenError("something visible has the focus")

    def look() -> QImage:
        by.wait(30)
        around = part.rect().adjusted(-4, -4, 4, 4)
        place = part.mapTo(part.window(), around.topLeft())
        return part.window().grab(around.translated(place - around.topLeft())).toImage()

    focused = look()
    part.clearFocus()
    plain = look()
    part.setFocus()
    if focused == plain:
        raise NotSeenError(f"the focus on {part.objectName() or part} can be seen")


def _tab_to(by: User, name: str, most: int = 60) -> None:
    """Press Tab until a part has the focus."""
    for _ in range(most):
        now = QApplication.focusWidget()
        while now is not None and now.objectName() != name:
            now = now.parentWidget()
        if now is not None:
            return
        by.press("Tab")
    raise NotSeenError(f"Tab reaches {name}")


def walk(by: User) -> None:
    by.press("Ctrl+/")
    by.part("shortcuts_dialog")
    by.take("shortcuts")
    by.press("Esc", by.part("shortcuts_dialog"))
    by.press("Tab")
    for stop in range(_STOPS):
        _focus_seen(by)
        if stop == _STOPS // 2:
            by.take("focus")
        by.press("Tab")
    _tab_to(by, "env_combo")
    by.press("Ctrl+A")
    by.type("Pendulum-v1")
    by.press("Return")
    _tab_to(by, "steps_spin")
    by.press("Ctrl+A")
    by.type("6e3")
    by.press("Return")
    by.press("Ctrl+T")
    by.expect_step(1_200)
    _tab_to(by, "slider_tau", 80)
    _focus_seen(by)
    by.press("Right")
    by.expect_text("last_change", "τ")
    by.take("training")
    by.press("Ctrl+P")
    by.expect_state("paused")
    by.press("Ctrl+P")
    by.press("Ctrl+S")
    by.press("Ctrl+.")
    by.expect_state("stopped", "finished")
    by.press("Ctrl+R")
    by.row("runs_view", "Pendulum-v1")
    by.press("Down")
    by.press("Return")
    by.expect_text("run_title", "Pendulum-v1")
    by.take("runs")
    by.press("Ctrl+R")
    by.press("F9")
    _tab_to(by, "replay_view")
    by.press("Space")
    by.expect_moving()
    by.take("large")
    by.press("Esc")
    by.expect_no_error()
