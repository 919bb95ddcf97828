"""Measures what groups, sweeps and following cost beyond training, on Pendulum-v1.

    python tests/benchmarks/many_processes.py sweep [--trials 6]
    python tests/benchmarks/many_processes.py group [--seeds 5] [--steps 8000]
    python tests/benchmarks/many_processes.py follow [--rounds 3] [--steps 6000]

``group`` compares a group of seeds with as many runs one after the other as one core has to train;
``follow`` lets runs take turns that are followed, as the window does it, and that are not.
Nothing else should be running.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from td3core.runs.directory import RunDirectory  # noqa: E402
from td3core.runs.listing import list_runs  # noqa: E402
from td3core.runs.reader import RunReader  # noqa: E402
from td3core.system.capacity import usable_cores  # noqa: E402

SWEEP = """
environment = "Pendulum-v1"
objective = "last_eval"
trials = {trials}
seeds = 1
steps = 400
sampler = "tpe"
pruning = "none"
jobs = 1

[settings]
learning_starts = 100
eval_interval = 200
eval_episodes = 1

[space]
actor_lr = {{ low = 1e-4, high = 1e-2, log = true }}
critic_lr = {{ low = 1e-4, high = 1e-2, log = true }}
"""
POLL_S = 0.2
"""As often as the window looks at a run that it follows."""


def command(*words: str) -> tuple[dict[str, Any], float]:
    """Run a command of the program; return its answer and the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "td3core", *words, "--json"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1]), time.perf_counter() - began


def sweep(folder: Path, trials: int) -> None:
    """Print what a trial costs beyond the training of its run."""
    file = folder / "tiny.toml"
    file.write_text(SWEEP.format(trials=trials))
    answer, seconds = command("sweep", str(file), "--runs-dir", str(folder))
    endings = [run.ending() for run in list_runs(folder)]
    training = [ending.wall_s for ending in endings if ending is not None]
    beyond = (answer["seconds"] - sum(training)) / trials
    print(f"{trials} trials: {seconds:.1f} s, of which the runs trained {sum(training):.1f} s")
    print(
        f"beyond training: {beyond:.2f} s per trial, and {seconds - answer['seconds']:.1f} s once"
    )


def group(folder: Path, seeds: int, steps: int) -> None:
    """Print the time of a group against that of single runs."""
    rounds = math.ceil(seeds / usable_cores())
    words = ("train", "Pendulum-v1", "--steps", str(steps), "--runs-dir", str(folder))
    singles = [command(*words, "--seed", str(seed)) for seed in range(rounds)]
    answer, together = command(*words, "--seeds", str(seeds))
    alone = sum(seconds for _, seconds in singles)
    speeds = [f"{found['steps_per_s']:.0f}" for found, _ in singles]
    print(f"{rounds} single runs: {alone:.1f} s ({', '.join(speeds)} steps/s)")
    speeds = [f"{run['steps_per_s']:.0f}" for run in answer["runs"]]
    print(f"group of {seeds}: {together:.1f} s ({', '.join(speeds)} steps/s)")
    print(f"ratio: {together / alone:.2f}")


def follow(folder: Path, rounds: int, steps: int) -> None:
    """Print the speed of runs that are followed and of runs that are not."""
    speeds: dict[bool, list[float]] = {False: [], True: []}
    shares: list[float] = []
    for number in range(2 * rounds):
        followed = number % 2 == 1
        own = folder / str(number)
        over = threading.Event()
        reader = threading.Thread(target=follow_run, args=(own, over, shares))
        if followed:
            reader.start()
        answer, _ = command(
            "train", "Pendulum-v1", "--steps", str(steps), "--seed", "0", "--no-eval",
            "--runs-dir", str(own),
        )  # fmt: skip
        over.set()
        if followed:
            reader.join()
        speeds[followed].append(answer["steps_per_s"])
    for followed, found in speeds.items():
        listed = ", ".join(f"{speed:.0f}" for speed in found)
        name = "followed" if followed else "not followed"
        print(f"{name}: median {statistics.median(found):.0f} steps/s ({listed})")
    cost = 1 - statistics.median(speeds[True]) / statistics.median(speeds[False])
    print(f"following costs {cost:.1%}, and takes {statistics.median(shares):.1%} of a core")


def follow_run(runs_dir: Path, over: threading.Event, shares: list[float]) -> None:
    """Read the run of a folder until it is over; add the share of a core that this took."""
    found: list[RunDirectory] = []
    while not found and not over.wait(POLL_S):
        found = list(list_runs(runs_dir))
    if not found:
        return
    follower = RunReader(found[0].path)
    began, used = time.perf_counter(), time.thread_time()
    while not over.wait(POLL_S):
        follower.poll()
    shares.append((time.thread_time() - used) / (time.perf_counter() - began))


def main() -> None:
    """Measure one of the three."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("sweep", "group", "follow"))
    parser.add_argument("--trials", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        match wanted.what:
            case "sweep":
                sweep(folder, wanted.trials)
            case "group":
                group(folder, wanted.seeds, wanted.steps or 8_000)
            case _:
                follow(folder, wanted.rounds, wanted.steps or 6_000)


if __name__ == "__main__":
    main()
