"""How long does training stand still while it saves? Prints a Markdown table.

BipedalWalker-v3 with [256, 256]; after so many random steps it learns a little and saves again and
again. With a million transitions stored this takes about half an hour.

.venv/bin/python tests/benchmarks/checkpoint_stall.py [--rounds 10] [--stored 1000000]
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from td3core.config import make_settings
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Event, Started
from td3core.runs.directory import RunDirectory
from td3core.training.launch import train

CHECKPOINT, EVALUATION = 32_000, 20_000
"""Steps between two of each: so many that `last` is renewed in between."""
ROUND = 2 * CHECKPOINT


class Stall:
    """Times every step of a run once it has stored enough, and what was saved after it."""

    def __init__(self, stored: int) -> None:
        self._stored, self._began = stored, time.perf_counter()
        self._last: Path | None = None
        self._saved_at = 0
        self.pauses: dict[str, list[float]] = {}
        """Milliseconds, by what caused them."""

    def report(self, event: Event) -> None:
        if isinstance(event, Started):
            self._last = RunDirectory.open(event.run).last

    def after(self, step: int) -> None:
        pause = 1000 * (time.perf_counter() - self._began)
        if self._last is not None and step > self._stored:
            saved_at = self._last.stat().st_mtime_ns if self._last.exists() else 0
            if saved_at != self._saved_at and self._saved_at:
                self.pauses.setdefault(cause_of(step), []).append(pause)
            self._saved_at = saved_at
        self._began = time.perf_counter()


def cause_of(step: int) -> str:
    checkpoint, evaluation = step % CHECKPOINT == 0, step % EVALUATION == 0
    if checkpoint and evaluation:
        return "both at once"
    if checkpoint:
        return "checkpoint at its interval"
    return "save before an evaluation" if evaluation else "renewed `last`"


def main() -> int:
    """Print one row for each cause of a pause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--stored", type=int, default=1_000_000)
    chosen = parser.parse_args()
    stall = Stall(chosen.stored)
    config, tunables = make_settings(
        {
            "env": "BipedalWalker-v3",
            "actor_hidden": (256, 256),
            "critic_hidden": (256, 256),
            "buffer_size": 1_000_000,
            "learning_starts": chosen.stored,
            "update_interval": 100,
            "checkpoint_interval": CHECKPOINT,
            "eval_interval": EVALUATION,
            "eval_episodes": 1,
            "steps": chosen.stored + chosen.rounds * ROUND,
            "threads": 1,
        }
    )
    control = Control(boundary_hook=stall.after)
    with tempfile.TemporaryDirectory(prefix="td3-stall-") as folder:
        ended = train(config, tunables, control, stall.report, Path(folder))
        assert isinstance(ended, Ended), ended
    print(f"| pause, {chosen.stored:,} transitions stored | median | longest | of |")
    print("|---|---|---|---|")
    for cause, pauses in sorted(stall.pauses.items()):
        middle, longest = statistics.median(pauses), max(pauses)
        print(f"| {cause} | {middle:.0f} ms | {longest:.0f} ms | {len(pauses)} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
