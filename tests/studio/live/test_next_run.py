"""While a run is steered the rows are its own; what is chosen for the next run waits."""

import pytest

from studio.live.live_panel import LivePanel
from studio.theme.theme import load_theme
from td3core.config import Tunables
from tests.studio.live.requests import Requests


@pytest.fixture
def panel(qtbot, requests: Requests) -> LivePanel:
    made = LivePanel(requests)
    qtbot.addWidget(made)
    made.set_theme(load_theme("light"))
    made.show()
    return made


def test_defaults_chosen_while_a_run_is_steered_are_shown_after_it(panel, look, requests) -> None:
    panel.set_steered(True)
    look("spin_tau").setValue(0.02)
    panel.acknowledge(requests.acknowledged())
    chosen = Tunables(tau=0.5, gamma=0.9)
    panel.show_defaults(chosen)
    panel.show_algorithm("tqc")
    assert panel.tunables() == Tunables(tau=0.02)
    assert panel.can_undo
    assert panel.row("dropped_quantiles").isHidden()
    assert panel.next_tunables() == chosen
    # The value that waits is still another one than that of the run.
    look("spin_tau").setValue(0.5)
    assert requests.made[-1] == Tunables(tau=0.5)
    look("reset_tau").click()
    assert requests.made[-1] == Tunables()
    panel.set_steered(False)
    assert panel.tunables() == panel.next_tunables() == chosen
    assert not panel.can_undo
    assert not panel.row("dropped_quantiles").isHidden()
    look("spin_tau").setValue(0.02)
    look("reset_tau").click()
    assert panel.tunables() == chosen


def test_a_button_of_the_first_or_last_values_is_checked_only_while_they_are_shown(
    panel, look
) -> None:
    def checked() -> list[bool]:
        return [look(f"live_{name}_values").isChecked() for name in ("first", "last")]

    panel.offer(Tunables(), Tunables(tau=0.5))
    assert checked() == [False, True]
    look("live_first_values").click()
    assert checked() == [True, False]
    look("spin_tau").setValue(0.02)
    assert checked() == [False, False]
    panel.show_tunables(Tunables(tau=0.5))
    assert checked() == [False, True]


def test_the_first_values_of_a_run_are_not_offered_while_it_is_steered(panel, look) -> None:
    panel.offer(Tunables(), Tunables(tau=0.5))
    assert look("live_first_values").isVisible()
    panel.set_steered(True)
    assert not look("live_first_values").isVisible()
    assert panel.tunables().tau == 0.5
