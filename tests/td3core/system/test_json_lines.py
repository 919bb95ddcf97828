"""Lines of JSON: every event comes back unchanged, and invalid lines are refused."""

import contextlib
import json
import math
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from td3core.config import RunConfig, Tunables, make_settings
from td3core.experiments.groups import messages
from td3core.experiments.jobs import CODEC, Job
from td3core.protocol.codec import KINDS, RUN
from td3core.protocol.events import EpisodeEnded, Episodes, Event, Saved, Warned
from td3core.protocol.steering import Ask, Tune
from td3core.system.json_lines import FORMAT, Codec, LineBuffer, LineError, Unknown
from td3core.text import SettingName, Text
from tests.support.events import progress


@dataclass(frozen=True)
class _Rows:
    rows: NDArray[Any]


CONFIG, TUNABLES = make_settings({"env": "Pendulum-v1", "actor_hidden": (7, 9)})
text = st.text(max_size=8)
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), text)
messages_ = st.deferred(
    lambda: st.builds(
        lambda values: Text("".join(f"{{{name}}} " for name in values), **values),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(plain, messages_), max_size=3),
    )
)


episodes = st.builds(
    EpisodeEnded,
    # Whole numbers that a float holds, as every run counts them.
    **dict.fromkeys(("episode", "env_steps", "length"), st.integers(0, 10**15)),
    **dict.fromkeys(("episode_return", "shaped_return", "wall_s"), st.floats()),
    terminated=st.booleans(),
)


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Return values of an annotation, as a run may send them."""
    origin, arguments = get_origin(kind), get_args(kind)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        Any: plain,
        RunConfig: st.just(CONFIG),
        Tunables: st.builds(TUNABLES.__class__, tau=st.floats(1e-6, 1.0)),
        Text: messages_,
        Path: text.filter(lambda name: "\0" not in name).map(Path),
        str: text,
        int: st.integers(),
        bool: st.booleans(),
        float: st.floats(),
        type(None): st.none(),
        Episodes: st.deferred(lambda: st.lists(episodes, max_size=3).map(Episodes.of)),
    }
    if kind in simple:
        return simple[kind]
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    if origin is frozenset:
        return st.frozensets(values_of(arguments[0]), max_size=3)
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is np.ndarray:
        dtypes = st.sampled_from(["<f4", "<f8", "<i8", "|b1"])
        return dtypes.flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(max_dims=2)))
    if isinstance(origin, type) and issubclass(origin, typing.Mapping):
        return st.dictionaries(*map(values_of, arguments), max_size=3)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert is_dataclass(kind), kind
    hints = get_type_hints(kind)
    return st.builds(kind, **{each.name: values_of(hints[each.name]) for each in fields(kind)})


def assert_same(one: Any, other: Any) -> None:
    """Fail unless both are the same in types and bits."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())
    elif isinstance(one, Text):
        assert (str(one), one.template) == (str(other), other.template)
        assert_same(one.values, other.values)
    elif is_dataclass(one):
        for each in fields(one):
            assert_same(getattr(one, each.name), getattr(other, each.name))
    elif isinstance(one, (tuple, Episodes)):
        assert len(one) == len(other)
        for mine, theirs in zip(one, other, strict=True):
            assert_same(mine, theirs)
    elif isinstance(one, dict):
        assert_same(tuple(one.items()), tuple(other.items()))
    elif isinstance(one, frozenset):
        assert one == other
    elif isinstance(one, float) and math.isnan(one):
        assert math.isnan(other)
    else:
        assert (one, str(one)) == (other, str(other))


@pytest.mark.parametrize("kind", [*KINDS, *get_args(Job)], ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_what_a_run_and_its_process_send_comes_back_bit_for_bit(kind: type, data: Any) -> None:
    value = data.draw(values_of(kind))
    line = CODEC.encode(value)
    assert line.count(b"\n") == 1
    json.loads(line, parse_constant=pytest.fail)
    assert_same(CODEC.decode(line), value)


@pytest.mark.parametrize("kind", get_args(messages.GroupMessage), ids=lambda kind: kind.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_what_a_group_reports_comes_back_bit_for_bit(kind: type, data: Any) -> None:
    value = data.draw(values_of(kind))
    assert_same(messages.CODEC.decode(messages.CODEC.encode(value)), value)


def test_every_event_has_a_line() -> None:
    assert set(get_args(Event)) <= set(KINDS)


def test_every_request_of_one_who_steers_a_run_has_a_line() -> None:
    assert {Ask, Tune} <= set(KINDS)


def test_numbers_of_numpy_arrive_as_those_of_python() -> None:
    saved = Saved(env_steps=np.int64(3), path=Path("a"), mean_return=np.float32("nan"))  # type: ignore[arg-type]
    found = RUN.decode(RUN.encode(saved))
    assert (type(found.env_steps), found.env_steps) == (int, 3)
    assert type(found.mean_return) is float
    assert math.isnan(found.mean_return)


def test_a_number_of_numpy_in_a_text_may_be_infinite() -> None:
    sent = Warned(env_steps=1, message=Text("{lr}", lr=np.float32("inf")))
    assert RUN.decode(RUN.encode(sent)).message.values == {"lr": math.inf}


def test_an_array_arrives_read_only() -> None:
    rows = np.zeros((2, 3))
    event = progress(1, training=rows)
    assert not RUN.decode(RUN.encode(event)).training.flags.writeable


def test_an_array_of_the_other_byte_order_arrives_with_its_numbers() -> None:
    codec = Codec(_Rows)
    rows = np.array([1.5, -2.0], ">f4")
    found = codec.decode(codec.encode(_Rows(rows))).rows
    assert found.dtype == np.dtype("<f4")
    assert found.tolist() == rows.tolist()


def test_an_array_in_the_order_of_fortran_arrives_with_its_rows() -> None:
    codec = Codec(_Rows)
    rows = np.asfortranarray([[1.0, 2.0], [3.0, 4.0]])
    assert codec.decode(codec.encode(_Rows(rows))).rows.tolist() == rows.tolist()


@pytest.mark.parametrize("dtype", ["<M8[s]", "|S4", "|V4", "O", "i4,i4"])
def test_an_array_of_anything_but_numbers_is_refused(dtype: str) -> None:
    codec = Codec(_Rows)
    line = json.loads(codec.encode(_Rows(np.zeros(2, np.float64))))
    line["data"]["rows"] |= {"dtype": dtype, "shape": [-1]}
    with pytest.raises(LineError):
        codec.decode(json.dumps(line).encode())


@pytest.mark.parametrize(
    "message",
    [
        Text.counted("{n} run of {group}", "{n} runs of {group}", n=2, group="a"),
        Text("layers {widths}", widths=(64, (1, 2.5))),
        Text("layers {widths}", widths={"actor": (64, 1)}),
    ],
    ids=str,
)
def test_a_text_keeps_its_plural_and_its_tuples(message: Text) -> None:
    event = Warned(env_steps=1, message=message)
    assert RUN.decode(RUN.encode(event)) == event


def line_of(**changed: Any) -> bytes:
    content = {"v": FORMAT, "kind": "Saved", "data": {"env_steps": 5, "path": "a"}}
    return json.dumps(content | changed).encode()


def test_a_message_arrives_with_the_settings_it_names() -> None:
    message = Text("{key} is {value}.", key=SettingName("actor_lr"), value="actor_lr")
    sent = Warned(env_steps=1, message=message)
    line = RUN.encode(sent)
    assert json.loads(line)["data"]["message"]["values"]["key"] == "actor_lr"
    arrived = RUN.decode(line)
    assert arrived == sent
    assert str(arrived.message.with_settings(str.upper)) == "ACTOR_LR is actor_lr."


def test_what_a_newer_version_adds_is_left_out() -> None:
    more = {"env_steps": 5, "path": "a", "colour": "red"}
    assert RUN.decode(line_of(data=more)) == Saved(env_steps=5, path=Path("a"))
    assert RUN.decode(line_of(kind="Coloured")) == Unknown("Coloured")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        line_of(v=FORMAT + 1),
        line_of(v=FORMAT - 1),
        line_of(data={"path": "a"}),
        line_of(data=7),
        line_of(data={"env_steps": [], "path": "a"}),
    ],
    ids=lambda line: repr(line[:30]),
)
def test_a_damaged_line_is_refused(line: bytes) -> None:
    with pytest.raises(LineError):
        RUN.decode(line)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_line_or_refused(line: bytes) -> None:
    with contextlib.suppress(LineError):
        RUN.decode(line)


@pytest.mark.parametrize("shape", [[2, 2], [-1, 7], [10**12]])
def test_an_array_whose_shape_is_not_that_of_its_bytes_is_refused(shape: list[int]) -> None:
    line = RUN.encode(progress(1, training=np.zeros((3, 1))))
    content = json.loads(line)
    content["data"]["training"]["shape"] = shape
    with pytest.raises(LineError):
        RUN.decode(json.dumps(content).encode())


def test_an_array_whose_bytes_are_not_all_base64_is_refused() -> None:
    content = json.loads(RUN.encode(progress(1, training=np.zeros((3, 1)))))
    content["data"]["training"]["data"] += "\n"
    with pytest.raises(LineError):
        RUN.decode(json.dumps(content).encode())


def test_what_is_not_of_the_codec_is_not_sent() -> None:
    with pytest.raises(TypeError, match="int is not sent here"):
        RUN.encode(7)


def test_what_merely_has_the_name_of_a_kind_is_not_sent() -> None:
    @dataclass
    class Saved:
        env_steps: int

    with pytest.raises(TypeError, match="Saved is not sent here"):
        RUN.encode(Saved(5))


def test_two_kinds_of_one_name_are_a_fault() -> None:
    with pytest.raises(AssertionError, match="two kinds of one name"):
        Codec(str, type("str", (), {}))


@given(st.lists(st.binary(max_size=9).filter(lambda line: b"\n" not in line)), st.data())
def test_lines_are_put_together_however_they_are_cut(lines: list[bytes], data: Any) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    buffer, found = LineBuffer(), []
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        found += buffer.add(stream[:cut])
        stream = stream[cut:]
    assert found == lines
