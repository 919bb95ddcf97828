"""How fast it learns, what the window costs, and how that compares with stable-baselines3's TD3.

    .venv/bin/python -m tests.benchmarks.speed [--quick] [--before FOLDER] [--json FILE]
        [--only NAME...] [--peer-python PYTHON]

Everything is measured on one machine in one run: one thread unless stated otherwise, fp32, batch
256, two hidden layers of 256. Ours and the peer alternate, each measurement in a fresh process, and
medians are printed as Markdown tables. ``--before`` names a checkout of an earlier version, which
then takes its turn as well; ``--peer-python`` the Python of an environment with SBX
(``pip install sbx-rl``), stable-baselines3 in JAX, on which this project does not depend. Takes
about fifteen minutes; ``--quick`` about four.
"""

import argparse
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from td3core.system.openmp import shorten_waits
from tests.benchmarks import speed_parts as parts

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENTS = ("Pendulum-v1", "BipedalWalker-v3", "HalfCheetah-v5", "Walker2d-v5")


def apart(measure: Callable[..., Any], *arguments: Any) -> Any:
    """Measure in a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return pool.submit(measure, *arguments).result()


def before(folder: str, measure: str, *arguments: Any) -> dict[str, float]:
    """Measure the version in ``folder`` with its own ``speed_parts.py``."""
    code = (
        "import json, sys; from tests.benchmarks import speed_parts as parts;"
        "name, arguments = json.loads(sys.argv[1]);"
        "print(json.dumps(getattr(parts, name)(*arguments)))"
    )
    command = [sys.executable, "-c", code, json.dumps([measure, arguments])]
    env = environment() | {"PYTHONPATH": folder}
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=env)
    return dict(json.loads(said.stdout.splitlines()[-1]))


def medians(rounds: int, *measures: tuple[Any, ...]) -> list[dict[str, float]]:
    """Take turns between measurements, so that a slow minute of the machine meets all of them."""
    found: list[list[dict[str, float]]] = [[] for _ in measures]
    for _ in range(rounds):
        for place, measure in zip(found, measures, strict=True):
            place.append(apart(*measure))
    return [{key: statistics.median(one[key] for one in each) for key in each[0]} for each in found]


def updates(rounds: int, earlier: str) -> dict[str, Any]:
    """Compare gradient updates with the peer's and with what the matrix products alone allow."""
    measures: dict[str, tuple[Any, ...]] = {
        "compiled": (parts.our_updates, True),
        "torch": (parts.our_updates, False),
        "peer": (parts.peer_updates,),
        "torch's products alone": (parts.bound,),
        "SciPy's products alone": (parts.bound_by_scipy,),
        "compiled, two threads": (parts.our_updates, True, False, 2),
        "peer, two threads": (parts.peer_updates, 2),
        "64x64, batch 100: compiled": (parts.our_updates, True, True),
        "64x64, batch 100: torch": (parts.our_updates, False, True),
    }
    if earlier:
        measures["before"] = (before, earlier, "our_updates", True)
    found = medians(rounds, *measures.values())
    rates = {name: each["per_s"] for name, each in zip(measures, found, strict=True)}
    ours = rates["compiled"]
    print("\n| updates/s (24 + 4 inputs) | | compiled, one thread, is |\n|---|---|---|")
    for name, per_s in rates.items():
        ratio = "" if name.startswith("64") else f"{ours / per_s:.2f} × this"
        print(f"| {name} | {per_s:,.0f} | {ratio} |")
    return rates


def steps(rounds: int, count: int, earlier: str) -> dict[str, Any]:
    """Compare whole environment steps per second, once learning, and the memory they take."""
    found: dict[str, Any] = {}
    print("\n| environment steps/s | ours | peer | ratio | before | peak MB: ours, peer |")
    print("|---|---|---|---|---|---|")
    for env in ENVIRONMENTS:
        found[env] = compare_steps(rounds, earlier, env, count)
    found["two threads"] = compare_steps(rounds, "", "BipedalWalker-v3", count, False, 2)
    found["small"] = compare_steps(rounds, "", "Pendulum-v1", count, True)
    return found


def compare_steps(rounds: int, earlier: str, env: str, count: int, *rest: Any) -> dict[str, Any]:
    """Print a row: ours, the peer and an earlier version with the same settings."""
    longer = 4 * count if rest and rest[0] else count
    measures: list[tuple[Any, ...]] = [
        (parts.our_steps, env, longer, *rest),
        (parts.peer_steps, env, count, *rest),
    ]
    if earlier:
        measures.append((before, earlier, "our_steps", env, count))
    ours, peer, *old = medians(rounds, *measures)
    a, b = ours["per_s"], peer["per_s"]
    about = env + {(): "", (True,): ", 64x64, batch 100", (False, 2): ", two threads"}[rest]
    was = f"{old[0]['per_s']:.0f} ({a / old[0]['per_s']:.2f} ×)" if old else ""
    memory = f"{ours['peak_mb']:.0f}, {peer['peak_mb']:.0f}"
    print(f"| {about} | {a:.0f} | {b:.0f} | {a / b:.2f} | {was} | {memory} |", flush=True)
    return {"ours": ours, "peer": peer, "before": old}


def share() -> dict[str, Any]:
    """Say what share of an update's time its matrix products would take by themselves."""
    found = {}
    print("\n| update, one thread | share of the bare products | kernels |\n|---|---|---|")
    for width, batch in ((256, 256), (128, 256), (64, 100)):
        one = apart(parts.share_of_products, width, batch)
        found[f"{width}x{width}, batch {batch}"] = one
        print(f"| {width}x{width}, batch {batch} | {one['share']:.1%} | {one['kernels']} |")
    return found


def published() -> dict[str, Any]:
    """Compare torch's update and the compiled one with TD3 as its authors published it."""
    found = {}
    print("\n| update, one thread | torch, ms | compiled, ms | published, ms | ratios |")
    print("|---|---|---|---|---|")
    for width, batch in ((256, 256), (64, 100)):
        one = apart(parts.against_published, width, batch)
        found[f"{width}x{width}, batch {batch}"] = one
        each = " | ".join(f"{one[name]:.2f}" for name in ("torch", "compiled", "published"))
        ratios = f"{one['torch ratio']:.2f}, {one['compiled ratio']:.2f}"
        print(f"| {width}x{width}, batch {batch} | {each} | {ratios} |")
    return found


def long_run() -> dict[str, float]:
    """Say whether updates get slower as units die."""
    found = apart(parts.long_updates)
    print("\n| 64x64, batch 100, 40,000 updates | updates/s |\n|---|---|")
    for name in ("first", "last"):
        print(f"| {name} quarter | {found[f'{name}_per_s']:,.0f} |")
    return dict(found)


def sbx_steps(python: str, *arguments: Any) -> dict[str, float]:
    """Measure SBX in its own environment."""
    command = [python, "-m", "tests.benchmarks.speed_sbx", *map(str, arguments)]
    env = {key: value for key, value in environment().items() if not key.endswith("_NUM_THREADS")}
    said = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=env)
    return dict(json.loads(said.stdout.splitlines()[-1]))


def against_sbx(rounds: int, count: int, python: str) -> dict[str, Any]:
    """Compare steps per second with SBX: on one core, on two as each likes, and small."""
    env, wide, small = "BipedalWalker-v3", (parts.WIDTH, parts.BATCH), (64, 100)
    cases: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
        f"{env}, one core": (
            (parts.on_cores, 1, parts.our_steps, env, count),
            (sbx_steps, python, env, count, *wide, 1),
        ),
        f"{env}, two cores": (
            (parts.on_cores, 2, parts.our_steps, env, count, False, 2),
            (sbx_steps, python, env, count, *wide, 2),
        ),
    }
    for name in (env, "Pendulum-v1"):
        cases[f"{name}, 64x64, batch 100, one core"] = (
            (parts.on_cores, 1, parts.our_steps, name, 4 * count, True),
            (sbx_steps, python, name, 2 * count, *small, 1),
        )
    found = {}
    print("\n| environment steps/s | ours | SBX | ratio |\n|---|---|---|---|")
    for name, measures in cases.items():
        ours, peer = (one["per_s"] for one in medians(rounds, *measures))
        found[name] = {"ours": ours, "SBX": peer}
        print(f"| {name} | {ours:,.0f} | {peer:,.0f} | {ours / peer:.2f} |", flush=True)
    return found


def growth() -> dict[str, Any]:
    """Show that nothing grows with the steps but the replay buffer, which is what it says."""
    found = apart(parts.cost_by_fill)
    print("\n| transitions in memory | ms for one sample and update | replay buffer, MB resident |")
    print("|---|---|---|")
    for fill, row in found.items():
        print(f"| {fill:,} | {row['ms']:.2f} | {row['resident_mb']:.0f} |")
    return dict(found)


WARM_UP = 20_000


def window(seconds: float, rounds: int) -> dict[str, Any]:
    """Compare a run without a window, under plots, and under plots and a replay.

    All with the preset and its evaluations. What it costs and how long the window waits are
    measured apart: watching for the gaps takes time.
    """
    env, names = "BipedalWalker-v3", ("headless", "window with plots", "window, plots and replay")
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(rounds):
        found[names[0]].append(apart(parts.preset_steps, env, WARM_UP, seconds))
        found[names[1]].append(in_window(seconds, "--no-replay", "--no-gaps"))
        found[names[2]].append(in_window(seconds, "--no-gaps"))
    gaps = {names[1]: in_window(seconds, "--no-replay"), names[2]: in_window(seconds)}
    base = statistics.median(one["steps_per_s"] for one in found[names[0]])
    print("\n| BipedalWalker-v3 | steps/s | tax | frames/s | warm-up gap p99/max ms | learning |")
    print("|---|---|---|---|---|---|")
    for name, runs in found.items():
        rate = statistics.median(one["steps_per_s"] for one in runs)
        row = f"| {name} | {rate:.0f} | {100 * (1 - rate / base):.0f} %"
        columns = window_columns(runs, gaps[name]) if name in gaps else ["", "", ""]
        print(row + " | " + " | ".join(columns) + " |")
    return found | {"gaps": [gaps]}


def window_columns(runs: list[dict[str, Any]], gaps: dict[str, Any]) -> list[str]:
    """Return frames/s and, for each phase, p99 and maximum of the gaps."""
    columns = [f"{statistics.median(one['frames_per_s'] for one in runs):.0f}"]
    return columns + [
        f"{gaps[p]['p99']:.0f} / {gaps[p]['max']:.0f}" for p in ("warm-up", "learning")
    ]


def in_window(seconds: float, *options: str) -> dict[str, Any]:
    """Run the benchmark of the window and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "figures.json"
        command = [sys.executable, str(HERE / "window_gaps.py"), "--json", str(target)]
        command += ["--seconds", str(seconds), "--warm-up", str(WARM_UP), *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment())
        return dict(json.loads(target.read_text()))


def launch(rounds: int) -> dict[str, float]:
    """Time from starting the program to a window that has painted itself and takes events."""
    found = []
    for _ in range(rounds + 1):
        command = [sys.executable, "-m", "tests.benchmarks.launch", str(time.time())]
        said = subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=ROOT, env=environment()
        )
        found.append(json.loads(said.stdout))
    warm = {key: statistics.median(one[key] for one in found[1:]) for key in found[0]}
    print(f"\nLaunch to usable window, warm: {warm['seconds']:.2f} s (torch loaded: no)")
    assert not warm["torch"], "torch was imported before the window showed"
    return warm


def environment() -> dict[str, str]:
    """Return the environment of a child process: no display, one thread for torch."""
    return {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}


def machine() -> dict[str, Any]:
    """Say what this was measured on."""
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = lines[0].split(":")[1].strip() if lines else model
    return {
        "processor": f"{model}, {os.cpu_count()} cores, {torch.backends.cpu.get_cpu_capability()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter runs")
    parser.add_argument("--before", default="", help="folder of an earlier version to compare with")
    parser.add_argument("--peer-python", default="", help="Python of an environment with SBX")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--only", nargs="*", default=[], help="updates, steps, growth, ...")
    asked = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    shorten_waits()
    rounds, count, seconds = (2, 600, 10.0) if asked.quick else (5, 2000, 25.0)
    measures: dict[str, Callable[[], Any]] = {
        "updates": lambda: updates(rounds, asked.before),
        "share": share,
        "published": published,
        "long": long_run,
        "steps": lambda: steps(3 if rounds > 3 else 1, count, asked.before),
        "sbx": lambda: against_sbx(3 if rounds > 3 else 1, count, asked.peer_python),
        "growth": growth,
        "window": lambda: window(seconds, 3 if rounds > 3 else 1),
        "launch": lambda: launch(rounds),
    }
    about = machine()
    print(f"{about['processor']}; Python {about['python']}, torch {about['torch']}, one thread")
    found: dict[str, Any] = {"machine": about}
    for name, measure in measures.items():
        if name == "sbx" and not asked.peer_python:
            continue
        if not asked.only or name in asked.only:
            found[name] = measure()
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
