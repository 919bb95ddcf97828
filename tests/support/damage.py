"""A run to damage, ways to damage its files, and what has to come of opening them.

Each case opens, or is refused with one sentence; nothing else may happen.
"""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import struct
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as serialise

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

KEY = "td3_studio"
LONGEST = 1000
"""A sentence longer than this is none."""

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
    "eval_beside": False,
    "checkpoint_interval": 100,
    "normalize_observations": True,
    "threads": 1,
}

Source = random.Random


def make_run(folder: Path) -> Path:
    """Train the run that is damaged."""
    config, tunables = make_settings(SETTINGS)
    changes = [journal.Change(60, "tau", 0.01), journal.Change(215, "gamma", 0.9)]
    ended = train(config, tunables, Control(), lambda event: None, folder, changes)
    assert not isinstance(ended, Failed), ended
    return ended.run


# Ways to damage ---------------------------------------------------------------------------------

ODD = [
    *(0, -1, 1, 2, 3, 10**6, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400),
    *(0.5, -0.0, 1e-300, 1e300, float("inf"), float("-inf"), float("nan")),
    *(None, True, False, "", "x", "\x00", "a\nb", "../../x", "9" * 5000, "é" * 300, [], {}),
    *([0], [1, 2, 3], [[1]], [10**9, 10**9], {"a": 1}, [None], [8192] * 16, ["x\ny"]),
]


def deep(levels: int) -> Any:
    """Return a list in a list in a list."""
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


def of_bytes(source: Source, data: bytes) -> bytes:
    """Flip bits, cut, repeat, insert or leave out bytes."""
    damaged = bytearray(data)
    for _ in range(source.choice([1, 1, 2, 5, 40])):
        at = source.randrange(len(damaged) + 1)
        way = source.randrange(6)
        if way == 0 and at < len(damaged):
            damaged[at] ^= 1 << source.randrange(8)
        elif way == 1:
            del damaged[at:]
        elif way == 2:
            damaged[at:at] = bytes(source.randrange(256) for _ in range(source.randrange(1, 9)))
        elif way == 3:
            del damaged[at : at + source.randrange(1, 60)]
        elif way == 4:
            damaged[at:at] = damaged[at : at + source.randrange(1, 200)]
        elif damaged:
            damaged[at % len(damaged)] = source.choice(b'0"\\{}[],\n\r\x00\xff-.eE9')
    return bytes(damaged)


def of_text(source: Source, data: bytes) -> bytes:
    """Damage text where it hurts: numbers, lines, nesting; or damage its bytes."""
    text = data.decode("utf-8", "replace")
    way = source.randrange(6)
    numbers = list(re.finditer(r"-?\d+(\.\d+)?", text))
    if way == 0 and numbers:
        odd = source.choice(["9" * 5000, "-1", "1e999", "nan", "inf", "1e-400", "", "²", "0x10"])
        spot = source.choice(numbers)
        return (text[: spot.start()] + odd + text[spot.end() :]).encode()
    lines = text.split("\n")
    if way == 1:
        source.shuffle(lines)
    elif way == 2:
        lines[source.randrange(len(lines))] = source.choice(
            ["", "[" * 9000, '{"a":' * 3000, "=" * 200_000, ",".join("x" * 9000), "\x00", "\r", '"']
        )
    elif way == 3:
        lines = lines[source.randrange(len(lines)) :]
    elif way == 4:
        lines = lines * 3
    else:
        return of_bytes(source, data)
    return "\n".join(lines).encode()


# Ways that leave no plain file -------------------------------------------------------------------

HUGE = 20 * 2**30
LONG = 2 * 2**20


def as_pipe(path: Path, _source: Source) -> None:
    """Put a named pipe in the place of a file: opening it blocks, reading never ends."""
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def as_device(path: Path, source: Source) -> None:
    """Put a link to a device in the place of a file."""
    _link(path, Path(source.choice(["/dev/zero", "/dev/full", "/dev/tty", "/dev/stdin"])))


def as_socket(path: Path, _source: Source) -> None:
    """Put a socket in the place of a file."""
    path.unlink(missing_ok=True)
    # The name of a socket must be short.
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


def as_folder(path: Path, _source: Source) -> None:
    """Put a folder in the place of a file."""
    path.unlink(missing_ok=True)
    path.mkdir()
    (path / "inside").write_bytes(b"x")


def as_link(path: Path, source: Source) -> None:
    """Put a link in the place of a file: to itself, nowhere, a folder, or a file outside."""
    outside = Path(os.path.relpath(_run_of(path).parent / OUTSIDE, path.parent))
    _link(path, source.choice([Path(path.name), Path("nowhere"), Path("/"), outside, Path()]))


def _run_of(path: Path) -> Path:
    return path.parent.parent if path.parent.name == "checkpoints" else path.parent


def as_sparse(path: Path, source: Source) -> None:
    """Make a file huge without taking room: from its start or behind its contents."""
    with path.open(source.choice(["wb", "ab"])) as file:
        file.truncate(HUGE)


def as_long_line(path: Path, source: Source) -> None:
    """Append a line of megabytes."""
    piece = source.choice([b"1,", b"\0", b"a.", b'{"', b"[", b"9", b"\xff", b'"', b" ", b"\\"])
    with path.open("ab") as file:
        file.write(piece * (LONG // len(piece)) + source.choice([b"", b"\n", b"=1\n"]))


def as_many_lines(path: Path, source: Source) -> None:
    """Append lines by the hundred thousand."""
    lines = [b"\n", b"1,1,1,1,1,1,1,1,1\n", b'{"step":1,"event":"save"}\n', b"[a]\n", b"x\n"]
    with path.open("ab") as file:
        file.write(source.choice(lines) * 100_000)


def as_closed(path: Path, _source: Source) -> None:
    """Take all rights away; that stops only those who are not the administrator."""
    path.chmod(0)


def _link(path: Path, to: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(to)


SPECIAL = (
    *(as_pipe, as_device, as_socket, as_folder, as_link, as_link),
    *(as_sparse, as_long_line, as_many_lines, as_closed),
)
OUTSIDE = "outside.txt"
_UNTOUCHED = b"nobody writes here\n"


def any_value(source: Source) -> Any:
    """Return a value that nobody expects."""
    return deep(source.choice([3, 200, 700])) if source.random() < 0.05 else source.choice(ODD)


def of_json(source: Source, value: Any) -> Any:
    """Put something else in one place of a JSON value."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        name, damaged = source.choice(list(value)), dict(value)
        if source.random() < 0.1:
            del damaged[name]
        elif source.random() < 0.1:
            damaged[source.choice(["", "x", "a\nb", name * 2])] = any_value(source)
        else:
            damaged[name] = of_json(source, value[name])
        return damaged
    if isinstance(value, list) and value and source.random() < 0.7:
        at = source.randrange(len(value))
        return [*value[:at], of_json(source, value[at]), *value[at + 1 :]]
    return any_value(source)


def of_header(source: Source, data: bytes) -> bytes:
    """Edit the part of a safetensors file that says where its tensors are."""
    head = struct.unpack("<Q", data[:8])[0]
    entries, rest = json.loads(data[8 : 8 + head]), data[8 + head :]
    if source.random() < 0.15:
        length = source.choice([0, 1, 2**20, 2**31, 2**40, 2**63, 2**64 - 1])
        return struct.pack("<Q", length) + data[8:]
    if source.random() < 0.5:
        name = source.choice([n for n in entries if n != "__metadata__"])
        words = entries[name]
        key = source.choice(["dtype", "shape", "data_offsets"])
        odd: dict[str, list[Any]] = {
            "dtype": ["F64", "BF16", "F8_E5M2", "F4", "I64", "U64", "BOOL", "C64", "x", 1, None],
            "shape": [[], [0], [2**40], [2**32, 2**32], [-1], [1] * 5000, ["x"], None, [2**62, 4]],
            "data_offsets": [[0, 0], [0, 2**60], [5, 2], [-1, 4], [2**64, 2**64], [0], None],
        }
        words[key] = source.choice(odd[key])
    else:
        entries = of_json(source, entries)
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + rest


def of_meaning(source: Source, data: bytes) -> bytes:
    """Edit what a checkpoint says or holds, and seal it again: forged, not damaged."""
    head = struct.unpack("<Q", data[:8])[0]
    meaning = json.loads(json.loads(data[8 : 8 + head])["__metadata__"][KEY])
    tensors = _tensors(data)
    if source.random() < 0.5:
        for _ in range(source.choice([1, 1, 2])):
            meaning = of_json(source, meaning)
            if not isinstance(meaning, dict):
                meaning = {"schema": 1}
    else:
        name = source.choice(list(tensors))
        tensors[name] = _other(source, tensors[name])
        if source.random() < 0.1:
            del tensors[name]
    return serialise(tensors, metadata={KEY: checkpoint.sealed(meaning, tensors)})


def _tensors(data: bytes) -> dict[str, Any]:
    from safetensors.numpy import load

    # The library's own order differs from process to process.
    return dict(sorted(load(data).items()))


def _other(source: Source, array: Any) -> Any:
    """Return an array of other values, another kind or another shape."""
    way = source.randrange(5)
    if way == 0:
        kinds = [np.float32, np.float64, np.int64, np.uint64, np.uint8, np.bool_, np.float16]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(source.choice(kinds))
    if way == 1:
        shape = source.choice([(0,), (1,), (7,), (3, 3), (1, 1, 1), (*array.shape, 1), ()])
        return np.zeros(shape, array.dtype)
    if array.dtype.kind == "f":
        odd = [0.0, -1.0, 1e30, -1e30, np.nan, np.inf, 0.5, 2.0**31, 2.0**53]
    else:
        odd = [0, 1, 2, 2**16, 2**31, 2**32 - 1]
    other = array.copy()
    if way == 2:
        other[...] = source.choice(odd)
    elif other.size:
        other.flat[source.randrange(other.size)] = source.choice(odd)
    return other


# What has to come of it ---------------------------------------------------------------------------


def require_sentence(problem: RequestError) -> None:
    """Raise AssertionError unless a refusal is one sentence that a person can read."""
    said = str(problem)
    assert said.strip(), "a refusal without a word"
    assert "\n" not in said, said[:LONGEST]
    assert len(said) <= LONGEST, said[:LONGEST]


def require_plain(found: RunSummary) -> None:
    """Raise AssertionError unless a list can show all of a run."""
    for text in (found.name, found.note, found.message, str(found.parent)):
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
    """Open a checkpoint in every way; return whether a run could go on from it."""
    refusing(lambda: checkpoint.read_header(path))
    with np.errstate(all="ignore"):  # Weights may be numbers, and yet too large to act with.
        refusing(lambda: checkpoint.load(path).policy()(np.zeros(3, np.float32)))
    return not refusing(lambda: load_complete(path))


def open_run(path: Path) -> None:
    """Look at a run in every way that does not change it."""
    holder(path)
    for unreadable in unreadable_runs(path.parent):
        require_sentence(RequestError(unreadable.message))
    for run in list_runs(path.parent):
        require_plain(summarise(run))
        run.label(), run.ending(), run.evaluation_at(200), run.pending()
        refusing(lambda run=run: pending_changes(run, getattr(resume_point(run), "saved", None)))  # type: ignore[misc]
    for name in TABLES:
        table = path / f"{name}.csv"
        read_table(table)
        read_last_row(table)
        read_numbers(table, ("env_steps",))
    refusing(lambda: RunDirectory.open(path))


def go_on(path: Path, steps: int = 233) -> None:
    """Go on with a run for a few steps: that ends well, or is refused before its first step."""
    with np.errstate(all="ignore"):
        outcome = resume(path, Control(), lambda event: None, steps=steps)
    if isinstance(outcome, Failed) and outcome.request:
        require_sentence(RequestError(outcome.message))
    elif isinstance(outcome, Failed):
        # What a run says of weights that are numbers, but not those of an agent.
        assert outcome.message.startswith(("Training diverged", "The evaluation")), outcome.details


class Cases:
    """Damages one file of a run at a time, and puts it right again."""

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
