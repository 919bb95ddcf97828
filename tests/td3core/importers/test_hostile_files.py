"""Malicious files: nothing in them is run, and each is refused in a sentence."""

import base64
import builtins
import contextlib
import io
import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import time
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from td3core.errors import RequestError
from td3core.importers import importing, registry, tensors
from td3core.importers.archive import Archive
from td3core.importers.damage import DAMAGE, UnexpectedError
from td3core.importers.inert_pickle import Global, Made, read_pickle
from td3core.importers.tensors import read_pth
from tests.td3core.importers import foreign_files as files
from tests.td3core.importers.test_curves import POINTS, event_file

SLOWEST_S = 2.0


def hostile(mark: Path) -> bytes:
    """Return a pickle that runs a command when it is read."""
    return f"cos\nsystem\n(Vtouch {mark}\ntR.".encode()


@pytest.fixture
def _watched(monkeypatch: pytest.MonkeyPatch, every_kind: list[tuple[Path, Path]]) -> None:
    """Let everything fail that a payload might call."""
    for _, read in every_kind:
        # Python itself runs the code of a module with exec: all that is needed is imported first.
        assert importing.examine(read)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("something of a file was run")

    for owner, name in (
        *((os, "system"), (os, "popen"), (subprocess, "Popen"), (builtins, "eval")),
        *((builtins, "exec"), (pickle, "loads"), (pickle, "load"), (pickle, "Unpickler")),
        (torch, "load"),
    ):
        monkeypatch.setattr(owner, name, refuse)


def pth(pickled: bytes) -> bytes:
    """Return a file of torch around any pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
    return file.getvalue()


@pytest.mark.usefixtures("_watched")
@pytest.mark.slow
def test_a_pickle_in_every_member_changes_nothing(peers: dict[str, Path], tmp_path: Path) -> None:
    mark, parts = tmp_path / "mark", files.members(peers["tanh"])
    payload = hostile(mark)
    text = base64.b64encode(payload).decode()
    data = json.loads(parts["data"])
    serialised = [name for name, value in data.items() if isinstance(value, dict)]
    assert len(serialised) > 10
    for name in serialised:
        other = dict(data, **{name: {":type:": "x", ":serialized:": text}})
        tried = files.write_zip(tmp_path / "a.zip", parts | {"data": json.dumps(other).encode()})
        try_to_read(tried)
    for name in parts:
        for contents in (payload, pth(payload)):
            try_to_read(files.write_zip(tmp_path / "a.zip", parts | {name: contents}))
    everything = dict.fromkeys(parts, pth(payload))
    everything["data"] = json.dumps(
        {name: {":serialized:": text} if name in serialised else data[name] for name in data}
    ).encode()
    with pytest.raises(RequestError, match="cannot be imported"):
        registry.read(files.write_zip(tmp_path / "a.zip", everything))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]


def try_to_read(path: Path) -> None:
    with contextlib.suppress(RequestError):
        registry.read(path)


def npy(pickled: bytes) -> bytes:
    """Return a file of NumPy whose array holds objects: a pickle follows its head."""
    head = io.BytesIO()
    described = {"descr": "|O", "fortran_order": False, "shape": (1,)}
    np.lib.format.write_array_header_1_0(head, described)
    return head.getvalue() + pickled


def bad_versions(data: bytes, payload: bytes) -> Iterator[bytes]:
    """Yield a file with a pickle in its place, and in each member where it is a zip."""
    yield from (payload, pth(payload), npy(payload))
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        # One of the storages, which hold nothing but numbers, stands for all.
        tried = [name for name in parts if not re.search(r"/data/[1-9]", name)]
        for name in tried:
            for other in bad_versions(parts[name], payload):
                whole = io.BytesIO()
                with zipfile.ZipFile(whole, "w") as made:
                    for each, contents in (parts | {name: other}).items():
                        made.writestr(each, contents)
                yield whole.getvalue()


@pytest.fixture(scope="module")
def every_kind(
    zoo: Path, peers: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[Path, Path]]:
    """Return good files of every kind that is read, each with what is imported to read it."""
    folder = tmp_path_factory.mktemp("kinds")
    cleanrl, authors = files.write_cleanrl(folder), files.write_authors(folder)
    run = shutil.copytree(zoo, folder / "zoo")
    settings = run / "Pendulum-v1"
    sac, tanh = (Path(shutil.copy(peers[kind], folder)) for kind in ("sac", "tanh"))
    events = event_file(folder / "events", *POINTS)
    return [
        (cleanrl, cleanrl),
        *((Path(f"{authors}{end}"), Path(f"{authors}_actor")) for end in ENDS),
        *((settings / name, run) for name in ("vecnormalize.pkl", "args.yml", "config.yml")),
        (run / "Pendulum-v1.zip", run),
        (run / "evaluations.npz", run),
        (run / "0.monitor.csv", run),
        (sac, sac),
        (tanh, tanh),
        (events, events),
    ]


ENDS = ("_actor", "_critic", "_actor_optimizer", "_critic_optimizer")


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.release
@pytest.mark.usefixtures("_watched")
def test_a_pickle_in_every_part_of_every_kind_of_file_changes_nothing(
    every_kind: list[tuple[Path, Path]], tmp_path: Path
) -> None:
    folders, tried = {tmp_path, *(file.parent for file, _ in every_kind)}, 0
    before = [files_of(folder) for folder in folders]
    for file, read in every_kind:
        good = file.read_bytes()
        for bad in bad_versions(good, hostile(tmp_path / "mark")):
            file.write_bytes(bad)
            with contextlib.suppress(RequestError):
                importing.examine(read)
            tried += 1
        file.write_bytes(good)
    assert tried > 100
    assert [files_of(folder) for folder in folders] == before


def test_what_a_pickle_would_call_comes_back_as_data(tmp_path: Path) -> None:
    found = read_pickle(hostile(tmp_path / "mark"))
    assert isinstance(found, Made)
    assert found.what == Global("os", "system")
    assert found.args == (f"touch {tmp_path / 'mark'}",)
    assert not (tmp_path / "mark").exists()


def test_the_payload_would_run_if_it_were_unpickled(tmp_path: Path) -> None:
    assert pickle.loads(hostile(tmp_path / "mark")) == 0
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_of_every_protocol_are_what_python_reads(protocol: int) -> None:
    value = {
        "a": [1, -(2**70), 2.5, None, True, False, "ü", ()],
        "b": {"c": (1, 2, 3, 4), 5: [[]]},
        "d": "x" * 300,
        "e": [1] * 2000,
    }
    assert read_pickle(pickle.dumps(value, protocol)) == value


def bomb(size: int) -> bytes:
    """Return a zip whose only member would become ``size`` bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data", b"0" * size)
        archive.writestr("policy.pth", b"")
    return file.getvalue()


def many_members() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for at in range(2_001):
            archive.writestr(f"{at}", b"")
    return file.getvalue()


def twice() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data", b"{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("data", b"{}")
    return file.getvalue()


def lying_about_its_directory() -> bytes:
    data = bytearray(bomb(100))
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<L", data, at + 12, 2**31)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (bomb(20 * 2**20), "data would grow from"),
        (many_members(), "the zip lists 2001 members"),
        (lying_about_its_directory(), "the zip lists 2 members"),
        (b"", "the end of a zip file is missing"),
        (b"PK\x05\x06", "the end of a zip file is missing"),
        (b"x" * 1000, "the end of a zip file is missing"),
    ],
)
def test_zips_of_absurd_sizes_are_refused_at_once(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    began = time.process_time()
    with pytest.raises(RequestError, match=rf"a.zip cannot be imported: in the zip, {words}"):
        registry.read(path)
    assert time.process_time() - began < SLOWEST_S


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(twice())
    with pytest.raises(RequestError, match="two members have one name"):
        registry.read(tmp_path / "a.zip")


def test_a_named_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.zip")
    with pytest.raises(RequestError, match="not a regular file"):
        registry.read(tmp_path / "a.zip")


def tensor(
    size: Any, stride: Any, offset: Any = 0, kinds: Any = ((torch.FloatStorage, 4),)
) -> bytes:
    """Return the contents of a file of torch with 16 bytes, and a tensor of them by each type.

    A type is followed by how many of its numbers these are.
    """

    class Storage:
        def __init__(self, kind: Any) -> None:
            self.kind = kind

    class Described:
        def __init__(self, kind: Any) -> None:
            self.kind = kind

        def __reduce__(self) -> Any:
            hooks: Any = OrderedDict()
            return torch._utils._rebuild_tensor_v2, (
                *(Storage(self.kind), offset, size, stride, False, hooks),
            )

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            if isinstance(value, Storage):
                kind, count = value.kind
                return ("storage", kind, "0", "cpu", count)
            return None

    pickled, whole = io.BytesIO(), io.BytesIO()
    Pickler(pickled, 2).dump({f"l{at}.weight": Described(k) for at, k in enumerate(kinds, 1)})
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("archive/data.pkl", pickled.getvalue())
        archive.writestr("archive/data/0", np.arange(4, dtype="<f4").tobytes())
    return whole.getvalue()


def test_a_tensor_within_its_numbers_is_read() -> None:
    found = read_pth(tensor((2, 1), (1, 2), 1))
    assert found["l1.weight"].tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("size", "stride", "offset"),
    [
        ((5,), (1,), 0),
        ((4,), (1,), 1),
        ((2, 2), (3, 1), 0),
        ((10**9,), (0,), 0),
        ((10**12, 10**12), (0, 0), 0),
        ((-1,), (1,), 0),
        ((4,), (-1,), 3),
        ((4,), (1,), -1),
        ((2,), (10**30,), 0),
        ((4,), (1, 1), 0),
        ((1,) * 9, (1,) * 9, 0),
        ((True,), (1,), 0),
        ((2.0,), (1,), 0),
    ],
)
def test_a_tensor_beyond_its_numbers_is_refused(size: Any, stride: Any, offset: int) -> None:
    with pytest.raises(UnexpectedError, match="a tensor"):
        read_pth(tensor(size, stride, offset))


@pytest.mark.parametrize(
    "data",
    [
        # A place in the memo for which Python's own reader would take gigabytes.
        b"\x80\x04Nr\xff\xff\xff\x7f.",
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc.",
        b"(" * 100_000 + b".",
        b"]" * 250_000 + b".",
        b"\x80\x04" + b"]\x94" + b"h\x00a" * 60_000 + b".",
        b"L" + b"9" * 100_000 + b"L\n.",
        b"cos\nsystem\n(S'true'\ntR0.",
        b"S'\\q'\n.",
        b"\x80\x04.",
        b"\x82\x01.",
        b"}(]]u.",
        b"R.",
        b"",
        # A number of megabytes, whose hash Python computes at each use as a key.
        b"\x80\x02}\x8b"
        + struct.pack("<i", 3_900_000)
        + b"\x7f" * 3_900_000
        + b"q\x00Ns"
        + b"h\x00Ns" * 5_000
        + b".",
    ],
)
def test_a_pickle_that_is_none_is_refused_soon(data: bytes) -> None:
    began = time.process_time()
    with contextlib.suppress(*DAMAGE):
        read_pickle(data)
    assert time.process_time() - began < SLOWEST_S


@pytest.mark.parametrize("made", [b"}", b"ccollections\nOrderedDict\n)R"])
def test_numbers_of_one_hash_are_soon_read_as_keys(made: bytes) -> None:
    step = sys.hash_info.modulus
    numbers = ((at * step).to_bytes(12, "little") for at in range(1, 20_000))
    pairs = b"".join(b"\x8a\x0c" + number + b"N" for number in numbers)
    began = time.process_time()
    with contextlib.suppress(*DAMAGE):
        read_pth(pth(b"\x80\x02" + made + b"(" + pairs + b"u."))
    assert time.process_time() - began < SLOWEST_S


def test_a_number_of_many_digits_is_refused_and_the_state_of_a_generator_is_read() -> None:
    state = np.random.default_rng(0).bit_generator.state["state"]
    assert read_pickle(pickle.dumps(state)) == state
    assert read_pickle(pickle.dumps(2**128 - 1)) == 2**128 - 1
    for number in (2**128, -(2**128)):
        with pytest.raises(UnexpectedError, match="a number has 129 bits"):
            read_pickle(pickle.dumps(number))


@pytest.mark.parametrize(
    ("wide", "deep", "words"),
    [(2, 60, "nested too deeply"), (10, 9, "too many values"), (400, 3, "too many values")],
)
def test_lists_that_hold_each_other_do_not_grow(
    tmp_path: Path, wide: int, deep: int, words: str
) -> None:
    value: Any = []
    for _ in range(deep):
        value = [value] * wide
    path = tmp_path / "a.cleanrl_model"
    path.write_bytes(pth(pickle.dumps((value, value))))
    began = time.process_time()
    with pytest.raises(RequestError, match=words):
        registry.read(path)
    assert time.process_time() - began < SLOWEST_S


def test_tensors_that_share_their_numbers_do_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = torch.zeros(1000)
    file = io.BytesIO()
    torch.save({str(at): shared[:] for at in range(50)}, file)
    assert len(read_pth(file.getvalue())) == 50
    monkeypatch.setattr(tensors, "_MOST_TENSOR_BYTES", 100_000)
    with pytest.raises(UnexpectedError, match="the tensors have 104000 bytes together"):
        read_pth(file.getvalue())


def test_numbers_that_tensors_of_several_types_share_are_read_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = (torch.FloatStorage, 4), (torch.DoubleStorage, 2), (torch.ByteStorage, 16)
    data = tensor((2,), (1,), kinds=kinds)
    read: list[str] = []
    original = Archive.read

    def note(archive: Archive, name: str, *args: Any) -> bytes:
        read.append(name)
        return original(archive, name, *args)

    monkeypatch.setattr(Archive, "read", note)
    found = read_pth(data).values()
    assert [each.dtype.name for each in found] == ["float32", "float64", "uint8"]
    assert read.count("archive/data/0") == 1
