"""Puts the last or best agent of a run among the bundled ones, with 100 evaluation episodes.

    .venv/bin/python tests/benchmarks/bundle.py RUN [--best] --command "td3-studio train ENV"
    .venv/bin/python tests/benchmarks/bundle.py RUN --snapshots 10000 50000
    .venv/bin/python -m tests.benchmarks.bundle --repeat
    .venv/bin/python tests/benchmarks/bundle.py --table

Beside each agent lies a record (JSON): how it was trained, its curve, and the returns of the 100
episodes. Their seed chose nothing: neither the run nor the choice of the checkpoint used it.
``--repeat`` adds what the first of them come to in the numerics class of this process. The table of
``resources/agents/README.md`` is made from the records.
"""

import argparse
import json
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

AGENTS = Path(__file__).parents[2] / "resources" / "agents"
SEED, EPISODES = 1000, 100
_HEAD = """# Bundled agents

Trained with this project's own commands, without live changes; actor and critics only
(`td3-studio export`). Each agent is the last one of its run unless it is called best: then it had
the highest mean of ten evaluation episodes. The evaluation of the table is 100 noise-free episodes
with seed 1000, which neither the run nor the choice of the checkpoint used:
`td3-studio eval FILE --episodes 100 --seed 1000`. The JSON file of the same name holds command,
versions, machine, evaluation curve and all 100 returns. A folder holds earlier agents of the same
run. `tests/benchmarks/bundle.py` makes this page.

| agent | 100 episodes: mean ± std (lowest) | steps | wall time | command |
|---|---|---|---|---|
"""


def processor() -> str:
    """Return the model of this machine's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor()
    name = re.search(r"model name\s*: (.*)", text)
    return name.group(1) if name else platform.processor()


def evaluate(file: Path) -> dict[str, Any]:
    """Run the 100 episodes through the command line, as a user would."""
    command = ["td3-studio", "eval", str(file), "--episodes", str(EPISODES)]
    command += ["--seed", str(SEED), "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def curve(run: Path) -> list[list[float]]:
    """Return step and mean return of every evaluation."""
    rows = np.genfromtxt(run / "evaluations.csv", delimiter=",", names=True, dtype=None)
    rows = np.atleast_1d(rows)
    return [[int(row["env_steps"]), round(float(row["mean"]), 2)] for row in rows]


def bundle(run: Path, command: str, which: str) -> None:
    """Export the ``last`` or ``best`` agent of a run, and write its record."""
    from td3core import checkpoint
    from td3core.checkpoint import read_header
    from td3core.exporters.weights import export
    from td3core.runs.directory import RunDirectory
    from td3core.runs.listing import summarise
    from tests.support.playing import played_with

    opened = RunDirectory.open(run)
    name, source = opened.config.env, run / "checkpoints" / f"{which}.safetensors"
    target = AGENTS / f"{name}.safetensors"
    export(source, target)
    header, about, result = read_header(source), summarise(opened), evaluate(target)
    packages = ("torch", "numpy", "gymnasium", "numba", "scipy")
    record = {
        "command": command,
        "checkpoint": which,
        "env_steps": header.counters.env_steps,
        "wall_s": round(about.wall_s),
        "machine": f"{processor()}, one thread of two cores, other work running",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
        "evaluation": {
            "command": f"td3-studio eval FILE --episodes {EPISODES} --seed {SEED}",
            "seed": SEED,
            "mean": result["mean"],
            "std": result["std"],
            "returns": result["returns"],
            "played_with": played_with(checkpoint.load(target)),
        },
        "curve": curve(run),
    }
    target.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def add_snapshots(run: Path, steps: list[int]) -> None:
    """Export the agents that the run had after these steps."""
    from td3core.exporters.weights import export
    from td3core.runs.directory import RunDirectory

    name = RunDirectory.open(run).config.env
    for step in steps:
        file = f"step_{step:09d}.safetensors"
        (AGENTS / name).mkdir(exist_ok=True)
        export(run / "checkpoints" / file, AGENTS / name / file)


def repeat() -> None:
    """Add to each record the first episodes as they are played here, if they are as good."""
    from td3core import checkpoint
    from tests.support.playing import (
        EPISODES,
        MANY,
        played_with,
        recorded_returns,
        require_alike,
        returns_of,
    )

    for path in sorted(AGENTS.glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        agent = checkpoint.load(path.with_suffix(".safetensors"))
        if recorded_returns(agent, record) is None:
            returns = returns_of(agent, record, MANY)
            require_alike(returns, record)
            found = {"returns": returns[:EPISODES], "played_with": played_with(agent)}
            record["repeated"] = [*record.get("repeated", ()), found]
            path.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def table() -> str:
    """Return the page that lists all agents."""
    lines = []
    for path in sorted(AGENTS.glob("*.json")):
        record = json.loads(path.read_text("utf-8"))
        found, minutes = record["evaluation"], record["wall_s"] / 60
        returns = f"{found['mean']:.1f} ± {found['std']:.1f} ({min(found['returns']):.1f})"
        best = (
            f" (best of {record['curve'][-1][0]:,})" if record.get("checkpoint") == "best" else ""
        )
        took = f"{minutes:.0f} min" if minutes >= 1 else "under 1 min"
        length = f"{record['env_steps']:,}{best} | {took}"
        lines.append(f"| `{path.stem}` | {returns} | {length} | `{record['command']}` |")
    return _HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path, nargs="?")
    parser.add_argument("--command", help="what trained the run")
    parser.add_argument("--best", action="store_true", help="the best agent instead of the last")
    parser.add_argument("--snapshots", type=int, nargs="+", help="add the agents of these steps")
    parser.add_argument("--repeat", action="store_true", help="repeat all agents in this class")
    parser.add_argument("--table", action="store_true", help="only write the page anew")
    chosen = parser.parse_args()
    if chosen.snapshots:
        add_snapshots(chosen.run.absolute(), chosen.snapshots)
    elif chosen.repeat:
        repeat()
    elif not chosen.table:
        which = "best" if chosen.best else "last"
        bundle(chosen.run.absolute(), chosen.command, which)
    (AGENTS / "README.md").write_text(table(), "utf-8")


if __name__ == "__main__":
    main()
