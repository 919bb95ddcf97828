"""Damages a run's files in thousands of ways: each opens, or is refused with one sentence.

.venv/bin/python tests/benchmarks/fuzz.py [--count 20000] [--first 0]
"""

import argparse
import collections
import contextlib
import faulthandler
import os
import resource
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.damage_cases import Cases, make_run

MOST_S = 2.0
"""No case takes longer on a quiet machine; other work on it may need ``--slower``."""
MOST_BYTES = 200 * 2**20


def main() -> int:
    """Print what came of it; the status is 1 if anything else happened than should."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--slower", type=float, default=1.0, help="how much busier the machine is")
    chosen = parser.parse_args()
    most_s = MOST_S * chosen.slower
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory(prefix="td3-fuzz-") as folder:
        cases = Cases(make_run(Path(folder) / "whole"), Path(folder) / "damaged" / "run")
        kinds, faults, slowest, slow = collections.Counter[str](), 0, 0.0, ""
        cases.lay_out()
        for number in range(min(20, chosen.count)):
            with contextlib.suppress(Exception):
                cases.case(10**9 + number)  # Warm-up: libraries that load late count for nothing.
        cases.opened = cases.went_on = 0
        before = peak = _peak_bytes()
        for number in range(chosen.first, chosen.first + chosen.count):
            began, size, kind = time.perf_counter(), 0, ""
            watch = threading.Timer(60.0, _give_up, [number])
            watch.daemon = True
            watch.start()
            try:
                kind, size = cases.case(number)
                kinds[kind] += 1
            except Exception:
                faults += 1
                print(f"case {number}:\n{traceback.format_exc()[-1500:]}", flush=True)
            finally:
                watch.cancel()
            took, now = time.perf_counter() - began, _peak_bytes()
            slowest, slow = max((slowest, slow), (took, f"{number} ({kind})"))
            if took > most_s or now - peak > MOST_BYTES + size:
                faults += 1
                print(f"case {number}: {took:.1f} s, {(now - peak) / 2**20:.0f} MiB", flush=True)
            peak = now
            if number % 1000 == 999:
                print(f"{number + 1 - chosen.first} cases, {faults} faults", flush=True)
        print(
            f"{chosen.count} cases: {cases.opened} opened, {cases.went_on} were gone on from, the"
            f" rest were refused with a sentence; slowest {slowest:.2f} s, case {slow};"
            f" peak memory grew by {(peak - before) / 2**20:.0f} MiB; faults: {faults}"
        )
        print(", ".join(f"{name} {count}" for name, count in sorted(kinds.items())))
    return 1 if faults else 0


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _give_up(number: int) -> None:
    print(f"case {number} hangs", flush=True)
    faulthandler.dump_traceback(sys.stdout)
    os._exit(1)


if __name__ == "__main__":
    raise SystemExit(main())
