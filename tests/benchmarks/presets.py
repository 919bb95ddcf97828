"""Starts every bundled preset, and every variant over one of them, and says how each went.

.venv/bin/python tests/benchmarks/presets.py [--steps 3000] [--over Pendulum-v1] [--only NAME]...

Full networks, batches and evaluations; only the length and the warm-up are cut, so that there are
updates to see. Exit status 1 if any run fails, warns, or learns nothing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass

from td3core.config.presets import load_presets
from td3core.envs.catalogue import find_known

# Box2D's own import warns, and its C code ends the process when the warning is an error.
_STRICT = ("-W", "error", "-W", "ignore:builtin type")


@dataclass(frozen=True)
class Row:
    """How one preset went."""

    name: str
    outcome: str
    updates: int = 0
    steps_per_s: float = 0.0
    last_return: float | None = None
    fault: bool = True


def start(name: str, env: str, names: list[str], steps: int, warm_up: int) -> Row:
    """Train headless for a moment, in a process of its own."""
    known = find_known(env)
    if known is not None and not known.installed:
        return Row(name, f"skipped: pip install '{known.package}'", fault=False)
    presets = [f"--preset={each}" for each in names]
    with tempfile.TemporaryDirectory() as runs:
        cut = ["--steps", str(steps), "--set", f"learning_starts={warm_up}", "--runs-dir", runs]
        done = subprocess.run(
            [sys.executable, *_STRICT, "-m", "td3core", "train", env, *presets, *cut, "--json"],
            capture_output=True,
            text=True,
            timeout=1800,
        )
    if done.returncode:
        return Row(name, f"failed: {done.stderr.strip().splitlines()[-1]}")
    ended = json.loads(done.stdout.splitlines()[-1])
    spoken = [line for line in done.stderr.splitlines() if "warn" in line.lower()]
    stray = done.stdout.splitlines()[:-1]
    outcome = (spoken or stray or ["ok"])[0]
    learnt = ended["updates"] == (steps - warm_up)
    return Row(
        name,
        outcome if learnt else f"{ended['updates']} updates",
        ended["updates"],
        ended["steps_per_s"],
        ended["last_eval_return"],
        fault=bool(spoken or stray) or not learnt,
    )


def main() -> int:
    """Print a Markdown table; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--warm-up", type=int, default=1000)
    parser.add_argument("--over", default="Pendulum-v1", help="base of the variants")
    parser.add_argument("--only", action="append", help="name of a preset; may be repeated")
    options = parser.parse_args()
    rows = []
    print("| preset | outcome | updates | steps/s | return |\n|---|---|---|---|---|")
    for preset in load_presets().values():
        if options.only and preset.name not in options.only:
            continue
        env = preset.env or load_presets()[options.over].env
        name = preset.name if preset.env else f"{options.over} + {preset.name}"
        row = start(name, env, [preset.name], options.steps, options.warm_up)
        rows.append(row)
        shown = "" if row.last_return is None else f"{row.last_return:.1f}"
        cells = (row.name, row.outcome, row.updates, f"{row.steps_per_s:.0f}", shown)
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    return int(any(row.fault for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
