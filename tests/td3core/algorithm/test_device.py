"""Updates on a graphics processor: refused where there is none, elsewhere the same as here."""

import numpy as np
import pytest
import torch

from td3core.config import Tunables
from tests.td3core.helpers import batch, fail, make_agent

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a graphics processor")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a graphics processor")
def test_a_graphics_processor_that_is_not_there_is_refused_before_anything_is_written(
    runs_dir,
) -> None:
    failed, _ = fail(runs_dir, device="cuda")
    assert failed.request
    assert str(failed.message).startswith("device cannot be cuda: ")
    assert not runs_dir.exists() or not list(runs_dir.iterdir())


@needs_cuda
def test_a_captured_update_follows_the_one_of_the_processor_through_live_changes() -> None:
    here, there = make_agent(), make_agent(device="cuda")
    policies = here.policy(), there.policy()
    for number in range(30):
        if number == 15:
            for agent in (here, there):
                agent.apply(Tunables(tau=0.5, gamma=0.5, policy_delay=3, actor_lr=0.01))
        # Another batch size is another graph.
        data = batch(8 if number < 20 else 16, seed=number)
        here.update(data)
        there.update(data)
        ours, theirs = here.state(), there.state()
        for name, array in ours.items():
            np.testing.assert_allclose(theirs[name], array, rtol=1e-3, atol=1e-5, err_msg=name)
        obs = data.obs[0]
        np.testing.assert_allclose(policies[1](obs), policies[0](obs), atol=1e-4)
    assert there.take_metrics() == pytest.approx(here.take_metrics(), rel=1e-3)


@needs_cuda
def test_a_captured_agent_goes_on_from_its_state_bit_for_bit() -> None:
    agent, other = make_agent(device="cuda"), make_agent(device="cuda", seed=5)
    for number in range(5):
        agent.update(batch(seed=number))
    other.update(batch(seed=99))
    other.load_state(agent.state(), agent.updates)
    for number in range(5, 9):
        agent.update(batch(seed=number))
        other.update(batch(seed=number))
    one, two = agent.state(), other.state()
    assert all(np.array_equal(one[name], two[name]) for name in one)
