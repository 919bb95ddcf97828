"""Does a run that is killed again and again equal one that is not? Prints a Markdown table.

.venv/bin/python tests/benchmarks/resume_equality.py [CASE ...] [--steps 6000] [--kills 5]
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.lives import Changes, Life, differences, run_of

SETTINGS: dict[str, Any] = {
    "actor_hidden": [64, 64],
    "critic_hidden": [64, 64],
    "batch_size": 32,
    "buffer_size": 4000,
    "learning_starts": 500,
    "eval_interval": 1000,
    "eval_episodes": 1,
    "checkpoint_interval": 700,
    "threads": 1,
}
Ways = tuple[str, ...]
BOTH: Ways = ("", "live changes, ")
CASES: dict[str, dict[str, Any]] = {
    "Pendulum-v1": {},
    "LunarLanderContinuous-v3": {},
    "BipedalWalker-v3": {"normalize_observations": True},
    "HalfCheetah-v5": {},
    "Ant-v5": {},
    "Pendulum-v1, 4 environments": {"num_envs": 4},
    "BipedalWalker-v3, 4 environments, 2 processes": {"num_envs": 4, "env_processes": 2},
}


def changes(steps: int) -> Changes:
    """Return what a person changes in the second half of the warm-up and later."""
    return [
        (steps // 10, "tau", 0.02),
        (steps // 4, "exploration_noise", 0.3),
        (steps // 4, "batch_size", 48),
        (steps // 3, "noise_correlation", 0.9),
        (steps // 2, "exploration_noise_decay", 0.999),
        (steps * 3 // 4, "policy_delay", 3),
    ]


def killed(folder: Path, settings: dict[str, Any], moments: list[int], made: Changes) -> int:
    """Live a run through, killed once it has reported each of ``moments``; return the kills."""
    source, kills = random.Random(len(moments)), 0
    for moment in moments:
        life = Life.begin(folder, settings, made)
        while (said := life.told()) and (said[0] != "step" or said[1] < moment):
            pass
        time.sleep(source.uniform(0.0, 0.1))
        kills += life.kill()
    Life.begin(folder, settings, made).end()
    return kills


def equality(
    name: str, folder: Path, steps: int, kills: int, seed: int = 0, ways: Ways = BOTH
) -> dict[str, tuple[int, list[str]]]:
    """Return for each way of living through the run how often it was killed, and what differs."""
    env = name.split(",")[0]
    settings = SETTINGS | {"env": env, "steps": steps, "seed": seed} | CASES[name]
    source, found = random.Random(f"{name} {seed}"), {}
    for kind in ways:
        made = changes(steps) if kind else ()
        straight = folder / f"{kind}straight"
        Life.begin(straight, settings, made).end()
        whole = run_of(straight)
        assert whole is not None
        moments = sorted(source.sample(range(1, steps - steps // 20), kills))
        broken = folder / f"{kind}killed"
        died = killed(broken, settings, moments, made)
        found[f"{kind}killed"] = died, differences(whole, run_of(broken) or whole)
        if kind:
            again = folder / "journal"
            Life.begin(again, settings, journal=str(whole)).end()
            found["journal followed"] = 0, differences(whole, run_of(again) or whole)
    return found


def main() -> int:
    """Print one row for each case; the status is 1 if one of them differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print("| run | way | kills | differs in |\n|---|---|---|---|")
    bad = 0
    for name in chosen.cases or CASES:
        folder = Path(tempfile.mkdtemp(prefix="td3-equality-"))
        for way, (kills, differs) in equality(
            name, folder, chosen.steps, chosen.kills, chosen.seed
        ).items():
            bad += bool(differs)
            print(f"| {name} | {way} | {kills} | {', '.join(differs) or 'nothing'} |", flush=True)
        if bad:
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
