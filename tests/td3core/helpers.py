"""Shared by the tests of the core: tiny settings, and runs with all their reports."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from td3core import checkpoint
from td3core.algorithm.td3 import TD3
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.rows import Batch
from td3core.buffer.sampler import Sampler
from td3core.config import RunConfig, Tunables, make_settings
from td3core.envs.info import EnvInfo
from td3core.envs.trust import with_user_consent
from td3core.errors import RequestError
from td3core.evaluation.result import EvaluationResult
from td3core.experiments.groups.group import Group, NewGroup, create_group
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Failed
from td3core.system.json_lines import Codec
from td3core.text import Text
from td3core.training.launch import train
from tests.support.scripted import STEPS

Kind = TypeVar("Kind")

TINY: dict[str, Any] = {
    "actor_hidden": (8, 8),
    "critic_hidden": (8, 8),
    "buffer_size": 1000,
    "learning_starts": 20,
    "batch_size": 8,
    "steps": 60,
    "eval_interval": 0,
    "eval_episodes": 2,
    # Their episodes are played on for it: half of what such a run takes.
    "bias_interval": 0,
    # Scripts count the steps taken, and their runs take exactly those they are asked for.
    "env_check": False,
    # Scripted environments are known to this process only.
    "background_evaluation": False,
    "checkpoint_interval": 0,
    "threads": 1,
}


def tiny(env: str = STEPS, **values: Any) -> tuple[RunConfig, Tunables]:
    """Return settings small enough for a run of milliseconds."""
    return make_settings({**TINY, "env": env, **values})


@dataclass
class Told:
    """A report that keeps everything it receives, and may act on it."""

    react: Callable[[Event], None] = lambda event: None
    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self.react(event)

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [event for event in self.events if isinstance(event, kind)]


def run(
    runs_dir: Path,
    env: str = STEPS,
    *,
    control: Control | None = None,
    react: Callable[[Event], None] = lambda event: None,
    **values: Any,
) -> tuple[Ended | Failed, Told]:
    """Train with tiny settings; return the outcome and all reports."""
    told = Told(react)
    config, tunables = tiny(env, **values)
    # A test names its environments itself.
    with_user_consent(config.choice)
    return train(config, tunables, control or Control(), told, runs_dir), told


def finish(runs_dir: Path, env: str = STEPS, **values: Any) -> Ended:
    """Train with tiny settings to the end."""
    outcome, _ = run(runs_dir, env, **values)
    assert isinstance(outcome, Ended), outcome
    return outcome


def fail(runs_dir: Path, env: str = STEPS, **values: Any) -> tuple[Failed, Told]:
    """Train with tiny settings until it fails."""
    outcome, told = run(runs_dir, env, **values)
    assert isinstance(outcome, Failed), outcome
    return outcome, told


def new_group(
    runs_dir: Path, seeds: tuple[int, ...], config: RunConfig, tunables: Tunables, **more: Any
) -> Group:
    """Make a group that has no runs yet."""
    new = NewGroup(runs_dir=runs_dir, seeds=seeds, config=config, tunables=tunables, **more)
    return create_group(new)


def tensors(path: Path | None) -> dict[str, Any]:
    """Return all tensors of a checkpoint."""
    assert path is not None
    return checkpoint.load(path).tensors


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Say whether two sets of arrays agree bit for bit."""
    return one.keys() == other.keys() and all(
        one[k].dtype == other[k].dtype and one[k].tobytes() == other[k].tobytes() for k in one
    )


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Return the networks (first part of a tensor's name) that differ."""
    assert one.keys() == other.keys()
    return {k.split(".")[0] for k in one if not np.array_equal(one[k], other[k])}


def batch(count: int = 8, obs_dim: int = 3, act_dim: int = 2, seed: int = 0) -> Batch:
    """Return random transitions, a third of them terminal."""
    source = np.random.default_rng(seed)

    def draw(width: int) -> Any:
        return source.normal(size=(count, width)).astype(np.float32)

    terminated = (np.arange(count) % 3 == 0).astype(np.float32)[:, None]
    action = np.tanh(draw(act_dim))
    return Batch(draw(obs_dim), action, draw(1), draw(obs_dim), terminated)


def learn(
    agent: TD3, buffer: ReplayBuffer, index: Any, normaliser: Any = None, stride: int = 1
) -> None:
    """Do an update with the transitions that each row of ``index`` (updates, batch) names."""
    sampler = Sampler(buffer, np.random.default_rng(0), normaliser, stride)
    agent.update_from(sampler.take(index, agent.tunables))


def take_threads(agent: TD3, threaded: bool, buffer: ReplayBuffer, batch: int) -> None:
    """Do one update, then let those of this batch size use one thread or two from here on.

    The test is skipped if two threads change bits here.
    """
    assert agent.fused is not None
    learn(agent, buffer, np.zeros((1, batch), np.int64))
    if agent.fused.choice.parallel is False:
        pytest.skip("half the rows have other bits with the BLAS of this processor")
    agent.fused.choice.parallel = threaded


def sample(buffer: ReplayBuffer, source: np.random.Generator, count: int) -> Batch:
    """Return one batch of this many transitions."""
    (draws,) = Sampler(buffer, source).draw(1, Tunables(batch_size=count))
    (drawn,) = draws
    return drawn


class FusedTD3(TD3):
    """An agent whose updates are the compiled ones, though handed a batch like torch's."""

    def __init__(self, config: RunConfig, *args: Any, **kwargs: Any) -> None:
        super().__init__(replace(config, engine="compiled"), *args, **kwargs)

    def update(self, batch: Any) -> None:
        size, obs_dim = batch.obs.shape
        buffer = ReplayBuffer(size, obs_dim, batch.action.shape[1])
        buffer.rows[:] = np.concatenate(batch, axis=1)
        learn(self, buffer, np.arange(size)[None])


ENGINES: dict[str, type[TD3]] = {"torch": TD3, "numba": FusedTD3}
_engine = ["torch"]


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Let new agents compute their updates with this implementation."""
    _engine.append(name)
    try:
        yield
    finally:
        _engine.pop()


def new_agent(config: RunConfig, tunables: Tunables, obs_dim: int, act_dim: int) -> TD3:
    """Return an agent that computes its updates as :func:`engine` says."""
    return ENGINES[_engine[-1]](config, tunables, obs_dim, act_dim)


def make_agent(**values: Any) -> TD3:
    """Return an agent for three observations and two actions."""
    return new_agent(*tiny(**values), obs_dim=3, act_dim=2)


def networks(agent: TD3) -> dict[str, Any]:
    """Return a copy of the weights and biases of an agent, and nothing else."""
    names = ("actor", "actor_target", "critic1", "critic1_target", "critic2", "critic2_target")
    return {k: v for k, v in agent.state().items() if k.split(".")[0] in names}


def layers(agent: TD3, name: str) -> list[tuple[Any, Any]]:
    """Return weight (out, in) and bias (out,) of each layer of a network; writing changes it."""
    base, _, is_target = name.partition("_")
    learner = agent.actor if base == "actor" else agent.critics
    weights = learner.target if is_target else learner.online
    member = learner.group.names.index(base)
    return [(weight.detach(), bias.detach()) for weight, bias in weights.networks[member].layers]


def make_header(path: Path, **values: Any) -> checkpoint.Header:
    """Return the header of a checkpoint of :func:`make_agent`."""
    config, tunables = tiny(**values)
    return checkpoint.Header(
        config=config,
        tunables=tunables,
        env=EnvInfo(
            env_id=STEPS,
            obs_dim=3,
            act_dim=2,
            action_low=(-3.0, 0.0),
            action_high=(1.0, 10.0),
            max_episode_steps=None,
            reward_threshold=None,
        ),
        counters=checkpoint.Counters(env_steps=60, updates=40, episodes=6, exploration_noise=0.1),
        evaluation=EvaluationResult((1.5, -2.25), (10, 10), 3),
        complete=True,
        created="2026-01-02T03:04:05+00:00",
    )


def write_checkpoint(path: Path, **values: Any) -> Path:
    """Write the checkpoint of an untrained agent."""
    checkpoint.save(path, make_header(path, **values), make_agent(**values).state())
    return path


def refusal(path: Path, read: Callable[[Path], object] = checkpoint.load) -> str:
    """Return the sentence with which a damaged checkpoint is refused."""
    with pytest.raises(RequestError) as caught:
        read(path)
    said = str(caught.value)
    # A window is told by another process.
    told = Codec(Text)
    assert str(told.decode(told.encode(caught.value.message))) == said
    assert said.startswith(path.name)
    assert "\n" not in said
    return said
