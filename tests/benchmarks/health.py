"""What the rules of a run's health say of the presets and of broken settings, and what it costs.

    .venv/bin/python tests/benchmarks/health.py train FOLDER [NAME...]   train what is missing there
    .venv/bin/python tests/benchmarks/health.py keep FOLDER              keep what was measured
    .venv/bin/python tests/benchmarks/health.py                          print what the rules say
    .venv/bin/python tests/benchmarks/health.py cost [ENV]               its share of processor time

Presets train until 20,000 updates, with two seeds. Every rule has settings that are really broken
and break it. ``health/NAME.csv`` keeps the rows of ``training.csv`` that have it measured; a test
holds the rules to them. The rule of overestimation has its evidence in ``overestimation``, that of
rewards that are not found in the tests. The cost is the processor time of the thread that trains:
what is measured every 1,000 steps, the norms, and folding all reports, against the time of the
whole run without them; what the update itself sums is not in it (see ``speed.py``).
"""

import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).with_suffix("")
UPDATES = 20_000
PRESETS = {
    "Pendulum-v1": 1_000,
    "MountainCarContinuous-v0": 1_000,
    "LunarLanderContinuous-v3": 10_000,
    "InvertedPendulum-v5": 1_000,
    "Reacher-v5": 1_000,
    "InvertedDoublePendulum-v5": 1_000,
    "HalfCheetah-v5": 10_000,
    "Swimmer-v5": 10_000,
    "BipedalWalker-v3": 10_000,
    "Hopper-v5": 25_000,
    "Ant-v5": 10_000,
    "Walker2d-v5": 25_000,
}
"""Steps before the first update."""
SEEDS = (0, 1)
DDPG = ("--preset", "InvertedPendulum-v5", "--preset", "DDPG")
BROKEN: dict[str, tuple[str, ...]] = {
    "rank_collapsed": ("Pendulum-v1", "--steps", "5000", "--set", "critic_lr=0.3", "--seed", "211"),
    "actor_saturated": (
        "Pendulum-v1",
        "--steps",
        "9000",
        "--set",
        "actor_lr=0.05",
        "--seed",
        "212",
    ),
    "critic_dead": ("Pendulum-v1", "--steps", "4500", "--set", "critic_lr=0.1", "--seed", "221"),
    "actor_without_gradient": (
        *("Pendulum-v1", "--steps", "9000", "--set", "critic_lr=1", "--seed", "224"),
    ),
    "policy_still": ("Pendulum-v1", "--steps", "9000", "--set", "actor_lr=1e-7", "--seed", "403"),
    "target_missing": ("Pendulum-v1", "--steps", "4000", "--set", "tau=1", "--seed", "203"),
    "target_stale": ("Pendulum-v1", "--steps", "5000", "--set", "tau=1e-6", "--seed", "204"),
    "replay_ratio": (
        "Pendulum-v1",
        "--steps",
        "4500",
        "--set",
        "updates_per_step=16",
        "--seed",
        "0",
    ),
    "q_beyond_bound": (
        *("InvertedPendulum-v5", "--steps", "5000", *DDPG, "--set", "critic_lr=0.02"),
        *("--set", "tau=0.5", "--set", "gamma=0.9", "--seed", "401"),
    ),
}
"""What is trained to break a rule, as words after ``train``."""


def preset_runs() -> list[str]:
    """Return the names of the runs of all presets: that of the second seed ends in ``_s1``."""
    return [name + (f"_s{seed}" if seed else "") for seed in SEEDS for name in PRESETS]


def words_of(name: str) -> tuple[str, ...]:
    """Return what is trained, as words after ``train``."""
    if name in BROKEN:
        return BROKEN[name]
    env, _, seed = name.partition("_s")
    return (env, "--steps", str(PRESETS[env] + UPDATES), "--seed", seed or "0")


def train(folder: Path, names: list[str]) -> None:
    """Train what has no run in its folder yet."""
    for name in names or [*BROKEN, *preset_runs()]:
        if any(folder.glob(f"{name}/*/ending.json")):
            continue
        words = ("train", *words_of(name), "--no-eval", "--threads", "1")
        command = [sys.executable, "-m", "td3core", *words, "--runs-dir", str(folder / name)]
        print(*words, flush=True)
        subprocess.run(command, check=True)


def keep(folder: Path) -> None:
    """Keep the rows that have the health measured, of all quantities that a rule is about."""
    from td3core.analysis.advice import load_rules
    from td3core.protocol.metrics import TRAINING_COLUMNS

    # The gradients are measured with other rows than the rest.
    judged = {rule.quantity for rule in load_rules()} & set(TRAINING_COLUMNS)
    columns = ["env_steps", "updates", *(name for name in TRAINING_COLUMNS if name in judged)]
    HERE.mkdir(exist_ok=True)
    for table in sorted(folder.glob("*/*/training.csv")):
        with table.open() as file:
            rows = [row for row in csv.DictReader(file) if any(_known(row[c]) for c in judged)]
        with (HERE / f"{table.parent.parent.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            for row in rows:
                writer.writerow(f"{float(row[name] or 'nan'):.6g}" for name in columns)


def _known(text: str) -> bool:
    return text not in ("", "nan")


def kept(name: str) -> np.ndarray[Any, Any]:
    """Return the kept rows of a run as those of ``training.csv``; NaN for what was left out."""
    from td3core.protocol.metrics import TRAINING_COLUMNS

    with (HERE / f"{name}.csv").open() as file:
        found = list(csv.DictReader(file))
    return np.array([[float(row.get(c, "nan")) for c in TRAINING_COLUMNS] for row in found])


def broken_by(training: np.ndarray[Any, Any]) -> set[str]:
    """Return the rules that a run broke at any time, by its rows one at a time."""
    from td3core.analysis.advice import Health, load_rules
    from td3core.config.presets import compose
    from tests.support.health import progress, started

    health, seen = Health(load_rules()), set[str]()
    config, tunables = compose("Pendulum-v1", (), {})
    health.take(started(config, tunables))
    for row in training:
        health.take(progress(tunables, row[None]))
        seen |= {advice.rule.name for advice in health.advice}
    return seen


def cost(env: str) -> None:
    """Print which share of a run's processor time its health takes."""
    from td3core.algorithm.td3 import TD3
    from td3core.analysis.advice import Health, load_rules
    from td3core.config.presets import compose
    from td3core.protocol.control import Control
    from td3core.training import launch, trainer

    spent = {"every 1,000 steps": 0.0, "norms": 0.0, "rules": 0.0}

    def timed(what: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **more: Any) -> Any:
            start = time.thread_time()
            try:
                return work(*given, **more)
            finally:
                spent[what] += time.thread_time() - start

        return wrapped

    trainer.measure = timed("every 1,000 steps", trainer.measure)
    TD3._take_norms = timed("norms", TD3._take_norms)  # type: ignore[method-assign]
    health = Health(load_rules())
    values = {"eval_interval": 0, "threads": 1, "learning_starts": 1_000, "steps": 8_000}
    config, tunables = compose(env, (), values)
    with tempfile.TemporaryDirectory() as folder:
        start = time.thread_time()
        report = timed("rules", health.take)
        launch.train(config, tunables, Control(), report, Path(folder))
        total = time.thread_time() - start
    rest = total - sum(spent.values())
    print(f"{env}, {config.steps:,} steps, batch {tunables.batch_size}, {config.critic_hidden}")
    for what, seconds in (*spent.items(), ("together", sum(spent.values()))):
        print(f"  {what:18} {100 * seconds / rest:5.2f} %")


def main(words: list[str]) -> None:
    """Do what the words say."""
    match words:
        case ["train", folder, *names]:
            train(Path(folder), names)
        case ["keep", folder]:
            keep(Path(folder))
        case ["cost", *envs]:
            cost(envs[0] if envs else "Pendulum-v1")
        case _:
            rules = [path.name for path in (files("resources") / "advice").iterdir()]
            print(f"{len(rules)} rules")
            for path in sorted(HERE.glob("*.csv")):
                print(f"{path.stem:28}", *sorted(broken_by(kept(path.stem))))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(sys.argv[1:])
