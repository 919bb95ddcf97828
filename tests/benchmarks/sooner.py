"""How long until BipedalWalker walks? Ours against stable-baselines3 with RL Zoo's settings.

    .venv/bin/python -m tests.benchmarks.sooner peer --seed 0     can be interrupted
    .venv/bin/python -m tests.benchmarks.sooner ours --seed 0
    .venv/bin/python -m tests.benchmarks.sooner                   print the table

A side has arrived with the first evaluation (ten noise-free episodes, every 5,000 steps) of at
least 250; training then goes on to 300, at most to 400,000 steps. Times are those of the training
thread's processor, one thread each, evaluations left out on both sides: other work on the machine
changes them little. RL Zoo's settings (hyperparams/td3.yml): two layers of 400 and 300, learning
rate 1e-3, discount 0.98, noise 0.1, buffer of 200,000, 10,000 random steps first. Ours is the
preset BipedalWalker-v3-long. Results are kept in ``sooner.json``.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from filelock import FileLock

from tests.benchmarks.zoo import STATES, Peer, read

RESULTS = Path(__file__).with_suffix(".json")
ENV, GOALS, EVERY, MOST_STEPS = "BipedalWalker-v3", (250.0, 300.0), 5_000, 400_000
PRESET = "BipedalWalker-v3-long"
SIDES = ("ours", "peer")


class Race:
    """The evaluations of one side so far."""

    def __init__(self, side: str, seed: int) -> None:
        self.key = f"{side} {seed}"
        self.curve: list[list[float]] = read(RESULTS).get(self.key, {}).get("curve", [])

    def add(self, step: int, seconds: float, mean: float) -> bool:
        """Keep an evaluation; return whether the race is over."""
        self.curve.append([step, round(seconds, 1), round(mean, 1)])
        over = mean >= GOALS[-1] or step >= MOST_STEPS
        with FileLock(Path(tempfile.gettempdir()) / "td3-studio-sooner.lock"):
            results = read(RESULTS) | {self.key: {"over": over, "curve": self.curve}}
            RESULTS.write_text(json.dumps(results, indent=None) + "\n", "utf-8")
        print(self.key, step, f"{seconds:.0f} s", f"{mean:.1f}", flush=True)
        return over


def run_ours(seed: int) -> None:
    """Train with a preset; evaluations run in a process of their own."""
    from td3core.config.presets import compose
    from td3core.protocol.control import Control
    from td3core.protocol.events import Evaluated
    from td3core.training.launch import train

    values = {"seed": seed, "threads": 1, "keep_replay": False}
    config, tunables = compose(ENV, [PRESET], values)
    race, spent = Race("ours", seed), dict[int, float]()
    began = time.thread_time()

    def note_time(step: int) -> None:
        if step % EVERY == 0:
            spent[step] = time.thread_time() - began

    def report(event: object) -> None:
        if isinstance(event, Evaluated) and race.add(
            event.env_steps, spent[event.env_steps], event.mean
        ):
            control.stop()

    control = Control(boundary_hook=note_time)
    with tempfile.TemporaryDirectory() as folder:
        train(config, tunables, control, report, Path(folder))


def run_peer(seed: int, folder: Path) -> None:
    """Train stable-baselines3's TD3, or go on from where it was saved in ``folder``."""
    race = Race("peer", seed)
    peer = Peer(ENV, seed, folder / f"peer_{seed}", buffer_size=200_000, gamma=0.98)
    race.curve = [row for row in race.curve if row[0] <= peer.steps]
    seconds = race.curve[-1][1] if race.curve else 0.0
    while True:
        seconds += peer.learn(EVERY)
        if race.add(peer.steps, seconds, float(np.mean(peer.returns(10)))):
            return
        if peer.steps % 20_000 == 0:
            peer.save()


def table() -> str:
    """Return when each seed arrived."""
    lines = ["| | seconds to ≥ 250 (steps) | seconds to ≥ 300 (steps) |", "|---|---|---|"]
    for key, found in sorted(read(RESULTS).items()):
        cells = []
        for goal in GOALS:
            reached = [row for row in found["curve"] if row[2] >= goal]
            last = found["curve"][-1]
            late = f"not by {last[0]:,.0f} ({last[1]:,.0f} s)"
            cells.append(f"{reached[0][1]:,.0f} ({reached[0][0]:,.0f})" if reached else late)
        lines.append(f"| {key} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("side", nargs="?", choices=SIDES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--state", type=Path, default=STATES, help="where the peer is saved")
    chosen = parser.parse_args()
    if chosen.side == "ours":
        run_ours(chosen.seed)
    elif chosen.side == "peer":
        run_peer(chosen.seed, chosen.state)
    else:
        print(table())


if __name__ == "__main__":
    main()
