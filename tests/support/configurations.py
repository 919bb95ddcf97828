"""Random runs, groups and sweeps for ``tests/benchmarks/crashes.py``, each drawn from a seed."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from td3core.runs.journal import Change
from td3core.system import numerics


class Kind(StrEnum):
    """Kind of training."""

    RUN = "run"
    GROUP = "group"
    SWEEP = "sweep"


ENVIRONMENTS = (
    *("Pendulum-v1",) * 4,
    *("tests.support.scripted:StepsEnv",) * 3,
    *("tests.support.scripted:IdentityEnv",) * 2,
    *("InvertedPendulum-v5", "LunarLanderContinuous-v3") * 2,
    *("MountainCarContinuous-v0", "HalfCheetah-v5", "BipedalWalker-v3"),
)
SHORT = {
    "Pendulum-v1": 200,
    "tests.support.scripted:StepsEnv": 10,
    "tests.support.scripted:IdentityEnv": 1,
}
"""Lengths of episodes, where they are known to be short."""
SLACK = 200
LIVE: dict[str, tuple[Any, ...]] = {
    "tau": (0.001, 0.02, 0.3, "0.3@0, x0.1@100%"),
    "exploration_noise": (0.0, 0.3, 0.5, "0.5@10%, 0.1@400"),
    "policy_noise": (0.0, 0.1, 0.4),
    "policy_delay": (1, 2, 3),
    "gamma": (0.5, 0.9, 0.98),
    "actor_lr": (0.0, 1e-4, 1e-2),
    "critic_lr": (1e-4, 1e-2),
    "batch_size": (8, 24, 48),
    "updates_per_step": (0, 1, 2),
    "update_interval": (1, 3),
    "n_step": (1, 2, 3, 4, 5),
    "noise_correlation": (0.0, 0.9),
    "action_penalty": (0.0, 0.5),
    "exploration_noise_decay": (0.999, 1.0),
}
"""Live settings, and the values they are changed to."""


@dataclass
class Configuration:
    """A training, and how often it is killed."""

    number: int
    kind: Kind
    settings: dict[str, Any]
    kills: int
    source: random.Random
    """Decides when it is killed and which settings are changed by hand."""
    schedule: list[Change] = field(default_factory=list)
    """The live changes that it is started with."""
    by_hand: int = 0
    """Number of live changes requested while it learns."""
    slack: int = 0
    seeds: int = 1
    jobs: int = 1
    verified: bool = False
    """Whether ``verify`` must also find it exact."""
    sweep: dict[str, Any] = field(default_factory=dict)

    @property
    def env(self) -> str:
        return str(self.settings["env"])

    @property
    def saves(self) -> int:
        """How often it saves, about."""
        every = [self.settings[name] for name in ("checkpoint_interval", "eval_interval")]
        return sum(self.settings["steps"] // each for each in every if each)

    def words(self, without: Sequence[str] = (), **other: Any) -> list[str]:
        """Return the options of the command line that give these settings."""
        left_out = ("env", *without)
        chosen = {k: v for k, v in (self.settings | other).items() if k not in left_out}
        return [
            word for name, value in chosen.items() for word in ("--set", f"{name}={_text(value)}")
        ]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def draw(seed: int, number: int, kills: int) -> Configuration:
    """Draw one of the configurations of a seed; every tenth is a group, and every tenth a sweep.

    ``kills`` is how often it is killed on average.
    """
    source = random.Random(f"{seed} {number}")
    kind = {4: Kind.GROUP, 9: Kind.SWEEP}.get(number % 10, Kind.RUN)
    settings = _settings(source)
    times = kills + source.choice((-1, 0, 1)) if kills > 1 else kills
    drawn = Configuration(number, kind, settings, times, source)
    steps = settings["steps"]
    if kind is Kind.RUN:
        steps_of = (source.randrange(0, steps) for _ in range(source.choice((0, 2, 4, 8))))
        names = ((step, source.choice(list(LIVE))) for step in sorted(steps_of))
        drawn.schedule = [Change(step, name, source.choice(LIVE[name])) for step, name in names]
        slack = source.choice((0, SLACK)) if settings["numerics"] == numerics.AUTO else 0
        # A run returns to an episode only if the file of the replay buffer holds all of it.
        longest = SHORT.get(settings["env"], steps) * settings["num_envs"]
        drawn.slack = slack if longest <= settings["buffer_size"] + SLACK else 0
        drawn.verified = source.random() < 0.15
    else:
        settings["steps"] = min(steps, 800)
        drawn.jobs = source.choice((1, 2))
    if kind is not Kind.SWEEP:
        drawn.by_hand = source.choice((0, 0, 1, 3))
        drawn.seeds = 2 if kind is Kind.GROUP else 1
    else:
        # What such samplers draw depends on which trials have ended, and so on the clock.
        samplers = ("tpe", "random", "grid") if drawn.jobs == 1 else ("random", "grid")
        drawn.sweep = {"trials": 2, "sampler": source.choice(samplers), "sampler_seed": number}
        settings["eval_interval"] = settings["eval_interval"] or 200
    return drawn


def _settings(source: random.Random) -> dict[str, Any]:
    flag, choice = (lambda: source.random() < 0.5), source.choice
    num_envs = choice((1, 1, 1, 2, 3, 4))
    steps = source.randrange(500, 1300)
    return {
        "env": choice(ENVIRONMENTS),
        "steps": steps,
        "seed": source.randrange(2**31),
        "threads": 1,
        "num_envs": num_envs,
        "env_processes": choice((0, 0, 1, 2)) if num_envs > 1 else 0,
        "env_check": source.random() < 0.3,
        "engine": choice(("compiled", "torch")),
        "numerics": choice((numerics.AUTO,) * 7 + numerics.available()[-1:]),
        "learning_starts": source.randrange(30, steps // 3),
        # Small ones are overwritten again and again.
        "buffer_size": choice((120, 400, 5000)),
        "actor_hidden": [choice((8, 16, 33)) for _ in range(choice((1, 2)))],
        "critic_hidden": [choice((8, 16, 33)) for _ in range(choice((1, 2)))],
        "actor_activation": choice(("relu", "tanh")),
        "critic_activation": choice(("relu", "tanh")),
        "twin_critics": source.random() < 0.8,
        "reward_scale": choice((1.0, 1.0, 0.1)),
        "reward_floor": choice((-1e9, -1e9, -1.0)),
        "normalize_observations": flag(),
        "lr_final": choice((1.0, 0.1)),
        "eval_interval": choice((0, 150, 250, 400)),
        "eval_episodes": choice((1, 2)),
        "background_evaluation": flag(),
        "checkpoint_interval": choice((20, 50, 100, 170)),
        "keep_every": choice((0, 1, 3)),
        "keep_best": choice((0, 2)),
        "tau": choice((0.005, 0.05, "0.05@100, 0.005@50%")),
        "exploration_noise": choice((0.1, 0.4)),
        "policy_delay": choice((1, 2, 3)),
        "gamma": choice((0.9, 0.99)),
        "batch_size": choice((8, 16, 32)),
        "updates_per_step": choice((1, 1, 2, "2, 1@250")),
        "update_interval": choice((1, 1, 3)),
        "n_step": choice((1, 2, 3, 5)),
        "noise_correlation": choice((0.0, 0.0, 0.9)),
        "action_penalty": choice((0.0, 0.0, 0.5)),
        "exploration_noise_decay": choice((1.0, 0.999)),
        "exploration_noise_min": choice((0.0, 0.05)),
        "critic_layer_norm": flag(),
        "update_while_stepping": source.random() < 0.25,
    }
