"""Reads scalars from TensorBoard event files of stable-baselines3, CleanRL or the studio.

The framing is TFRecord's: length, its checksum, the record, its checksum. A record is a message
that tensorboardX defines (the extra ``tensorboard``).
"""

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from td3core.errors import RequestError
from td3core.importers.archive import MOST_BYTES, read_file
from td3core.importers.curve_file import CurveFile, EpisodePoint, EvaluationPoint
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import env_in_name, source
from td3core.system.packages import missing
from td3core.text import Text

if TYPE_CHECKING:
    from tensorboardX.proto.event_pb2 import Event

EVALUATIONS = ("eval/mean_reward",)
EPISODES = ("charts/episodic_return", "rollout/ep_rew_mean")
_AVERAGED = "rollout/ep_rew_mean"
_SUMMED = "train/critic_loss"
METRICS = {
    "train/actor_loss": "actor_loss",
    "train/q1": "q1",
    "train/q2": "q2",
    "train/target": "target",
    "losses/actor_loss": "actor_loss",
    "losses/qf1_loss": "critic1_loss",
    "losses/qf2_loss": "critic2_loss",
    "losses/qf1_values": "q1",
    "losses/qf2_values": "q2",
}
"""Tags, mapped to columns of ``training.csv``."""
_SMALL = 16 * 1024
"""Largest record of a scalar, in bytes; pictures are not read."""
_MOST_RECORDS = 1_000_000
_MOST_STEPS = 10**12
_SHOWN = 5

Curve = list[tuple[int, float, float]]
"""Step, value, and seconds since 1970."""


def is_readable(path: Path) -> bool:
    """Return whether a file is of this kind, by its name."""
    return "tfevents" in path.name


def read(path: Path) -> CurveFile:
    """Return the curves of a file.

    Raises:
        RequestError: tensorboardX is not installed, or the file cannot be imported.
    """
    parse = _parser()
    with reading(path.name, "the file"):
        data = read_file(path)
    curves: dict[str, Curve] = {}
    torn = False
    for number, record in enumerate(records(path.name, data), 1):
        if record is None:
            torn = True
            continue
        with reading(path.name, f"record {number}"):
            _add(curves, parse(record))
    if not curves.keys() & {*EVALUATIONS, *EPISODES}:
        tags = ", ".join(sorted(curves)[:_SHOWN]) or "-"
        raise RequestError(
            "{file} cannot be imported: it has no curve of returns (its tags: {tags}).",
            file=path.name,
            tags=tags[:200],
        )
    notes = [Text("The file ends within a record, which is left out.")] if torn else []
    return _curve_file(path, data, curves, notes)


def _parser() -> Any:
    """Return the function that parses a message.

    Raises:
        RequestError: tensorboardX is not installed.
    """
    try:
        from google.protobuf.message import DecodeError
        from tensorboardX.proto.event_pb2 import Event
    except ImportError as problem:
        raise missing("TensorBoard", "tensorboard", problem) from problem

    def parse(record: bytes) -> "Event":
        try:
            return Event.FromString(record)
        except DecodeError as problem:
            raise UnexpectedError("there is no message of TensorBoard") from problem

    return parse


def records(file: str, data: bytes) -> Iterator[bytes | None]:
    """Yield the records of a file that are short enough for scalars; None for a truncated one.

    Raises:
        RequestError: a checksum differs, or there are too many records.
    """
    from tensorboardX.record_writer import masked_crc32c

    at, number = 0, 0
    while at < len(data):
        number += 1
        with reading(file, f"record {number}"):
            if number > _MOST_RECORDS:
                raise UnexpectedError("there are over {n} records", n=_MOST_RECORDS)
            if len(data) - at < 12:
                yield None
                return
            length, check = struct.unpack_from("<QI", data, at)
            if masked_crc32c(data[at : at + 8]) != check:
                raise UnexpectedError("the check sum of the length differs")
            begin, end = at + 12, at + 12 + length
            if length > MOST_BYTES or end + 4 > len(data):
                yield None
                return
            at = end + 4
            if length > _SMALL:
                continue
            record = data[begin:end]
            if masked_crc32c(record) != struct.unpack_from("<I", data, end)[0]:
                raise UnexpectedError("the check sum differs")
        yield record


def _add(curves: dict[str, Curve], event: "Event") -> None:
    """Add the scalars of an event; a step back means that the run was resumed there."""
    step, time_s = int(event.step), float(event.wall_time)
    for value in event.summary.value:
        number = _number(value)
        if number is None:
            continue
        if not 0 <= step <= _MOST_STEPS or not math.isfinite(time_s):
            raise UnexpectedError("the step or time of {tag} is impossible", tag=value.tag[:80])
        curve = curves.setdefault(value.tag[:200], [])
        while curve and curve[-1][0] >= step:
            curve.pop()
        curve.append((step, number, time_s))


def _number(value: Any) -> float | None:
    """Return the number of a finite scalar value."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        found = float(value.simple_value)
    elif kind == "tensor" and len(value.tensor.float_val) == 1:
        found = float(value.tensor.float_val[0])
    else:
        return None
    return found if math.isfinite(found) else None


def _curve_file(
    path: Path, data: bytes, curves: Mapping[str, Curve], notes: list[Text]
) -> CurveFile:
    began = min(curve[0][2] for curve in curves.values() if curve)
    returns = next((curves[tag] for tag in EPISODES if tag in curves), [])
    if EPISODES[0] not in curves and _AVERAGED in curves:
        notes.append(Text("Returns of episodes are means of the last 100, as the file has them."))
    if _SUMMED in curves:
        notes.append(Text("The loss of both critics together is left out."))
    return CurveFile(
        kind="TensorBoard",
        sources=(source(path.name, data),),
        evaluations=tuple(
            EvaluationPoint(env_steps=step, returns=(value,), time_s=max(at - began, 0.0))
            for tag in EVALUATIONS
            for step, value, at in curves.get(tag, ())
        ),
        episodes=tuple(
            EpisodePoint(env_steps=step, episode_return=value, time_s=max(at - began, 0.0))
            for step, value, at in returns
        ),
        training=_training(curves),
        likely_env=env_in_name(path),
        notes=tuple(notes),
    )


def _training(curves: Mapping[str, Curve]) -> tuple[tuple[int, dict[str, float]], ...]:
    rows: dict[int, dict[str, float]] = {}
    for tag, column in METRICS.items():
        for step, value, _ in curves.get(tag, ()):
            rows.setdefault(step, {})[column] = value
    return tuple(sorted(rows.items()))
