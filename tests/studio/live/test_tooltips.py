"""The tooltip of a live setting says which values it takes."""

import pytest

from studio.formatting import typographic
from studio.live.live_panel import LivePanel
from td3core.config import Tunables, specs, type_words


@pytest.fixture
def panel(qtbot) -> LivePanel:
    made = LivePanel(lambda *_: None)
    qtbot.addWidget(made)
    return made


def test_the_tooltips_of_every_slider_and_number_have_the_range(panel, look) -> None:
    for name, spec in specs(Tunables):
        for part in ("slider", "spin"):
            tip = look(f"{part}_{name}").toolTip()
            assert str(spec.help) in tip
            assert f"<i>{typographic(str(type_words(name)))}</i>" in tip
    assert "<i>a whole number from 1 to 100</i>" in look("slider_policy_delay").toolTip()
