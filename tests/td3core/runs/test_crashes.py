"""Short forms of tests/benchmarks: runs killed with SIGKILL, and files damaged at random."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from td3core.protocol.events import Ended
from tests.benchmarks.crashes import Aim, crashes
from tests.benchmarks.resume_equality import BOTH, equality
from tests.support.damage_cases import Cases, make_run
from tests.support.lives import differences
from tests.support.marks import release, slow
from tests.td3core.helpers import finish, run
from tests.td3core.training.resuming import go_on, go_on_well, stop_at


@pytest.mark.parametrize("kills", [*slow(1), *release(8)])
def test_a_run_killed_at_any_moment_loses_no_more_than_its_last_steps(
    tmp_path: Path, kills: int
) -> None:
    for figures in crashes(tmp_path, kills=kills, interval=20, steps=500, longest_s=0.3):
        assert figures.faults == []
    assert figures.kills == {Aim.RANDOM: kills}
    assert figures.lost
    assert 0 <= min(figures.lost) <= max(figures.lost) <= 20


@pytest.mark.release
def test_a_run_killed_in_the_middle_of_writing_goes_on_the_same(tmp_path: Path) -> None:
    for figures in crashes(tmp_path, kills=0, interval=20, steps=500, aimed=2):
        assert figures.faults == []
    assert figures.kills.total() == 2
    assert set(figures.kills) <= {Aim.AGENT, Aim.MEMORY}


@pytest.mark.slow
def test_a_run_killed_twice_and_one_that_follows_its_journal_equal_the_whole_one(
    tmp_path: Path,
) -> None:
    found = equality("Pendulum-v1, 4 environments", tmp_path, steps=800, kills=2, ways=BOTH[1:])
    assert found == {
        "live changes, killed": (2, []),
        "journal followed": (0, []),
    }


REAL: dict[str, dict[str, Any]] = {
    "LunarLanderContinuous-v3": {},
    "BipedalWalker-v3": {"normalize_observations": True},
    "HalfCheetah-v5": {},
    "Ant-v5": {},
    "Pendulum-v1": {"num_envs": 4, "env_processes": 2, "eval_beside": True},
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
def test_a_damaged_file_opens_or_is_refused_with_a_sentence(cases: Cases, number: int) -> None:
    cases.case(number)
