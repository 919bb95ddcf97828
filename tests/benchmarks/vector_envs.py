"""How many environment steps a second: one environment against several, in the thread and beside.

    .venv/bin/python tests/benchmarks/vector_envs.py [--env HalfCheetah-v5] [--num-envs 8]
        [--processes 0 1 2] [--steps 30000] [--rounds 5] [--updates 0]

Runs take turns, so that what else the machine does meets them all alike; medians are printed as a
Markdown table. ``steps/s`` is wall time after the warm-up. The busy columns are processor time for
each environment step, of the training process and of all its environment processes together: with
a core for each of them, a step takes about the first plus the second divided by the processes.
"""

import argparse
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from td3core.config import make_settings
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Progress
from td3core.training.launch import train


@dataclass(frozen=True)
class Figures:
    """What one run took."""

    steps_per_s: float
    training_us: float
    processes_us: float


class Clock:
    """Notes the processor time of this process at the first and the last report of learning."""

    def __init__(self) -> None:
        self._marks: list[tuple[int, float]] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Progress) and event.env_steps > WARM_UP:
            self._marks.append((event.env_steps, time.process_time()))

    @property
    def us_per_step(self) -> float:
        (first, began), (last, ended) = self._marks[0], self._marks[-1]
        return 1e6 * (ended - began) / (last - first)


WARM_UP = 100


def measure(asked: argparse.Namespace, num_envs: int, processes: int) -> Figures:
    """Train once without evaluating or saving on the way."""
    config, tunables = make_settings(
        {
            "env": asked.env,
            "steps": asked.steps,
            "threads": 1,
            "learning_starts": WARM_UP,
            "updates_per_step": asked.updates,
            "num_envs": num_envs,
            "env_processes": processes,
            "eval_interval": 0,
            "checkpoint_interval": 0,
        }
    )
    clock, before = Clock(), children_s()
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(config, tunables, Control(), clock, Path(folder))
    assert isinstance(outcome, Ended), outcome
    # With the start of each process, its imports; the more steps, the less that counts.
    beside = 1e6 * (children_s() - before) / outcome.env_steps
    return Figures(outcome.steps_per_s, clock.us_per_step, beside)


def children_s() -> float:
    """Processor time of the child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Run the measurement and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--num-envs", type=int, default=8)
    parser.add_argument("--processes", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--updates", type=int, default=0, help="updates_per_step")
    asked = parser.parse_args()

    ways = [(1, 0), *((asked.num_envs, processes) for processes in asked.processes)]
    found: dict[tuple[int, int], list[Figures]] = {way: [] for way in ways}
    for _ in range(asked.rounds):
        for way in ways:
            found[way].append(measure(asked, *way))
    load = os.getloadavg()[0]
    print(
        f"{asked.env}, {asked.updates} updates per step, {os.cpu_count()} cores, load {load:.1f},"
        f" medians of {asked.rounds}\n"
    )
    print("| num_envs | env_processes | steps/s | to one | training busy µs | processes busy µs |")
    print("|---|---|---|---|---|---|")
    alone = median(f.steps_per_s for f in found[ways[0]])
    for (num_envs, processes), figures in found.items():
        speed = median(f.steps_per_s for f in figures)
        training = median(f.training_us for f in figures)
        beside = median(f.processes_us for f in figures)
        print(
            f"| {num_envs} | {processes} | {speed:,.0f} | {speed / alone:.2f}× | {training:.0f}"
            f" | {beside:.0f} |"
        )


if __name__ == "__main__":
    main()
