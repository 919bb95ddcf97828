"""One file, one agent: a safetensors file that is safe to open and never partially written.

Networks, targets, optimiser moments and generator states are tensors under their own names; JSON in
the header describes them. Nothing is ever unpickled, so no code in a file can run.
"""

import hashlib
import json
import math
from collections.abc import Collection
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialise

from td3core import text
from td3core.arrays import Arrays
from td3core.checkpoint.header import Checkpoint, Counters, Header, Origin
from td3core.checkpoint.shapes import network_shapes, statistics_shapes
from td3core.config import at_step, recorded_settings, to_dict
from td3core.config.env_choice import EnvChoice
from td3core.config.networks import ACTOR
from td3core.envs.info import EnvInfo
from td3core.errors import NewerError, RequestError, file_reason, newer, unreadable
from td3core.evaluation.result import EvaluationResult
from td3core.inference.normaliser import Normaliser
from td3core.system.files import write_atomically
from td3core.system.regular_files import MALFORMED, is_regular, open_regular

SCHEMA = 1
SUFFIX = ".safetensors"
_KEY = "td3_studio"
_MOST_SHOWN = 9
_LONGEST_ORIGIN, _MOST_NOTES = 300, 50
"""Limits of an imported agent's origin: characters of a name, and number of notes."""
_LONGEST_HEADER = 16 * 2**20
"""In bytes; with thousands of environments a header takes a few megabytes."""
_FIELD_OF_KEY = {"fill_until": "no_updates_until"}
"""Keys of schema 1 that differ from the field's name."""


def save(path: Path, header: Header, tensors: Arrays) -> None:
    """Write the file under a temporary name, flush it to disk and rename it into place.

    Raises:
        OSError: the folder cannot be written or is full; an older file of that name is untouched.
    """
    data = serialise(
        {name: np.ascontiguousarray(array) for name, array in tensors.items()},
        metadata={_KEY: with_digest(_metadata(header), tensors)},
    )
    write_atomically(path, data)


def require_readable(path: Path, agent: Checkpoint) -> None:
    """Refuse a checkpoint that :func:`load` would refuse, before it is saved to ``path``.

    Raises:
        RequestError: the description or a tensor is not what the configuration implies.
    """
    header = _header(path, {_KEY: json.dumps(_metadata(agent.header))})
    _check_shapes(path, header, {name: array.shape for name, array in agent.tensors.items()})
    _check_values(path, header, agent.tensors)


def read_header(path: Path) -> Header:
    """Read the header of a checkpoint, without its tensors.

    Raises:
        RequestError: there is no such file, or it is not a checkpoint of this program.
    """
    with _opened(path) as file:
        return _header(path, file.metadata())


def load(path: Path) -> Checkpoint:
    """Read a checkpoint and check that its networks match its configuration.

    Raises:
        RequestError: it is missing, damaged or inconsistent; the message gives the reason.
    """
    with _opened(path) as file:
        header = _header(path, file.metadata())
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
        _check_shapes(path, header, shapes)
        try:
            tensors = {name: file.get_tensor(name) for name in shapes}
        except (SafetensorError, *MALFORMED) as problem:
            raise RequestError(
                "{file} holds a tensor of an unknown kind.", file=path.name
            ) from problem
        metadata = json.loads(file.metadata()[_KEY])
    _check_values(path, header, tensors)
    if json.loads(with_digest(metadata, tensors)) != metadata:
        raise RequestError(
            "{file} was altered after it was saved (its check sum differs).", file=path.name
        )
    return Checkpoint(header=header, tensors=tensors)


def _opened(path: Path) -> Any:
    if not is_regular(path):
        raise RequestError("There is no checkpoint at {path}.", path=path)
    try:
        _require_short_header(path)
        return safe_open(path, framework="numpy")
    except (SafetensorError, OSError, ValueError) as problem:
        raise RequestError(
            "{file} is not a readable checkpoint (truncated, altered or another format): {reason}.",
            file=path.name,
            reason=file_reason(problem),
        ) from problem


def _require_short_header(path: Path) -> None:
    """Refuse files that are not regular, or whose header would take long to read.

    Raises:
        OSError: the file cannot be read.
        ValueError: its header is longer than that of any checkpoint.
    """
    with open_regular(path) as file:
        length = int.from_bytes(file.read(8), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes")


def _metadata(header: Header) -> dict[str, Any]:
    found = {
        "schema": SCHEMA,
        "config": to_dict(header.config),
        "tunables": to_dict(header.tunables),
        "env": asdict(header.env),
        "counters": _counters_by_key(header.counters),
        "evaluation": asdict(header.evaluation) if header.evaluation else None,
        "complete": header.complete,
        "created": header.created,
        "wall_s": header.wall_s,
        "made_by": header.numerics,
    }
    # Omitted if empty, so that the other files are the same as in earlier versions.
    return found if header.origin is None else found | {"origin": _plain_origin(header.origin)}


def _header(path: Path, metadata: dict[str, str] | None) -> Header:
    try:
        found = json.loads((metadata or {})[_KEY])
        schema = int(found["schema"])
    except MALFORMED as problem:
        raise RequestError("{file} was not written by TD3 Studio.", file=path.name) from problem
    if schema > SCHEMA:
        raise RequestError(
            "{file} was written by a newer TD3 Studio (schema {schema}; this one reads"
            " {known}). Update to open it.",
            file=path.name,
            schema=schema,
            known=SCHEMA,
        )
    try:
        config, tunables = recorded_settings(found)
        counters = _counters(found["counters"], tunables.batch_size)
        return Header(
            config=config,
            tunables=at_step(tunables, counters.env_steps, config.steps),
            env=_env_info(found["env"]),
            counters=counters,
            evaluation=_evaluation(found["evaluation"]),
            complete=bool(found["complete"]),
            created=str(found["created"]),
            wall_s=_seconds(found.get("wall_s", 0.0)),
            numerics={str(k): str(v) for k, v in found.get("made_by", {}).items()},
            origin=_origin(found.get("origin")),
        )
    except NewerError as problem:
        raise unreadable(Path(path.name), problem) from problem
    except MALFORMED as problem:
        raise RequestError(
            "{file} has a damaged description: {reason}.",
            file=path.name,
            reason=file_reason(problem),
        ) from problem


def _env_info(values: dict[str, Any]) -> EnvInfo:
    bounds = {k: tuple(float(v) for v in values[k]) for k in ("action_low", "action_high")}
    if type(values["env_id"]) is not str:
        raise ValueError("the name of the environment is not text")
    _require_limits(values)
    _require_known(values, EnvInfo)
    info = EnvInfo(**(values | bounds))
    # Raises unless the arguments are plain JSON; no environment is made here.
    if EnvChoice(info.env_id, info.args).kwargs:
        # Earlier versions stored the threshold of the environment without arguments.
        info = replace(info, reward_threshold=None)
    for size, largest in ((info.obs_dim, 10**6), (info.act_dim, 10**4)):
        if type(size) is not int or not 0 < size <= largest:
            raise ValueError("sizes of the environment are out of range")
    if {len(info.action_low), len(info.action_high)} != {info.act_dim}:
        raise ValueError("there is not one bound for each action")
    for low, high in zip(info.action_low, info.action_high, strict=True):
        if not -math.inf < low < high < math.inf:
            raise ValueError("the bounds of an action are not finite, or the wrong way round")
    return info


def _require_limits(values: dict[str, Any]) -> None:
    longest, threshold = values["max_episode_steps"], values["reward_threshold"]
    if longest is not None and (type(longest) is not int or longest < 0):
        raise ValueError("the longest episode is not a number of steps")
    if threshold is not None and (type(threshold) not in (int, float) or math.isnan(threshold)):
        raise ValueError("the reward threshold is not a number")


def _require_known(values: dict[str, Any], kind: type[EnvInfo | Counters]) -> None:
    known = {item.name for item in fields(kind)}
    for name in values:
        if name not in known:
            raise newer(name)


def _counters_by_key(counters: Counters) -> dict[str, Any]:
    keys = {name: key for key, name in _FIELD_OF_KEY.items()}
    return {keys.get(name, name): value for name, value in asdict(counters).items()}


def _counters(values: dict[str, Any], batch_size: int) -> Counters:
    named = {_FIELD_OF_KEY.get(key, key): value for key, value in dict(values).items()}
    _require_known(named, Counters)
    named.setdefault("unmarked", named.get("stored", 0))
    # Earlier versions did not count them: as if the batch size had never changed.
    named.setdefault("sampled", named.get("updates", 0) * batch_size)
    whole = {name: value for name, value in named.items() if name != "exploration_noise"}
    if any(type(value) is not int or value < 0 for value in whole.values()):
        raise ValueError("a counter is not a whole number")
    noise = float(named["exploration_noise"])
    if not 0.0 <= noise < math.inf:
        raise ValueError("the exploration noise is not a number from 0 up")
    return Counters(**(named | {"exploration_noise": noise}))


def _seconds(value: Any) -> float:
    if not 0.0 <= float(value) < math.inf:
        raise ValueError("its time is none")
    return float(value)


def _evaluation(values: dict[str, Any] | None) -> EvaluationResult | None:
    if values is None:
        return None
    returns = tuple(float(value) for value in values["returns"])
    lengths = tuple(int(value) for value in values["lengths"])
    if not returns:
        raise ValueError("an evaluation without episodes")
    if len(returns) != len(lengths):
        raise ValueError("an evaluation without a length for each return")
    return EvaluationResult(returns, lengths, int(values["seed"]))


def _plain_origin(origin: Origin) -> dict[str, Any]:
    notes = [text.plain(note) for note in origin.notes]
    return {"kind": origin.kind, "file": origin.file, "sha256": origin.sha256, "notes": notes}


def _origin(values: dict[str, Any] | None) -> Origin | None:
    if values is None:
        return None
    return Origin(
        **{name: str(values[name])[:_LONGEST_ORIGIN] for name in ("kind", "file", "sha256")},
        notes=tuple(text.from_plain(note) for note in values["notes"][:_MOST_NOTES]),
    )


def _check_shapes(path: Path, header: Header, shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in (_networks(header, shapes) | statistics_shapes(header)).items():
        if name not in shapes:
            raise RequestError("{file} lacks the tensor {name}.", file=path.name, name=name)
        if shapes[name] != shape:
            found = shapes[name] if len(shapes[name]) < _MOST_SHOWN else "many dimensions"
            raise RequestError(
                "{file} holds {name} of shape {found}; its configuration implies {shape}.",
                file=path.name,
                name=name,
                found=found,
                shape=shape,
            )


def _networks(header: Header, names: Collection[str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the networks that must be present; an export may hold only the actor."""
    wanted = network_shapes(header)
    group = header.networks[ACTOR]
    actor = {key: shape for name in group.names for key, shape in group.shapes(name).items()}
    others = wanted.keys() - actor.keys()
    return actor if not header.complete and others.isdisjoint(names) else wanted


def _check_values(path: Path, header: Header, tensors: Arrays) -> None:
    kinds = dict.fromkeys(_networks(header, tensors), "float32")
    kinds |= dict.fromkeys(statistics_shapes(header), "float64")
    for name, wanted in kinds.items():
        if tensors[name].dtype != wanted:
            found = str(tensors[name].dtype)
            raise RequestError(
                "{file} holds {name} as {found}, not {wanted}.",
                file=path.name,
                name=name,
                found=found,
                wanted=wanted,
            )
        if not np.isfinite(tensors[name]).all():
            raise RequestError(
                "{file} holds {name} with values that are not numbers.", file=path.name, name=name
            )
    if header.config.normalize_observations and not Normaliser.possible(tensors):
        raise RequestError(
            "{file} holds statistics of observations that are impossible.", file=path.name
        )


def with_digest(metadata: dict[str, Any], tensors: Arrays) -> str:
    """Return a description as JSON, with a checksum over itself and all tensors.

    It detects flipped bits in the agent and in its settings.
    """
    plain = {key: value for key, value in metadata.items() if key != "digest"}
    total = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        total.update(f"{name} {_name_of(array.dtype)} {array.shape}".encode())
        total.update(array.tobytes())
    return json.dumps(plain | {"digest": total.hexdigest()})


@cache
def _name_of(dtype: np.dtype[Any]) -> str:
    # NumPy would compute the name each time, which takes longer than hashing a small tensor.
    return str(dtype)
