"""Kills runs at random moments and in the middle of writing, and looks at what is left.

.venv/bin/python tests/benchmarks/crashes.py [--kills 200] [--aimed 100] [--steps 3000]
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from td3core.runs.directory import RunDirectory
from td3core.runs.resumption import resume_point
from tests.support.lives import Life, differences, run_of

SETTINGS: dict[str, Any] = {
    "env": "Pendulum-v1",
    # Large files and few updates: much of the time goes into saving.
    "actor_hidden": [96, 96],
    "critic_hidden": [96, 96],
    "batch_size": 16,
    # Together less than the run's length: the ring is overwritten again and again.
    "buffer_size": 700,
    "slack": 200,
    "learning_starts": 100,
    "eval_interval": 250,
    "eval_episodes": 1,
    "eval_beside": False,
    "threads": 1,
}
WIDE: dict[str, Any] = SETTINGS | {
    # Long rows and wide networks: a write lasts long enough to be hit in its middle.
    "env": "Ant-v5",
    "actor_hidden": [400, 300],
    "critic_hidden": [400, 300],
    "buffer_size": 3000,
    "slack": 1200,
    "checkpoint_interval": 500,
    "eval_interval": 0,
}


class Aim(StrEnum):
    """When a run is killed."""

    RANDOM = "at random"
    AGENT = "while an agent was written"
    MEMORY = "while the replay buffer was written"


class Left(StrEnum):
    """What a kill left behind, as far as it shows in the files."""

    HALF_AGENT = "a half-written agent"
    TORN_MEMORY = "a torn write of the replay buffer"
    AHEAD = "a replay buffer ahead of its agent"
    WHOLE = "whole files"


@dataclass
class Figures:
    """What came of it."""

    runs: int = 0
    kills: Counter[Aim] = field(default_factory=Counter)
    left: Counter[tuple[Aim, Left]] = field(default_factory=Counter)
    while_evaluating: int = 0
    before_first: int = 0
    lost: list[int] = field(default_factory=list)
    """Steps that each kill cost."""
    lost_of: list[int] = field(default_factory=list)
    """The interval of the checkpoints, for each of them."""
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """Say it in a paragraph."""
        sorts = [
            f"{count} kills {aim} ("
            + ", ".join(f"{n} left {left}" for left in Left if (n := self.left[aim, left]))
            + ")"
            for aim, count in self.kills.items()
        ]
        lost = ", ".join(
            f"{max(costs)} steps lost at most and {sum(costs) / len(costs):.1f} on average with a"
            f" checkpoint every {interval}"
            for interval in sorted(set(self.lost_of))
            if (
                costs := [
                    n for n, of in zip(self.lost, self.lost_of, strict=True) if of == interval
                ]
            )
        )
        return (
            f"{self.runs} runs, {'; '.join(sorts)}. {self.while_evaluating} left an agent not yet"
            f" evaluated, {self.before_first} came before the first checkpoint. {lost}. Faults:"
            f" {self.faults or 'none'}"
        )


@dataclass
class Plan:
    """One run to be killed again and again: how, and how often."""

    settings: dict[str, Any]
    aims: tuple[Aim, ...]
    kills: int
    longest_s: float = 1.0
    """Seconds of a life that is ended at random."""


def crash(folder: Path, plan: Plan, figures: Figures) -> Path:
    """Live one run through, killed until it ends or was killed often enough; return it."""
    source, before = random.Random(plan.settings["seed"]), figures.kills.total()
    while not (_finished(folder) or figures.faults):
        life = Life.begin(folder, plan.settings)
        if figures.kills.total() - before >= plan.kills:
            life.end()
            break
        said = life.told()
        while said and said[0] != "begun":
            said = life.told()
        path = run_of(folder)
        if not said or path is None:
            figures.faults.append((folder / "errors.txt").read_text() or "it did not begin")
            life.kill()
            break
        aim = source.choice(plan.aims)
        if aim is Aim.RANDOM:
            _wait(life, source.uniform(0.0, plan.longest_s))
        else:
            _wait_for_writing(life, path, aim, source)
        if life.kill():
            figures.kills[aim] += 1
            look(folder, life, plan.settings, aim, figures)
    run = run_of(folder)
    assert run is not None
    return run


def _finished(folder: Path) -> bool:
    """Say whether a run is over; it may have been killed when its last word was on disk already."""
    path = run_of(folder) if folder.exists() else None
    ending = RunDirectory.open(path).ending() if path else None
    return ending is not None and ending.stopped == "finished"


def _wait(life: Life, seconds: float) -> None:
    until = time.monotonic() + seconds
    while life.process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)


def _wait_for_writing(life: Life, run: Path, aim: Aim, source: random.Random) -> None:
    """Return within microseconds of the beginning of a write: the next, or one soon after it."""
    writes, was = source.randrange(1, 4), _writing(run, aim)
    while life.process.poll() is None:
        for _ in range(1000):  # Asking whether it lives takes longer than looking.
            now = _writing(run, aim)
            if now != was:
                was = now
                # A name that is gone is the end of a write, a size that changed is in its middle.
                writes -= bool(now)
                if not writes:
                    # Anywhere in the writing.
                    _spin(source.uniform(0.0, 0.002) if aim is Aim.AGENT else 0.0)
                    return


def _writing(run: Path, aim: Aim) -> object:
    """Return something that changes when a write begins."""
    try:
        if aim is Aim.AGENT:
            # Ten times faster than with paths.
            folder = os.fspath(run / "checkpoints")
            return any(name.endswith(".part") for name in os.listdir(folder))  # noqa: PTH208
        found = (run / "replay.f32").stat()
        return found.st_size, found.st_mtime_ns
    except FileNotFoundError:
        return None


def _spin(seconds: float) -> None:
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def look(folder: Path, life: Life, settings: dict[str, Any], aim: Aim, figures: Figures) -> None:
    """See what a killed run left on disk."""
    path = run_of(folder)
    if path is None:
        figures.before_first += 1
        return
    run = RunDirectory.open(path)
    figures.left[aim, _left(run, settings["slack"])] += 1
    figures.while_evaluating += bool(run.pending())
    point = resume_point(run)
    reached = 0 if point is None else point.env_steps
    if point is None:
        figures.before_first += 1
    else:
        # A step is noted once the next one is due: one more may have been saved.
        figures.lost.append(max(life.env_steps - reached, 0))
        figures.lost_of.append(settings["checkpoint_interval"])
    if life.env_steps - reached > settings["checkpoint_interval"]:
        figures.faults.append(f"{life.env_steps - reached} steps were lost")
    figures.faults += [
        f"a damaged checkpoint was left: {said}" for said in (point.deviations if point else ())
    ]


def _left(run: RunDirectory, slack: int) -> Left:
    if any(path.suffix == ".part" for path in run.checkpoints.iterdir()):
        return Left.HALF_AGENT
    memory = run.path / "replay.f32"
    if not memory.exists():
        return Left.WHOLE
    found = memory.stat()
    saves = [every for every in (run.config.checkpoint_interval, run.config.eval_interval) if every]
    rows, rest = divmod(found.st_size, _row_bytes(run))
    # Whatever grew the file did so at a save, unless it had not come to its end. Once the ring is
    # full, a torn write cannot be told from a whole one by its size.
    full = rows >= run.config.buffer_size + slack
    if found.st_size and not full and (rest or all(rows % every for every in saves)):
        return Left.TORN_MEMORY
    ahead = not run.last.exists() or found.st_mtime_ns > run.last.stat().st_mtime_ns
    return Left.AHEAD if ahead else Left.WHOLE


def _row_bytes(run: RunDirectory) -> int:
    from td3core.buffer.replay_buffer import ReplayBuffer
    from td3core.envs.make import check_env

    info = check_env(run.config.choice)
    return ReplayBuffer.bytes_per_row(info.obs_dim, info.act_dim)


def crashes(
    folder: Path, kills: int, interval: int, steps: int, longest_s: float = 1.0, aimed: int = 0
) -> Iterator[Figures]:
    """Kill runs until there were so many kills of both sorts; yield the figures after each run."""
    figures = Figures()
    random_moments = SETTINGS | {"steps": steps, "checkpoint_interval": interval}
    while not figures.faults:
        at_random = figures.kills[Aim.RANDOM]
        hits = figures.kills.total() - at_random
        if at_random < kills:
            plan = Plan(random_moments, (Aim.RANDOM,), kills - at_random, longest_s)
        elif hits < aimed:
            plan = Plan(WIDE | {"steps": 2 * steps}, (Aim.AGENT, Aim.MEMORY), aimed - hits)
        else:
            return
        plan.settings = plan.settings | {"seed": figures.runs}
        broken = crash(folder / f"killed{figures.runs}", plan, figures)
        straight = folder / f"straight{figures.runs}"
        Life.begin(straight, plan.settings).end()
        whole = run_of(straight)
        assert whole is not None
        figures.faults += [f"differs in {what}" for what in differences(whole, broken)]
        figures.runs += 1
        for done in (broken.parent, straight):
            if not figures.faults:
                shutil.rmtree(done)
        yield figures


def main() -> int:
    """Print the figures after each run; the status is 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="at random moments")
    parser.add_argument("--aimed", type=int, default=100, help="in the middle of writing")
    parser.add_argument("--interval", type=int, default=20)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--longest", type=float, default=1.0, help="seconds of a life")
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="td3-crashes-"))
    numbers = (chosen.kills, chosen.interval, chosen.steps, chosen.longest, chosen.aimed)
    figures = Figures()
    for figures in crashes(folder, *numbers):
        print(figures, flush=True)
    if figures.faults:
        print(folder)
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
