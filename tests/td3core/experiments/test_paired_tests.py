"""A change is tried in pairs of branches that differ in nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from td3core.checkpoint import read_header
from td3core.errors import RequestError
from td3core.experiments.paired_tests import duration_s, judge, plan_paired_test
from td3core.runs.directory import RunDirectory
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.helpers import finish


@pytest.fixture
def last(runs_dir: Path) -> Path:
    return RunDirectory.open(finish(runs_dir, steps=60).run).last


def test_both_sides_differ_in_the_change_alone_and_each_pair_has_a_seed(last: Path) -> None:
    header = read_header(last)
    test = plan_paired_test(last, header, {"critic_lr": 1e-4}, steps=40, pairs=3)
    one, other = test.with_change, test.without
    assert one.config == other.config
    assert one.config.steps == 100
    assert one.config.eval_interval == 10
    assert one.tunables == replace(other.tunables, critic_lr=1e-4)
    assert other.tunables == header.tunables
    assert test.seeds == tuple(header.config.seed + i for i in range(3))
    assert test.total_steps == 240


@pytest.mark.parametrize(
    ("pairs", "jobs", "rounds"), [(3, 2, 2), (3, 3, 1), (3, 8, 1), (4, 2, 2), (3, 1, 3), (3, -1, 3)]
)
def test_the_duration_counts_both_arms_in_rounds_of_the_runs_that_train_at_once(
    pairs: int, jobs: int, rounds: int
) -> None:
    assert duration_s(40, pairs, 10.0, jobs) == 2 * rounds * 40 / 10.0


def test_what_follows_a_schedule_is_held_where_it_is(runs_dir: Path) -> None:
    falling = finish(runs_dir, steps=60, critic_lr="0.004@0, x0.5@100%", tau="0.2@0, 0.1@60")
    last = RunDirectory.open(falling.run).last
    header = read_header(last)
    assert dict(header.tunables.schedules).keys() == {"critic_lr", "tau"}
    test = plan_paired_test(last, header, {"critic_lr": 1e-4}, steps=40, pairs=1)
    assert test.with_change.tunables.critic_lr == 1e-4
    assert test.without.tunables.critic_lr == header.tunables.critic_lr
    for arm in (test.with_change, test.without):
        assert not arm.tunables.schedules
        assert arm.tunables.tau == header.tunables.tau


def test_what_cannot_be_tried_is_refused(last: Path) -> None:
    header = read_header(last)
    for values, steps, pairs in (
        ({"twin_critics": False}, 40, 3),
        ({"tau": 7.0}, 40, 3),
        ({"tau": 0.1}, 0, 3),
        ({"tau": 0.1}, 40, 11),
    ):
        with pytest.raises(RequestError):
            plan_paired_test(last, header, values, steps=steps, pairs=pairs)


def test_runs_are_judged_by_pairs_of_the_same_seed(runs_dir: Path) -> None:
    sides = [
        {seed: write_run(runs_dir, [0.0, value + seed], seed=seed) for seed in (0, 1, 2)}
        for value in (10.0, 7.0)
    ]
    found = judge(*sides)
    assert found.differences == (3.0, 3.0, 3.0)
    assert found.is_certain
    with pytest.raises(RequestError, match="no pairs"):
        judge(sides[0], {9: sides[1][0]})
    with pytest.raises(RequestError, match="was not evaluated"):
        judge({0: write_run(runs_dir)}, {0: sides[1][0]})


def test_a_pair_is_compared_where_both_were_evaluated(runs_dir: Path) -> None:
    whole = write_run(runs_dir, [0.0, 10.0, 50.0])
    stopped = write_run(runs_dir, [0.0, 7.0])
    assert judge({0: whole}, {0: stopped}).differences == (3.0,)
    assert judge({0: stopped}, {0: whole}).differences == (-3.0,)
    other = write_run(runs_dir, [1.0], every=150)
    with pytest.raises(RequestError, match="was not evaluated"):
        judge({0: whole}, {0: other})


def test_runs_that_branch_off_different_agents_are_no_pairs(runs_dir: Path) -> None:
    runs = [write_run(runs_dir, [0.0] * 8) for _ in range(3)]
    for run, step in zip(runs, (500, 500, 600), strict=True):
        with (run / "run.toml").open("a") as file:
            file.write(f'[parent]\nrun = "parent"\ncheckpoint = "last"\nenv_steps = {step}\n')
    assert judge({0: runs[0]}, {0: runs[1]}).differences == (0.0,)
    with pytest.raises(RequestError, match="do not branch off the same agent"):
        judge({0: runs[0]}, {0: runs[2]})
