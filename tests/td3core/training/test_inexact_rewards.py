"""An episode is repeated exactly only if observations, rewards and ends all come back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.protocol.events import Ended, Warned
from td3core.training.collector import Collector
from tests.support.lives import differences
from tests.support.scripted import StepsEnv
from tests.td3core.helpers import finish
from tests.td3core.training.resuming import VALUES, go_on, go_on_well, stopped

Outcome = tuple[Any, float, bool, bool, dict[str, Any]]
STOP = 57
"""Within an episode of ten steps."""


def change(
    patch: pytest.MonkeyPatch, step: int, changed: Callable[[Outcome], Outcome]
) -> list[int]:
    """Let this step of every episode have another outcome; return where its uses are counted."""
    original, uses = StepsEnv.step, list[int]()

    def altered(env: StepsEnv, action: Any) -> Outcome:
        outcome = original(env, action)
        if env._step != step:
            return outcome
        uses.append(step)
        return changed(outcome)

    patch.setattr(StepsEnv, "step", altered)
    return uses


CHANGES: dict[str, Callable[[Outcome], Outcome]] = {
    "reward": lambda o: (o[0], o[1] + 0.25, *o[2:]),
    "terminated": lambda o: (o[0], o[1], True, o[3], o[4]),
    "truncated": lambda o: (o[0], o[1], o[2], True, o[4]),
    "observation": lambda o: (o[0] + np.float32(0.5), *o[1:]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_does_not_come_back_is_noticed(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    values = VALUES | {"eval_interval": 0}
    ended = stopped(runs_dir, STOP, **values)
    with monkeypatch.context() as patch:
        uses = change(patch, 3, CHANGES[what])
        outcome, told = go_on(ended.run)
    assert uses
    assert isinstance(outcome, Ended)
    assert ["did not return" in str(w.message) for w in told.all(Warned)] == [True]


def test_rewards_below_the_floor_count_as_well(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = VALUES | {"eval_interval": 0, "reward_floor": -0.001}
    ended = stopped(runs_dir, STOP, **values)
    with monkeypatch.context() as patch:
        change(patch, 3, lambda o: (o[0], o[1] - 50.0, *o[2:]))
        _, told = go_on(ended.run)
    assert ["did not return" in str(w.message) for w in told.all(Warned)] == [True]


@pytest.mark.parametrize("num_envs", [1, 3])
def test_shaped_rewards_come_back(runs_dir: Path, num_envs: int) -> None:
    values = VALUES | {"reward_scale": 0.3, "reward_floor": -1.0, "num_envs": num_envs}
    straight = finish(runs_dir / "straight", **values)
    ended = stopped(runs_dir, STOP, **values)
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []


def test_a_run_of_a_version_that_stored_bounded_rewards_goes_on_the_same(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = VALUES | {"reward_scale": 0.3, "reward_floor": -1.0}
    straight = finish(runs_dir / "straight", **values)
    scaled = Collector._scaled
    with monkeypatch.context() as patch:
        patch.setattr(Collector, "_scaled", lambda *given: max(scaled(*given), -1.0))
        ended = stopped(runs_dir, STOP, **values)
    last = go_on_well(ended.run).last_checkpoint
    assert last is not None
    assert straight.last_checkpoint is not None
    expected = checkpoint.load(straight.last_checkpoint).tensors
    found = checkpoint.load(last).tensors
    differing = [name for name in expected if not np.array_equal(expected[name], found[name])]
    # Only the replay buffer, which holds bounded rewards until the break.
    assert differing == ["replay.sums"]


def test_a_floor_that_changes_within_an_episode_leaves_it_repeatable(runs_dir: Path) -> None:
    values = VALUES | {"reward_floor": "-0.1@54, -1@54, -0.2@60"}
    straight = finish(runs_dir / "straight", **values)
    ended = stopped(runs_dir, STOP, **values)
    go_on_well(ended.run)
    assert differences(straight.run, ended.run) == []
