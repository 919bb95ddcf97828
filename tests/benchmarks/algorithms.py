"""What DDPG, TD3 and TQC reach in the same steps, and in the same processor time.

    .venv/bin/python tests/benchmarks/algorithms.py train FOLDER [JOBS]  train what is missing
    .venv/bin/python tests/benchmarks/algorithms.py keep FOLDER          keep what was measured
    .venv/bin/python tests/benchmarks/algorithms.py                      print the table
    .venv/bin/python tests/benchmarks/algorithms.py draw FILE.png        draw the evaluations

The algorithms have the same settings but for ``algorithm``. ``algorithms/ENV.csv`` keeps every
evaluation, ``algorithms/ENV.json`` the commands, processor seconds, processor and numerics class.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from overestimation import Task, curves, places, run_in, write

HERE = Path(__file__).with_suffix("")
ALGORITHMS = ("ddpg", "td3", "tqc")
SEEDS = (51, 52, 53)
COLOURS = {"ddpg": "#d97706", "td3": "#2563eb", "tqc": "#059669"}
COLUMNS = ("env_steps", "time_s", "mean", "returns")
_NETWORKS = (
    *("actor_hidden=[64, 64]", "critic_hidden=[64, 64]", "critic_layer_norm=on"),
    *("batch_size=128", "learning_starts=10000", "tau=0.02", "bias_interval=0"),
    *("actor_lr=1e-3@100000, 3e-4@300000", "critic_lr=1e-3@100000, 3e-4@300000"),
)
TASKS = (
    Task("BipedalWalker-v3", 60_000, ("bias_interval=0",)),
    Task("HalfCheetah-v5", 150_000, _NETWORKS),
)
GRID = (TASKS, SEEDS, ALGORITHMS)


def train(folder: Path, jobs: int) -> None:
    """Train what is missing, some at once; what was broken off begins anew."""

    def train_one(task: Task, algorithm: str, seed: int, place: Path) -> None:
        if (place / "processor_s").exists():
            return
        shutil.rmtree(place, ignore_errors=True)
        words = [*task.command(algorithm, seed), "--runs-dir", str(place)]
        print(place.name, *words, flush=True)
        # The usage of this process alone, while others run.
        command = [sys.executable, "-m", "td3core", *words]
        _, status, usage = os.wait4(os.posix_spawn(sys.executable, command, os.environ), 0)
        if status:
            raise SystemExit(f"{place.name} failed")
        (place / "processor_s").write_text(f"{usage.ru_utime + usage.ru_stime:.1f}", "utf-8")

    with ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(train_one, *each) for each in places(folder, *GRID)]:
            done.result()


def keep(folder: Path) -> None:
    """Keep the evaluations of the runs that are done, and what made them."""
    from td3core.runs.directory import RunDirectory
    from td3core.runs.resumption import class_of_run
    from td3core.runs.tables import read_table
    from td3core.system import processor

    for task in TASKS:
        runs, rows = list[dict[str, Any]](), list[list[Any]]()
        for its, algorithm, seed, place in places(folder, *GRID):
            run = run_in(place) if its is task and (place / "processor_s").exists() else None
            if run is None:
                continue
            rows += [
                [algorithm, seed, *(row[name] for name in COLUMNS)]
                for row in read_table(run / "evaluations.csv")
            ]
            about = {
                "algorithm": algorithm,
                "seed": seed,
                "processor_s": float((place / "processor_s").read_text("utf-8")),
                "command": subprocess.list2cmdline(["td3-studio", *task.command(algorithm, seed)]),
                "processor": processor.kind(),
                "class": class_of_run(RunDirectory.open(run)),
            }
            runs.append(about)
        write(HERE, task.env, runs, [["algorithm", "seed", *COLUMNS], *rows])


def tables() -> str:
    """Return the mean of the last five evaluations, and processor time, of each algorithm.

    Interquartile mean over the seeds with its 95 % interval, each seed in brackets.
    """
    from td3core.analysis.aggregate import estimate

    lines = [
        "| environment, steps | algorithm | return, last five evaluations | processor time |",
        "|---|---|---|---|",
    ]
    for task in TASKS:
        runs = json.loads((HERE / f"{task.env}.json").read_text("utf-8"))
        for algorithm in ALGORITHMS:
            last = np.array([y[-5:].mean() for _, y in curves(task.env, algorithm, "mean", HERE)])
            seconds = [run["processor_s"] for run in runs if run["algorithm"] == algorithm]
            if not len(last):
                continue
            middle = estimate(last)
            ends = middle.interval
            interval = f" [{ends.low:,.0f}, {ends.high:,.0f}]" if ends else ""
            each = ", ".join(f"{value:,.0f}" for value in last)
            lines.append(
                f"| {task.env}, {task.steps:,} | {algorithm.upper()} |"
                f" {middle.value:,.0f}{interval} ({each}) | {np.median(seconds):.0f} s |"
            )
    return "\n".join(lines)


def draw(file: Path) -> None:
    """Draw the evaluations: every seed, interquartile mean and its 95 % interval."""
    from matplotlib.figure import Figure

    from td3core.analysis.comparison import band_of

    figure = Figure(figsize=(9.6, 2.8), dpi=125, layout="constrained")
    for axes, task in zip(figure.subplots(1, len(TASKS)), TASKS, strict=True):
        for algorithm in ALGORITHMS:
            found, colour = curves(task.env, algorithm, "mean", HERE), COLOURS[algorithm]
            if not found:
                continue
            for x, y in found:
                axes.plot(x / 1000, y, color=colour, alpha=0.3, linewidth=0.7)
            band = band_of(found)
            axes.plot(
                band.x / 1000, band.middle, color=colour, linewidth=1.6, label=algorithm.upper()
            )
            if band.low is not None and band.high is not None:
                axes.fill_between(
                    band.x / 1000, band.low, band.high, color=colour, alpha=0.15, lw=0
                )
        axes.set_title(f"{task.env}, {len(found)} seeds", fontsize=8)
        axes.set_xlabel("environment steps (thousands)", fontsize=7)
        axes.set_ylabel("return of an evaluation", fontsize=7)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, frameon=False)
    figure.savefig(file)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", nargs="?", choices=("train", "keep", "draw"))
    parser.add_argument("place", type=Path, nargs="?")
    parser.add_argument("jobs", type=int, nargs="?", default=1)
    chosen = parser.parse_args()
    if chosen.act is None:
        print(tables())
    elif chosen.act == "train":
        train(chosen.place, chosen.jobs)
    else:
        acts = {"keep": keep, "draw": draw}
        acts[chosen.act](chosen.place)


if __name__ == "__main__":
    main()
