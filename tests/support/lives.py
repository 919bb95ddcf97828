"""Commands as processes of their own, to be killed at any moment; and what two runs differ in."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from td3core import checkpoint
from td3core.runs.directory import TABLES, RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.tables import read_table

ROOT = Path(__file__).resolve().parents[2]
MARK = "TD3_STUDIO_TEST_LIFE"
PATIENCE_S = 600.0
"""How long a process may take to end, on a machine that has much else to do."""
_WITH_SLACK = """
import sys
from td3core.system import numerics
numerics.pin()
from td3core.buffer import replay_buffer
replay_buffer.SLACK = int(sys.argv.pop(1))
from td3core.cli.app import run_program
raise SystemExit(run_program())
"""


@dataclass
class Life:
    """One command in a process of its own, with all the processes that it starts."""

    process: "subprocess.Popen[bytes]"
    place: Path

    @classmethod
    def begin(cls, place: Path, words: Sequence[str], slack: int = 0) -> "Life":
        """Start ``td3-studio`` with these words; its output goes to files in ``place``.

        ``slack``: rows of the replay buffer's file beyond its ring. With the usual number of them
        a run would have to be long before anything in its file is overwritten.
        """
        place.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {
            MARK: str(place),
            "PYTHONPATH": str(ROOT),
            "TD3_STUDIO_TRUST": str(place / "trusted.json"),
        }
        start = ["-P", "-c", _WITH_SLACK, str(slack)] if slack else ["-m", "td3core"]
        with (place / "output.txt").open("wb") as out, (place / "errors.txt").open("ab") as errors:
            process = subprocess.Popen(
                [sys.executable, *start, *words],
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=True,
            )
        return cls(process, place)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self, *, alone: bool = False) -> bool:
        """Kill it with SIGKILL, ``alone`` or with all it has started; return whether it lived."""
        alive = self.alive
        self.process.kill()
        while not alone and (found := processes_of(self.place)):
            for each in found:
                each.kill()
            psutil.wait_procs(found, timeout=1.0)
        self.process.wait()
        return alive

    def end(self) -> int:
        """Wait for its end; return its exit status.

        Raises:
            subprocess.TimeoutExpired: it has not ended, and was killed.
        """
        try:
            return self.process.wait(PATIENCE_S)
        finally:
            if self.alive:
                self.kill()


def processes_of(place: Path) -> list[psutil.Process]:
    """Return the living processes of all lives of a place."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == str(place):
                found.append(process)
        except psutil.Error:
            continue
    return found


def await_end(place: Path) -> bool:
    """Wait until no process of a place is left; kill those that do not end, and return False."""
    end = time.monotonic() + PATIENCE_S
    while found := processes_of(place):
        if time.monotonic() > end:
            for each in found:
                each.kill()
            return False
        psutil.wait_procs(found, timeout=0.2)
    return True


def runs_of(folder: Path) -> list[Path]:
    """Return the runs in a folder; one that was killed before it had a description is none."""
    return sorted(path.parent for path in folder.glob("*/run.toml"))


def run_of(folder: Path) -> Path | None:
    """Return the only run in a folder, ``None`` if it was killed before there was one."""
    found = runs_of(folder) if folder.exists() else []
    assert len(found) <= 1
    return found[0] if found else None


def differences(one: Path, other: Path) -> list[str]:
    """Compare two runs byte for byte, clocks aside; return in what they differ."""
    found = [f"{name}.csv" for name in TABLES if _rows(one, name) != _rows(other, name)]
    names = [sorted(path.name for path in (run / "checkpoints").iterdir()) for run in (one, other)]
    if names[0] != names[1]:
        found.append(f"names of checkpoints: {set(names[0]) ^ set(names[1])}")
    for name in sorted(set(names[0]) & set(names[1])):
        paths = (run / "checkpoints" / name for run in (one, other))
        found += [f"{name}: {what}" for what in _of_agents(*paths)]
    if (one / "replay.f32").read_bytes() != (other / "replay.f32").read_bytes():
        found.append("replay.f32")
    changes = [changes_of(RunDirectory.open(run).journal()) for run in (one, other)]
    if changes[0] != changes[1]:
        found.append("live changes in the journal")
    return found


def _of_agents(one: Path, other: Path) -> list[str]:
    first, second = checkpoint.load(one), checkpoint.load(other)
    a, b = first.tensors, second.tensors
    found = sorted(a.keys() ^ b.keys())
    found += [name for name in a.keys() & b.keys() if a[name].tobytes() != b[name].tobytes()]
    if first.header.counters != second.header.counters:
        found.append(f"counters {first.header.counters} {second.header.counters}")
    if first.header.evaluation != second.header.evaluation:
        found.append("evaluation")
    if first.header.tunables != second.header.tunables:
        found.append(f"live settings {first.header.tunables} {second.header.tunables}")
    return found


def _rows(run: Path, name: str) -> list[dict[str, Any]]:
    rows = read_table(run / f"{name}.csv")
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]
