"""A live change is of one setting: all others keep every digit they have."""

from PySide6.QtWidgets import QDoubleSpinBox, QSlider

from studio.live.live_panel import LivePanel
from td3core.config import Tunables, changes


def test_a_change_of_one_setting_carries_no_rounded_value_of_another(qtbot) -> None:
    requests: list[Tunables] = []
    panel = LivePanel(lambda wanted, _: requests.append(wanted))
    qtbot.addWidget(panel)
    panel.show()
    loaded = Tunables(actor_lr=0.00034567891234, critic_lr=1.23456789123e-07)
    panel.show_tunables(loaded)
    # Somebody types and leaves the field as it was, or passes by with Tab.
    for name in ("actor_lr", "critic_lr"):
        panel.findChild(QDoubleSpinBox, f"spin_{name}").interpretText()
    assert panel.tunables() == loaded
    slider = panel.findChild(QSlider, "slider_tau")
    slider.setValue(slider.value() + 30)
    slider.sliderReleased.emit()
    assert [name for name, _, _ in changes(loaded, requests[-1])] == ["tau"]
    assert panel.pending <= {"tau"}
