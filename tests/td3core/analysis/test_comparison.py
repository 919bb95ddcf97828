"""Runs are grouped by their settings, and each group has the numbers of its own runs."""

import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy  # its statistics are loaded with their first use
from hypothesis import given
from hypothesis import strategies as st

from td3core.analysis.aggregate import Estimate, Interval
from td3core.analysis.comparison import band, compare, improvement
from td3core.analysis.groups import WITHOUT_EFFECT, group_runs, value_text
from td3core.analysis.results import (
    RunResults,
    last_values,
    read_results,
    settings_of,
    trailing_mean,
)
from td3core.analysis.wording import estimate_text
from td3core.config import sign_of
from td3core.config.tunables import NO_FLOOR
from td3core.config.value_text import value_words
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import Change
from td3core.runs.listing import summarise
from td3core.runs.metadata import RunLabel, write_label
from td3core.runs.naming import description_of
from td3core.training.launch import train
from tests.support.stretched import CLOSE, OPEN, PAD
from tests.td3core.analysis.many_runs import CAR, two_groups, write_run
from tests.td3core.helpers import Told, finish, same, tensors, tiny
from tests.td3core.training.resuming import go_on_well, stopped


def read(paths):
    return [read_results(path) for path in paths]


def test_runs_that_differ_in_the_seed_alone_are_a_group(runs_dir: Path) -> None:
    found = compare(read(two_groups(runs_dir, seeds=3)))
    assert [len(each.group.runs) for each in found.groups] == [3, 3]
    assert found.differing == ("tau",)
    assert [each.group.values("tau") for each in found.groups] == ["0.005", "0.01"]
    assert [each.name for each in found.groups] == ["TD3 tau 0.005", "TD3 tau 0.01"]


NO_EFFECT: dict[str, tuple[Any, Any]] = {
    "threads": (1, 2),
    "env_processes": (0, 1),
    "env_check": (True, False),
    "info_columns": ("", "speed"),
    "background_evaluation": (False, True),
    "checkpoint_interval": (0, 20),
    "keep_every": (1, 0),
    "keep_best": (0, 1),
    "keep_replay": (True, False),
}
TAKES_LONGER = ("threads", "env_processes", "background_evaluation")


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_runs_that_differ_in_what_has_no_effect_are_one_group(runs_dir: Path, name: str) -> None:
    values = NO_EFFECT[name]
    runs = read(
        [write_run(runs_dir, [1.0], seed=k, **{name: value}) for k, value in enumerate(values)]
    )
    found = compare(runs)
    assert [each.name for each in found.groups] == ["TD3"]
    assert found.differing == ()
    # Unless one asks for it.
    assert [each.name for each in compare(runs, by=[name]).groups] == [
        f"{name} {value_text(name, value)}" for value in values
    ]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in TAKES_LONGER else ())
        for name in WITHOUT_EFFECT
    ],
)
def test_what_has_no_effect_changes_no_digit_of_a_run_and_of_its_evaluations(
    runs_dir: Path, name: str
) -> None:
    # A buffer that runs over, checkpoints and evaluations: all that the settings are about.
    common = {"steps": 120, "buffer_size": 50, "eval_interval": 40, "checkpoint_interval": 30}
    common |= {"env_args": '{"g": 9.5}', "keep_every": 2}

    def learnt(value: Any) -> tuple[dict[str, Any], list[tuple[int, float]]]:
        ended = finish(runs_dir, "Pendulum-v1", **common | {name: value})
        found = tensors(ended.last_checkpoint)
        # The sums of the buffer's file, if there is one.
        found.pop("replay.sums", None)
        return found, RunDirectory.open(ended.run).evaluations()

    (one, returns), (other, other_returns) = map(learnt, NO_EFFECT[name])
    assert same(one, other)
    assert len(returns) == 3
    assert returns == other_returns


def test_runs_resumed_with_another_length_stay_a_group(runs_dir: Path) -> None:
    schedule = {"actor_lr": "1e-3@50%, 1e-4@100%"}
    runs = [stopped(runs_dir, 40 + seed, seed=seed, **schedule).run for seed in range(2)]
    for path in runs:
        go_on_well(path, steps=90)
    (group,) = compare(read(runs)).groups
    assert len(group.group.runs) == 2
    assert [summarise(RunDirectory.open(path)).live_changes for path in runs] == [0, 0]


def test_planned_changes_count_once_they_are_made(runs_dir: Path) -> None:
    planned = [Change(50, "tau", 0.3)]
    paths = []
    for seed, steps in enumerate((40, 40, 60)):
        config, tunables = tiny(seed=seed, steps=steps)
        ended = train(config, tunables, Control(), Told(), runs_dir, planned if seed else ())
        assert isinstance(ended, Ended)
        paths.append(ended.run)
    assert [summarise(RunDirectory.open(path)).live_changes for path in paths] == [0, 0, 1]
    plain, unmade, made = read(paths)
    assert settings_of(plain) == settings_of(unmade)
    assert (unmade.gestures, made.gestures) == ((), tuple(planned))


def test_runs_do_not_differ_in_what_their_algorithm_does_not_use(runs_dir: Path) -> None:
    plain = [write_run(runs_dir, [1.0], seed=n, quantiles=n, dropped_quantiles=1) for n in (7, 8)]
    quantile = [write_run(runs_dir, [1.0], seed=n, quantiles=n, algorithm="tqc") for n in (7, 8)]
    assert [len(each.group.runs) for each in compare(read(plain)).groups] == [2]
    found = compare(read(quantile))
    assert [each.name for each in found.groups] == ["TQC quantiles 7", "TQC quantiles 8"]


@pytest.mark.parametrize("live", [False, True])
def test_final_values_of_different_steps_are_noted_within_a_group(
    runs_dir: Path, live: bool
) -> None:
    runs = read([write_run(runs_dir, [1.0] * n, seed=n) for n in (2, 10)])
    runs[0] = replace(runs[0], live=live)
    assert (
        "The runs of TD3 end between step 200 and 1,000: their final values are of different steps."
        in map(str, compare(runs).notes)
    )


@pytest.mark.parametrize("by", ["settings", "run"])
@pytest.mark.parametrize("live", [False, True])
def test_final_values_of_different_steps_are_noted_across_groups(
    runs_dir: Path, by: str, live: bool
) -> None:
    paths = [
        write_run(runs_dir, [1.0] * n, seed=seed, tau=tau)
        for n, tau in ((10, 0.005), (2, 0.01))
        for seed in range(3 if by == "settings" else 1)
    ]
    paths.append(write_run(runs_dir, [1.0], env=CAR))
    runs = [replace(run, live=live) for run in read(paths)]
    found = compare(runs, by=(by,))
    assert [list(each.ends) for each in found.groups[:2]] == [
        [step] * ((len(paths) - 1) // 2) for step in (1000.0, 200.0)
    ]
    first, second, _ = (each.name for each in found.groups)
    said = [str(note) for note in found.notes if "different steps" in str(note)]
    assert said == [
        f"{second} ends at step 200, {first} at 1,000: their final values are of different steps."
    ]


def test_final_values_of_the_same_steps_need_no_note(runs_dir: Path) -> None:
    notes = compare(read(two_groups(runs_dir, seeds=3))).notes
    assert not any("different steps" in str(note) for note in notes)


def returns_of(seed: int, count: int) -> list[float]:
    return [10.0 * seed + number for number in range(count)]


def test_a_seed_that_was_trained_again_counts_once_with_the_run_that_got_furthest(
    runs_dir: Path,
) -> None:
    lengths = ((0, 4), (0, 10), (1, 10), (0, 10))
    paths = [write_run(runs_dir, returns_of(seed, n), seed=seed, threads=n) for seed, n in lengths]
    found = compare(read(paths))
    (group,) = found.groups
    assert len(group.group.runs) == 4
    assert [run.path for run in group.counted] == [paths[1], paths[2]]
    assert list(group.finals) == [9.0, 19.0]
    notes = list(map(str, found.notes))
    assert "2 runs of TD3 repeat seed 0, which counts once." in notes
    assert not any("end between" in note for note in notes)
    curve = band(group.group, "eval", "steps")
    assert (curve.x[-1], curve.middle[-1]) == (1000.0, 14.0)
    # Where each run stands by itself, each is shown.
    assert [len(each.finals) for each in compare(read(paths), by=("run",)).groups] == [1] * 4
    again = [write_run(runs_dir, returns_of(1, 10), seed=1)]
    said = "3 runs of TD3 repeat the seeds of others; each of these counts once."
    assert said in map(str, compare(read([*paths, *again])).notes)


def test_three_runs_of_one_seed_do_not_tell_which_group_is_better(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, returns_of(0, 9), tau=0.01 * (at < 3) or 0.02) for at in range(6)]
    first, second = compare(read(paths)).groups
    assert first.final == Estimate(value=8.0, interval=None)
    with pytest.raises(RequestError, match="fewer than 3 runs"):
        improvement(first, second)


def test_the_same_runs_in_any_order_give_the_same_numbers(runs_dir: Path) -> None:
    returns = (
        [-1742.6, -1600.3, -1431.2],
        [-1700.1, -1500.9, -1395.4],
        [-1640.0, -1422.7, -1550.5],
    )
    paths = [
        write_run(runs_dir, [*returns[seed % 3], 31.7 * seed], seed=seed, tau=tau)
        for seed in range(5)
        for tau in (0.005, 0.01)
    ]
    # A seed trained again, up to digits that tables on disk may lack.
    paths += [write_run(runs_dir, [each * 1.00001 for each in returns[1]], seed=1) for _ in "ab"]
    paths += [write_run(runs_dir, [*returns[1], 31.7 * 1.00001], seed=1)]
    runs = read(paths)

    def numbers(some: list[RunResults]) -> dict[str, Any]:
        found = sorted(compare(some).groups, key=lambda each: each.name)
        bands = [band(each.group, "eval", "steps") for each in found]
        return {
            "final": [each.final for each in found],
            "best": [each.best for each in found],
            "chance": improvement(*found),
            "bands": [[str(each.middle), str(each.low), str(each.high)] for each in bands],
        }

    wanted = numbers(runs)
    assert numbers(runs[::-1]) == wanted
    assert all(numbers(random.Random(k).sample(runs, len(runs))) == wanted for k in range(8))


def test_runs_of_one_seed_count_each_if_they_are_not_the_same_run(runs_dir: Path) -> None:
    first, second = read([write_run(runs_dir, [1.0, 2.0, 3.0]) for _ in range(2)])

    def counted(*runs: RunResults, by: str = "env") -> int:
        return len(compare(runs, by=(by,)).groups[0].counted)

    assert counted(first, second) == 1
    longer = replace(second, config=replace(second.config, steps=2 * second.config.steps))
    assert counted(first, longer) == 1
    settings = replace(second, tunables=replace(second.tunables, tau=0.01))
    numerics = replace(second, config=replace(second.config, numerics="avx2"))
    histories = [replace(second, history=f"tau={value} at 50") for value in (0.01, 0.02)]
    assert counted(first, settings, numerics, *histories) == 5
    # Neither seed nor settings of another program are known for certain.
    imported = [replace(second, imported=digest) for digest in "ab"]
    assert counted(first, *imported) == 3
    # An environment that does not repeat itself.
    other = replace(second, evaluations=second.evaluations + np.array([0.0, 0.1, 0.0]))
    assert counted(first, other) == 2
    # Nothing is measured yet.
    assert counted(first, replace(second, evaluations=second.evaluations[:0], live=True)) == 1


def test_final_and_best_are_those_computed_by_hand(runs_dir: Path) -> None:
    first, second = compare(read(two_groups(runs_dir))).groups
    # Of ten evaluations the last one counts, and it is the best too.
    assert list(first.finals) == [9.0, 10.0, 11.0, 12.0, 13.0]
    assert first.final.value == first.best.value == 11.0
    assert first.final.value == scipy.stats.trim_mean(first.finals, 0.25)
    assert first.final.interval.low >= 9.0
    assert second.final.value == 14.0
    chance = improvement(second, first)
    assert chance.value == scipy.stats.mannwhitneyu(second.finals, first.finals).statistic / 25
    assert improvement(first, second).value == pytest.approx(1 - chance.value)


@pytest.mark.parametrize("time", [0.0, math.nan])
def test_curves_without_times_are_absent_where_time_is_the_axis(
    runs_dir: Path, time: float
) -> None:
    timed, untimed = (write_run(runs_dir, [1.0, 2.0], seed=seed) for seed in (0, 1))
    table = untimed / "evaluations.csv"
    head, *rows = table.read_text().splitlines()
    column = head.split(",").index("time_s")
    for row in rows:
        cells = row.split(",")
        cells[column] = "" if math.isnan(time) else f"{time:.3f}"
        head += "\n" + ",".join(cells)
    table.write_text(head + "\n")
    runs = read([timed, untimed])
    assert [len(run.curve("eval", "time")[0]) for run in runs] == [2, 0]
    assert [len(run.curve("eval", "steps")[0]) for run in runs] == [2, 2]
    said = f"{runs[1].title} has no times on record and is not drawn."
    assert said in map(str, compare(runs, x="time").notes)
    assert not any("on record" in str(note) for note in compare(runs).notes)
    # Nor are there episodes.
    assert [len(run.curve("eval", "episodes")[0]) for run in runs] == [0, 0]
    assert "2 runs have no episodes on record and are not drawn." in map(
        str, compare(runs, x="episodes").notes
    )


@pytest.mark.parametrize(
    ("count", "metric", "judged"),
    [
        *((0, "eval", 0), (1, "eval", 1), (10, "eval", 1), (11, "eval", 2), (500, "eval", 10)),
        *((500, "return", 50), (5000, "return", 100)),
    ],
)
def test_a_run_is_judged_by_the_last_tenth(count, metric, judged) -> None:
    assert last_values(count, metric) == judged


def test_the_final_return_is_the_mean_of_the_last_evaluations(runs_dir: Path) -> None:
    run = read_results(write_run(runs_dir, [0.0] * 18 + [4.0, 6.0], [1.0] * 90 + [5.0] * 10))
    assert run.final("eval") == 5.0
    assert run.best("eval") == 6.0
    assert run.final("return") == 5.0
    # The best mean of 20 episodes, not the best episode.
    assert run.best("return") == pytest.approx(3.0)


def with_bias(runs_dir: Path, shift: float) -> list[Path]:
    """Write three runs whose critics overestimate more with each seed, and steadily."""
    return [
        write_run(
            runs_dir,
            [0.0] * 20,
            [0.0] * 5,
            seed=seed,
            tau=0.005 + shift / 1000,
            bias=[(9.0, 9.0)] * 18 + [(shift + seed, 1.0), (shift + seed + 2.0, 3.0)],
        )
        for seed in range(3)
    ]


def test_the_bias_is_compared_with_its_deviation(runs_dir: Path) -> None:
    runs = read([*with_bias(runs_dir, 0.0), *with_bias(runs_dir, 5.0)])
    first, second = compare(runs, "bias").groups
    # The last tenth: two evaluations of twenty.
    assert list(first.finals) == [1.0, 2.0, 3.0]
    assert (first.final.value, first.deviation.value, first.best) == (2.0, 2.0, None)
    assert (first.final.interval.low, first.final.interval.high) == (1.0, 3.0)
    assert improvement(second, first).value == 1.0
    assert list(band(first.group, "bias", "steps").middle[[0, -1]]) == [9.0, 3.0]
    assert compare(runs).groups[0].deviation is None


def test_nothing_takes_the_place_of_a_bias_that_was_not_measured(runs_dir: Path) -> None:
    paths = [*with_bias(runs_dir, 0.0), write_run(runs_dir, [1.0] * 20, seed=9)]
    found = compare(read(paths), "bias")
    assert found.metric == "bias"
    assert [len(each.finals) for each in found.groups] == [3]
    assert "not measured in 1 of 4 runs" in " ".join(map(str, found.notes))


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=40), st.integers(1, 50))
def test_a_trailing_mean_is_that_of_a_loop(values, count) -> None:
    wanted = [np.mean(values[max(0, at + 1 - count) : at + 1]) for at in range(len(values))]
    assert trailing_mean(np.array(values), count) == pytest.approx(wanted, abs=1e-6)


def test_a_value_that_was_not_measured_is_left_out_of_the_means_after_it() -> None:
    values = np.array([math.nan, math.nan, 4.0, 2.0, math.nan, math.inf])
    wanted = [math.nan, math.nan, 4.0, 3.0, 2.0, math.nan]
    assert trailing_mean(values, 2) == pytest.approx(wanted, nan_ok=True)
    assert np.isnan(trailing_mean(np.full(3, math.nan), 2)).all()


def test_curves_run_along_steps_episodes_or_time(runs_dir: Path) -> None:
    run = read_results(write_run(runs_dir, [1.0, 2.0], [0.0] * 25))
    assert list(run.curve("eval", "steps")[0]) == [100.0, 200.0]
    assert list(run.curve("eval", "episodes")[0]) == [10.0, 20.0]
    assert list(run.curve("eval", "time")[0]) == [10.0, 20.0]
    assert list(run.curve("return", "episodes")[0]) == list(range(1, 26))


def test_an_evaluation_lies_where_its_step_was_reached_not_where_its_result_arrived(
    runs_dir: Path,
) -> None:
    run = read_results(write_run(runs_dir, [1.0, 2.0], [0.0] * 25, late=3.0))
    assert list(run.curve("eval", "time")[0]) == [10.0, 20.0]
    assert list(run.curve("return", "time")[0]) == list(range(1, 26))


def test_training_rows_tell_the_time_of_steps_where_few_episodes_ended(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0, 2.0, 3.0], [0.0], late=3.0)
    with (path / "training.csv").open("w") as file:
        file.write("env_steps,updates,time_s\n150,50,2\n250,150,12\n")
    run = read_results(path)
    # Ten steps took a second at first.
    assert list(run.clock[:, 0]) == [0.0, 10.0, 150.0, 250.0, 300.0]
    assert list(run.curve("eval", "time")[0])[:2] == [pytest.approx(1 + 90 / 140), 7.0]


def test_a_band_ends_with_the_shortest_run_and_a_note_says_so(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0] * n, seed=n) for n in (4, 6, 10)]
    found = compare(read(paths))
    curve = band(found.groups[0].group, "eval", "steps")
    assert list(curve.x) == [100.0, 200.0, 300.0, 400.0]
    assert "end between step 400 and 1,000" in " ".join(map(str, found.notes))
    assert "3 runs: its intervals are likely too narrow" in " ".join(map(str, found.notes))


@pytest.mark.parametrize(("seeds", "few"), [(4, True), (5, False)])
def test_five_runs_are_not_few(runs_dir: Path, seeds: int, few: bool) -> None:
    found = compare(read([write_run(runs_dir, [float(n)], seed=n) for n in range(seeds)]))
    assert ("likely too narrow" in " ".join(map(str, found.notes))) == few


def test_a_single_run_has_no_band_and_a_note_says_so(runs_dir: Path) -> None:
    found = compare(read([write_run(runs_dir, [1.0, 2.0])]))
    assert found.groups[0].final.interval is None
    assert band(found.groups[0].group, "eval", "steps").low is None
    assert "one run: no interval" in str(found.notes[0])


def test_the_curve_of_a_single_run_keeps_its_points(runs_dir: Path) -> None:
    run = read_results(write_run(runs_dir, [], np.arange(300.0).tolist()))
    (group,) = compare([run]).groups
    curve = band(group.group, "return", "steps")
    assert list(curve.x) == [10.0 * number for number in range(1, 301)]
    assert list(curve.middle) == list(range(300))


def test_runs_without_evaluations_are_left_out_and_named(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0], [7.0] * 5), write_run(runs_dir, [], [8.0] * 5, seed=1)]
    paths.append(write_run(runs_dir, [], [9.0] * 5, tau=0.01))
    runs = read(paths)
    found = compare(runs)
    assert found.metric == "eval"
    assert [list(each.finals) for each in found.groups] == [[1.0], []]
    notes = [str(note) for note in found.notes]
    assert notes[0] == "2 runs have no evaluations and are left out."
    assert not any("no results yet" in note for note in notes)
    # A training run may still get one.
    training = replace(runs[1], live=True)
    notes = [str(note) for note in compare([runs[0], training]).notes]
    assert "1 of 2 runs of TD3 has no results yet." in notes
    assert not any("left out" in note for note in notes)


def test_episodes_are_compared_where_no_run_has_evaluations(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [], [7.0 + seed] * 5, seed=seed) for seed in range(2)]
    found = compare(read(paths))
    assert found.metric == "return"
    assert found.groups[0].final.value == 7.5
    assert "2 runs have no evaluations; episode returns are compared" in str(found.notes[0])


def test_a_group_without_a_common_step_is_said_to_have_no_curve(runs_dir: Path) -> None:
    early, late = read([write_run(runs_dir, [1.0, 2.0], seed=seed) for seed in range(2)])
    said = "The runs of TD3 have no {} in common: no curve is drawn."
    assert said.format("step") not in map(str, compare([early, late]).notes)
    late = replace(late, evaluations=late.evaluations + np.array([1000.0, 0.0, 1000.0]))
    late = replace(late, clock=late.clock + 1000.0)
    found = compare([early, late])
    assert len(band(found.groups[0].group, "eval", "steps").x) == 0
    assert said.format("step") in map(str, found.notes)
    assert said.format("time") in map(str, compare([early, late], x="time").notes)


def test_a_run_without_results_is_counted_out(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [], [7.0] * 5), write_run(runs_dir, seed=1)]
    found = compare(read(paths)).groups[0]
    assert len(found.finals) == 1
    empty = compare(read(paths[1:])).groups[0]
    assert empty.final is None
    assert len(band(empty.group, "eval", "steps").x) == 0
    with pytest.raises(RequestError, match="no results yet"):
        improvement(found, empty)


def test_two_runs_do_not_tell_which_group_is_better(runs_dir: Path) -> None:
    groups = compare(read(two_groups(runs_dir, seeds=2))).groups
    with pytest.raises(RequestError, match="fewer than 3 runs"):
        improvement(*groups)


def test_environments_stand_side_by_side_but_are_never_pooled(runs_dir: Path) -> None:
    runs = read([write_run(runs_dir, [1.0]), write_run(runs_dir, [2.0], env=CAR)])
    found = compare(runs)
    assert [each.name for each in found.groups] == ["Pendulum-v1 TD3", f"{CAR} TD3"]
    with pytest.raises(RequestError, match=f"{CAR} and Pendulum-v1, whose returns"):
        compare(runs, by=("tau",))
    with pytest.raises(RequestError, match="cannot be compared"):
        improvement(*found.groups)
    assert len(compare(runs, by=("tau", "env")).groups) == 2


def test_groups_are_named_by_what_differs_and_else_by_their_folders(runs_dir: Path) -> None:
    started = [
        replace(run, group=f"Pendulum-v1_2seeds_{number // 2}")
        for number, run in enumerate(read(two_groups(runs_dir, seeds=2)))
    ]
    assert [each.name for each in group_runs(started)] == ["TD3 tau 0.005", "TD3 tau 0.01"]
    again = [replace(run, group="Pendulum-v1_2seeds_2") for run in started[:2]]
    names = [each.name for each in group_runs([*started[:2], *again])]
    assert names == ["Pendulum-v1_2seeds_0", "Pendulum-v1_2seeds_2"]


def test_a_setting_that_tells_groups_apart_is_in_their_names_though_others_differ(
    runs_dir: Path,
) -> None:
    paths = two_groups(runs_dir, seeds=2)
    other = {"steps": 500, "learning_starts": 50, "eval_interval": 100}
    paths.append(write_run(runs_dir, [1.0], **other))
    names = [each.name for each in group_runs(read(paths))]
    assert names[:2] == ["TD3 steps 1000, tau 0.005", "TD3 steps 1000, tau 0.01"]
    assert names[2] == "TD3 steps 500, tau 0.005"


def test_runs_are_grouped_by_any_setting_or_not_at_all(runs_dir: Path) -> None:
    runs = read(two_groups(runs_dir, seeds=2))
    assert [each.name for each in group_runs(runs, ("tau",))] == ["tau 0.005", "tau 0.01"]
    assert [len(each.runs) for each in group_runs(runs, ("run",))] == [1, 1, 1, 1]
    with pytest.raises(RequestError, match="Did you mean tau"):
        group_runs(runs, ("taux",))
    with pytest.raises(RequestError, match="cannot be grouped by seed"):
        group_runs(runs, ("seed",))


def test_a_branch_and_a_run_that_was_tuned_are_no_further_seeds(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0], seed=seed) for seed in range(2)]
    entry = {"step": 50, "field": "tau", "old": 0.005, "new": 0.02, "time": ""}
    RunDirectory.open(paths[1]).note(entry)
    runs = read(paths)
    assert len(compare(runs).groups) == 2
    assert settings_of(runs[1])["history"] == "tau=0.02 at 50"


def test_a_live_change_is_in_words_where_settings_have_names(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0], seed=seed) for seed in range(2)]
    for step, new, time in ((6900, 0.01, "10:00:00"), (6915, 0.02, "10:00:01"), (8000, 0.03, "11")):
        entry = {"step": step, "field": "tau", "old": 0.005, "new": new}
        RunDirectory.open(paths[1]).note(entry | {"time": f"2026-01-01T{time}"})
    found = compare(read(paths), called=sign_of)
    history = "τ 0.02 at step 6,915, τ 0.03 at step 8,0…"
    assert [each.name for each in found.groups] == ["TD3", f"TD3 ({history})"]
    assert [each.group.values("history", sign_of) for each in found.groups] == ["none", history]
    assert found.groups[1].group.values("history").startswith("tau=0.01 at 6900, tau=0.02")


def test_runs_by_themselves_have_the_names_that_the_user_gave_them(runs_dir: Path) -> None:
    paths = two_groups(runs_dir, seeds=1)
    write_label(paths[0], RunLabel(name="mine"))
    names = [each.name for each in group_runs(read(paths), ("run",))]
    assert names == ["mine", description_of(RunDirectory.open(paths[1]))]


def test_damaged_rows_are_left_out(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0, 2.0], [3.0])
    with (path / "evaluations.csv").open("a") as file:
        file.write("300,nan,1,,0,1 1,10 10,0,30\n400,x,1,,0,1,10,0,40\n500,9")
    run = read_results(path)
    assert list(run.evaluations[:, 1]) == [1.0, 2.0]
    (path / "episodes.csv").write_bytes(b"\0" * 100)
    assert len(read_results(path).episodes) == 0
    assert math.isnan(read_results(path).final("return"))


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (-168.04, -180.1, -140.3, "-168.0 [-180.1, -140.3]"),
        (-898.5, -2039.2, -537.8, "-898 [-2,039, -538]"),
        (999.9, 990.0, 1000.0, "1,000 [990, 1,000]"),
    ],
)
def test_large_figures_are_written_without_decimals(value, low, high, text) -> None:
    assert estimate_text(Estimate(value=value, interval=Interval(low=low, high=high))) == text


def test_a_figure_without_an_interval_is_its_value() -> None:
    assert estimate_text(Estimate(value=12.34, interval=None)) == "12.3"
    assert estimate_text(None) == "-"


def test_a_run_of_a_group_that_was_tuned_stands_apart_and_says_why(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0], seed=seed) for seed in range(3)]
    entry = {"step": 50, "field": "tau", "old": 0.005, "new": 0.02, "time": ""}
    RunDirectory.open(paths[2]).note(entry)
    runs = [replace(run, group="Pendulum-v1_3seeds_0") for run in read(paths)]
    found = group_runs(runs)
    assert [(each.name, len(each.runs)) for each in found] == [
        ("TD3", 2),
        ("TD3 (tau=0.02 at 50)", 1),
    ]


def test_a_network_without_layers_has_a_value_to_show() -> None:
    assert value_text("actor_hidden", ()) == str(value_words(())) == "none"
    assert value_text("actor_hidden", (64, 32)) == "64×32"


def test_words_for_values_are_translated_where_settings_have_labels(stretched: None) -> None:
    shown = [value_text("actor_hidden", value, sign_of) for value in (True, False, ())]
    assert [each.strip(f"{OPEN}{CLOSE}{PAD}") for each in shown] == ["on", "off", "none"]
    assert all(each.startswith(OPEN) for each in shown)
    assert value_text("twin_critics", True) == "on"


def test_a_value_with_a_word_of_its_own_is_shown_by_that(runs_dir: Path) -> None:
    floors = (NO_FLOOR, -20.0)
    runs = read([write_run(runs_dir, [1.0], reward_floor=floor) for floor in floors])
    found = compare(runs)
    assert [each.group.values("reward_floor") for each in found.groups] == ["off", "-20"]
    assert [each.name for each in found.groups] == ["TD3 reward_floor off", "TD3 reward_floor -20"]
