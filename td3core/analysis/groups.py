"""Groups of compared runs: members, names and differences."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from td3core.analysis.results import Metric, RunResults, settings_of
from td3core.config import RunConfig, Tunables, setting_words, special_word, specs, title_of
from td3core.config.presets import PLUS
from td3core.config.value_text import NONE, OFF, ON, format_count, in_english
from td3core.errors import RequestError, brief, unknown_name
from td3core.runs.naming import told_apart, with_env
from td3core.text import SettingName, Text, tr

_BY_ITSELF = re.compile(r"_\d+seeds_")
"""Part of the default names of groups."""
BY_SETTINGS, BY_RUN = "settings", "run"
_MOST_NAMED = 3
_LONGEST = 40
WITHOUT_EFFECT = (
    "threads",
    "env_processes",
    "env_check",
    "info_columns",
    "background_evaluation",
    "checkpoint_interval",
    "keep_every",
    "keep_best",
    "keep_replay",
)
"""Settings in which runs of one group may differ: they change neither what is learned nor what is
evaluated. A run without its buffer is another one only once it was interrupted."""
HISTORY = "history"
"""The key of :func:`~td3core.analysis.results.settings_of` for a branch and live changes."""
_IN_NAME_ONLY = ("preset", "env", HISTORY)
"""Settings that a group's name expresses in other words, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedGroup:
    """Runs of one environment that are compared as one."""

    name: str
    runs: tuple[RunResults, ...]

    @property
    def env(self) -> str:
        """The environment of its runs."""
        return self.runs[0].config.env

    def distinct(self, metric: Metric) -> tuple[RunResults, ...]:
        """Return the runs that count: of those that are the same run, the one that got furthest.

        Of several that got as far, the one whose folder is first by name.

        Settings, seed and history determine a run. Runs that agree in them and still measured
        different returns at one step are different ones: their environment does not repeat itself,
        or versions differ.
        """
        if len({run.config.seed for run in self.runs}) == len(self.runs):
            return self.runs
        kept: dict[Hashable, list[RunResults]] = {}
        for run in sorted(self.runs, key=lambda run: (-_reach(run, metric), run.path)):
            alike = kept.setdefault(_what_determines(run), [])
            if not any(_agree(run, other) for other in alike):
                alike.append(run)
        paths = {run.path for alike in kept.values() for run in alike}
        return tuple(run for run in self.runs if run.path in paths)

    def member_name(self, run: RunResults) -> str:
        """Return the run's name within the group: its own name, else its seed."""
        seeds = {each.config.seed for each in self.runs}
        if run.name or len(seeds) < len(self.runs):
            return run.title
        return tr("seed {seed}", seed=run.config.seed)

    def values(self, setting: str, called: Callable[[str], str] = str) -> str:
        """Return the value of a setting as text; several values are listed.

        ``called`` returns the names of settings in a history, see :func:`group_runs`; without it
        the words for values, such as "off", are English.
        """
        if setting == HISTORY and called is not str:
            found = dict.fromkeys(_history(run, called) or tr("none") for run in self.runs)
        else:
            values = (settings_of(run)[setting] for run in self.runs)
            found = dict.fromkeys(value_text(setting, value, called) for value in values)
        return brief(", ".join(found), _LONGEST)


def group_runs(
    runs: Sequence[RunResults],
    by: Sequence[str] = (BY_SETTINGS,),
    called: Callable[[str], str] = str,
) -> tuple[ComparedGroup, ...]:
    """Sort runs into groups, ordered by first appearance.

    Args:
        runs: the runs.
        by: ``settings``: runs that were started as a group, or whose settings differ only in the
            seed and in :data:`WITHOUT_EFFECT`, and imported curves by themselves unless they have a
            group; ``run``: each run by itself; or names of settings that runs of a group share.
        called: returns the name of a setting in the name of a group; by default its key, and the
            key of a history.

    Raises:
        RequestError: there is no such setting, it cannot be grouped by, or a group would pool
            several environments.
    """
    key = _key(by)
    found: dict[Hashable, list[RunResults]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    members = list(found.values())
    names = _names(members, by, called)
    for name, group in zip(names, members, strict=True):
        _require_one_env(name, group)
    return tuple(
        ComparedGroup(name=name, runs=tuple(group))
        for name, group in zip(names, members, strict=True)
    )


def differing(runs: Iterable[RunResults]) -> tuple[str, ...]:
    """Return the settings with an effect that are not the same in all runs, except the seed.

    Unknown ones, those of imported curves, are like any other.
    """
    all_settings = [settings_of(run) for run in runs]
    names = [name for name in all_settings[0] if name not in WITHOUT_EFFECT] if all_settings else []
    return tuple(name for name in names if len({each[name] for each in all_settings} - {None}) > 1)


def value_text(name: str, value: Any, called: Callable[[str], str] = str) -> str:
    """Return the value of a setting as short text, in English if settings are called by keys."""
    words = _short(name, value)
    return in_english(words) if called is str else str(words)


def _short(name: str, value: Any) -> Text | str:
    if value is None:
        return Text("unknown")
    if isinstance(value, bool):
        return ON if value else OFF
    if isinstance(value, float):
        return special_word(name, value) or f"{value:g}"
    if isinstance(value, tuple):
        return "×".join(map(str, value)) or NONE
    return str(value) or NONE


def _key(by: Sequence[str]) -> Callable[[RunResults], Hashable]:
    if tuple(by) == (BY_SETTINGS,):
        return _of_a_kind
    if tuple(by) == (BY_RUN,):
        return lambda run: run.path
    known = [name for cls in (RunConfig, Tunables) for name, _ in specs(cls)]
    for name in by:
        if name in (BY_SETTINGS, BY_RUN):
            raise RequestError(
                "{name} cannot be combined with others to group by.", name=repr(name)
            )
        if name == "seed":
            raise RequestError(
                "Runs cannot be grouped by {key}: groups are averaged over seeds. Group by {run}"
                " for each run by itself.",
                key=SettingName(name),
                run=BY_RUN,
            )
        if name not in known:
            others = [other for other in known if other != "seed"]
            raise unknown_name(
                "There is no setting to group by called {name}.",
                name,
                [BY_SETTINGS, BY_RUN, *others],
            )
    return lambda run: tuple(settings_of(run)[name] for name in by)


def _of_a_kind(run: RunResults) -> Hashable:
    if run.group:
        return (run.group, run.history)
    return run.path if run.curves_only else _what_counts(run)


def _what_counts(run: RunResults) -> Hashable:
    settings = settings_of(run).items()
    return tuple((name, value) for name, value in settings if name not in WITHOUT_EFFECT)


def _what_determines(run: RunResults) -> Hashable:
    """Return everything that determines the course of a run, as a key."""
    settings = settings_of(run).items()
    # A shorter run is the beginning of a longer one, unless a schedule depends on the length: then
    # they measure different returns.
    without = (*WITHOUT_EFFECT, "preset", "steps")
    known = tuple((name, value) for name, value in settings if name not in without)
    return (*known, run.config.seed, run.imported)


def _reach(run: RunResults, metric: Metric) -> float:
    rows = run.rows(metric)
    return float(rows[-1, 0]) if len(rows) else -1.0


def _agree(first: RunResults, second: RunResults) -> bool:
    """Return whether two runs measured the same at the same steps, as far as both have got."""
    common = False
    tables = ((first.evaluations, second.evaluations), (first.episodes, second.episodes))
    for one, other in tables:
        # Of several episodes that end in one step, the first of either.
        _, at, beside = np.intersect1d(one[:, 0], other[:, 0], return_indices=True)
        # Tables on disk have fewer digits than reports.
        if not np.allclose(one[at, 1], other[beside, 1], rtol=1e-4):
            return False
        common = common or len(at) > 0
    return common or not all(len(run.evaluations) + len(run.episodes) for run in (first, second))


def _require_one_env(name: str, group: Sequence[RunResults]) -> None:
    envs = sorted({run.config.env for run in group})
    if len(envs) > 1:
        raise RequestError(
            "Group {name} would pool runs of {first} and {second}, whose returns cannot be"
            " averaged. Group by env as well.",
            name=name,
            first=envs[0],
            second=envs[1],
        )


# Names -------------------------------------------------------------------------------------------


def _names(
    groups: Sequence[Sequence[RunResults]], by: Sequence[str], called: Callable[[str], str]
) -> list[str]:
    """Return the shortest names that distinguish the groups."""
    if tuple(by) == (BY_RUN,):
        return _unique([_run_names(groups)])
    if tuple(by) != (BY_SETTINGS,):
        return _unique([[_described(settings_of(group[0]), by, called) for group in groups]])
    # Groups with the same settings can still be distinguished by their folder names.
    names = [
        run if len(group) == 1 and group[0].name else settings
        for group, run, settings in zip(
            groups, _run_names(groups), _setting_names(groups, called), strict=True
        )
    ]
    others = [
        _with_history(name, each[0], called) for each, name in zip(groups, names, strict=True)
    ]
    folders = [each[0].group or name for each, name in zip(groups, names, strict=True)]
    return _unique([names, others, folders, names])


def _with_history(name: str, run: RunResults, called: Callable[[str], str]) -> str:
    """Add to a group's name the history of its runs: a branch, live changes."""
    history = _history(run, called)
    return f"{name} ({brief(history, _LONGEST)})" if history else name


def _history(run: RunResults, called: Callable[[str], str]) -> str:
    """Return a run's branch and live changes: its key, or in words if settings have names."""
    if called is str:
        return run.history
    parts = []
    if run.parent is not None:
        parent = {"run": run.parent.run, "step": format_count(run.parent.env_steps)}
        parts.append(tr("branched from {run} at step {step}", **parent))
    for change in run.gestures:
        text = f"{called(change.name)} {setting_words(change.name, change.new)}"
        step = format_count(change.env_steps)
        parts.append(tr("{change} at step {step}", change=text, step=step))
    return ", ".join(parts)


def _run_names(groups: Sequence[Sequence[RunResults]]) -> list[str]:
    """Return the name of each group's first run, with its starting time if several are alike."""
    runs = [group[0] for group in groups]
    several = len({run.config.env for run in runs}) > 1
    names = [with_env(run.config.env if several else "", run.title) for run in runs]
    return told_apart(names, [run.created for run in runs])


def _preset_names(groups: Sequence[Sequence[RunResults]]) -> list[str]:
    """Name groups by the user's name, else by environment, if it differs, and variant."""
    several = len({run.config.env for group in groups for run in group}) > 1
    names = []
    for group in groups:
        first = group[0]
        parts = [part for part in first.config.preset.split(PLUS) if part != first.config.env]
        variant = PLUS.join(filter(None, parts)) or title_of(first.config, first.tunables)
        if first.curves_only:
            variant = first.title
        usual = f"{first.config.env} {variant}" if several else variant
        named = first.group and not _BY_ITSELF.search(first.group)
        names.append(first.group if named else usual)
    return names


def _setting_names(
    groups: Sequence[Sequence[RunResults]], called: Callable[[str], str]
) -> list[str]:
    """Add to equal names of groups the first settings in which these groups differ."""
    heads = _preset_names(groups)
    named: dict[str, list[str]] = {}
    for head, count in Counter(heads).items():
        alike = zip(heads, groups, strict=True)
        runs = [run for each, group in alike for run in group if each == head]
        names = differing(runs) if count > 1 else ()
        named[head] = _telling([name for name in names if name not in _IN_NAME_ONLY], runs)
    return [
        " ".join(filter(None, (head, _described(settings_of(group[0]), named[head], called))))
        for head, group in zip(heads, groups, strict=True)
    ]


def _telling(names: list[str], runs: Sequence[RunResults]) -> list[str]:
    """Return the first few settings or, if more would distinguish more runs, the first that do."""

    def kinds(some: Sequence[str]) -> int:
        each_settings = [settings_of(run) for run in runs]
        return len({tuple(value_text(name, each[name]) for name in some) for each in each_settings})

    first = names[:_MOST_NAMED]
    if kinds(first) == kinds(names):
        return first
    telling = list[str]()
    for name in names:
        if kinds([*telling, name]) > kinds(telling):
            telling.append(name)
    return telling[:_MOST_NAMED]


def _described(
    settings: Mapping[str, Any], names: Sequence[str], called: Callable[[str], str]
) -> str:
    return ", ".join(f"{called(name)} {value_text(name, settings[name], called)}" for name in names)


def _unique(attempts: Sequence[list[str]]) -> list[str]:
    """Return the first list without equal names, else the last one with numbers."""
    for names in attempts:
        if len(set(names)) == len(names):
            return names
    counts, numbered = Counter[str](), []
    for name in attempts[-1]:
        counts[name] += 1
        numbered.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return numbered
