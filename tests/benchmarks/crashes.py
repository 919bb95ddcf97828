"""Kills runs at random moments, many while they save, and looks at what is left. Prints figures.

.venv/bin/python tests/benchmarks/crashes.py [--kills 200] [--interval 20] [--steps 3000]
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from td3core.resumption import choose_checkpoint
from td3core.runs import RunDirectory
from tests.lives import Life, differences, run_of

SETTINGS: dict[str, Any] = {
    "env": "Pendulum-v1",
    # Large files and few updates: much of the time goes into saving.
    "actor_hidden": [96, 96],
    "critic_hidden": [96, 96],
    "batch_size": 16,
    # Less than the run's length: the ring is overwritten again and again.
    "buffer_size": 700,
    "learning_starts": 100,
    "eval_interval": 250,
    "eval_episodes": 1,
    "eval_beside": False,
    "threads": 1,
}


@dataclass
class Figures:
    """What came of it."""

    runs: int = 0
    kills: int = 0
    while_saving: int = 0
    """A half-written file was left: the kill fell into the writing of a checkpoint."""
    while_evaluating: int = 0
    before_first: int = 0
    lost: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def crash(
    folder: Path, settings: dict[str, Any], longest_s: float, figures: Figures, kills: int
) -> Path:
    """Live one run through, with random kills until there were so many of them; return it."""
    source = random.Random(settings["seed"])
    while True:
        if figures.kills >= kills:
            Life.begin(folder, settings).end()
            break
        life = Life.begin(folder, settings)
        said = life.told()
        while said and said[0] != "begun":
            said = life.told()
        if not said:
            path = run_of(folder)
            ending = RunDirectory.open(path).ending() if path else None
            # It may have been killed when its last word was on disk already.
            if ending is None or ending.stopped != "finished":
                figures.faults.append((folder / "errors.txt").read_text() or "it did not begin")
            life.kill()
            break
        until = time.monotonic() + source.uniform(0.0, longest_s)
        while life.process.poll() is None and time.monotonic() < until:
            time.sleep(0.002)
        if not life.kill():
            break
        figures.kills += 1
        look(folder, life, settings, figures)
        if figures.faults:
            break
    run = run_of(folder)
    assert run is not None
    return run


def look(folder: Path, life: Life, settings: dict[str, Any], figures: Figures) -> None:
    """See what a killed run left on disk."""
    path = run_of(folder)
    if path is None:
        figures.before_first += 1
        return
    run = RunDirectory.open(path)
    halves = [p for p in run.checkpoints.iterdir() if p.suffix == ".part"]
    figures.while_saving += bool(halves)
    figures.while_evaluating += bool(run.waiting())
    saved, refusals = choose_checkpoint(run)
    if saved is None:
        figures.before_first += 1
    else:
        # A step is noted once the next one is due: one more may have been saved.
        figures.lost.append(max(life.env_steps - saved.header.counters.env_steps, 0))
    reached = 0 if saved is None else saved.header.counters.env_steps
    if life.env_steps - reached > settings["checkpoint_interval"]:
        figures.faults.append(f"{life.env_steps - reached} steps were lost")
    figures.faults += [f"a damaged checkpoint was left: {said}" for said in refusals]


def crashes(
    folder: Path, kills: int, interval: int, steps: int, longest_s: float = 1.0
) -> Iterator[Figures]:
    """Kill runs until there were so many kills; yield the figures after each run."""
    figures = Figures()
    while figures.kills < kills and not figures.faults:
        settings = SETTINGS | {
            "steps": steps,
            "seed": figures.runs,
            "checkpoint_interval": interval,
        }
        broken = crash(folder / f"killed{figures.runs}", settings, longest_s, figures, kills)
        straight = folder / f"straight{figures.runs}"
        Life.begin(straight, settings).end()
        whole = run_of(straight)
        assert whole is not None
        figures.faults += [f"differs in {what}" for what in differences(whole, broken)]
        figures.runs += 1
        yield figures


def main() -> int:
    """Print the figures after each run; the status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--interval", type=int, default=20)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--longest", type=float, default=1.0, help="seconds of a life")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="td3-crashes-"))
    figures = Figures()
    for figures in crashes(folder, chosen.kills, chosen.interval, chosen.steps, chosen.longest):
        lost = figures.lost or [0]
        print(
            f"{figures.runs} runs, {figures.kills} kills: {figures.while_saving} left a half"
            f" written file, {figures.while_evaluating} an agent not yet evaluated,"
            f" {figures.before_first} came before the first checkpoint; steps lost: at most"
            f" {max(lost)}, {sum(lost) / len(lost):.1f} on average; faults:"
            f" {figures.faults or 'none'}",
            flush=True,
        )
    if figures.faults:
        print(folder)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
