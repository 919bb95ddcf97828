"""Does it learn? A task of one step with a known answer, and the job the program is for."""

from pathlib import Path

import numpy as np
import pytest

from td3core import checkpoint
from td3core.config import make_settings
from td3core.config.presets import compose
from td3core.evaluation.evaluate import evaluate
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated
from td3core.training.launch import train
from tests.support.scripted import IDENTITY, IdentityEnv
from tests.td3core.helpers import Told, run

QUICK = {
    "steps": 1_500,
    "learning_starts": 200,
    "batch_size": 64,
    "actor_hidden": (32, 32),
    "critic_hidden": (32, 32),
    "buffer_size": 10_000,
    "actor_lr": 3e-3,
    "critic_lr": 3e-3,
    "exploration_noise": 0.2,
    "eval_interval": 500,
    "eval_episodes": 20,
}


@pytest.mark.parametrize("twin", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_the_best_action_of_a_one_step_task_is_learnt(runs_dir: Path, twin: bool) -> None:
    outcome, told = run(runs_dir, IDENTITY, **QUICK, seed=0, twin_critics=twin)
    assert isinstance(outcome, Ended)
    assert outcome.best_eval_return is not None
    assert outcome.best_checkpoint is not None
    # Doing nothing clever (always the centre of the range) earns -0.66 on average.
    assert outcome.best_eval_return > -0.03
    assert outcome.best_eval_return == max(e.mean for e in told.all(Evaluated))
    policy = checkpoint.load(outcome.best_checkpoint).policy()
    for obs in np.linspace(-0.9, 0.9, 7, dtype=np.float32):
        action = 1.0 + 2.0 * policy(np.array([obs]))[0]
        assert action == pytest.approx(IdentityEnv.best_action([obs]), abs=0.35)


@pytest.mark.slow
def test_without_learning_the_same_task_is_not_solved(runs_dir: Path) -> None:
    outcome, _ = run(runs_dir, IDENTITY, **QUICK | {"updates_per_step": 0}, seed=0)
    assert isinstance(outcome, Ended)
    assert outcome.best_eval_return is not None
    assert outcome.best_eval_return < -0.3


@pytest.mark.release
def test_the_pendulum_preset_swings_up_and_holds(runs_dir: Path) -> None:
    config, tunables = compose("Pendulum-v1", [], {"seed": 0, "threads": 1})
    assert config.steps == 20_000
    told = Told()
    outcome = train(config, tunables, Control(), told, runs_dir)
    assert isinstance(outcome, Ended), outcome
    assert outcome.best_checkpoint is not None
    best = checkpoint.load(outcome.best_checkpoint)
    result = evaluate(best.policy(), "Pendulum-v1", episodes=10, seed=0)
    assert result is not None
    assert result.mean >= -200.0
    assert result == best.header.evaluation
    # The same settings reach it again on episodes that no evaluation of the run has seen.
    fresh = evaluate(best.policy(), "Pendulum-v1", episodes=10, seed=1)
    assert fresh is not None
    assert fresh.mean >= -250.0


def test_the_presets_of_the_main_jobs_ask_for_learning_within_their_steps() -> None:
    for env_id in ("Pendulum-v1", "BipedalWalker-v3", "LunarLanderContinuous-v3"):
        config, tunables = compose(env_id, [], {})
        assert config.steps >= 10 * config.learning_starts
        assert tunables.updates_per_step >= 1
        assert make_settings({"env": env_id})[1].policy_delay == tunables.policy_delay == 2
