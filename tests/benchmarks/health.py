"""What the rules of a run's health say of the presets and of broken settings, and what it costs.

    .venv/bin/python tests/benchmarks/health.py train FOLDER [NAME...]   train what is missing there
    .venv/bin/python tests/benchmarks/health.py keep FOLDER              keep what was measured
    .venv/bin/python tests/benchmarks/health.py courses FOLDER           bundle how they went
    .venv/bin/python tests/benchmarks/health.py agents                   measure the bundled agents
    .venv/bin/python tests/benchmarks/health.py                          print what the rules say
    .venv/bin/python tests/benchmarks/health.py cost [ENV]               its share of processor time
    .venv/bin/python tests/benchmarks/health.py pairs [ENV] [PAIRS]      runs with and without it

Presets train for 20,000 steps after the first update, with two seeds. Every rule has settings that
are really broken and break it. ``health/NAME.csv`` keeps the rows of ``training.csv`` that have it
measured; a test holds the rules to them. The rule of overestimation has its evidence in
``overestimation``, that of rewards that are not found in the tests. The runs of the bundled agents
have left networks and evaluations behind, and nothing else: ``health/agents.csv`` is what can still
be measured of them, in states that they visit with the noise they were trained with.

The cost is the processor time of the thread that trains: what is measured every 1,000 steps, of the
last update once in 500, and folding all reports, against the time of the whole run without them;
what the update itself sums is not in it (see ``speed.py``). ``pairs`` trains the same run with and
without all that, one after the other, and gives the median over the pairs with its 95 % interval.
It measures five times as often as a run does, and gives a fifth of the difference: two runs of the
same settings may differ by more than a run's health costs.
"""

import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

MORE_OFTEN = 5
HERE = Path(__file__).with_suffix("")
AGENTS = HERE / "agents.csv"
PLAYED, SEED = 2_000, 1_000
"""Steps that a bundled agent is played for, and the seed of the first episode."""
COURSE_ROWS = 50
OF_AGENTS = (
    *("saturated", "actor_dead", "critic_dead", "critic_dormant", "critic_rank"),
    *("q_to_bound", "reward_most"),
)
"""What can be measured of a bundled agent."""
AFTER = 20_000
"""Steps after the first update."""
PRESETS = {
    "Pendulum-v1": 1_000,
    "MountainCarContinuous-v0": 1_000,
    "LunarLanderContinuous-v3": 10_000,
    "InvertedPendulum-v5": 1_000,
    "Reacher-v5": 2_000,
    "InvertedDoublePendulum-v5": 5_000,
    "HalfCheetah-v5": 10_000,
    "Swimmer-v5": 10_000,
    "BipedalWalker-v3": 3_000,
    "Hopper-v5": 10_000,
    "Ant-v5": 10_000,
    "Walker2d-v5": 10_000,
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
    "actor_dead": (
        *("MountainCarContinuous-v0", "--steps", "5000", "--set", "learning_starts=1000"),
        *("--set", "actor_lr=0.03", "--seed", "321"),
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

TQC = "BipedalWalker-v3-tqc"
COURSES_ONLY = {
    TQC: ("BipedalWalker-v3", "--preset", TQC, "--steps", str(3_000 + AFTER), "--seed", "0"),
}
"""Whose course is bundled besides those of ``PRESETS``, as words after ``train``."""


def preset_runs() -> list[str]:
    """Return the names of the runs of all presets: that of the second seed ends in ``_s1``."""
    return [name + (f"_s{seed}" if seed else "") for seed in SEEDS for name in PRESETS]


def words_of(name: str) -> tuple[str, ...]:
    """Return what is trained, as words after ``train``."""
    spelt_out = BROKEN | COURSES_ONLY
    if name in spelt_out:
        return spelt_out[name]
    env, _, seed = name.partition("_s")
    return (env, "--steps", str(PRESETS[env] + AFTER), "--seed", seed or "0")


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


def bundle_courses(folder: Path) -> None:
    """Write the tables of ``td3core/analysis/healthy.py``: each preset once, in few rows."""
    from td3core.analysis.healthy import COURSES, RETURN
    from td3core.runs.tables import read_table

    place = Path(str(files("resources") / "healthy"))
    place.mkdir(exist_ok=True)
    for env in (*PRESETS, *COURSES_ONLY):
        run = next((p.parent for p in folder.glob(f"{env}/*/training.csv")), None)
        if run is None:
            continue
        episodes, rows = read_table(run / "episodes.csv"), read_table(run / "training.csv")
        ends = np.array([float(row["env_steps"]) for row in episodes])
        returns = np.array([float(row["return"]) for row in episodes])
        last = float(rows[-1]["env_steps"])
        with (place / f"{env}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["env_steps", *COURSES])
            for low, high in pairwise(np.linspace(0.0, last, COURSE_ROWS + 1)):
                over = returns[ends <= high][-20:]
                found = {RETURN: float(over.mean()) if len(over) else np.nan}
                inside = [row for row in rows if low < float(row["env_steps"]) <= high]
                for name in COURSES[1:]:
                    values = [float(row[name]) for row in inside if _known(row[name])]
                    found[name] = float(np.mean(values)) if values else np.nan
                writer.writerow([f"{high:.0f}", *(_short(found[name]) for name in COURSES)])


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"


def agents() -> list[Path]:
    """Return the files of the bundled agents, earlier ones of a run too."""
    return sorted(Path(str(files("resources") / "agents")).rglob("*.safetensors"))


def agent_health(path: Path) -> dict[str, float]:
    """Return what a bundled agent is like, by the names of the columns.

    Targets and optimisers are not bundled: what needs them is absent, and so is what is true of a
    buffer that it did not learn from.
    """
    from td3core import checkpoint
    from td3core.buffer.replay_buffer import ReplayBuffer
    from td3core.buffer.sampler import Sampler
    from td3core.envs.make import make_env
    from td3core.inference.normaliser import Normaliser
    from td3core.training.health import measure

    saved = checkpoint.load(path)
    config, tunables, info = saved.header.config, saved.header.tunables, saved.header.env
    policy, source = saved.policy(), np.random.default_rng(0)
    buffer, env = ReplayBuffer(PLAYED, info.obs_dim, info.act_dim), make_env(config.choice)
    obs, over = env.reset(seed=SEED)[0], False
    for _ in range(PLAYED):
        noise = tunables.exploration_noise * source.standard_normal(info.act_dim)
        action = np.clip(policy(obs[None])[0] + noise, -1.0, 1.0).astype(np.float32)
        after, reward, terminated, truncated, _ = env.step(action)
        shaped = max(config.reward_scale * float(reward), tunables.reward_floor)
        buffer.add(obs, action, shaped, after, terminated=terminated)
        over = terminated or truncated
        obs = env.reset()[0] if over else after
    env.close()
    tensors = dict(saved.tensors)
    for name in list(tensors):
        network, _, rest = name.partition(".")
        if network in ("actor", "critic1", "critic2"):
            tensors.setdefault(f"{network}_target.{rest}", tensors[name])
    scale = None
    if config.normalize_observations:
        scale = Normaliser.from_tensors(saved.tensors, info.obs_dim)
    agent: Any = SimpleNamespace(updates=0, tunables=tunables, state=lambda: tensors)
    found = measure(agent, config, buffer, Sampler(buffer, source, scale))
    return {name: found[name] for name in OF_AGENTS if name in found}


def bias_of(path: Path) -> float:
    """Return how far an agent's critics overestimate in five evaluation episodes."""
    words = ("eval", str(path), "--bias", "--episodes", "5", "--seed", str(SEED), "--json")
    command = [sys.executable, "-m", "td3core", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured = json.loads(done.stdout.splitlines()[-1])["bias"]
    return float(measured["mean"]) if measured else float("nan")


def keep_agents() -> None:
    """Measure the bundled agents that are not kept yet and whose environment is installed."""
    from td3core.errors import RequestError

    folder = Path(str(files("resources") / "agents"))
    known = kept_agents() if AGENTS.exists() else {}
    columns = (*OF_AGENTS, "bias")
    with AGENTS.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["agent", *columns])
        for path in agents():
            name = path.relative_to(folder).with_suffix("").as_posix()
            try:
                values = known.get(name) or agent_health(path) | {"bias": bias_of(path)}
            except (RequestError, subprocess.CalledProcessError) as problem:
                print(name, problem)
                continue
            row = [f"{values[each]:.6g}" for each in columns]
            print(name, *row, flush=True)
            writer.writerow([name, *row])
            file.flush()


def kept_agents() -> dict[str, dict[str, float]]:
    """Return the kept numbers of the bundled agents by name."""
    with AGENTS.open() as file:
        rows = list(csv.DictReader(file))
    return {row.pop("agent"): {name: float(row[name]) for name in row} for row in rows}


def agent_breaks(values: Mapping[str, float]) -> set[str]:
    """Return the rules that an agent would break if it stayed as it is."""
    from td3core.analysis.advice import Health, load_rules
    from td3core.config.presets import compose
    from td3core.protocol.events import Evaluated
    from tests.support.health import progress, row, started

    health = Health(load_rules())
    config, tunables = compose("Pendulum-v1", (), {})
    health.take(started(config, tunables))
    measured = {name: value for name, value in values.items() if name != "bias"}
    for step in range(100_000, 110_000, 1_000):
        health.take(progress(tunables, row(step, **measured)[None]))
        told = {"returns": (0.0,), "lengths": (1,), "seed": 0, "is_best": False, "wall_s": 0.0}
        bias = {"bias": values["bias"]}
        health.take(Evaluated(env_steps=step, measured=bias, **told))
    return {advice.rule.name for advice in health.advice}


def _known(text: str) -> bool:
    return text not in ("", "nan")


def kept(name: str) -> np.ndarray[Any, Any]:
    """Return the kept rows of a run as those of ``training.csv``; NaN for what was left out."""
    from td3core.protocol.metrics import TRAINING_COLUMNS

    with (HERE / f"{name}.csv").open() as file:
        found = list(csv.DictReader(file))
    return np.array([[float(row.get(c, "nan")) for c in TRAINING_COLUMNS] for row in found])


def broken_by(name: str) -> set[str]:
    """Return the rules that a kept run broke at any time, by its rows one at a time."""
    from td3core.analysis.advice import Health, load_rules
    from td3core.cli.options import assignments
    from td3core.config.presets import compose
    from tests.support.health import progress, started

    health, seen = Health(load_rules()), set[str]()
    words = words_of(name)
    values = assignments([word for word in words if "=" in word])
    config, tunables = compose(words[0], (), values)
    health.take(started(config, tunables))
    for row in kept(name):
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

    spent = {"every 1,000 steps": 0.0, "last update": 0.0, "rules": 0.0}

    def timed(what: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **more: Any) -> Any:
            start = time.thread_time()
            try:
                return work(*given, **more)
            finally:
                spent[what] += time.thread_time() - start

        return wrapped

    trainer.measure = timed("every 1,000 steps", trainer.measure)
    TD3._take_last = timed("last update", TD3._take_last)  # type: ignore[method-assign]
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


def pairs(env: str, count: int) -> None:
    """Print how much more processor time a run takes with its health measured and judged."""
    from td3core.algorithm import td3
    from td3core.analysis.advice import Health, load_rules
    from td3core.config.presets import compose
    from td3core.protocol.control import Control
    from td3core.training import launch, trainer

    often = trainer.HEALTH_STEPS // MORE_OFTEN, td3.LAST_EVERY // MORE_OFTEN
    values = {"eval_interval": 0, "threads": 1, "learning_starts": 1_000, "steps": 5_000}
    config, tunables = compose(env, (), values)

    def taken(*, measured: bool) -> float:
        trainer.HEALTH_STEPS, td3.LAST_EVERY = often if measured else (10**9, 10**9)
        report = Health(load_rules()).take if measured else lambda _: None
        with tempfile.TemporaryDirectory() as folder:
            start = time.thread_time()
            launch.train(config, tunables, Control(), report, Path(folder))
            return time.thread_time() - start

    taken(measured=True)
    found = []
    for pair in range(count):
        order = (True, False) if pair % 2 else (False, True)
        spent = {measured: taken(measured=measured) for measured in order}
        found.append((spent[True] / spent[False] - 1.0) / MORE_OFTEN)
        print(f"{found[-1]:+.2%}", end=" ", flush=True)
    drawn = np.random.default_rng(0).choice(found, (2_000, count))
    low, high = np.percentile(np.median(drawn, axis=1), (2.5, 97.5))
    print(
        f"\n{env}, {count} pairs of {config.steps:,} steps: median {np.median(found):+.2%}", end=""
    )
    print(f" [{low:+.2%}, {high:+.2%}]")


def main(words: list[str]) -> None:
    """Do what the words say."""
    match words:
        case ["train", folder, *names]:
            train(Path(folder), names)
        case ["keep", folder]:
            keep(Path(folder))
        case ["courses", folder]:
            bundle_courses(Path(folder))
        case ["agents"]:
            keep_agents()
        case ["pairs", *rest]:
            pairs(rest[0] if rest else "Pendulum-v1", int(rest[1]) if len(rest) > 1 else 15)
        case ["cost", *envs]:
            cost(envs[0] if envs else "Pendulum-v1")
        case _:
            rules = [path.name for path in (files("resources") / "advice").iterdir()]
            print(f"{len(rules)} rules")
            for name, values in kept_agents().items():
                print(f"agent {name:40}", *sorted(agent_breaks(values)))
            for path in sorted(set(HERE.glob("*.csv")) - {AGENTS}):
                print(f"{path.stem:28}", *sorted(broken_by(path.stem)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main(sys.argv[1:])
