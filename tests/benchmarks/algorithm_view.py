"""What the algorithm view costs a run while it is closed.

    .venv/bin/python tests/benchmarks/algorithm_view.py [PAIRS]

Updates of one agent in short blocks that take turns: as a run does them while the view is closed,
before it was opened and after, and without anything that knows of a view. Processor time of the
thread that trains; the median over all pairs of blocks, with the quartiles and its 95 % interval.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

UPDATES = 40
"""Of each block, one call each, as in a run."""
PAIRS = 300
SIZES = {"64 wide, batch 100": ((64, 64), 100), "256 wide, batch 256": ((256, 256), 256)}
OBS, ACT, ROWS = 24, 4, 50_000


def prepare(hidden: tuple[int, int], batch: int) -> tuple[Any, Any, Callable[[], Any]]:
    """Return an agent, its configuration, and what draws the batch of its next update."""
    from td3core.algorithm.agent import make_agent
    from td3core.buffer.replay_buffer import ReplayBuffer
    from td3core.buffer.sampler import Sampler
    from td3core.config import make_settings
    from td3core.config.networks import Sizes

    values = {"env": "BipedalWalker-v3", "threads": 1, "engine": "compiled", "batch_size": batch}
    layers = {"actor_hidden": hidden, "critic_hidden": hidden}
    config, tunables = make_settings(values | layers)
    agent = make_agent(config, tunables, Sizes(OBS, ACT))
    source, buffer = np.random.default_rng(0), ReplayBuffer(ROWS, OBS, ACT)
    buffer.rows[:] = source.normal(size=buffer.rows.shape).clip(-1.0, 1.0)
    buffer.rows[:, -1] = 0.0
    buffer.stored = ROWS
    sampler = Sampler(buffer, np.random.default_rng(1))
    return agent, config, lambda: next(iter(sampler.draw(1, tunables)))


def timed(update: Callable[[Any], None], draw: Callable[[], Any]) -> float:
    """Return the processor time of a block of updates, drawing not counted."""
    draws = [draw() for _ in range(UPDATES)]
    start = time.thread_time()
    for each in draws:
        update(each)
    return time.thread_time() - start


def measure(hidden: tuple[int, int], batch: int, pairs: int) -> dict[str, np.ndarray[Any, Any]]:
    """Return by name, for each pair, how much longer updates take than without a view."""
    from td3core.config.networks import Sizes
    from td3core.training.tracing import Tracing

    agent, config, draw = prepare(hidden, batch)

    def make() -> Tracing:
        return Tracing(agent, config, Sizes(OBS, ACT), lambda _: None, lambda: False)

    never, closed = make(), make()
    closed.watch(wanted=True, single=False)
    closed.update(draw(), 1)
    closed.watch(wanted=False, single=False)
    ways: dict[str, Callable[[Any], None]] = {
        "never opened": lambda draws: never.update(draws, 1),
        "opened and closed": lambda draws: closed.update(draws, 1),
        # Twice the same: what the measurement itself is worth.
        "without a view, again": agent.update_from,
    }
    for _ in range(10):
        timed(agent.update_from, draw)
    found: dict[str, list[float]] = {name: [] for name in ways}
    for pair in range(pairs):
        for name, update in ways.items():
            both = (agent.update_from, update) if pair % 2 else (update, agent.update_from)
            first, second = (timed(each, draw) for each in both)
            plain, other = (first, second) if pair % 2 else (second, first)
            found[name].append(other / plain - 1.0)
    return {name: np.array(values) for name, values in found.items()}


def interval(values: np.ndarray[Any, Any]) -> tuple[float, float]:
    """Return the 95 % interval of the median, by a bootstrap."""
    source = np.random.default_rng(0)
    drawn = np.median(source.choice(values, (2_000, len(values))), axis=1)
    return float(np.percentile(drawn, 2.5)), float(np.percentile(drawn, 97.5))


def main(words: list[str]) -> None:
    """Print a table."""
    pairs = int(words[0]) if words else PAIRS
    print("| networks | view | median | 95 % interval | quartiles |\n|---|---|---|---|---|")
    for title, (hidden, batch) in SIZES.items():
        for name, values in measure(hidden, batch, pairs).items():
            low, high = interval(values)
            quarter, most = np.percentile(values, (25, 75))
            print(
                f"| {title} | {name} | {np.median(values):+.2%} | {low:+.2%} to {high:+.2%} |"
                f" {quarter:+.2%} to {most:+.2%} |",
                flush=True,
            )


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from td3core.system import numerics

    numerics.pin()
    main(sys.argv[1:])
