"""What comes of the bundled lessons: each arm over its seeds, in full, without the window.

    .venv/bin/python -m tests.benchmarks.lessons [--only NAME...] [--jobs N]

Prints the last and the best evaluation of each run and the critics' bias in the last one; kept in
``lessons.json`` beside this file.
"""

import argparse
import json
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from td3core.experiments.lessons import load_lessons

RESULTS = Path(__file__).with_suffix(".json")


def train_one(lesson: str, arm: str, seed: int) -> dict[str, Any]:
    """Train one run of a lesson in this process."""
    from td3core.protocol.control import Control
    from td3core.protocol.events import Ended
    from td3core.runs.tables import read_table
    from td3core.training.launch import train

    chosen = next(each for each in load_lessons() if each.name == lesson)
    one = next(each for each in chosen.arms if each.name == arm)
    with tempfile.TemporaryDirectory() as folder:
        config = replace(one.config, seed=seed, threads=1)
        outcome = train(config, one.tunables, Control(), lambda _: None, Path(folder))
        assert isinstance(outcome, Ended), outcome
        rows = read_table(outcome.run / "evaluations.csv")
        columns = ("env_steps", "mean", "bias")
        kept = {name: [float(row[name] or "nan") for row in rows] for name in columns}
    return {"lesson": lesson, "arm": arm, "seed": seed, "wall_s": round(outcome.wall_s, 1)} | kept


def main() -> None:
    """Train what is asked for, keep it, and print all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    chosen = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    wanted = [each for each in load_lessons() if not chosen.only or each.name in chosen.only]
    names = {each.name for each in wanted}
    found = [each for each in found if each["lesson"] not in names]
    todo = [
        (lesson.name, arm.name, seed)
        for lesson in wanted
        for arm in lesson.arms
        for seed in lesson.seeds
    ]
    with ProcessPoolExecutor(chosen.jobs) as pool:
        for done in pool.map(train_one, *zip(*todo, strict=True)):
            found.append(done)
            last, best = done["mean"][-1], max(done["mean"])
            print(
                f"{done['lesson']:18} {done['arm']:14} seed {done['seed']}: last {last:8.1f}"
                f" best {best:8.1f} bias {done['bias'][-1]:8.2f} in {done['wall_s']:.0f} s",
                flush=True,
            )
    lines = ",\n".join(json.dumps(each) for each in found)
    RESULTS.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
