"""Changed bytes: each file is read or refused in a sentence, soon, and nothing else happens."""

import io
import random
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from td3core.errors import RequestError
from td3core.importers import registry, vec_normalize
from tests.td3core.importers import foreign_files as files
from tests.td3core.importers.test_curves import POINTS, event_file

SLOWEST_S = 2.0
MANY = 5000
STATISTICS = "vecnormalize.pkl"


@pytest.fixture(scope="session")
def wholes(
    peers: dict[str, Path], zoo: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, bytes]:
    """Return good files by the names they are tried under."""
    folder = tmp_path_factory.mktemp("wholes")
    authors = files.write_authors(folder)
    found = {
        "agent.zip": peers["td3"],
        "sac.zip": peers["sac"],
        "a.cleanrl_model": files.write_cleanrl(folder),
        "TD3_x_0_actor": Path(f"{authors}_actor"),
        "events.out.tfevents.1": event_file(folder / "events", *POINTS),
        "evaluations.npz": zoo / "evaluations.npz",
        "0.monitor.csv": zoo / "0.monitor.csv",
        STATISTICS: zoo / "Pendulum-v1" / STATISTICS,
    }
    return {name: path.read_bytes() for name, path in found.items()}


def flipped(data: bytes, places: list[tuple[int, int]]) -> bytes:
    found = bytearray(data or b"0")
    for at, value in places:
        found[at % len(found)] = value
    return bytes(found)


def inside(data: bytes, member: int, change: Callable[[bytes], bytes]) -> bytes:
    """Change a member of a zip, so that its check sum is right again; twice, where it is a zip."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = sorted(parts)[member % len(parts)]
    nested = parts[name].startswith(b"PK")
    parts[name] = inside(parts[name], member // 7, change) if nested else change(parts[name])
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        for each, contents in parts.items():
            archive.writestr(each, contents)
    return whole.getvalue()


def attempt(folder: Path, name: str, data: bytes) -> float:
    """Read a file; return the seconds of processor time that took."""
    for old in folder.iterdir():
        old.unlink()
    path = folder / name
    path.write_bytes(data)
    began = time.process_time()
    try:
        if name == STATISTICS:
            vec_normalize.read(path, 3)
        else:
            registry.read(path)
    except RequestError as refused:
        assert "cannot be imported" in str(refused), refused  # noqa: PT017
        assert len(str(refused)) < 600, refused  # noqa: PT017
    took = time.process_time() - began
    assert [each.name for each in folder.iterdir()] == [name]
    return took


places = st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 255)), min_size=1, max_size=8)


@settings(max_examples=max(settings.default.max_examples // 4, 10))
@given(at=st.integers(0, 100), changes=places, cut=st.integers(0, 2**31), deep=st.booleans())
def test_a_mutated_file_is_read_or_refused(
    wholes: dict[str, bytes],
    tmp_path: Path,
    at: int,
    changes: list[tuple[int, int]],
    cut: int,
    deep: bool,
) -> None:
    name = sorted(wholes)[at % len(wholes)]
    data = wholes[name]
    if deep and data.startswith(b"PK"):
        mutated = inside(data, cut, partial(flipped, places=changes))
    else:
        mutated = flipped(data, changes)
        mutated = mutated[: cut % len(mutated)] if cut % 4 == 0 else mutated
    folder = tmp_path / "tried"
    folder.mkdir(exist_ok=True)
    assert attempt(folder, name, mutated) < SLOWEST_S


@pytest.mark.release
def test_thousands_of_mutated_files_are_read_or_refused(
    wholes: dict[str, bytes], tmp_path: Path
) -> None:
    source, slowest, names = random.Random(1), 0.0, sorted(wholes)
    for number in range(MANY):
        name = names[number % len(names)]
        data = wholes[name]
        changes = [
            (source.randrange(2**31), source.randrange(256)) for _ in range(source.randint(1, 30))
        ]
        how = source.random()
        if how < 0.6 and data.startswith(b"PK"):
            data = inside(data, source.randrange(2**31), partial(flipped, places=changes))
        elif how < 0.9:
            data = flipped(data, changes)
        else:
            data = data[: source.randrange(len(data))]
        slowest = max(slowest, attempt(tmp_path, name, data))
    print(f"the slowest of {MANY} took {slowest:.3f} s")
    assert slowest < SLOWEST_S
