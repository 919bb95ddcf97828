"""Reads the curves that stable-baselines3 writes: ``monitor.csv`` and ``evaluations.npz``."""

import csv
import json
import math
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.importers.archive import Archive, read_file
from td3core.importers.curve_file import CurveFile, EpisodePoint, EvaluationPoint
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import source
from td3core.importers.npy import read_array
from td3core.text import Text

_MOST_ROWS = 1_000_000
_MOST_STEPS = 10**12


def is_readable(path: Path) -> bool:
    """Return whether a file is of this kind, by its name."""
    return path.name.endswith("monitor.csv") or path.name == "evaluations.npz"


def read(path: Path) -> CurveFile:
    """Return the curves of a file.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    with reading(path.name, "the file"):
        data = read_file(path)
    if path.suffix == ".npz":
        return _evaluations(path.name, data)
    return _episodes(path.name, data)


def _episodes(file: str, data: bytes) -> CurveFile:
    with reading(file, "the first line"):
        text = data.decode()
        first, _, table = text.partition("\n")
        if not first.startswith("#"):
            raise UnexpectedError("there is no description of a monitor")
        about = json.loads(first[1:])
        if not isinstance(about, dict):
            raise UnexpectedError("there is no description of a monitor")
    episodes, reached = list[EpisodePoint](), 0
    # A program that was killed leaves its last row half-written.
    table, end, torn = table.rpartition("\n")
    rows = csv.DictReader(StringIO(table + end))
    with reading(file, "the table"):
        if not {"r", "l", "t"} <= set(rows.fieldnames or ()):
            raise UnexpectedError("the columns r, l and t are missing")
        for row in islice(rows, _MOST_ROWS + 1):
            try:
                length = int(row["l"])
                episode_return, time_s = _finite(float(row["r"])), _finite(float(row["t"]))
            except (TypeError, ValueError) as problem:
                raise UnexpectedError(
                    "row {n} is not the numbers of an episode", n=len(episodes) + 1
                ) from problem
            reached += length
            if len(episodes) == _MOST_ROWS or not 0 < length <= reached <= _MOST_STEPS:
                raise UnexpectedError("the episode of row {n} is too long", n=len(episodes) + 1)
            episodes.append(
                EpisodePoint(
                    env_steps=reached,
                    episode_return=episode_return,
                    length=length,
                    time_s=max(time_s, 0.0),
                )
            )
        if not episodes:
            raise UnexpectedError("there is no episode")
    env_id = about.get("env_id")
    return CurveFile(
        kind="stable-baselines3 monitor",
        sources=(source(file, data),),
        episodes=tuple(episodes),
        env_id=env_id if isinstance(env_id, str) and env_id != "None" else "",
        notes=(Text("The file ends within a row, which is left out."),) if torn.strip() else (),
    )


def _evaluations(file: str, data: bytes) -> CurveFile:
    with reading(file, "the file"):
        archive = Archive(data)
        steps, results = (_array(archive, name) for name in ("timesteps", "results"))
        lengths = _array(archive, "ep_lengths") if "ep_lengths.npy" in archive else None
        whole = steps.dtype.kind in "iu" and steps.ndim == 1 and results.ndim == 2
        if not whole or len(steps) != len(results) or not results.size:
            raise UnexpectedError("timesteps and results do not fit together")
        if (np.diff(steps) <= 0).any() or not 0 <= steps.min() <= steps.max() <= _MOST_STEPS:
            raise UnexpectedError("the steps do not rise")
        if lengths is None or lengths.shape != results.shape or lengths.dtype.kind not in "iu":
            lengths = np.zeros((len(results), 0), np.int64)
        points = tuple(
            EvaluationPoint(
                env_steps=int(step),
                returns=tuple(_finite(float(each)) for each in row),
                lengths=tuple(int(each) for each in size),
            )
            for step, row, size in zip(steps, results, lengths, strict=True)
        )
    return CurveFile(
        kind="stable-baselines3 evaluations", sources=(source(file, data),), evaluations=points
    )


def _array(archive: Archive, name: str) -> NDArray[Any]:
    return read_array(archive.read(f"{name}.npy"), name, most=_MOST_ROWS)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise UnexpectedError("there is a value that is not a number")
    return value
