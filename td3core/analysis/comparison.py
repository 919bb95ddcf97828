"""Compares groups of runs: curves with bands, final and best with intervals, which is better."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from td3core.analysis.aggregate import (
    FEW_RUNS,
    Band,
    Estimate,
    align,
    estimate,
    iqm_band,
    probability_of_improvement,
)
from td3core.analysis.groups import BY_RUN, BY_SETTINGS, ComparedGroup, differing, group_runs
from td3core.analysis.results import (
    SMOOTHED_EPISODES,
    Metric,
    RunResults,
    XAxis,
    is_info,
    of_episodes,
)
from td3core.arrays import Doubles
from td3core.errors import RequestError
from td3core.text import Text

MOST_RUNS = 100
"""Most runs compared at once; more cannot be distinguished, and take long to read."""
LEAST_RUNS = 3
"""Fewest runs of each group to say which is better: with one run each, the probability would be 0
or 1."""
MOST_POINTS = 128
"""Most grid points of a band of several runs."""
_SAME_LENGTH = 0.95
"""Share of the last step at which other values count as measured at the same step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """Statistics of one group of runs."""

    group: ComparedGroup
    counted: tuple[RunResults, ...]
    """Its runs, each once, see :meth:`~td3core.analysis.groups.ComparedGroup.distinct`."""
    finals: Doubles
    """Final values of those that have one, shape (runs,)."""
    ends: Doubles
    """Steps of the last values of these runs, shape (runs,)."""
    final: Estimate | None
    """Interquartile mean of the finals; None if no run has values."""
    best: Estimate | None
    """Best return; None for other metrics."""
    deviation: Estimate | None = None
    """Deviation of the bias over the states; None for other metrics."""

    @property
    def name(self) -> str:
        """The name of the group."""
        return self.group.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Groups of runs, measured in the same way."""

    metric: Metric
    groups: tuple[GroupResult, ...]
    differing: tuple[str, ...]
    """Settings that are not the same in all runs, except the seed."""
    notes: tuple[Text, ...]
    """Caveats that a reader must know."""


def compare(
    runs: Sequence[RunResults],
    metric: Metric = "eval",
    by: Sequence[str] = (BY_SETTINGS,),
    names: Mapping[Path, str] | None = None,
    x: XAxis = "steps",
    called: Callable[[str], str] = str,
) -> Comparison:
    """Compare runs in groups.

    If no run has evaluations, episode returns are compared instead; otherwise runs without any are
    left out. Both are noted.

    Args:
        runs: the runs.
        metric: ``eval``: mean returns of evaluations; ``return``: returns of training episodes;
            ``bias``: how far the critics overestimate; ``info.NAME``: a value of the environment's
            info. The last two are not replaced if they were not measured.
        by: the grouping, see :func:`~td3core.analysis.groups.group_runs`.
        names: names of groups in place of their default, by the folder of their first run. A name
            that another group has is ignored.
        x: the x axis of the curves; runs without positions on it are noted.
        called: returns the name of a setting in the name of a group; by default its key.

    Raises:
        RequestError: no run is given, or they cannot be grouped in this way.
    """
    if not runs:
        raise RequestError("No runs to compare.")
    used, notes = _measurable(runs, metric)
    found = _renamed(group_runs(runs, by, called), names or {})
    groups = tuple(_result(group, used) for group in found)
    if tuple(by) != (BY_RUN,):
        notes += _few(groups)
    notes += [*_unequal(groups), *_unplaced(runs, x)]
    return Comparison(
        metric=used,
        groups=groups,
        differing=differing(runs),
        notes=(*notes, *(note for each in groups for note in _notes(each, used, x))),
    )


def _renamed(groups: Sequence[ComparedGroup], names: Mapping[Path, str]) -> Iterator[ComparedGroup]:
    taken = {group.name for group in groups}
    for group in groups:
        name = names.get(group.runs[0].path, "")
        if name and name not in taken:
            taken.add(name)
            yield replace(group, name=name)
        else:
            yield group


def improvement(better: GroupResult, worse: GroupResult) -> Estimate:
    """Return the probability that a run of one group has a higher final return than one of another.

    Raises:
        RequestError: their environments differ, or one has too few results.
    """
    first, second = better.group.env, worse.group.env
    if first != second:
        raise RequestError(
            "Returns of {first} and {second} cannot be compared.", first=first, second=second
        )
    for each in sorted((better, worse), key=lambda each: len(each.finals)):
        if not len(each.finals):
            raise RequestError("{group} has no results yet.", group=each.name)
        if len(each.finals) < LEAST_RUNS:
            raise RequestError(
                "{group} has fewer than {least} runs with results.",
                group=each.name,
                least=LEAST_RUNS,
            )
    return probability_of_improvement(better.finals, worse.finals)


def improvements(
    comparison: Comparison,
) -> Iterator[tuple[GroupResult, GroupResult, Estimate]]:
    """Yield every pair of groups that can be compared, with P(first > second)."""
    for at, first in enumerate(comparison.groups):
        for second in comparison.groups[at + 1 :]:
            same = first.group.env == second.group.env
            if same and min(len(first.finals), len(second.finals)) >= LEAST_RUNS:
                yield first, second, improvement(first, second)


def band(group: ComparedGroup, metric: Metric, x: XAxis, smoothing: int = 1) -> Band:
    """Return the interquartile mean of a group's curves with its 95 % band.

    It covers the range in which all runs of the group with values have them.
    """
    curves = [run.curve(metric, x, smoothing) for run in group.distinct(metric)]
    return band_of([curve for curve in curves if len(curve[0])])


def band_of(curves: Sequence[tuple[Doubles, Doubles]]) -> Band:
    """Return the interquartile mean of non-empty curves, with its 95 % band.

    A single curve keeps all of its points.
    """
    if len(curves) == 1:
        return Band(x=curves[0][0], middle=curves[0][1], low=None, high=None)
    grid, values = align(curves, MOST_POINTS)
    if not len(grid):
        return Band(x=grid, middle=np.empty(0), low=None, high=None)
    return iqm_band(grid, values)


def curve_smoothing(metric: Metric) -> int:
    """Return the default number of values averaged for a point of a curve."""
    return SMOOTHED_EPISODES if of_episodes(metric) else 1


def _measurable(runs: Sequence[RunResults], metric: Metric) -> tuple[Metric, list[Text]]:
    """Return the metric to compare, and notes if it is not the requested one or not for all runs.

    A training run may be evaluated later.
    """
    if metric != "eval":
        return metric, []
    without = [run for run in runs if not len(run.evaluations)]
    if len(without) == len(runs):
        note = Text.counted(
            "{run} has no evaluations; episode returns are compared instead.",
            "{n} runs have no evaluations; episode returns are compared instead.",
            n=len(without),
            run=without[0].title,
        )
        return "return", [note]
    never = [run for run in without if not _to_be_evaluated(run)]
    if not never:
        return metric, []
    note = Text.counted(
        "{run} has no evaluations and is left out.",
        "{n} runs have no evaluations and are left out.",
        n=len(never),
        run=never[0].title,
    )
    return metric, [note]


def _to_be_evaluated(run: RunResults) -> bool:
    return run.live and run.config.eval_interval > 0


def _result(group: ComparedGroup, metric: Metric) -> GroupResult:
    counted = group.distinct(metric)
    measured = [run for run in counted if len(run.rows(metric))]
    finals = np.array([run.final(metric) for run in measured])
    bests = np.array([run.best(metric) for run in measured])
    deviations = np.array([run.deviation() for run in counted if len(run.bias)])
    of_bias = metric == "bias"
    return GroupResult(
        group=group,
        counted=counted,
        finals=finals,
        ends=np.array([run.rows(metric)[-1, 0] for run in measured]),
        final=estimate(finals) if len(finals) else None,
        best=estimate(bests) if len(bests) and not np.isnan(bests).any() else None,
        deviation=estimate(deviations) if len(deviations) and of_bias else None,
    )


def _few(results: Sequence[GroupResult]) -> list[Text]:
    """Return the notes about groups with few runs."""
    found = []
    single = [each for each in results if len(each.finals) == 1]
    few = [each for each in results if 1 < len(each.finals) < FEW_RUNS]
    if single:
        found.append(
            Text.counted(
                "{group} has one run: no interval, no band.",
                "{n} groups have one run each: no interval, no band.",
                n=len(single),
                group=single[0].name,
            )
        )
    if few:
        found.append(
            Text.counted(
                "{group} has {count} runs: its intervals are likely too narrow.",
                "{n} groups have fewer than {most} runs: intervals are likely too narrow.",
                n=len(few),
                group=few[0].name,
                count=len(few[0].finals),
                most=FEW_RUNS,
            )
        )
    return found


def _unequal(results: Sequence[GroupResult]) -> list[Text]:
    """Return notes about environments whose groups have their final values at different steps."""
    found = []
    for env in dict.fromkeys(each.group.env for each in results):
        known = [each for each in results if each.group.env == env and len(each.ends)]
        if _level([max(each.ends) for each in known]):
            continue
        shortest, *_, longest = sorted(known, key=lambda each: float(max(each.ends)))
        found.append(
            Text(
                "{shortest} ends at step {first:,.0f}, {longest} at {last:,.0f}: their final values"
                " are of different steps.",
                shortest=shortest.name,
                first=max(shortest.ends),
                longest=longest.name,
                last=max(longest.ends),
            )
        )
    return found


def _level(ends: Sequence[float] | Doubles) -> bool:
    """Return whether values end at about the same step."""
    return not len(ends) or min(ends) >= _SAME_LENGTH * max(ends)


def unplaced(runs: Sequence[RunResults], x: XAxis) -> list[RunResults]:
    """Return the runs for which no positions on an axis are on record."""
    measured = [run for run in runs if len(run.evaluations) or len(run.episodes)]
    return [run for run in measured if not run.is_placed(x)]


def _unplaced(runs: Sequence[RunResults], x: XAxis) -> list[Text]:
    """Return notes about runs that cannot be drawn along an axis, and why."""
    without = unplaced(runs, x)
    if not without:
        return []
    n, first = len(without), without[0].title
    if x == "time":
        return [
            Text.counted(
                "{run} has no times on record and is not drawn.",
                "{n} runs have no times on record and are not drawn.",
                n=n,
                run=first,
            )
        ]
    return [
        Text.counted(
            "{run} has no episodes on record and is not drawn.",
            "{n} runs have no episodes on record and are not drawn.",
            n=n,
            run=first,
        )
    ]


def _notes(result: GroupResult, metric: Metric, x: XAxis) -> list[Text]:
    runs, name = result.counted, result.name
    found = _repeated(result)
    missing = len(runs) - len(result.finals)
    if metric == "eval":
        # Another note covers runs that will never be evaluated.
        missing = sum(not len(run.evaluations) and _to_be_evaluated(run) for run in runs)
    if missing:
        found.append(_missing(metric, name, missing, len(runs)))
    ends = result.ends
    # Of training runs, too: until they are level, their final values are not of one step.
    if len(ends) and not _level(ends):
        found.append(
            Text(
                "The runs of {group} end between step {first:,.0f} and {last:,.0f}: their final"
                " values are of different steps.",
                group=name,
                first=min(ends),
                last=max(ends),
            )
        )
    return [*found, *_apart(result, metric, x)]


def _missing(metric: Metric, group: str, missing: int, count: int) -> Text:
    """Return the note about runs of a group without values of the metric."""
    if metric == "bias":
        return Text.counted(
            "The bias was not measured in {missing} of {n} run of {group}.",
            "The bias was not measured in {missing} of {n} runs of {group}.",
            n=count,
            missing=missing,
            group=group,
        )
    if is_info(metric):
        return Text.counted(
            "{n} of {count} runs of {group} has not recorded {column}.",
            "{n} of {count} runs of {group} have not recorded {column}.",
            n=missing,
            count=count,
            group=group,
            column=metric,
        )
    return Text.counted(
        "{n} of {count} runs of {group} has no results yet.",
        "{n} of {count} runs of {group} have no results yet.",
        n=missing,
        count=count,
        group=group,
    )


def _repeated(result: GroupResult) -> list[Text]:
    """Note the runs of a group that are the same run as another one of it."""
    paths = {run.path for run in result.counted}
    seeds = [run.config.seed for run in result.group.runs if run.path not in paths]
    if not seeds:
        return []
    if len(set(seeds)) > 1:
        return [
            Text.counted(
                "{n} run of {group} repeats the seed of another; each of these counts once.",
                "{n} runs of {group} repeat the seeds of others; each of these counts once.",
                n=len(seeds),
                group=result.name,
            )
        ]
    return [
        Text.counted(
            "{n} run of {group} repeats seed {seed}, which counts once.",
            "{n} runs of {group} repeat seed {seed}, which counts once.",
            n=len(seeds),
            group=result.name,
            seed=seeds[0],
        )
    ]


def _apart(result: GroupResult, metric: Metric, x: XAxis) -> list[Text]:
    """Note that a group has no curve because its runs share no range of the axis."""
    curves = (run.curve(metric, x)[0] for run in result.counted)
    places = [places for places in curves if len(places)]
    if not places or max(each[0] for each in places) <= min(each[-1] for each in places):
        return []
    name = result.name
    if x == "steps":
        return [Text("The runs of {group} have no step in common: no curve is drawn.", group=name)]
    if x == "episodes":
        text = Text("The runs of {group} have no episode in common: no curve is drawn.", group=name)
        return [text]
    return [Text("The runs of {group} have no time in common: no curve is drawn.", group=name)]
