"""Short forms of tests/benchmarks: runs killed with SIGKILL, and files damaged at random."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.protocol.events import Ended
from td3core.runs.journal import Change
from tests.benchmarks.crashes import Trial, crashes
from tests.support.configurations import Kind, draw
from tests.support.damage_cases import Cases, make_run
from tests.support.lives import Life, differences, runs_of
from tests.support.marks import release, slow
from tests.td3core.helpers import finish, run
from tests.td3core.training.resuming import go_on, go_on_well, stop_at

SEED = 264
"""Of which the first two are cheap and have a bit of everything."""


@pytest.mark.parametrize("number", [*slow(0), *release(*range(1, 12))])
def test_what_is_killed_at_any_moment_ends_as_if_it_had_not_been(
    tmp_path: Path, number: int
) -> None:
    # The fifth is a group, and the tenth a sweep.
    for outcome in crashes(SEED, [number], 1 if number < 2 else 2, tmp_path):
        assert outcome.differences == []


@pytest.mark.release
def test_a_run_whose_changes_to_come_are_lost_is_found_to_differ(tmp_path: Path) -> None:
    drawn = draw(SEED, 1, 0)
    assert drawn.kind is Kind.RUN
    drawn.schedule, drawn.by_hand, drawn.verified = [Change(300, "gamma", 0.5)], 0, False
    drawn.settings |= {"steps": 400, "num_envs": 1, "env_processes": 0, "gamma": 0.9}
    trial = Trial(drawn, tmp_path)
    stopped = Life.begin(trial.place, [*trial.begin(trial.place), "--steps", "200"])
    assert stopped.end() == 0
    (run,) = runs_of(trial.runs_dir)
    (run / "journal.jsonl").write_text("")
    assert Life.begin(trial.place, ["resume", str(run), "--steps", "400"]).end() == 0
    trial.compare()
    assert any("live changes in the journal" in each for each in trial.outcome.differences)
    assert any("last.safetensors: live settings" in each for each in trial.outcome.differences)


REAL: dict[str, dict[str, Any]] = {
    "LunarLanderContinuous-v3": {},
    "BipedalWalker-v3": {"normalize_observations": True},
    "HalfCheetah-v5": {},
    "Ant-v5": {},
    "Pendulum-v1": {"num_envs": 4, "env_processes": 2, "background_evaluation": True},
}


USUALLY = ("Pendulum-v1", "BipedalWalker-v3")
LONG = tuple(env for env in REAL if env not in USUALLY)


@pytest.mark.parametrize("env", [*slow(*USUALLY), *release(*LONG)])
def test_real_environments_come_back_to_the_step(runs_dir: Path, env: str) -> None:
    values = {"steps": 300, "learning_starts": 60, "eval_interval": 90, "eval_episodes": 1}
    values |= {"checkpoint_interval": 70} | REAL[env]
    straight = finish(runs_dir / "straight", env, **values)
    outcome, _ = run(runs_dir, env, control=stop_at(30), **values)
    assert isinstance(outcome, Ended)
    go_on(outcome.run, control=stop_at(25))
    go_on_well(outcome.run)
    assert differences(straight.run, outcome.run) == []


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Return a run to damage."""
    folder = tmp_path_factory.mktemp("damage")
    return Cases(make_run(folder / "whole"), folder / "damaged" / "run")


@given(number=st.integers(0, 10**6))
@pytest.mark.slow
def test_a_damaged_file_opens_or_is_refused_with_a_sentence(cases: Cases, number: int) -> None:
    cases.case(number)
