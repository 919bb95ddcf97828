"""Display names of runs, the same wherever a run is listed or mentioned.

A display name is the one that the user gave the run, else a description that distinguishes it.
Commands for the user to retype contain the folder instead, which identifies the run.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from td3core.config import all_given, setting_words, specs, title_of
from td3core.config.algorithms import unused_by
from td3core.config.presets import PLUS, compose
from td3core.config.value_text import about_steps
from td3core.errors import RequestError
from td3core.runs.directory import RunDirectory
from td3core.runs.layout import run_of
from td3core.runs.metadata import Parent
from td3core.system import timestamp
from td3core.text import Text, one_line

_SHOWN = 3
# "auto" is recorded as resolved, so class and engine differ from every preset.
_LEFT_OUT = (
    "env",
    "preset",
    "seed",
    "steps",
    "eval_interval",
    "checkpoint_interval",
    "threads",
    "numerics",
    "engine",
    "algorithm",
    "info_columns",
)
"""Shown elsewhere, or without influence on learning."""

Usual = dict[tuple[str, str], dict[str, Any]]
"""Settings of presets, by environment and preset."""


def describe(
    *, seed: int, env: str, preset: str, algorithm: str, changed: str, parent: Parent | None
) -> str:
    """Return what distinguishes a run: seed, variant, changed settings, origin."""
    variant = [part for part in preset.split(PLUS) if part and part != env]
    parts = [f"seed {seed}", PLUS.join(variant) or algorithm, changed]
    if parent is not None:
        parts.append(f"from {about_steps(parent.env_steps)}")
    return one_line(" · ".join(filter(None, parts)))


def name_of(run: RunDirectory, usual: Usual | None = None) -> str:
    """Return the name of a run in a list of runs of its environment."""
    return run.label().name or description_of(run, usual)


def description_of(run: RunDirectory, usual: Usual | None = None) -> str:
    """Return the description of a run, used if it has no name."""
    return describe(
        seed=run.config.seed,
        env=run.config.env,
        preset=run.config.preset,
        algorithm=title_of(run.config, run.first_tunables),
        changed=changes_in_words(run, usual).english,
        parent=run.parent,
    )


def full_name_of(folder: Path) -> str:
    """Return environment and name of a run; the folder's name if that is no run."""
    return names_of_folders([folder])[folder]


def names_of(runs: Sequence[RunDirectory], *, env: bool = True) -> list[str]:
    """Return the names of runs that are listed together, with or without their environment.

    Runs of equal names also get their starting times.
    """
    usual: Usual = {}
    names = [with_env(run.config.env if env else "", name_of(run, usual)) for run in runs]
    return told_apart(names, [run.created for run in runs])


def names_of_folders(folders: Iterable[Path], *, env: bool = True) -> dict[Path, str]:
    """Return :func:`names_of` by folder; for a folder that is no run, its own name."""
    names: dict[Path, str] = {}
    runs: dict[Path, RunDirectory] = {}
    for folder in folders:
        names[folder] = one_line(folder.name)
        with contextlib.suppress(RequestError):
            runs[folder] = RunDirectory.open(folder)
    return names | dict(zip(runs, names_of(list(runs.values()), env=env), strict=True))


def runs_of_agents(paths: Sequence[Path]) -> list[str]:
    """Return the name of each agent's run, without environment; empty if it has none."""
    folders = [run_of(path) for path in paths]
    names = names_of_folders(filter(None, folders), env=False)
    return [names[folder] if folder else "" for folder in folders]


def with_env(env_id: str, name: str) -> str:
    """Put the environment before the name of a run; not twice if the name begins with it."""
    # Names of folders have hyphens in place of other characters: compare in that form.
    plain, begin = (re.sub(r"\W+", "-", text) for text in (name, env_id))
    if re.match(rf"{re.escape(begin)}(?![^\W_])", plain):
        return one_line(name)
    return one_line(" · ".join(filter(None, (env_id, name))))


def told_apart(names: Sequence[str], created: Sequence[str]) -> list[str]:
    """Add starting times to names that several runs share."""
    counts, started = Counter(names), (timestamp.shown(made, seconds=True) for made in created)
    return [
        " · ".join(filter(None, (name, made))) if counts[name] > 1 else name
        for name, made in zip(names, started, strict=True)
    ]


def changed_settings(run: RunDirectory, usual: Usual | None = None) -> dict[str, Any]:
    """Return the settings that were changed from the preset's, and their values.

    Those shown elsewhere, or without influence on learning, are left out. ``usual`` caches the
    settings of presets for the next run.
    """
    config, usual = run.config, {} if usual is None else usual
    key = (config.env, config.preset)
    if key not in usual:
        names = [name for name in config.preset.split(PLUS) if name]
        try:
            usual[key] = all_given(*compose(config.env, names, {}))
        except RequestError:
            # A deleted preset of the user: its settings are unknown.
            usual[key] = {}
    known, values = usual[key], all_given(config, run.first_tunables)
    left_out = {*_LEFT_OUT, *unused_by(config.algorithm)}
    return {
        name: value
        for name, value in values.items()
        if name in known and known[name] != value and name not in left_out
    }


def changes_in_words(run: RunDirectory, usual: Usual | None = None) -> Text:
    """Return the first of the :func:`changed_settings`: ``γ 0.98, Actor layers 64, 64``."""
    labels = {
        name: spec.symbol or spec.label
        for kind in (run.config, run.first_tunables)
        for name, spec in specs(kind)
    }
    found = [
        Text("{setting} {value}", setting=labels[name], value=setting_words(name, value))
        for name, value in changed_settings(run, usual).items()
    ]
    more = len(found) - _SHOWN
    rest = [Text("{n} more", n=more)] if more > 0 else []
    return Text.joined([*found[:_SHOWN], *rest], ", ")
