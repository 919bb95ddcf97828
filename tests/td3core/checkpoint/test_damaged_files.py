"""Files that are not what they claim to be: each refused with a sentence, never opened halfway."""

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as serialise

from td3core import checkpoint
from td3core.errors import RequestError
from tests.td3core.helpers import make_agent, refusal

META = "td3_studio"


def read_or_refuse(path: Path, data: bytes) -> None:
    """Open a damaged file: it still reads and acts, or it is refused by name."""
    path.write_bytes(data)
    try:
        checkpoint.read_header(path)
        found = checkpoint.load(path)
    except RequestError as problem:
        said = str(problem)
    else:
        assert np.isfinite(found.policy()(np.zeros(3, np.float32))).all()
        return
    assert said.startswith(path.name)


@given(data=st.data())
def test_a_checkpoint_cut_short_anywhere_is_refused(
    whole: bytes, spot: Path, data: st.DataObject
) -> None:
    length = data.draw(st.integers(0, len(whole) - 1) | st.integers(0, 200))
    spot.write_bytes(whole[:length])
    refusal(spot)


@given(data=st.data())
def test_a_checkpoint_with_bytes_changed_is_read_or_refused_and_nothing_else_happens(
    whole: bytes, spot: Path, data: st.DataObject
) -> None:
    head = struct.unpack("<Q", whole[:8])[0]
    # Most of the interest is in the first part: lengths, names, shapes and settings.
    place = st.integers(0, 7) | st.integers(8, head) | st.integers(0, len(whole) - 1)
    damaged = bytearray(whole)
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), min_size=1)):
        damaged[at] = value
    read_or_refuse(spot, bytes(damaged))


@given(junk=st.binary(max_size=300))
def test_bytes_from_anywhere_are_refused(spot: Path, junk: bytes) -> None:
    spot.write_bytes(junk)
    refusal(spot)


def test_a_changed_weight_is_noticed(whole: bytes, spot: Path) -> None:
    # The last bytes of the file are numbers: nothing but a check sum can tell.
    damaged = bytearray(whole)
    for at in range(len(whole) - 64, len(whole)):
        damaged[at] ^= 0x01
    spot.write_bytes(bytes(damaged))
    refusal(spot)


class Bomb:
    """Would create a file if it were ever unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_by_the_name_of_a_checkpoint_is_refused_and_never_run(
    tmp_path: Path, protocol: int
) -> None:
    path, trace = tmp_path / "agent.safetensors", tmp_path / "it ran"
    path.write_bytes(pickle.dumps(Bomb(trace), protocol=protocol))
    assert "not a readable checkpoint" in refusal(path)
    refusal(path, checkpoint.read_header)
    assert not trace.exists()
    pickle.loads(path.read_bytes())
    assert trace.exists(), "the pickle is armed"


def test_a_torch_file_by_the_name_of_a_checkpoint_is_refused(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "agent.safetensors"
    torch.save({"weight": make_agent().actor.online.flat}, path)
    assert "not a readable checkpoint" in refusal(path)


def test_a_checkpoint_on_a_failing_disk_is_refused_in_plain_words(
    whole: bytes, spot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path) -> None:
        raise OSError(5, "Input/output error", str(path))

    spot.write_bytes(whole)
    monkeypatch.setattr("td3core.checkpoint.format.open_regular", fail)
    assert refusal(spot).endswith(": Input/output error.")


def test_an_empty_file_is_refused(spot: Path) -> None:
    spot.write_bytes(b"")
    assert "not a readable checkpoint" in refusal(spot)


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {META: "no JSON"}, {META: "[]"}])
def test_a_safetensors_file_of_another_program_is_refused(
    spot: Path, metadata: dict[str, str] | None
) -> None:
    spot.write_bytes(serialise({"weight": np.zeros((2, 2), np.float32)}, metadata=metadata))
    assert "not written by TD3 Studio" in refusal(spot)


# What the header says ---------------------------------------------------------------------------


def meaning_of(whole: bytes) -> dict[str, Any]:
    head = struct.unpack("<Q", whole[:8])[0]
    found: dict[str, Any] = json.loads(json.loads(whole[8 : 8 + head])["__metadata__"][META])
    return found


def rewritten(path: Path, whole: bytes, keys: str, value: Any) -> Path:
    """Write a checkpoint of which one entry of the header, ``a.b.c``, has another value."""
    meaning = meaning_of(whole)
    *outer, last = keys.split(".")
    inner = meaning
    for key in outer:
        inner = inner[key]
    inner[last] = value
    tensors = make_agent().state()
    text = checkpoint.with_digest(meaning, tensors)
    path.write_bytes(serialise(tensors, metadata={META: text}))
    return path


def test_a_header_rewritten_as_it_was_still_reads(whole: bytes, spot: Path) -> None:
    checkpoint.load(rewritten(spot, whole, "created", meaning_of(whole)["created"]))


@pytest.mark.parametrize("schema", [2, 99, 10**30])
def test_a_checkpoint_of_a_newer_schema_is_refused_as_such(
    whole: bytes, spot: Path, schema: int
) -> None:
    said = refusal(rewritten(spot, whole, "schema", schema))
    assert "newer TD3 Studio" in said
    assert "Update" in said


@pytest.mark.parametrize("table", ["config", "tunables", "env", "counters"])
def test_a_checkpoint_with_an_unknown_name_is_of_a_newer_version(
    whole: bytes, spot: Path, table: str
) -> None:
    said = refusal(rewritten(spot, whole, f"{table}.to_come", 1))
    assert said.endswith("written by a newer TD3 Studio: 'to_come' is not known here.")
    assert "damaged" not in said


BIG = 10**400
INFINITE = float("inf")
WRONG: list[tuple[str, Any]] = [
    ("schema", "one"),
    ("schema", None),
    ("schema", INFINITE),
    ("config", None),
    ("config", [1]),
    ("config.env", ""),
    ("config.env", 5),
    ("config.steps", -1),
    ("config.actor_hidden", "wide"),
    ("config.actor_hidden", [16]),
    ("config.unheard_of", 1),
    ("tunables", 3),
    ("tunables.tau", 7),
    ("tunables.tau", BIG),
    ("env", None),
    ("env", {}),
    ("env.obs_dim", 4),
    ("env.obs_dim", "3"),
    ("env.obs_dim", 3.0),
    ("env.obs_dim", None),
    ("env.obs_dim", INFINITE),
    ("env.act_dim", 0),
    ("env.act_dim", -2),
    ("env.act_dim", "2"),
    ("env.action_low", None),
    ("env.action_low", ["low", 0.0]),
    ("env.action_low", [BIG, 0.0]),
    ("env.action_low", []),
    ("env.unheard_of", 1),
    ("counters", None),
    ("counters", [1, 2]),
    ("counters.env_steps", "many"),
    ("counters.unheard_of", 1),
    ("evaluation", "good"),
    ("evaluation", [1]),
    ("evaluation.returns", []),
    ("evaluation.returns", [None]),
    ("evaluation.returns", [BIG, 1.0]),
    ("evaluation.lengths", [INFINITE, 1]),
    ("evaluation.seed", "x"),
    ("evaluation.seed", INFINITE),
]


@pytest.mark.parametrize(("keys", "value"), WRONG, ids=lambda part: str(part)[:24])
def test_a_header_that_makes_no_sense_is_refused(
    whole: bytes, spot: Path, keys: str, value: Any
) -> None:
    refusal(rewritten(spot, whole, keys, value))


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@given(data=st.data(), value=ANY_JSON)
@pytest.mark.slow
def test_any_value_in_any_place_of_the_header_is_read_or_refused(
    whole: bytes, spot: Path, data: st.DataObject, value: Any
) -> None:
    meaning = meaning_of(whole)
    places = [*meaning, *(f"{k}.{n}" for k, v in meaning.items() if isinstance(v, dict) for n in v)]
    read_or_refuse(
        spot, rewritten(spot, whole, data.draw(st.sampled_from(places)), value).read_bytes()
    )
