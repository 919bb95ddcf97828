"""A replay buffer kept on a device as well gives the batches that the buffer itself would."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm import device_batches
from td3core.algorithm.device_batches import DeviceBatches, RowsThere, fits
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.config import Tunables
from tests.support.marks import slow
from tests.td3core.helpers import run

HERE = torch.device("cpu")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[RowsThere]:
    """Let every device have room; return the copies of buffers made there."""
    copies: list[RowsThere] = []

    class Noted(RowsThere):
        def __init__(self, *values: Any) -> None:
            super().__init__(*values)
            copies.append(self)

    monkeypatch.setattr(device_batches, "fits", lambda buffer, device: True)
    monkeypatch.setattr(device_batches, "RowsThere", Noted)
    return copies


def fill(buffer: ReplayBuffer, count: int) -> None:
    for _ in range(count):
        number = float(buffer.stored)
        obs = np.full(3, number, np.float32)
        buffer.add(obs, obs[:2] / 2, number + 0.5, obs + 1, buffer.stored % 7 == 0)


def test_the_floor_bounds_the_rewards_there_too(made: list[RowsThere]) -> None:
    buffer = ReplayBuffer(40, 3, 2)
    fill(buffer, 30)
    sampler = Sampler(buffer, np.random.default_rng(0))
    draws = sampler.take(np.arange(30).reshape(3, 10), Tunables(reward_floor=12.5))
    for there, here in zip(DeviceBatches(HERE)(draws), draws, strict=True):
        assert isinstance(there.reward, torch.Tensor)
        np.testing.assert_array_equal(there.reward.numpy(), here.reward)
        assert here.reward.min() >= 12.5
    assert len(made) == 1


@given(
    bursts=st.lists(st.integers(0, 60), min_size=1, max_size=8),
    capacity=st.integers(1, 40),
    slack=st.integers(0, 10),
)
def test_the_same_transitions_are_taken_there_however_the_ring_was_filled(
    bursts: list[int], capacity: int, slack: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_batches, "fits", lambda buffer, device: True)
        buffer = ReplayBuffer(capacity, 3, 2, slack)
        there, sampler = DeviceBatches(HERE), Sampler(buffer, np.random.default_rng(5))
        fill(buffer, 1)
        for burst in bursts:
            fill(buffer, burst)
            for draws in sampler.draw(2, Tunables(batch_size=9)):
                for ours, theirs in zip(draws, there(draws), strict=True):
                    for one, other in zip(ours, theirs, strict=True):
                        assert isinstance(other, torch.Tensor)
                        np.testing.assert_array_equal(other.numpy(), one)


@pytest.mark.parametrize("normalised", [*slow(False), True])
@pytest.mark.slow
def test_a_run_learns_from_there_as_from_here(
    runs_dir: Any, request: pytest.FixtureRequest, normalised: bool
) -> None:
    values = {"steps": 260, "learning_starts": 100, "normalize_observations": normalised}
    values["engine"] = "torch"
    here, _ = run(runs_dir / "here", **values)
    made = request.getfixturevalue("made")
    there, _ = run(runs_dir / "there", **values)
    # The probe has a buffer of its own.
    assert sum(each._buffer.capacity == 1000 for each in made) == (0 if normalised else 1)
    files = [ended.run / "training.csv" for ended in (here, there)]
    left, right = (
        [line.rsplit(",", 1)[0] for line in file.read_text().splitlines()] for file in files
    )
    assert len(left) > 3
    assert left == right


def test_a_processor_learns_from_the_memory_itself() -> None:
    assert not fits(ReplayBuffer(10, 3, 2), HERE)
