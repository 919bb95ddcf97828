"""A run that was steered from outside and killed goes on as if it had not been."""

from pathlib import Path

import pytest

from td3core.remote.steer import RemoteControl
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.status import Status
from tests.support.lives import Life, differences, run_of
from tests.support.waiting import eventually

WAIT_S = 60
SETTINGS = {
    "actor_hidden": "8,8",
    "critic_hidden": "8,8",
    "batch_size": 8,
    "threads": 1,
    "learning_starts": 200,
    "steps": 60_000,
    "eval_interval": 5000,
    "eval_episodes": 1,
    "checkpoint_interval": 4000,
}


@pytest.mark.release
def test_a_run_steered_from_outside_and_killed_equals_a_straight_one_with_its_journal(
    tmp_path: Path,
) -> None:
    place, straight = tmp_path / "steered", tmp_path / "straight"
    words = ["train", "Pendulum-v1", *(f"--set={name}={value}" for name, value in SETTINGS.items())]
    life = Life.begin(place, [*words, "--runs-dir", str(place)])
    try:
        eventually(lambda: _steps(place) >= 300 or not life.alive, WAIT_S)
        assert life.alive
        path = run_of(place)
        assert path is not None
        control = RemoteControl(path)
        for values in ({"tau": 0.02}, {"exploration_noise": 0.3, "policy_delay": 1}):
            answer = control.wait(control.change(values), WAIT_S)
            assert answer.done
        reached = answer.env_steps
        eventually(lambda: _steps(place) >= reached + 200, WAIT_S)
    finally:
        lived = life.kill()
    assert lived
    changes = changes_of(RunDirectory.open(path).journal())
    assert {change.name for change in changes} == {"tau", "exploration_noise", "policy_delay"}
    assert Life.begin(place, ["resume", str(path)]).end() == 0
    journal = ["--journal", str(path), "--runs-dir", str(straight)]
    assert Life.begin(straight, [*words, *journal]).end() == 0
    other = run_of(straight)
    assert other is not None
    assert differences(path, other) == []


def _steps(place: Path) -> int:
    """Return how far the run in a folder has come, as it says."""
    path = run_of(place)
    status = Status.read(path) if path else None
    return status.env_steps if status else 0
