"""What the presets reach over several seeds.

    td3-studio train BipedalWalker-v3 --seeds 5
    .venv/bin/python tests/benchmarks/proven.py add RUN...           measure and keep finished runs
    .venv/bin/python tests/benchmarks/proven.py train PRESET SEED    train, measure and keep a run
    .venv/bin/python tests/benchmarks/proven.py                      print the tables
    .venv/bin/python tests/benchmarks/proven.py draw FILE.png        draw the evaluations

For each run ``proven/PRESET.csv`` keeps every evaluation (seed, step, seconds, mean and all
returns), and ``proven/PRESET.json`` what the table says: the first step at which ten noise-free
episodes passed the threshold, the mean of the last ten evaluations, and 100 episodes of the last
agent with a seed that the run did not use; also command, processor and numerics class. Only
finished runs with a preset's settings are taken. ``train`` also keeps processor seconds, with the
evaluations in the thread that trains: other work on the machine changes them less than wall time.
"""

import argparse
import csv
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).with_suffix("")
SEED, EPISODES = 1000, 100
SPENT = "processor_seconds.json"
"""In the folder of a run that ``train`` has begun."""
THRESHOLDS = {"Pendulum-v1": -170.0, "Walker2d-v5": 4000.0}
"""Where Gymnasium names none."""
DRAWN = {
    "Pendulum-v1": 1,
    "LunarLanderContinuous-v3": 1,
    "BipedalWalker-v3": 1,
    "HalfCheetah-v5": 1000,
}
"""Environments of the figure, each with the unit of its returns."""


def measure(run: Path) -> tuple[dict[str, Any], list[list[Any]]]:
    """Return what a run reached, and its evaluations as rows."""
    from td3core import checkpoint
    from td3core.envs.make import check_env
    from td3core.evaluation.evaluate import evaluate
    from td3core.runs.directory import RunDirectory
    from td3core.runs.listing import summarise
    from td3core.runs.tables import read_table
    from td3core.system.regular_files import parse_toml, read_text

    opened = RunDirectory.open(run)
    machine = parse_toml(read_text(run / "run.toml"))["machine"]
    about, config = summarise(opened), opened.config
    if about.env_steps < config.steps:
        raise SystemExit(f"{run.name} is not finished")
    table = read_table(run / "evaluations.csv")
    threshold = THRESHOLDS.get(config.env, check_env(config.env).reward_threshold)
    means = np.array([float(row["mean"]) for row in table])
    passed = [int(row["env_steps"]) for row in table if float(row["mean"]) >= (threshold or np.inf)]
    seconds = [float(row["time_s"]) for row in table if float(row["mean"]) >= (threshold or np.inf)]
    last = checkpoint.load(run / "checkpoints" / "last.safetensors")
    found = evaluate(last.policy(), last.header.choice, episodes=EPISODES, seed=SEED)
    assert found is not None
    result = {
        "seed": config.seed,
        "preset": config.preset,
        "steps": config.steps,
        "threshold": threshold,
        "first_pass_step": passed[0] if passed else None,
        "first_pass_s": seconds[0] if seconds else None,
        "last_ten": float(means[-10:].mean()),
        "final": found.mean,
        "final_std": found.std,
        "final_lowest": min(found.returns),
        "wall_s": about.wall_s,
        "command": f"td3-studio train {config.env} --preset '{config.preset}' --seed {config.seed}",
        "processor": machine["processor"],
        "numerics": config.numerics,
    }
    if not config.background_evaluation:
        result["command"] += " --set background_evaluation=false"
    columns = ("env_steps", "time_s", "mean", "returns")
    return result, [[config.seed, *(row[name] for name in columns)] for row in table]


def train(name: str, seed: int, runs_dir: Path) -> None:
    """Train a preset and keep what it reached, with the processor seconds that it took.

    Ctrl-C and SIGTERM save and stop it; the same command goes on with a run that has not finished.
    """
    from td3core.cli.interrupts import interrupts_stop
    from td3core.config.presets import compose, load_presets
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended, Evaluated, Started
    from td3core.training import launch

    values = {"seed": seed, "threads": 1, "background_evaluation": False}
    config, tunables = compose(load_presets()[name].env, [name], values)
    begun, control = _unfinished(runs_dir, name, seed), Control()
    spent, began, run = dict[int, float](), time.process_time(), begun

    def report(event: object) -> None:
        nonlocal spent, began, run
        if isinstance(event, Started):
            run, known = event.run, _spent(event.run)
            spent = {step: each for step, each in known.items() if step <= event.env_steps}
            began = time.process_time() - max(spent.values(), default=0.0)
        if isinstance(event, Evaluated):
            assert run is not None
            spent[event.env_steps] = round(time.process_time() - began, 1)
            (run / SPENT).write_text(json.dumps(spent), "utf-8")
            print(
                f"{event.env_steps:>9,} {event.mean:8.1f} {spent[event.env_steps]:8.1f} s",
                flush=True,
            )

    with interrupts_stop(control):
        if begun is None:
            ended = launch.train(config, tunables, control, report, runs_dir)
        else:
            ended = launch.resume(begun, control, report)
    if not isinstance(ended, Ended):
        raise SystemExit(str(ended.message))
    if ended.env_steps < config.steps:
        raise SystemExit(f"stopped at step {ended.env_steps:,}; the same command goes on")
    add([ended.run], spent)


def _unfinished(runs_dir: Path, name: str, seed: int) -> Path | None:
    """Return the newest run of a preset and seed, if it has not finished."""
    from td3core.runs.listing import list_runs, summarise

    for run in list_runs(runs_dir):
        if (run.config.preset, run.config.seed) == (name, seed):
            return run.path if summarise(run).env_steps < run.config.steps else None
    return None


def _spent(run: Path) -> dict[int, float]:
    """Return the processor seconds up to each evaluation of a run so far."""
    path = run / SPENT
    if not path.exists():
        return {}
    return {int(step): each for step, each in json.loads(path.read_text("utf-8")).items()}


def add(runs: list[Path], spent: Mapping[int, float] | None = None) -> None:
    """Measure runs and keep what they reached; a seed measured before is replaced.

    ``spent``: processor seconds up to each evaluation, where they are known.
    """
    from td3core.runs.directory import RunDirectory

    HERE.mkdir(exist_ok=True)
    for run in runs:
        name = RunDirectory.open(run).config.preset
        result, rows = measure(run.absolute())
        if spent:
            result["first_pass_processor_s"] = spent.get(result["first_pass_step"])
            result["processor_s"] = max(spent.values())
        kept = [r for r in read(name) if r["seed"] != result["seed"]]
        results = sorted([*kept, result], key=lambda each: each["seed"])
        (HERE / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        raw = HERE / f"{name}.csv"
        before = raw.read_text("utf-8").splitlines()[1:] if raw.exists() else []
        others = [line for line in before if line.split(",")[0] != str(result["seed"])]
        with raw.open("w", newline="", encoding="utf-8") as file:
            file.write("seed,env_steps,time_s,mean,returns\n")
            file.writelines(f"{line}\n" for line in others)
            csv.writer(file, lineterminator="\n").writerows(rows)
        print(f"{name} seed {result['seed']}: {result['final']:.1f}")


def read(name: str) -> list[dict[str, Any]]:
    """Return what is kept for a preset."""
    path = HERE / f"{name}.json"
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else []
    return found


def tables() -> str:
    """Return a table per environment, every seed a row, with interquartile mean and interval."""
    from td3core.analysis.aggregate import estimate

    parts = []
    for path in sorted(HERE.glob("*.json")):
        results = read(path.stem)
        iqm = estimate(np.array([each["final"] for each in results]))
        digits = ".2f" if abs(iqm.value) < 10 else ".1f"
        low_high = iqm.interval and f" [{iqm.interval.low:{digits}}, {iqm.interval.high:{digits}}]"
        kind = "processor" if all("processor_s" in each for each in results) else "wall"
        passing = f"first evaluation ≥ {results[0]['threshold']:g}"
        lines = [
            f"**{path.stem}**, {results[0]['steps']:,} steps, {_seeds(len(results))}: interquartile"
            f" mean of 100 episodes {iqm.value:{digits}}{low_high or ''}",
            "",
            f"| seed | {passing} | last ten evaluations | 100 episodes (lowest) | {kind} time |",
            "|---|---|---|---|---|",
        ]
        for r in results:
            step = r["first_pass_step"]
            first = f"step {step:,}" if step else "never"
            if r.get("first_pass_processor_s") is not None:
                first += f" ({r['first_pass_processor_s']:.0f} s)"
            minutes = r["processor_s" if kind == "processor" else "wall_s"] / 60
            lines.append(
                f"| {r['seed']} | {first} | {r['last_ten']:{digits}} | {r['final']:{digits}} ±"
                f" {r['final_std']:{digits}} ({r['final_lowest']:{digits}}) | {minutes:.1f} min |"
            )
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _seeds(count: int) -> str:
    return "1 seed" if count == 1 else f"{count} seeds"


def curves(env: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return steps and mean returns of the evaluations of every seed."""
    with (HERE / f"{env}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seeds = sorted({int(row["seed"]) for row in rows})
    columns = [
        [(float(r["env_steps"]), float(r["mean"])) for r in rows if int(r["seed"]) == seed]
        for seed in seeds
    ]
    return [(np.array(x), np.array(y)) for x, y in (zip(*each, strict=True) for each in columns)]


def draw(file: Path) -> None:
    """Draw the evaluations: every seed, interquartile mean and its 95 % interval."""
    from matplotlib.figure import Figure

    from td3core.analysis.comparison import band_of

    figure = Figure(figsize=(9.6, 2.5), dpi=125, layout="constrained")
    for axes, (env, unit) in zip(figure.subplots(1, len(DRAWN)), DRAWN.items(), strict=True):
        found = curves(env)
        for x, y in found:
            axes.plot(x / 1000, y / unit, color="#2563eb", alpha=0.25, linewidth=0.7)
        band = band_of(found)
        axes.plot(band.x / 1000, band.middle / unit, color="#2563eb", linewidth=1.6)
        if band.low is not None and band.high is not None:
            low, high = band.low / unit, band.high / unit
            axes.fill_between(band.x / 1000, low, high, color="#2563eb", alpha=0.15, lw=0)
        threshold = read(env)[0]["threshold"]
        axes.axhline(threshold / unit, color="#6b7280", linewidth=0.8, linestyle="--")
        axes.set_title(f"{env}, {len(found)} seeds", fontsize=7.5)
        axes.set_xlabel("environment steps (thousands)", fontsize=7)
        axes.set_ylabel("return" if unit == 1 else f"return (÷ {unit:,})", fontsize=7)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("act", nargs="?", choices=("add", "train", "draw"))
    parser.add_argument("what", nargs="*", metavar="RUN, PRESET SEED or FILE")
    parser.add_argument("--runs-dir", type=Path, default=Path("runs"))
    chosen = parser.parse_args()
    if chosen.act == "add":
        add([Path(run) for run in chosen.what])
    elif chosen.act == "train":
        name, seed = chosen.what
        train(name, int(seed), chosen.runs_dir)
    elif chosen.act == "draw":
        (file,) = chosen.what
        draw(Path(file))
    else:
        print(tables())


if __name__ == "__main__":
    main()
