"""What each addition to TD3 brings by itself.

    .venv/bin/python tests/benchmarks/additions.py [--workers 2]    train what is missing, print
    .venv/bin/python tests/benchmarks/additions.py --table          print what is there

Every addition is shown alone against plain TD3 (the paper's settings, with networks and batches of
128), over three seeds of HalfCheetah-v5, where plain TD3 learns within the steps given. A softer
penalty for falling is shown on BipedalWalker-v3, where there is one, beside correlated noise. The
score of a run is the mean over its last three evaluations, thirty noise-free episodes; the area is
the mean over all of its evaluations, and so tells who learns sooner. Every finished run is kept in
``additions.json`` beside this file.
"""

import argparse
import json
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_suffix(".json")
SEEDS = 3
PLAIN: dict[str, Any] = {
    "threads": 1,
    "learning_starts": 10_000,
    "actor_hidden": (128, 128),
    "critic_hidden": (128, 128),
    "batch_size": 128,
    "eval_episodes": 10,
    "background_evaluation": False,
    "checkpoint_interval": 0,
    "keep_replay": False,
}
TASKS: dict[str, dict[str, Any]] = {
    "HalfCheetah-v5": {"steps": 50_000, "eval_interval": 5_000},
    "BipedalWalker-v3": {"steps": 100_000, "eval_interval": 10_000},
}
ADDITIONS: dict[str, dict[str, Any]] = {
    "plain TD3": {},
    "softer penalty for falling": {"reward_floor": -5.0},
    "discount 0.98": {"gamma": 0.98},
    "learning rates of 1e-3": {"actor_lr": 1e-3, "critic_lr": 1e-3},
    "learning rates that end at a tenth": {"lr_final": 0.1},
    "returns of three steps": {"n_step": 3},
    "normalised observations": {"normalize_observations": True},
    "rewards times five": {"reward_scale": 5.0},
    "correlated noise": {"noise_correlation": 0.9, "exploration_noise": 0.2},
    "four environments, batches of 512": {"num_envs": 4, "batch_size": 512},
}
FALLING = ("plain TD3", "softer penalty for falling", "correlated noise")
STUDIES = [
    *(("HalfCheetah-v5", name) for name in ADDITIONS if name != "softer penalty for falling"),
    *(("BipedalWalker-v3", name) for name in FALLING),
]


def job(env: str, name: str, seed: int) -> dict[str, Any]:
    """Train one run, in a process of its own."""
    from td3core.config import make_settings
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended, Evaluated
    from td3core.training.launch import train

    means: list[float] = []

    def report(event: object) -> None:
        if isinstance(event, Evaluated):
            means.append(round(float(np.mean(event.returns)), 3))

    config, tunables = make_settings(
        {"env": env, "seed": seed, **PLAIN, **TASKS[env], **ADDITIONS[name]}
    )
    with tempfile.TemporaryDirectory() as folder:
        outcome = train(config, tunables, Control(), report, Path(folder))
    assert isinstance(outcome, Ended), outcome
    return {"env": env, "addition": name, "seed": seed, "evaluations": means}


def read() -> list[dict[str, Any]]:
    """Return the runs that are finished."""
    found: list[dict[str, Any]] = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return found


def add(run: dict[str, Any]) -> None:
    """Keep one more finished run."""
    runs = sorted(
        [*read(), run], key=lambda r: (STUDIES.index((r["env"], r["addition"])), r["seed"])
    )
    lines = ",\n".join(json.dumps(each) for each in runs)
    RESULTS.write_text(f"[\n{lines}\n]\n")


def table() -> str:
    """Return what each addition reached as a Markdown table."""
    from td3core.analysis.aggregate import estimate

    lines = [
        "| environment | addition | score: interquartile mean, each seed | area |",
        "|---|---|---|---|",
    ]
    runs = read()
    for env, name in STUDIES:
        mine = [r for r in runs if (r["env"], r["addition"]) == (env, name)]
        found = [np.array(r["evaluations"]) for r in mine]
        if found:
            scores = np.array([each[-3:].mean() for each in found])
            area = np.array([each.mean() for each in found])
            each = ", ".join(f"{score:.0f}" for score in scores)
            score = f"{estimate(scores).value:.0f} ({each})"
            lines.append(f"| {env} | {name} | {score} | {estimate(area).value:.0f} |")
    return "\n".join(lines)


def main() -> None:
    """Train what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", action="store_true", help="train nothing")
    parser.add_argument("--workers", type=int, default=1, help="runs at the same time")
    asked = parser.parse_args()
    done = {(r["env"], r["addition"], r["seed"]) for r in read()}
    # Seed by seed, so that an interrupted benchmark compares as many additions as it can.
    jobs = [(env, name, seed) for seed in range(SEEDS) for env, name in STUDIES]
    missing = [each for each in jobs if each not in done]
    if missing and not asked.table:
        context = multiprocessing.get_context("spawn")
        with context.Pool(asked.workers, maxtasksperchild=1) as pool:
            for pending in [pool.apply_async(job, each) for each in missing]:
                add(pending.get())
                print(table(), flush=True)
    print(table())


if __name__ == "__main__":
    main()
