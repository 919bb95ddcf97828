"""Writes imported data as a new run, or as a checkpoint with any name."""

import math
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

from td3core.checkpoint import Checkpoint, save
from td3core.checkpoint.format import require_readable
from td3core.config import EnvChoice, make_settings
from td3core.errors import unwritable
from td3core.importers.conversion import said_of
from td3core.importers.curve_file import CurveFile, EpisodePoint, EvaluationPoint
from td3core.importers.foreign import ForeignAgent
from td3core.protocol.events import EpisodeEnded, Evaluated, JournalEvent
from td3core.protocol.metrics import training_row
from td3core.protocol.rows import (
    EPISODE_COLUMNS,
    EVALUATION_COLUMNS,
    episode_row,
    evaluation_row,
)
from td3core.runs.directory import RunDirectory, training_columns
from td3core.runs.metadata import RunLabel, write_label
from td3core.system.files import alias
from td3core.system.timestamp import now
from td3core.text import Text


def write_checkpoint(agent: Checkpoint, path: Path) -> None:
    """Write an agent to a file, replacing an existing one.

    Raises:
        RequestError: it cannot be written.
    """
    require_readable(path, agent)
    try:
        save(path, agent.header, agent.tensors)
    except OSError as problem:
        raise unwritable(path, problem) from problem


def write_agent(
    runs_dir: Path,
    foreign: ForeignAgent,
    agent: Checkpoint,
    curves: Sequence[CurveFile],
    name: str,
) -> Path:
    """Make a run with an imported agent, and return its folder.

    Its journal records its origin and what the file lacked. ``curves`` are those of its training.

    Raises:
        RequestError: the run cannot be written; no partial run remains.
    """
    header = agent.header
    assert header.origin is not None
    run = RunDirectory.create(runs_dir, header.config, header.tunables)
    with _as_a_whole(run):
        require_readable(run.last, agent)
        step = run.step_checkpoint(header.counters.env_steps)
        save(step, header, agent.tensors)
        alias(step, run.last)
        for each in curves:
            # Points after this agent's step belong to later agents.
            _write_tables(run, each.up_to(header.counters.env_steps))
        origin = header.origin
        _finish(
            run,
            (origin.kind, origin.file, origin.sha256),
            header.counters.env_steps,
            said_of(foreign),
            name,
        )
    return run.path


def write_curves(
    runs_dir: Path, choice: EnvChoice, curves: CurveFile, name: str, group: str
) -> Path:
    """Make a run without an agent, for comparisons, and return its folder.

    Runs of one ``group`` are compared as one; an empty one is a run by itself.

    Raises:
        RequestError: the run cannot be written; no partial run remains.
    """
    values = {
        "env": choice.env_id,
        "env_args": choice.args,
        "steps": max(curves.env_steps, 1),
        "eval_interval": 0,
    }
    run = RunDirectory.create(runs_dir, *make_settings(values), group=group)
    file, sha256 = curves.sources[0]
    with _as_a_whole(run):
        _write_tables(run, curves)
        _finish(run, (curves.kind, file, sha256), curves.env_steps, curves.notes, name)
    return run.path


@contextmanager
def _as_a_whole(run: RunDirectory) -> Iterator[None]:
    """Remove a run that could not be written completely."""
    try:
        yield
    except BaseException as problem:
        shutil.rmtree(run.path, ignore_errors=True)
        if isinstance(problem, OSError):
            raise unwritable(run.path, problem) from problem
        raise


def _finish(
    run: RunDirectory,
    origin: tuple[str, str, str],
    env_steps: int,
    notes: Sequence[Text],
    name: str,
) -> None:
    """Write journal, label and ending; the ending marks the run as over."""
    kind, file, sha256 = origin
    entry = {"step": env_steps, "event": JournalEvent.IMPORT}
    entry |= {"kind": kind, "file": file, "sha256": sha256}
    run.note(entry | {"notes": [note.english for note in notes], "time": now()})
    lines = [f"{kind}, {file}", f"SHA-256 {sha256}", *(note.english for note in notes)]
    write_label(run.path, RunLabel(name=name, note="\n".join(lines)))
    evaluations = run.evaluations()
    last = evaluations[-1][1] if evaluations else None
    best = max((mean for _, mean in evaluations), default=None)
    run.write_ending(
        {
            "stopped": "finished",
            "env_steps": env_steps,
            "last_eval_return": last,
            "best_eval_return": best,
        }
    )


def _write_tables(run: RunDirectory, curves: CurveFile) -> None:
    evaluations = list[Sequence[object]]()
    best = -math.inf
    for point in curves.evaluations:
        mean = fmean(point.returns)
        evaluations.append(evaluation_row(_evaluated(point, is_best=mean > best)))
        best = max(best, mean)
    episodes = [episode_row(_ended(at, each)) for at, each in enumerate(curves.episodes)]
    training = [
        # Rows as a run writes them: an absent metric is NaN, not empty.
        (step, 0, *training_row(step, 0, metrics)[2:].tolist(), math.nan)
        for step, metrics in curves.training
    ]
    for name, columns, rows in (
        ("evaluations", EVALUATION_COLUMNS, evaluations),
        ("episodes", EPISODE_COLUMNS, episodes),
        ("training", training_columns(), training),
    ):
        if rows:
            table = run.table(name, columns)
            for row in rows:
                table.add(row)
            table.flush()


def _evaluated(point: EvaluationPoint, *, is_best: bool) -> Evaluated:
    return Evaluated(
        env_steps=point.env_steps,
        returns=point.returns,
        lengths=point.lengths,
        seed=0,
        is_best=is_best,
        wall_s=point.time_s,
    )


def _ended(number: int, point: EpisodePoint) -> EpisodeEnded:
    return EpisodeEnded(
        episode=number,
        env_steps=point.env_steps,
        episode_return=point.episode_return,
        shaped_return=point.episode_return,
        length=point.length,
        terminated=False,
        wall_s=point.time_s,
    )
