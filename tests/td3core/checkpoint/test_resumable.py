"""A forged state of a run in a checkpoint is refused before a run resumes from it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from td3core.exporters import weights
from td3core.protocol.metrics import METRICS
from td3core.runs.resumption import load_complete
from tests.td3core.helpers import finish, refusal, same, tensors

Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the last checkpoint of a short run."""
    found = finish(tmp_path_factory.mktemp("runs"), normalize_observations=True, num_envs=2)
    assert found.last_checkpoint is not None
    return found.last_checkpoint


def forged(good: Path, path: Path, change: Change, **counters: Any) -> Path:
    """Write the checkpoint with other tensors or counters, under a check sum of its own."""
    saved = checkpoint.load(good)
    header = replace(saved.header, counters=replace(saved.header.counters, **counters))
    arrays = {name: array.copy() for name, array in saved.tensors.items()}
    change(arrays)
    checkpoint.save(path, header, arrays)
    return path


def nothing(arrays: dict[str, Any]) -> None:
    pass


def test_a_checkpoint_written_again_as_it_was_is_good(good: Path, spot: Path) -> None:
    found = load_complete(forged(good, spot, nothing))
    assert same(found.tensors, tensors(good))


NUMBERS = "episodes.numbers"
SUMS = {f"tally.{metric.name}" for metric in METRICS if metric.network}
STATE = [
    "tally.counts",
    "episodes.obs",
    "generator.smoothing",
    "generator.replay",
    "generator.warm_up",
    "generator.warm_up.1",
    "generator.exploration",
    "generator.exploration.1",
    "actor_adam.step",
    "critic_adam.step",
    "actor_adam.actor.0.weight.exp_avg",
    "critic_adam.critic2.2.bias.exp_avg_sq",
]


@pytest.mark.slow
def test_every_tensor_of_a_checkpoint_is_asked_about(good: Path, spot: Path) -> None:
    # A memory that could not be written costs the memory, not the run.
    for name in tensors(good).keys() - {"replay.sums"} - SUMS:
        refusal(forged(good, spot, lambda a, name=name: a.pop(name)), load_complete)  # type: ignore[misc]


@pytest.mark.parametrize("name", STATE)
def test_a_missing_part_of_the_state_is_named(good: Path, spot: Path, name: str) -> None:
    said = refusal(forged(good, spot, lambda a: a.pop(name)), load_complete)
    assert name in said


@pytest.mark.parametrize("name", [*STATE, NUMBERS])
def test_a_part_of_another_shape_or_kind_is_named(good: Path, spot: Path, name: str) -> None:
    for other in (
        lambda array: np.zeros((*array.shape, 3), array.dtype),
        lambda array: array.astype(np.uint8),
    ):
        path = forged(good, spot, lambda a, o=other: a.update({name: o(a[name])}))  # type: ignore[misc]
        assert name in refusal(path, load_complete)


@pytest.mark.parametrize("name", ["tally.target", NUMBERS, "episodes.obs", *STATE[-4:]])
def test_a_part_that_is_no_number_is_named(good: Path, spot: Path, name: str) -> None:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name].flat[0] = np.nan

    assert name in refusal(forged(good, spot, change), load_complete)


@pytest.mark.parametrize(
    "counters",
    [
        {"env_steps": 10**13},
        {"updates": 10**18},
        {"episodes": 10**30},
        {"stored": 61},
        {"changes": 2**63},
        {"no_updates_until": 10**13},
        {"exploration_noise": 1e9},
        {"exploration_noise": float("nan")},
        {"env_steps": 59},
    ],
    ids=str,
)
def test_counters_that_no_run_has_are_refused(
    good: Path, spot: Path, counters: dict[str, Any]
) -> None:
    refusal(forged(good, spot, nothing, **counters), load_complete)


def setting(name: str, place: Any, value: float) -> Change:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        setting("episodes.numbers", (0, 0), -1.0),
        setting("episodes.numbers", (1, 0), 1e13),
        setting("episodes.numbers", (1, 2), 0.5),
        setting("episodes.numbers", (1, 2), 7.0),
        setting("tally.counts", 0, -1),
        setting("tally.counts", 1, 10**9),
        setting("generator.replay", 3, 0),
        setting("generator.replay", 4, 2),
        setting("generator.replay", 5, 2**32),
        setting("actor_adam.step", 0, -1.0),
        lambda arrays: arrays.update({"episodes.noise": np.full((2, 2), 1e4, np.float32)}),
        setting("critic_adam.critic1.0.bias.exp_avg_sq", 0, -1.0),
    ],
)
def test_a_state_that_no_run_has_is_refused(good: Path, spot: Path, change: Change) -> None:
    assert "is inconsistent" in refusal(forged(good, spot, change), load_complete)


def test_noise_of_another_shape_is_named(good: Path, spot: Path) -> None:
    noise = {"episodes.noise": np.ones((3, 2), np.float32)}
    said = refusal(forged(good, spot, lambda a: a.update(noise)), load_complete)
    assert "episodes.noise" in said


def test_an_exported_agent_is_refused(good: Path, spot: Path) -> None:
    weights.export(good, spot)
    assert "exported agent" in refusal(spot, load_complete)


def test_a_checkpoint_without_episodes_is_one_of_an_older_program(good: Path, spot: Path) -> None:
    path = forged(good, spot, lambda a: a.pop("episodes.numbers"))
    assert "could not resume it" in refusal(path, load_complete)
