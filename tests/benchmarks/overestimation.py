"""How far the critics of TD3 and of DDPG overestimate: evidence for the manual.

    .venv/bin/python tests/benchmarks/overestimation.py train FOLDER   train, or go on where killed
    .venv/bin/python tests/benchmarks/overestimation.py keep FOLDER    keep the evaluations so far
    .venv/bin/python tests/benchmarks/overestimation.py                print the table
    .venv/bin/python tests/benchmarks/overestimation.py draw FILE.png  draw the bias over steps
    .venv/bin/python tests/benchmarks/overestimation.py cost           time runs with and without it
    .venv/bin/python tests/benchmarks/overestimation.py waits          how long the training waits

Both sides have the same settings but for ``algorithm``; DDPG is TD3 without its three tricks.
``overestimation/ENV.csv`` keeps every evaluation as it was recorded, ``overestimation/ENV.json``
how far each run got, with which command, on which processor and in which numerics class.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).with_suffix("")
ALGORITHMS = ("td3", "ddpg")
SEEDS = range(3)
COLOURS = {"td3": "#2563eb", "ddpg": "#d97706"}
WIDE = 5.0
"""A bias beyond this is drawn on a logarithmic axis, linear from −1 to 1."""
PAIRS = 5
COSTED = (
    ("Pendulum-v1",),
    ("Hopper-v5", "--steps", "12000", "--set", "learning_starts=1000"),
)
"""Runs that are timed, as words after ``train``."""
TIMED = """
import resource, sys
from td3core.cli.app import main
main(sys.argv[1:])
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(*(each.ru_utime + each.ru_stime for each in used), file=sys.stderr)
"""
"""Runs a command, then says what processor time it and its processes took."""
COLUMNS = (
    *("env_steps", "mean", "returns", "q_expected", "q_obtained", "bias", "bias_low", "bias_high"),
    *("bias_std", "bias_q1", "bias_q2", "bias_target", "bias_open"),
)


@dataclass(frozen=True)
class Task:
    """An environment, and what differs from its preset."""

    env: str
    steps: int
    settings: tuple[str, ...] = ()

    def command(self, algorithm: str, seed: int) -> list[str]:
        """Return the words after ``td3-studio`` that train one agent."""
        values = (
            f"algorithm={algorithm}",
            "threads=1",
            f"eval_interval={self.steps // 20}",
            "background_evaluation=false",
            *self.settings,
        )
        sets = [word for value in values for word in ("--set", value)]
        return ["train", self.env, "--steps", str(self.steps), "--seed", str(seed), *sets]


TASKS = (
    Task("Pendulum-v1", 30_000),
    # Small networks and batches: a run of the preset's takes five times as long.
    Task(
        "Hopper-v5",
        300_000,
        (
            *("actor_hidden=[64, 64]", "critic_hidden=[64, 64]", "batch_size=100"),
            *("actor_lr=1e-3", "critic_lr=1e-3", "checkpoint_interval=15000", "keep_every=0"),
        ),
    ),
)


def places(
    folder: Path,
    tasks: Sequence[Task] = TASKS,
    seeds: Sequence[int] = SEEDS,
    algorithms: Sequence[str] = ALGORITHMS,
) -> Iterator[tuple[Task, str, int, Path]]:
    """Yield each run there is to be, with the folder that it alone is made in."""
    for task in tasks:
        for seed in seeds:
            for algorithm in algorithms:
                yield task, algorithm, seed, folder / f"{task.env}-{algorithm}-{seed}"


def run_in(place: Path) -> Path | None:
    """Return the run in its folder; None if it was not begun."""
    return next((found.parent for found in place.glob("*/run.toml")), None)


def train(folder: Path) -> None:
    """Train what is missing, one run after the other."""
    from td3core.runs.directory import RunDirectory
    from td3core.runs.listing import summarise

    for task, algorithm, seed, place in places(folder):
        run = run_in(place)
        if run is None:
            words = [*task.command(algorithm, seed), "--runs-dir", str(place)]
        elif summarise(RunDirectory.open(run)).env_steps < task.steps:
            words = ["resume", str(run)]
        else:
            continue
        print(place.name, *words, flush=True)
        subprocess.run([sys.executable, "-m", "td3core", *words], check=True)


def keep(folder: Path) -> None:
    """Keep the evaluations recorded so far, and what made them."""
    from td3core.runs.directory import RunDirectory
    from td3core.runs.resumption import class_of_run
    from td3core.runs.tables import read_table
    from td3core.system import processor

    for task in TASKS:
        runs, rows = list[dict[str, Any]](), list[list[Any]]()
        for its, algorithm, seed, place in places(folder):
            run = run_in(place) if its is task else None
            if run is None:
                continue
            table = read_table(run / "evaluations.csv")
            rows += [[algorithm, seed, *(row[name] for name in COLUMNS)] for row in table]
            about = {
                "algorithm": algorithm,
                "seed": seed,
                "steps": task.steps,
                "reached": int(table[-1]["env_steps"]) if table else 0,
                "command": " ".join(["td3-studio", *task.command(algorithm, seed)]),
                "processor": processor.kind(),
                "class": class_of_run(RunDirectory.open(run)),
            }
            runs.append(about)
        write(HERE, task.env, runs, [["algorithm", "seed", *COLUMNS], *rows])


def write(kept: Path, env: str, runs: list[dict[str, Any]], table: list[list[Any]]) -> None:
    """Keep what made some runs, and their evaluations, a row each below their names."""
    kept.mkdir(exist_ok=True)
    (kept / f"{env}.json").write_text(json.dumps(runs, indent=1) + "\n", "utf-8")
    with (kept / f"{env}.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(table)


def curves(
    env: str, algorithm: str, column: str, kept: Path = HERE
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return steps and a column of the evaluations of each seed; rows without it are left out."""
    with (kept / f"{env}.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["algorithm"] == algorithm]
    found = []
    for seed in sorted({int(row["seed"]) for row in rows}):
        its = [row for row in rows if int(row["seed"]) == seed and row[column]]
        steps = np.array([float(row["env_steps"]) for row in its])
        found.append((steps, np.array([float(row[column]) for row in its])))
    return found


def tables() -> str:
    """Return the mean of each quantity over the second half of each finished run.

    Interquartile mean over the seeds with its 95 % interval, each seed in brackets.
    """
    from td3core.analysis.aggregate import estimate

    lines = [
        "| environment | algorithm | steps reached | bias | deviation of the bias | return |",
        "|---|---|---|---|---|---|",
    ]
    for task in TASKS:
        for algorithm in ALGORITHMS:
            cells = []
            for column in ("bias", "bias_std", "mean"):
                found = curves(task.env, algorithm, column)
                whole = [y[x > task.steps / 2].mean() for x, y in found if x[-1] == task.steps]
                if not whole:
                    cells.append("-")
                    continue
                middle, each = estimate(np.array(whole)), ", ".join(f"{v:.3g}" for v in whole)
                ends = middle.interval
                low_high = f" [{ends.low:.3g}, {ends.high:.3g}]" if ends else ""
                cells.append(f"{middle.value:.3g}{low_high} ({each})")
            reached = ", ".join(f"{x[-1]:,.0f}" for x, _ in curves(task.env, algorithm, "mean"))
            lines.append(f"| {task.env} | {algorithm} | {reached} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(file: Path) -> None:
    """Draw bias and its deviation: every seed, interquartile mean and its 95 % interval."""
    from matplotlib.figure import Figure

    from td3core.analysis.comparison import band_of

    figure = Figure(figsize=(8.8, 4.6), dpi=125, layout="constrained")
    rows = figure.subplots(2, len(TASKS), squeeze=False, sharex="col")
    quantities = (("bias", "bias"), ("bias_std", "deviation of the bias"))
    for row, (column, label) in zip(rows, quantities, strict=True):
        for axes, task in zip(row, TASKS, strict=True):
            for algorithm in ALGORITHMS:
                found, colour = curves(task.env, algorithm, column), COLOURS[algorithm]
                for x, y in found:
                    axes.plot(x / 1000, y, color=colour, alpha=0.3, linewidth=0.7)
                band = band_of(found)
                name = f"{algorithm.upper()}, {len(found)} seeds"
                axes.plot(band.x / 1000, band.middle, color=colour, linewidth=1.6, label=name)
                if band.low is not None and band.high is not None:
                    axes.fill_between(
                        band.x / 1000, band.low, band.high, color=colour, alpha=0.15, lw=0
                    )
            if column == "bias":
                axes.axhline(0.0, color="#6b7280", linewidth=0.8, linestyle="--")
                axes.set_title(task.env, fontsize=8)
                axes.legend(fontsize=7, frameon=False)
            else:
                axes.set_xlabel("environment steps (thousands)", fontsize=7)
                axes.set_ylim(bottom=0.0)
            if max(map(abs, axes.get_ylim())) > WIDE:
                axes.set_yscale("symlog", linthresh=1.0)
                axes.yaxis.set_major_formatter("{x:g}")
            axes.set_ylabel(label, fontsize=7)
            axes.tick_params(labelsize=7)
            axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)


def cost(pairs: int) -> None:
    """Print how much more a run computes with the measurement, in pairs that take turns.

    Processor time, which other programs disturb less than wall time: of the process that trains,
    which is what a second core leaves to wait for, and with that of its evaluations.
    """
    print("| run | pairs | training | with evaluations |\n|---|---|---|---|")
    for words in COSTED:
        found = []
        for pair in range(pairs):
            taken = dict.fromkeys((0, 1) if pair % 2 else (1, 0), np.zeros(2))
            for interval in taken:
                with tempfile.TemporaryDirectory() as runs:
                    sets = ["--set", "threads=1", "--set", f"bias_interval={interval}"]
                    command = [sys.executable, "-c", TIMED, "train", *words, *sets]
                    done = subprocess.run(
                        [*command, "--runs-dir", runs], check=True, capture_output=True, text=True
                    )
                own, children = map(float, done.stderr.split()[-2:])
                taken[interval] = np.array([own, own + children])
            found.append(taken[1] / taken[0] - 1.0)
        cells = [
            f"{np.median(column):+.1%} ({', '.join(f'{share:+.1%}' for share in column)})"
            for column in np.array(found).T
        ]
        print(f"| {' '.join(words)} | {pairs} | {' | '.join(cells)} |", flush=True)


def waits() -> None:
    """Print how long the thread that trains is busy with evaluations, and waits for them.

    With a second core that is all by which the measurement can slow a run down. The evaluation at
    the end, for which every run waits, is left out.
    """
    from td3core.config.presets import compose
    from td3core.protocol.control import Control
    from td3core.training.evaluator import Evaluator
    from td3core.training.launch import train as train_run

    submit, wait = Evaluator.submit, Evaluator.wait
    for interval in (1, 0):
        for env, steps in (("Pendulum-v1", 20_000), ("Hopper-v5", 35_000)):
            values = {"steps": steps, "bias_interval": interval, "threads": 1}
            config, tunables = compose(env, (), values)
            busy, waited, last = [0.0], [0.0], [0]

            def submitted(self: Any, agent: Any, busy: Any = busy, last: Any = last) -> None:
                last[0] = agent.header.counters.env_steps
                start = time.thread_time()
                submit(self, agent)
                busy[0] += time.thread_time() - start

            def awaited(
                self: Any, *given: Any, waited: Any = waited, last: Any = last, end: int = steps
            ) -> Iterator[Any]:
                start = time.perf_counter()
                yield from wait(self, *given)
                if last[0] < end:
                    waited[0] += time.perf_counter() - start

            Evaluator.submit, Evaluator.wait = submitted, awaited  # type: ignore[method-assign]
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                train_run(config, tunables, Control(), lambda _: None, Path(folder))
                took = time.perf_counter() - start
            print(
                f"{env}, {steps:,} steps, bias_interval {interval}: {took:.1f} s in all, "
                f"{busy[0]:.3f} s to hand agents over, {waited[0]:.3f} s waited",
                flush=True,
            )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", nargs="?", choices=("train", "keep", "draw", "cost", "waits"))
    parser.add_argument("place", type=Path, nargs="?")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="of each run that is timed")
    chosen = parser.parse_args()
    if chosen.act is None:
        print(tables())
    elif chosen.act == "cost":
        cost(chosen.pairs)
    elif chosen.act == "waits":
        waits()
    else:
        acts = {"train": train, "keep": keep, "draw": draw}
        acts[chosen.act](chosen.place)


if __name__ == "__main__":
    main()
