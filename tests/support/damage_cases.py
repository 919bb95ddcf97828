"""A run to damage, and the required outcomes of opening its damaged files.

Each case opens, or is refused with one sentence; nothing else may happen.
"""

import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from td3core import checkpoint
from td3core.config import make_settings
from td3core.config.presets import parse_preset
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Failed
from td3core.runs import journal
from td3core.runs.directory import TABLES, RunDirectory
from td3core.runs.listing import RunSummary, list_runs, summarise, unreadable_runs
from td3core.runs.lock import holder
from td3core.runs.resumption import load_complete, pending_changes, resume_point
from td3core.runs.tables import read_last_row, read_numbers, read_table
from td3core.training.launch import resume, train
from tests.support.damage import Source, of_bytes, of_header, of_meaning, of_text
from tests.support.special_files import OUTSIDE, SPECIAL, as_closed, as_link

LONGEST = 1000
"""A sentence longer than this is none."""

_UNTOUCHED = b"nobody writes here\n"

SETTINGS: dict[str, Any] = {
    "env": "Pendulum-v1",
    "env_args": '{"max_episode_steps": 30}',
    "actor_hidden": [6, 5],
    "critic_hidden": [6, 5],
    "batch_size": 4,
    "buffer_size": 300,
    "learning_starts": 40,
    "steps": 230,
    "eval_interval": 100,
    "eval_episodes": 1,
    "background_evaluation": False,
    "checkpoint_interval": 100,
    "normalize_observations": True,
    "threads": 1,
}


def make_run(folder: Path) -> Path:
    """Train the run that is damaged."""
    config, tunables = make_settings(SETTINGS)
    changes = [journal.Change(60, "tau", 0.01), journal.Change(215, "gamma", 0.9)]
    ended = train(config, tunables, Control(), lambda event: None, folder, changes)
    assert not isinstance(ended, Failed), ended
    return ended.run


def require_sentence(problem: RequestError) -> None:
    """Raise AssertionError unless a refusal is one sentence that a person can read."""
    said = str(problem)
    assert said.strip(), "a refusal without a word"
    assert "\n" not in said, said[:LONGEST]
    assert len(said) <= LONGEST, said[:LONGEST]


def require_plain(found: RunSummary) -> None:
    """Raise AssertionError unless a list can show all of a run."""
    for text in (found.name, found.note, str(found.message), str(found.parent)):
        text.encode()
    assert 0 <= found.env_steps <= 10**15, found.env_steps
    assert 0.0 <= found.wall_s <= 10**15, found.wall_s


def refusing(work: Callable[[], object]) -> bool:
    """Do something; return whether it was refused, with a sentence."""
    try:
        work()
    except RequestError as problem:
        require_sentence(problem)
        return True
    return False


def open_checkpoint(path: Path) -> bool:
    """Open a checkpoint in every way; return whether a run could resume from it."""
    refusing(lambda: checkpoint.read_header(path))
    with np.errstate(all="ignore"):  # Weights may be numbers, and yet too large to act with.
        refusing(lambda: checkpoint.load(path).policy()(np.zeros(3, np.float32)))
    return not refusing(lambda: load_complete(path))


def open_run(path: Path) -> None:
    """Examine a run in every way that does not change it."""
    holder(path)
    for unreadable in unreadable_runs(path.parent):
        require_sentence(RequestError(str(unreadable.message)))
    for run in list_runs(path.parent):
        require_plain(summarise(run))
        run.label(), run.ending(), run.evaluation_at(200), run.pending()
        refusing(
            lambda run=run: pending_changes(
                run.journal(), getattr(resume_point(run), "saved", None)
            )
        )  # type: ignore[misc]
    for name in TABLES:
        table = path / f"{name}.csv"
        read_table(table)
        read_last_row(table)
        read_numbers(table, ("env_steps",))
    refusing(lambda: RunDirectory.open(path))


def go_on(path: Path, steps: int = 233) -> None:
    """Resume a run for a few steps: that succeeds, or is refused before the first step."""
    with np.errstate(all="ignore"):
        outcome = resume(path, Control(), lambda event: None, steps=steps)
    if isinstance(outcome, Failed) and outcome.request:
        require_sentence(RequestError(str(outcome.message)))
    elif isinstance(outcome, Failed):
        # What a run says of weights that are numbers, but not those of an agent.
        assert str(outcome.message).startswith(("Training diverged", "The evaluation")), (
            outcome.details
        )


class Cases:
    """Damages one file of a run at a time, and repairs it again."""

    def __init__(self, run: Path, spot: Path) -> None:
        self._whole, self._spot = run, spot
        self._files = {p.relative_to(run): p.read_bytes() for p in run.rglob("*") if p.is_file()}
        self._files[Path("notes.json")] = b'{"name": "a", "note": "b"}'
        self._files[Path("lock.json")] = b'{"pid": 1, "host": "h", "since": "s"}'
        self.opened = self.went_on = 0

    def lay_out(self) -> None:
        """Write the whole run, sound."""
        shutil.rmtree(self._spot, ignore_errors=True)
        self._spot.parent.mkdir(parents=True, exist_ok=True)
        (self._spot.parent / OUTSIDE).write_bytes(_UNTOUCHED)
        for name, data in self._files.items():
            (self._spot / name).parent.mkdir(parents=True, exist_ok=True)
            (self._spot / name).write_bytes(data)

    def case(self, number: int) -> tuple[str, int]:
        """Play one case; return which file was damaged, and its size."""
        source = random.Random(number)
        kind = source.choice(
            [*["checkpoint"] * 5, *["text"] * 5, *["special"] * 3, "memory", "preset"]
        )
        if kind == "preset":
            data = of_text(source, b'name = "p"\nabout = "a"\n[settings]\ntau = 0.1\nsteps = 5\n')
            refusing(lambda: parse_preset(data.decode("utf-8", "replace")))
            return "preset", len(data)
        if kind == "special":
            return self._special(source)
        if kind == "checkpoint":
            name = Path("checkpoints/last.safetensors")
            way = source.choice([of_bytes, of_header, of_meaning, of_meaning])
        elif kind == "memory":
            name, way = Path("replay.f32"), of_bytes
        else:
            texts = (".toml", ".csv", ".jsonl", ".json")
            name, way = source.choice([p for p in self._files if p.suffix in texts]), of_text
        self.lay_out()
        damaged = way(source, self._files[name])
        (self._spot / name).write_bytes(damaged)
        self._look(name, source)
        return str(name), len(damaged)

    def _special(self, source: Source) -> tuple[str, int]:
        """Put something else in the place of any file of the run, or of a folder."""
        name = source.choice([*self._files, Path("checkpoints")])
        self.lay_out()
        ways = [as_link, as_closed] if name == Path("checkpoints") else SPECIAL
        way = source.choice(ways)
        path = self._spot / name
        if path.is_dir() and way is as_link:
            shutil.rmtree(path)
        way(path, source)
        try:
            self._look(name, source, forget=False)
        finally:
            if not path.is_symlink() and path.exists():
                path.chmod(0o700)
        return f"{name} {way.__name__}", 0

    def _look(self, name: Path, source: Source, *, forget: bool = True) -> None:
        path = self._spot / name
        opens, modules = True, set(sys.modules)
        if path.suffix == ".safetensors":
            opens = open_checkpoint(path)
            if opens and forget:
                # Only the file in question is to be gone on from.
                for other in path.parent.iterdir():
                    if other != path:
                        other.unlink()
        else:
            open_run(self._spot)
        self._require_harmless(modules)
        self.opened += opens
        if opens and (path.suffix == ".safetensors" or source.random() < 0.3):
            self.went_on += 1
            go_on(self._spot)
            self._require_harmless(None)

    def _require_harmless(self, modules: set[str] | None) -> None:
        """Raise AssertionError if something was imported, or written outside of the run."""
        assert modules is None or set(sys.modules) <= modules, set(sys.modules) - modules
        beside = {path.name: path.read_bytes() for path in self._beside() if path.is_file()}
        assert beside == {OUTSIDE: _UNTOUCHED}, beside.keys()

    def _beside(self) -> list[Path]:
        return [path for path in self._spot.parent.iterdir() if path != self._spot]
