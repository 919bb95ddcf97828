"""The window of a run whose live settings follow schedules."""

import pytest

from td3core.config import given
from td3core.runs.journal import changes_of, read
from tests.studio.fake_runs import make_run
from tests.studio.window.test_main_job import start_pendulum

TAU = "0.5@100, 0.1@100%"


@pytest.mark.slow
def test_the_form_draws_the_schedules_of_a_preset_and_an_opened_run_its_place(
    qtbot, window, find, runs_dir
) -> None:
    find("env_combo").setCurrentText("LunarLanderContinuous-v3")
    assert not find("schedule_actor_lr").isHidden()
    assert given(window.live.tunables(), "actor_lr") == "0.001@0, x0.1@100%"
    find("env_combo").setCurrentText("Pendulum-v1")
    assert find("schedule_actor_lr").isHidden()
    run = make_run(runs_dir, reached=550, stopped="user", tau=TAU)
    with qtbot.waitSignal(window.model.run_opened, timeout=20_000):
        window.opener.open([run.path])
    assert find("spin_tau").value() == pytest.approx(0.3)
    assert not find("schedule_tau").isHidden()
    # The next run begins at the beginning.
    find("steps_spin").setValue(2000)
    assert find("spin_tau").value() == 0.5
    config, tunables = window.setup.settings(window.live.tunables())
    assert (config.steps, given(tunables, "tau")) == (2000, TAU)


@pytest.mark.slow
def test_a_slider_follows_its_run_until_a_hand_moves_it(qtbot, window, find) -> None:
    find("env_combo").setCurrentText("Pendulum-v1")
    window.live.give("tau", TAU)
    start_pendulum(qtbot, window, find)
    qtbot.waitUntil(lambda: 0.1 < find("spin_tau").value() < 0.499, timeout=60_000)
    assert not window.live.pending
    # One change, however slow the machine: a drag may be two.
    find("spin_tau").setValue(0.3)

    def made() -> list[tuple[str, object]]:
        changes = changes_of(read(window.model.record.run / "journal.jsonl"))
        return [(each.name, each.new) for each in changes]

    qtbot.waitUntil(lambda: made() == [("tau", 0.3)], timeout=20_000)
    qtbot.waitUntil(lambda: not window.live.pending, timeout=20_000)
    assert find("schedule_tau").isHidden()
    window.live.undo()
    qtbot.waitUntil(lambda: made() == [("tau", 0.3), ("tau", TAU)], timeout=20_000)
    qtbot.waitUntil(lambda: not window.live.pending, timeout=20_000)
    assert not find("schedule_tau").isHidden()
    assert "schedule →" in window.model.record.journal.markers[0].text
