"""Does it learn as well as the published algorithm? Ours and stable-baselines3's TD3, side by side.

    .venv/bin/python tests/benchmarks/learning.py                 train what is missing, print
    .venv/bin/python tests/benchmarks/learning.py --only ours     one side
    .venv/bin/python tests/benchmarks/learning.py --table         print what is there

Both sides get the same networks, step sizes, noise and memory, one thread each, and are judged by
the same noise-free episodes: same environments, same reset seeds. The score of a run is the mean
over its last two evaluations, twenty episodes. Every finished run is kept in ``learning.json``
beside this file, so that an interrupted benchmark goes on where it was.
"""

import argparse
import json
import multiprocessing
import platform
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_suffix(".json")
SIDES = ("ours", "stable-baselines3")
EVALUATION_EPISODES = 10
EVALUATIONS = 10
RESAMPLES = 20_000


@dataclass(frozen=True)
class Task:
    """One environment, with what both sides are told."""

    env: str
    steps: int
    seeds: int
    lr: float
    gamma: float
    learning_starts: int
    hidden: tuple[int, ...] = (256, 256)
    batch_size: int = 256

    @property
    def eval_interval(self) -> int:
        return self.steps // EVALUATIONS


TASKS = (
    Task("Pendulum-v1", 20_000, seeds=5, lr=1e-3, gamma=0.98, learning_starts=1_000),
    Task("Hopper-v5", 100_000, seeds=3, lr=3e-4, gamma=0.99, learning_starts=10_000),
    Task(
        "HalfCheetah-v5",
        50_000,
        seeds=3,
        lr=1e-3,
        gamma=0.99,
        learning_starts=10_000,
        hidden=(128, 128),
        batch_size=128,
    ),
    Task(
        "BipedalWalker-v3",
        100_000,
        seeds=3,
        lr=1e-3,
        gamma=0.98,
        learning_starts=10_000,
        hidden=(128, 128),
        batch_size=128,
    ),
)


def train_ours(task: Task, seed: int) -> list[float]:
    """Train here; return the mean return of every evaluation."""
    from td3core.config import make_settings
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended, Evaluated
    from td3core.training.launch import train

    means: list[float] = []

    def report(event: object) -> None:
        if isinstance(event, Evaluated):
            means.append(float(np.mean(event.returns)))

    config, tunables = make_settings(
        {
            "env": task.env,
            "steps": task.steps,
            "seed": seed,
            "threads": 1,
            "learning_starts": task.learning_starts,
            "actor_hidden": task.hidden,
            "critic_hidden": task.hidden,
            "actor_lr": task.lr,
            "critic_lr": task.lr,
            "gamma": task.gamma,
            "batch_size": task.batch_size,
            "buffer_size": task.steps,
            "eval_interval": task.eval_interval,
            "eval_episodes": EVALUATION_EPISODES,
            "background_evaluation": False,
            "checkpoint_interval": 0,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(config, tunables, Control(), report, Path(folder))
    assert isinstance(outcome, Ended), outcome
    return means


def train_theirs(task: Task, seed: int) -> list[float]:
    """Train stable-baselines3's TD3; judge it by our evaluation's episodes."""
    import gymnasium as gym
    import torch
    from stable_baselines3 import TD3
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.noise import NormalActionNoise

    from td3core.evaluation.evaluate import evaluate

    torch.set_num_threads(1)
    env = gym.make(task.env)
    actions = env.action_space.shape
    assert actions is not None
    model = TD3(
        "MlpPolicy",
        env,
        learning_rate=task.lr,
        buffer_size=task.steps,
        learning_starts=task.learning_starts,
        batch_size=task.batch_size,
        tau=0.005,
        gamma=task.gamma,
        train_freq=(1, "step"),
        gradient_steps=1,
        action_noise=NormalActionNoise(np.zeros(actions), 0.1 * np.ones(actions)),
        policy_delay=2,
        target_policy_noise=0.2,
        target_noise_clip=0.5,
        policy_kwargs={"net_arch": list(task.hidden)},
        seed=seed,
        device="cpu",
    )

    def act(obs: Any) -> Any:
        with torch.no_grad():
            return model.actor(torch.from_numpy(obs[None])).numpy()[0]

    means: list[float] = []

    class Judge(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps % task.eval_interval == 0:
                result = evaluate(act, task.env, episodes=EVALUATION_EPISODES, seed=seed)
                means.append(result.mean)
            return True

    model.learn(task.steps, callback=Judge())
    return means


def job(side: str, task: Task, seed: int) -> dict[str, Any]:
    """Train one run of one side, in a process of its own."""
    trainers: dict[str, Callable[[Task, int], list[float]]] = dict(
        zip(SIDES, (train_ours, train_theirs), strict=True)
    )
    means = trainers[side](task, seed)
    return {
        "side": side,
        "env": task.env,
        "steps": task.steps,
        "seed": seed,
        "evaluations": [round(value, 3) for value in means],
        "version": version("td3-studio" if side == "ours" else "stable-baselines3"),
        "torch": version("torch"),
        "machine": f"{platform.machine()} {platform.system()}",
    }


def score(run: dict[str, Any]) -> float:
    """Mean of the last two evaluations of a run."""
    return float(np.mean(run["evaluations"][-2:]))


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the middle half along the last axis, the border values counted in part.

    As in Agarwal et al., *Deep RL at the Edge of the Statistical Precipice* (2021), but exact for
    counts that four does not divide: with few seeds it matters.
    """
    count = values.shape[-1]
    edges = np.arange(count + 1) / count
    weights = np.clip(np.minimum(edges[1:], 0.75) - np.maximum(edges[:-1], 0.25), 0.0, None)
    return np.sort(values, axis=-1) @ (weights / weights.sum())


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Interquartile mean and its 95 % percentile bootstrap interval over runs."""
    source = np.random.default_rng(0)
    resampled = values[source.integers(0, len(values), (RESAMPLES, len(values)))]
    low, high = np.percentile(interquartile_mean(resampled), (2.5, 97.5))
    return float(interquartile_mean(values)), float(low), float(high)


def table(runs: Iterable[dict[str, Any]]) -> str:
    """Return the comparison as a Markdown table."""
    runs = list(runs)
    lines = [
        "| environment | steps | side | runs | interquartile mean [95 % interval] | each seed |",
        "|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        for side in SIDES:
            found = [r for r in runs if (r["side"], r["env"]) == (side, task.env)]
            if not found:
                continue
            scores = np.array([score(r) for r in sorted(found, key=lambda r: r["seed"])])
            mean, low, high = interval(scores)
            each = ", ".join(f"{value:.0f}" for value in scores)
            lines.append(
                f"| {task.env} | {task.steps:,} | {side} | {len(found)}"
                f" | {mean:.0f} [{low:.0f}, {high:.0f}] | {each} |"
            )
    return "\n".join(lines)


def read() -> list[dict[str, Any]]:
    """Return the runs that are finished."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def add(run: dict[str, Any]) -> None:
    """Keep one more finished run."""
    runs = sorted([*read(), run], key=lambda r: (r["env"], r["side"], r["seed"]))
    lines = ",\n".join(json.dumps(r) for r in runs)
    RESULTS.write_text(f"[\n{lines}\n]\n")


def main() -> None:
    """Train what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=SIDES)
    parser.add_argument("--table", action="store_true", help="train nothing")
    parser.add_argument("--workers", type=int, default=1, help="runs at the same time")
    asked = parser.parse_args()

    done = {(r["side"], r["env"], r["seed"]) for r in read()}
    missing = [
        (side, task, seed)
        for task in TASKS
        for side in SIDES
        for seed in range(task.seeds)
        if (side, task.env, seed) not in done and asked.only in (None, side)
    ]
    if missing and not asked.table:
        context = multiprocessing.get_context("spawn")
        with context.Pool(asked.workers, maxtasksperchild=1) as pool:
            for pending in [pool.apply_async(job, parts) for parts in missing]:
                run = pending.get()
                add(run)
                print(f"{run['env']} seed {run['seed']} {run['side']}: {score(run):.1f}")
    print(table(read()))


if __name__ == "__main__":
    main()
