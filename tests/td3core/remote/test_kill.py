"""A run that was steered from outside and killed goes on as if it had not been."""

import time
from pathlib import Path

import pytest

from td3core.remote.steer import RemoteControl
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from tests.support.lives import Life, differences, run_of
from tests.td3core.helpers import TINY

WAIT_S = 60
SETTINGS = TINY | {
    "env": "Pendulum-v1",
    "learning_starts": 200,
    "steps": 6000,
    "eval_interval": 1500,
    "eval_episodes": 1,
    "checkpoint_interval": 1000,
}


@pytest.mark.slow
def test_a_run_steered_from_outside_and_killed_equals_a_straight_one_with_its_journal(
    tmp_path: Path,
) -> None:
    place = tmp_path / "steered"
    life = Life.begin(place, SETTINGS)
    end = time.monotonic() + WAIT_S
    assert life.told()[0] == "begun"
    while life.env_steps < 300 and time.monotonic() < end:
        life.told()
    path = run_of(place)
    assert path is not None
    control = RemoteControl(path)
    for values in ({"tau": 0.02}, {"exploration_noise": 0.3, "policy_delay": 1}):
        answer = control.wait(control.change(values), WAIT_S)
        assert answer.done
    reached = answer.env_steps
    while life.env_steps < reached + 200 and time.monotonic() < end:
        life.told()
    assert life.kill()
    changes = changes_of(RunDirectory.open(path).journal())
    assert {change.name for change in changes} == {"tau", "exploration_noise", "policy_delay"}
    Life.begin(place, SETTINGS).end()
    straight = tmp_path / "straight"
    Life.begin(straight, SETTINGS, journal=str(path)).end()
    other = run_of(straight)
    assert other is not None
    assert differences(path, other) == []
