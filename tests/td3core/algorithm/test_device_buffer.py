"""A replay buffer kept on a device as well returns what the buffer itself would."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from td3core.algorithm.device_buffer import DeviceBuffer, fits
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.training import collector
from tests.td3core.helpers import make_agent, run

HERE = torch.device("cpu")


def fill(buffer: ReplayBuffer, count: int) -> None:
    for _ in range(count):
        number = float(buffer.stored)
        obs = np.full(3, number, np.float32)
        buffer.add(obs, obs[:2] / 2, number + 0.5, obs + 1, buffer.stored % 7 == 0)


@given(
    bursts=st.lists(st.integers(0, 60), min_size=1, max_size=8),
    capacity=st.integers(1, 40),
    slack=st.integers(0, 10),
)
def test_the_same_transitions_are_drawn_there_however_the_ring_was_filled(bursts, capacity, slack):
    buffer = ReplayBuffer(capacity, 3, 2, slack)
    there = DeviceBuffer(buffer, HERE)
    one, two = np.random.default_rng(5), np.random.default_rng(5)
    fill(buffer, 1)
    for burst in bursts:
        fill(buffer, burst)
        for ours, theirs in zip(buffer.sample(one, 9), there.sample(two, 9), strict=True):
            np.testing.assert_array_equal(theirs.numpy(), ours)


def test_an_update_from_there_changes_the_same_numbers(runs_dir):
    buffer = ReplayBuffer(50, 3, 2)
    there = DeviceBuffer(buffer, HERE)
    fill(buffer, 70)
    buffer.rows /= 100.0
    here, other = make_agent(), make_agent()
    one, two = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(6):
        here.update(buffer.sample(one, 8))
        other.update(there.sample(two, 8))
    left, right = here.state(), other.state()
    assert all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("normalised", [False, True])
def test_a_run_learns_from_there_as_from_here(runs_dir, monkeypatch, normalised):
    values = {"steps": 260, "learning_starts": 100, "normalize_observations": normalised}
    here, _ = run(runs_dir / "here", **values)
    made = []

    class Noted(DeviceBuffer):
        def __init__(self, *values):
            super().__init__(*values)
            made.append(self)

    monkeypatch.setattr(collector, "fits", lambda buffer, device: True)
    monkeypatch.setattr(collector, "DeviceBuffer", Noted)
    there, _ = run(runs_dir / "there", **values)
    assert len(made) == (0 if normalised else 1)
    files = [ended.run / "training.csv" for ended in (here, there)]
    left, right = (
        [line.rsplit(",", 1)[0] for line in file.read_text().splitlines()] for file in files
    )
    assert len(left) > 3
    assert left == right


def test_a_processor_learns_from_the_memory_itself():
    assert not fits(ReplayBuffer(10, 3, 2), HERE)
