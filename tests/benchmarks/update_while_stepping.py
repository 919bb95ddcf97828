"""Steps per second with the updates during the environment's step against after it.

    .venv/bin/python tests/benchmarks/update_while_stepping.py [--envs ENV ...] [--rounds 3]

The preset of each environment with a short warm-up, one thread, without evaluations; runs take
turns, and medians are printed as a Markdown table. It needs a second core that is free.
"""

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median

from td3core.config.presets import compose
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.training.launch import train

WARM_UP = 1_000


def steps_per_s(env: str, steps: int, *, overlapped: bool) -> float:
    """Train once; return the steps per second after the warm-up."""
    values = {
        "steps": WARM_UP + steps,
        "learning_starts": WARM_UP,
        "threads": 1,
        "eval_interval": 0,
        "checkpoint_interval": 0,
        "keep_replay": False,
        "update_while_stepping": overlapped,
    }
    config, tunables = compose(env, [env], values)
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(config, tunables, Control(), lambda event: None, Path(folder))
    assert isinstance(outcome, Ended), outcome
    return outcome.steps_per_s


def main() -> None:
    """Run the measurement and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = ["BipedalWalker-v3", "HalfCheetah-v5", "Walker2d-v5", "Pendulum-v1"]
    parser.add_argument("--envs", nargs="+", default=known)
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()

    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {asked.rounds}\n")
    print("| environment | steps/s: off | on | on to off |")
    print("|---|---|---|---|")
    for env in asked.envs:
        off, on = list[float](), list[float]()
        for _ in range(asked.rounds):
            off.append(steps_per_s(env, asked.steps, overlapped=False))
            on.append(steps_per_s(env, asked.steps, overlapped=True))
        ratio = median(b / a for a, b in zip(off, on, strict=True))
        print(f"| {env} | {median(off):,.0f} | {median(on):,.0f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
