"""Starts a new run from a checkpoint of another run: its full state, with changed settings."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from td3core.arrays import Arrays
from td3core.checkpoint import Header
from td3core.config import RunConfig, Tunables, at_step, make_settings, merged, to_dict
from td3core.config.settings import names_set_by
from td3core.errors import RequestError
from td3core.protocol.events import JournalEvent
from td3core.randomness import Purpose, generator, generator_state
from td3core.runs import journal
from td3core.runs.journal import Change
from td3core.runs.layout import JOURNAL, run_of
from td3core.runs.metadata import Parent
from td3core.runs.resumption import ResumePoint, differing, load_complete, pending_entries
from td3core.text import SettingName

_GENERATOR = "generator"
"""Prefix of the generators among a checkpoint's tensors."""


def branch_settings(
    path: Path, header: Header, values: Mapping[str, Any]
) -> tuple[RunConfig, Tunables]:
    """Return the settings of a branch: those of a checkpoint with the changes in ``values``.

    Reads no file: ``path`` only names the checkpoint that ``header`` was read from.

    Raises:
        RequestError: a setting cannot change or is out of range.
    """
    before = {**to_dict(header.config), **to_dict(header.tunables)}
    config, tunables = make_settings(merged(before, values))
    for name in differing(config, header.config):
        raise RequestError(
            "{name} cannot change in a branch; it is {value}, as in {checkpoint}.",
            name=SettingName(name),
            value=before[name],
            checkpoint=path.name,
        )
    reached = header.counters.env_steps
    if config.steps <= reached:
        raise RequestError(
            "{key} cannot be {steps} in a branch of step {reached}: it counts from the first step"
            " of the parent. Choose more, such as {more}.",
            key=SettingName("steps"),
            steps=config.steps,
            reached=reached,
            more=2 * reached,
        )
    return config, at_step(tunables, reached, config.steps)


def changes_from(header: Header, config: RunConfig, tunables: Tunables) -> dict[str, Any]:
    """Return the settings in which a branch differs from its checkpoint.

    All others may still be changed by the schedule of the checkpoint's run.
    """
    own = to_dict(header.config) | to_dict(header.tunables)
    wanted = to_dict(config) | to_dict(tunables)
    return {name: value for name, value in wanted.items() if value != own[name]}


def prepare_branch(
    path: Path, values: Mapping[str, Any]
) -> tuple[ResumePoint, RunConfig, Tunables, list[Change]]:
    """Return a checkpoint to branch from, and its settings after the changes in ``values``.

    A seed other than the checkpoint's restarts all generators: the branch shares the learned state
    with other branches, and draws its own random numbers from there on.

    Also returns the scheduled live changes of its run that are still pending, except those of
    settings in ``values``. The user's later changes there are not repeated.

    Raises:
        RequestError: the file cannot be used, or a setting cannot change or is out of range.
    """
    saved = load_complete(path)
    config, tunables = branch_settings(path, saved.header, values)
    pending = pending_entries(_journal_of(path), saved)
    own = names_set_by(values)
    to_come = [e for e in pending if journal.is_scheduled(e) and e["field"] not in own]
    # Changes made at this step are in the parent's journal, not in the branch's.
    counters = replace(saved.header.counters, changes=0)
    noise = tunables.exploration_noise
    if "exploration_noise" in values or noise != saved.header.tunables.exploration_noise:
        counters = replace(counters, exploration_noise=noise)
    saved = replace(saved, header=replace(saved.header, counters=counters))
    reseeded = config.seed != saved.header.config.seed
    if reseeded:
        saved = replace(saved, tensors=saved.tensors | _fresh_generators(saved.tensors, config))
    point = ResumePoint(path=path, saved=saved, origin=JournalEvent.BRANCH, reseeded=reseeded)
    return point, config, tunables, journal.changes_of(to_come)


def _fresh_generators(tensors: Arrays, config: RunConfig) -> dict[str, NDArray[Any]]:
    """Return the states of a checkpoint's generators at the start of a run with ``config.seed``."""
    found: dict[str, NDArray[Any]] = {}
    for name in tensors:
        prefix, _, rest = name.partition(".")
        if prefix == _GENERATOR:
            purpose, _, slot = rest.partition(".")
            source = generator(config.seed, Purpose[purpose.upper()], int(slot or 0))
            found[name] = generator_state(source)
    return found


def parent_of(point: ResumePoint) -> Parent:
    """Return the record of a branch's origin."""
    path = point.path.resolve()
    run = run_of(path) or path.parent
    # At the root of a drive there is no name.
    return Parent(run=run.name or path.stem, checkpoint=path.name, env_steps=point.env_steps)


def _journal_of(path: Path) -> list[journal.Entry]:
    run = run_of(path.resolve())
    return [] if run is None else journal.read_whole(run / JOURNAL)
