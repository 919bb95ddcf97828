"""How long does training stand still while it saves? Prints a Markdown table.

A run of BipedalWalker-v3 with [256, 256] and a million transitions stored saves again and again;
what is added between two saves is made up, so that it takes seconds instead of hours.

.venv/bin/python tests/benchmarks/checkpoint_stall.py [--rounds 25] [--stored 1000000]
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from td3core.checkpoint import Checkpoint
from td3core.config import make_settings
from td3core.inference.policy import Policy
from td3core.protocol.control import Control
from td3core.protocol.events import EpisodeEnded
from td3core.protocol.metrics import METRICS
from td3core.runs.directory import RunDirectory
from td3core.system.json_lines import Codec
from td3core.training.checkpointer import Kind
from td3core.training.evaluator import Evaluator
from td3core.training.launch import RunPlan, _prepare
from td3core.training.trainer import LOG_STEPS, Trainer

INTERVAL = 10_000
"""Steps between two saves of any kind."""
EPISODE = 400
UPDATES = 30
"""Between two saves: enough to turn the processor to other things than files."""


METRICS_ROW = {metric.name: 0.123456 for metric in METRICS}


class Stall:
    """A run that has come far, and can be made to go further at once."""

    def __init__(self, folder: Path, held: ExitStack, stored: int) -> None:
        config, tunables = make_settings(
            {
                "env": "BipedalWalker-v3",
                "actor_hidden": (256, 256),
                "critic_hidden": (256, 256),
                "buffer_size": 1_000_000,
                "checkpoint_interval": INTERVAL,
                "steps": 10**9,
                "threads": 1,
            }
        )
        how = RunPlan(
            config=config,
            tunables=tunables,
            directory=lambda: RunDirectory.create(folder, config, tunables),
        )
        self.trainer: Trainer = _prepare(how, Control(), lambda event: None, held)
        memory, source = self.trainer._collector._buffer, np.random.default_rng(0)
        memory.rows[:] = source.standard_normal(memory.rows.shape, np.float32)
        memory.stored = self.trainer._state.env_steps = stored
        self.trainer._collector.begin_episodes(stored)
        self.trainer._save(Kind.RENEWAL)

    def go_on(self) -> None:
        """Come to the next save, with everything on record that comes with so many steps."""
        trainer = self.trainer
        trainer._state.env_steps += INTERVAL
        trainer._collector._buffer.stored += INTERVAL
        for slot in trainer._collector.exploration._slots:
            slot.began_at = trainer.env_steps
        for draws in trainer._sampler.draw(UPDATES, trainer._agent.tunables):
            trainer._agent.update_from(draws)
        for step in range(trainer.env_steps - INTERVAL, trainer.env_steps, LOG_STEPS):
            trainer._recorder.add_training(step, step, METRICS_ROW, trainer._state.wall_s)
        for step in range(trainer.env_steps - INTERVAL, trainer.env_steps, EPISODE):
            ended = EpisodeEnded(
                episode=step // EPISODE,
                env_steps=step,
                episode_return=-100.123456789,
                shaped_return=-100.123456789,
                length=EPISODE,
                terminated=True,
            )
            trainer._recorder.add_episode(ended, trainer._state.wall_s)
        # As ten times a second.
        trainer._send_progress(trainer._state.phase)


def measure(folder: Path, rounds: int, stored: int) -> dict[str, list[float]]:
    """Return the milliseconds of each pause, by what caused it."""

    codec = Codec(Policy)

    def submit(judge: Evaluator, agent: Checkpoint) -> None:
        # What goes to the process that evaluates; it is not started, to leave the processor alone.
        codec.encode(agent.policy())

    Evaluator.submit = submit  # type: ignore[method-assign]
    with ExitStack() as held:
        stall = Stall(folder, held, stored)
        trainer = stall.trainer
        causes: dict[str, Callable[[], object]] = {
            "checkpoint at its interval": lambda: trainer._save(Kind.STEP),
            "save before an evaluation": trainer._evaluate,
            "renewed `last`": lambda: trainer._save(Kind.RENEWAL),
        }
        found: dict[str, list[float]] = {cause: [] for cause in causes}
        for _ in range(rounds):
            for cause, save in causes.items():
                stall.go_on()
                began = time.perf_counter()
                save()
                found[cause].append(1000 * (time.perf_counter() - began))
        return found


def main() -> int:
    """Print one row for each cause of a pause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--stored", type=int, default=1_000_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="td3-stall-") as folder:
        found = measure(Path(folder), chosen.rounds, chosen.stored)
    print(f"| pause, {chosen.stored:,} transitions stored | median | longest | of |")
    print("|---|---|---|---|")
    for cause, pauses in found.items():
        middle, longest = statistics.median(pauses), max(pauses)
        print(f"| {cause} | {middle:.0f} ms | {longest:.0f} ms | {len(pauses)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
