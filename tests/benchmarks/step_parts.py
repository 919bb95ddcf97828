"""Where a step's time goes without learning: the environment, warm-up, acting.

    .venv/bin/python tests/benchmarks/step_parts.py [ENV]...

Processor time of the training thread for each environment step, in microseconds, so that other
work on the machine changes it little. Warm-up adds storing the transition and the loop to the
environment; acting adds the actor (two layers of 128), noise and clipping.
"""

import argparse
import tempfile
import time
from pathlib import Path

import gymnasium

from td3core.config import make_settings
from td3core.protocol.control import Control
from td3core.training.launch import train

STEPS, SETTLED = 6_000, 50


def environment_us(env: str) -> float:
    """Return what a random step of the bare environment takes."""
    made = gymnasium.make(env)
    made.reset(seed=0)
    made.action_space.seed(0)
    actions = [made.action_space.sample() for _ in range(STEPS // 2)]
    began = time.thread_time()
    for action in actions:
        *_, terminated, truncated, _ = made.step(action)
        if terminated or truncated:
            made.reset()
    spent = time.thread_time() - began
    made.close()
    return 1e6 * spent / len(actions)


def loop_us(env: str) -> tuple[float, float]:
    """Return what a step of warm-up takes, and one in which the agent acts."""
    clock: dict[int, float] = {}
    control = Control(boundary_hook=lambda step: clock.setdefault(step, time.thread_time()))
    values = {
        "env": env,
        "steps": STEPS,
        "threads": 1,
        "learning_starts": STEPS // 2,
        "updates_per_step": 0,
        "actor_hidden": (128, 128),
        "critic_hidden": (128, 128),
        "eval_interval": 0,
        "checkpoint_interval": 0,
    }
    with tempfile.TemporaryDirectory() as folder:
        train(*make_settings(values), control, lambda _: None, Path(folder))

    def between(first: int, last: int) -> float:
        reached = [step for step in clock if first <= step <= last]
        first, last = min(reached), max(reached)
        return 1e6 * (clock[last] - clock[first]) / (last - first)

    half = STEPS // 2
    return between(SETTLED, half - SETTLED), between(half + SETTLED, STEPS - SETTLED)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = ["Pendulum-v1", "BipedalWalker-v3", "HalfCheetah-v5"]
    parser.add_argument("env", nargs="*", default=usual)
    print("| µs per step | environment alone | warm-up | acting |\n|---|---|---|---|")
    for env in parser.parse_args().env:
        warm_up, acting = loop_us(env)
        print(f"| {env} | {environment_us(env):.0f} | {warm_up:.0f} | {acting:.0f} |")


if __name__ == "__main__":
    main()
