"""Opening a run fills the form, so that Train would start a similar one."""

from pathlib import Path

import pytest

from td3core.protocol import events
from tests.studio.fake_runs import make_run
from tests.studio.launch.test_resume import listed, open_run, train_before, wait_until_idle
from tests.studio.window.test_main_job import Listener, click
from tests.support.events import started

pytestmark = pytest.mark.shared_window

SETTINGS = {
    "seed": 11,
    "steps": 4321,
    "actor_hidden": (8, 4),
    "learning_starts": 123,
    "keep_replay": False,
    "env_args": '{"g": 9.0}',
}


@pytest.fixture
def run(runs_dir: Path):
    made = make_run(runs_dir, preset="Pendulum-v1 + DDPG", name="mine", tau=0.0125, **SETTINGS)
    change = {"step": 600, "field": "exploration_noise", "old": 0.1, "new": 0.3}
    made.note(change | {"time": "2026-01-02T10:00:00+00:00"})
    return made


def note(find) -> str:
    label = find("setup_origin")
    return label.text().replace("\u200b", "") if label.isVisible() else ""


def test_an_opened_run_fills_form_and_sliders(qtbot, window, find, run) -> None:
    assert find("env_combo").currentText() == "BipedalWalker-v3"
    assert note(find) == ""
    open_run(qtbot, window, run)
    config, tunables = window.setup.settings(window.live.tunables())
    assert config == run.config
    assert (tunables.tau, tunables.exploration_noise) == (0.0125, 0.3)
    assert find("spin_exploration_noise").value() == 0.3
    assert (find("preset_combo").currentText(), find("variant_combo").currentText()) == (
        "Pendulum-v1",
        "DDPG",
    )
    assert not window.live.can_undo
    assert note(find) == "Settings of Pendulum-v1 · mine. Train starts a new run with them."


def test_the_form_stays_open_to_changes_and_says_that_it_differs(qtbot, window, find, run) -> None:
    open_run(qtbot, window, run)
    find("seed_spin").setValue(12)
    assert (
        note(find)
        == "Settings of Pendulum-v1 · mine, with changes. Train starts a new run with them."
    )
    find("seed_spin").setValue(11)
    assert "changes" not in note(find)
    find("field_actor_hidden").setText("8, x")
    assert "with changes" in note(find)
    find("env_combo").setCurrentText("HalfCheetah-v5")
    assert note(find) == ""
    assert find("field_env_args").text() == ""


def test_the_note_follows_a_new_name(qtbot, window, find, run) -> None:
    open_run(qtbot, window, run)
    model = window.runs.model
    with qtbot.waitSignal(model.renamed):
        model.setData(model.find(run.path.absolute()), "yours")
    assert note(find).startswith("Settings of Pendulum-v1 · yours.")


@pytest.mark.slow
@pytest.mark.own_window
def test_train_after_opening_starts_the_like_of_it_and_the_note_goes(
    qtbot, window, find, runs_dir
) -> None:
    run = train_before(runs_dir, steps=1500, stop_at=10**9, tau=0.0125, seed=7)
    open_run(qtbot, window, run)
    assert note(find)
    listener = Listener(window)
    click(qtbot, find("train_button"))
    qtbot.waitUntil(lambda: bool(listener.all(events.Started)), timeout=60_000)
    started = listener.all(events.Started)[0]
    assert started.run != run.path
    assert (started.config, started.tunables) == (run.config, run.first_tunables)
    assert note(find) == ""
    wait_until_idle(qtbot, window)


@pytest.mark.slow
@pytest.mark.own_window
def test_a_resumed_run_keeps_the_name_it_was_given(qtbot, window, find, runs_dir) -> None:
    run = train_before(runs_dir)
    open_run(qtbot, window, run)
    model = window.runs.model
    model.setData(model.find(run.path.absolute()), "my walk")
    listener = Listener(window)
    listed(qtbot, window, run, "resume").trigger()
    qtbot.waitUntil(lambda: bool(listener.all(events.Started)), timeout=60_000)
    assert find("run_title").text() == "Pendulum-v1 · my walk"
    assert note(find).startswith("Settings of Pendulum-v1 · my walk.")
    wait_until_idle(qtbot, window)


def test_a_branch_with_the_settings_of_its_parent_is_told_from_it(qtbot, window, find, run) -> None:
    open_run(qtbot, window, run)
    branch = run.path.with_name("the-branch")
    window.controller.event_reported.emit(
        started(run.config, window.live.tunables(), 500, run=branch)
    )
    assert note(find).startswith("Settings of Pendulum-v1 · the-branch.")
