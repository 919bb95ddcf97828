"""The sliders stay where they are, whatever is said or offered above them."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication, QWidget

from td3core.config import Tunables


def test_the_sliders_stay_in_place_while_what_is_above_them_changes(window, find) -> None:
    live, slider = window.live, find("slider_tau")
    # Its preset has no schedule, which would leave with the values that are offered.
    find("env_combo").setCurrentText("Pendulum-v1")

    def place() -> int:
        # What is laid out may lay out more.
        for _ in range(3):
            QApplication.processEvents()
        at: QPoint = slider.mapTo(live, QPoint(0, 0))
        return at.y()

    before = place()
    live.offer(Tunables(), Tunables(tau=0.01))
    assert find("live_first_values").isVisible()
    assert place() == before
    for name in ("live_first_values", "live_last_values"):
        button: QWidget = find(name)
        assert button.width() >= button.sizeHint().width(), name
    live.offer(None, Tunables())
    assert find("last_change").isVisible()
    assert place() == before
    find("spin_policy_noise").setValue(0.3)
    assert find("last_change").text().startswith("Last change: ")
    assert place() == before
