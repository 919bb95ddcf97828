"""stable-baselines3's TD3 with RL Zoo's settings on MuJoCo's tasks, as a measure for the presets.

    .venv/bin/python -m tests.benchmarks.zoo HalfCheetah-v5 --seed 0     can be interrupted
    .venv/bin/python -m tests.benchmarks.zoo                             print the table

RL Zoo (hyperparams/td3.yml, 22e3ff2) gives one set of settings for HalfCheetah, Hopper, Walker2d
and Ant: two layers of 400 and 300, learning rate 1e-3, batches of 256, noise 0.1, 10,000 random
steps first. Ten noise-free episodes every 20,000 steps are those by which ours are judged too, as
are the 100 of the last agent. One thread; processor seconds are those of the training thread,
evaluations left out. Results are kept in ``zoo.json``, the presets' in ``proven``.
"""

import argparse
import csv
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

RESULTS = Path(__file__).with_suffix(".json")
PROVEN = Path(__file__).with_name("proven")
STEPS, EVERY = 300_000, 20_000
SEED, EPISODES = 1000, 100
STATES = Path(tempfile.gettempdir()) / "td3-studio-peer"
"""Where interrupted trainings are saved."""


class Peer:
    """A training of stable-baselines3's TD3, saved in ``folder`` from time to time.

    Raises:
        gymnasium.error.Error: there is no such environment.
    """

    def __init__(self, env_id: str, seed: int, folder: Path, **settings: Any) -> None:
        """``settings``: what RL Zoo has for this environment besides its usual ones."""
        import gymnasium
        import torch
        from stable_baselines3 import TD3
        from stable_baselines3.common.noise import NormalActionNoise

        torch.set_num_threads(1)
        self._env_id, self._seed, self._folder = env_id, seed, folder
        env = gymnasium.make(env_id)
        if (folder / "model.zip").exists():
            self._model = TD3.load(folder / "model.zip", env)
            self._model.load_replay_buffer(folder / "buffer.pkl")
            return
        assert env.action_space.shape is not None
        size = env.action_space.shape[0]
        common = {
            "learning_rate": 1e-3,
            "learning_starts": 10_000,
            "train_freq": 1,
            "gradient_steps": 1,
            "action_noise": NormalActionNoise(np.zeros(size), 0.1 * np.ones(size)),
            "policy_kwargs": {"net_arch": [400, 300]},
        }
        self._model = TD3("MlpPolicy", env, seed=seed, **(common | settings))

    @property
    def steps(self) -> int:
        """Environment steps done."""
        return int(self._model.num_timesteps)

    def learn(self, steps: int) -> float:
        """Train; return the processor seconds of it."""
        began = time.thread_time()
        self._model.learn(steps, reset_num_timesteps=self.steps == 0)
        return time.thread_time() - began

    def returns(self, episodes: int, seed: int | None = None) -> list[float]:
        """Return what noise-free episodes obtain, from the starts that ours begin at too."""
        import gymnasium

        from td3core.randomness import Purpose, episode_seed

        totals = []
        for index in range(episodes):
            env = gymnasium.make(self._env_id)
            chosen = self._seed if seed is None else seed
            obs, _ = env.reset(seed=episode_seed(chosen, Purpose.EVALUATION, index))
            total, over = 0.0, False
            while not over:
                action, _ = self._model.predict(obs, deterministic=True)
                obs, reward, terminated, truncated, _ = env.step(action)
                total, over = total + float(reward), terminated or truncated
            env.close()
            totals.append(total)
        return totals

    def save(self) -> None:
        """Save model and replay buffer."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._model.save_replay_buffer(self._folder / "buffer.pkl")
        self._model.save(self._folder / "model.zip")


def read(results: Path = RESULTS) -> dict[str, Any]:
    """Return everything measured so far."""
    found: dict[str, Any] = json.loads(results.read_text("utf-8")) if results.exists() else {}
    return found


def keep(key: str, result: dict[str, Any]) -> None:
    """Keep the results of a training."""
    with FileLock(Path(tempfile.gettempdir()) / "td3-studio-zoo.lock"):
        lines = (
            f" {json.dumps(name)}: {json.dumps(value)}"
            for name, value in sorted((read() | {key: result}).items())
        )
        RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def train(env_id: str, seed: int, states: Path) -> None:
    """Train, evaluate and keep, or go on from where it was saved."""
    key = f"{env_id} {seed}"
    peer = Peer(env_id, seed, states / f"{env_id}_{seed}", batch_size=256)
    curve: list[list[float]] = read().get(key, {}).get("curve", [])
    curve = [row for row in curve if row[0] <= peer.steps]
    seconds = curve[-1][1] if curve else 0.0
    while peer.steps < STEPS:
        seconds += peer.learn(EVERY)
        mean = float(np.mean(peer.returns(10)))
        curve.append([peer.steps, round(seconds, 1), round(mean, 1)])
        print(key, *curve[-1], flush=True)
        keep(key, {"curve": curve})
        peer.save()
    last = peer.returns(EPISODES, SEED)
    final = {
        "final": float(np.mean(last)),
        "final_std": float(np.std(last)),
        "final_lowest": min(last),
    }
    keep(key, {"curve": curve, **final})


def ours(env_id: str) -> dict[str, float]:
    """Return the mean of the evaluation at ``STEPS`` of each seed of a preset."""
    with (PROVEN / f"{env_id}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {row["seed"]: float(row["mean"]) for row in rows if int(row["env_steps"]) == STEPS}


def table() -> str:
    """Return both sides at the same step."""
    lines = [
        f"| environment | side | seeds | evaluations at step {STEPS:,} |",
        "|---|---|---|---|",
    ]
    peers: dict[str, list[float]] = {}
    for key, found in sorted(read().items()):
        if found["curve"][-1][0] == STEPS:
            peers.setdefault(key.split()[0], []).append(found["curve"][-1][2])
    for env_id, found in peers.items():
        for side, values in (("ours", list(ours(env_id).values())), ("peer", found)):
            shown = ", ".join(f"{value:,.0f}" for value in sorted(values))
            lines.append(f"| {env_id} | {side} | {len(values)} | {shown} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("env", nargs="?")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=STATES, help="where trainings are saved")
    chosen = parser.parse_args()
    if chosen.env:
        train(chosen.env, chosen.seed, chosen.state)
    else:
        print(table())


if __name__ == "__main__":
    main()
