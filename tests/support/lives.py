"""A run as a process of its own, to be killed at any moment and taken up again by the next.

``python -m tests.support.lives REQUEST`` is one life; :class:`Life` starts it and watches it.
"""

import json
import mmap
import shutil
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from td3core import checkpoint
from td3core.protocol.control import Control
from td3core.protocol.events import Event, Failed, Progress, Started, Tuned
from td3core.runs.directory import TABLES, RunDirectory
from td3core.runs.journal import changes_of
from td3core.runs.tables import read_table

ROOT = Path(__file__).resolve().parents[2]
STEP_FILE = "step"

Changes = Sequence[tuple[int, str, Any]]
"""What a person changes: after which step, which setting, to what."""


class Person(Control):
    """Makes live changes at certain steps, and notes in a file how far the run has come."""

    def __init__(self, changes: Changes, steps: mmap.mmap) -> None:
        super().__init__()
        self._changes, self._steps = list(changes), steps
        self.tunables: Any = None
        self.boundary_hook = self._act

    def begin_at(self, env_steps: int) -> None:
        self._steps[:8] = struct.pack("<q", env_steps)

    def _act(self, env_steps: int) -> None:
        self._steps[:8] = struct.pack("<q", env_steps)
        due = [change for change in self._changes if change[0] <= env_steps]
        if due and self.tunables is not None:
            self._changes = self._changes[len(due) :]
            self.tune(replace(self.tunables, **{name: value for _, name, value in due}))


@dataclass
class Life:
    """One process that begins or resumes a run, and tells of it line by line."""

    process: subprocess.Popen[str]
    place: Path

    @classmethod
    def begin(
        cls, folder: Path, settings: Mapping[str, Any], changes: Changes = (), journal: str = ""
    ) -> "Life":
        """Begin a run in ``folder``, or go on with the one that is there."""
        folder.mkdir(parents=True, exist_ok=True)
        request = {"folder": str(folder), "settings": dict(settings), "journal": journal}
        text = json.dumps(request | {"changes": list(changes)})
        errors = (folder / "errors.txt").open("a")
        with errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.lives", text],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        return cls(process, folder)

    def told(self) -> list[Any]:
        """Wait for the next line; empty once it is over."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        return json.loads(line) if line else []

    def kill(self) -> bool:
        """Kill it with SIGKILL; return whether it was still alive."""
        alive = self.process.poll() is None
        self.process.kill()
        self.process.communicate()
        return alive

    def end(self) -> None:
        """Wait for its end, and for the run's; raise if that is not a good one."""
        while said := self.told():
            if said[0] in ("failed", "warned"):
                raise AssertionError(said)
        if self.process.wait() or run_of(self.place) is None:
            raise AssertionError((self.place / "errors.txt").read_text())
        self.process.communicate()

    @property
    def env_steps(self) -> int:
        """The step it had come to when it last noted that."""
        found: int = struct.unpack("<q", (self.place / STEP_FILE).read_bytes()[:8])[0]
        return found


def run_of(folder: Path) -> Path | None:
    """Return the run of a folder of lives, ``None`` if it was killed before there was one."""
    found = [path for path in folder.iterdir() if (path / "run.toml").is_file()]
    assert len(found) <= 1
    return found[0] if found else None


def differences(one: Path, other: Path) -> list[str]:
    """Compare two runs byte for byte, clocks aside; return in what they differ."""
    found = [f"{name}.csv" for name in TABLES if _rows(one, name) != _rows(other, name)]
    for name in ("last.safetensors", "best.safetensors"):
        paths = [run / "checkpoints" / name for run in (one, other)]
        if paths[0].exists() != paths[1].exists():
            found.append(f"{name} is not in both")
        elif paths[0].exists():
            found += [f"{name}: {what}" for what in _of_agents(*paths)]
    if (one / "replay.f32").read_bytes() != (other / "replay.f32").read_bytes():
        found.append("replay.f32")
    names = [sorted(path.name for path in (run / "checkpoints").iterdir()) for run in (one, other)]
    if names[0] != names[1]:
        found.append(f"names of checkpoints: {set(names[0]) ^ set(names[1])}")
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
    return found


def _rows(run: Path, name: str) -> list[dict[str, str]]:
    rows = read_table(run / f"{name}.csv")
    return [{k: v for k, v in row.items() if k != "time_s"} for row in rows]


def _say(*words: Any) -> None:
    print(json.dumps(words), flush=True)


def _live(request: dict[str, Any]) -> int:
    """Take the run of a folder one life further; without one, begin it."""
    from td3core.config import make_settings
    from td3core.training import launch
    from td3core.training.launch import resume, train

    folder, settings = Path(request["folder"]), request["settings"]
    # With the usual slack a ring would have to be long before anything in it is overwritten.
    launch.SLACK = settings.pop("slack", launch.SLACK)
    config, tunables = make_settings(settings)
    run, changes = run_of(folder), [(step, name, v) for step, name, v in request["changes"]]
    if run is None:
        # A run without its description, killed while that was written: nobody can open it.
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
    else:
        done = {(c.env_steps, c.name) for c in changes_of(RunDirectory.open(run).journal())}
        changes = [change for change in changes if change[:2] not in done]
    (folder / STEP_FILE).write_bytes(struct.pack("<q", 0))
    with (folder / STEP_FILE).open("r+b") as file, mmap.mmap(file.fileno(), 8) as steps:
        person = Person(changes, steps)

        def report(event: Event) -> None:
            if isinstance(event, Started):
                person.begin_at(event.env_steps)
                person.tunables = event.tunables
                _say("begun", event.env_steps)
            elif isinstance(event, Tuned):
                person.tunables = event.tunables
            elif isinstance(event, Progress):
                _say("step", event.env_steps)
            elif hasattr(event, "message"):
                _say(type(event).__name__.lower(), event.message)

        if run is None:
            journal = request["journal"]
            schedule = changes_of(RunDirectory.open(Path(journal)).journal()) if journal else ()
            outcome = train(config, tunables, person, report, folder, schedule)
        else:
            outcome = resume(run, person, report)
    return 1 if isinstance(outcome, Failed) else 0


if __name__ == "__main__":
    raise SystemExit(_live(json.loads(sys.argv[1])))
