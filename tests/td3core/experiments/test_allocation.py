"""How many runs train at once, by cores, memory and wish."""

from pathlib import Path

import pytest

from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.experiments.groups.allocation import allocate, bytes_of_run
from td3core.system.capacity import free_memory, usable_cores
from tests.td3core.helpers import tiny

GIB = 2**30
INFO = EnvInfo(
    env_id="E",
    obs_dim=3,
    act_dim=2,
    action_low=(-1.0, -1.0),
    action_high=(1.0, 1.0),
    max_episode_steps=None,
    reward_threshold=None,
)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch):
    """Pretend to have so many cores and so much memory."""

    def pretend(cores: int, memory: float) -> None:
        where = "td3core.experiments.groups.allocation."
        monkeypatch.setattr(where + "usable_cores", lambda: cores)
        monkeypatch.setattr(where + "free_memory", lambda: int(memory * GIB))

    return pretend


@pytest.mark.parametrize(
    ("cores", "memory", "jobs", "threads", "expected"),
    [
        (2, 64, None, 0, (2, 1)),
        (1, 64, None, 0, (1, 1)),
        (16, 64, None, 0, (5, 3)),
        (16, 64, None, 4, (4, 4)),
        (16, 3.5, None, 0, (3, 5)),
        (2, 64, 4, 0, (4, 1)),
        (2, 2.5, 4, 1, (2, 1)),
        (8, 0.1, None, 0, (1, 8)),
    ],
)
def test_five_runs_of_a_gibibyte_share_the_machine(
    machine, cores: int, memory: float, jobs: int | None, threads: int, expected: tuple[int, int]
) -> None:
    machine(cores, memory)
    found = allocate(5, GIB, jobs, threads)
    assert (found.jobs, found.threads) == expected
    assert str(found.reason).startswith(f"{expected[0]} at once (threads: {expected[1]})")


def test_the_reason_names_the_memory_where_it_is_short(machine) -> None:
    machine(16, 2.5)
    assert "each takes about 1.0 GiB and 2.5 GiB of memory are free" in allocate(5, GIB).reason


@pytest.mark.parametrize("jobs", [0, -1, 5000])
def test_an_absurd_number_of_jobs_is_refused(jobs: int) -> None:
    with pytest.raises(RequestError, match="jobs cannot be"):
        allocate(5, GIB, jobs)


def test_a_larger_buffer_takes_more_memory_as_far_as_the_run_fills_it() -> None:
    small = bytes_of_run(*tiny(steps=10**6, buffer_size=10**5), INFO)
    large = bytes_of_run(*tiny(steps=10**6, buffer_size=10**6), INFO)
    short = bytes_of_run(*tiny(steps=1000, buffer_size=10**6), INFO)
    assert short < small < large


def test_the_limits_of_a_container_count(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("100000 100000\n")
    (tmp_path / "memory.max").write_text("4096\n")
    (tmp_path / "memory.current").write_text("1096\n")
    assert usable_cores(tmp_path) == 1
    assert free_memory(tmp_path) == 3000


def test_a_container_without_limits_has_what_the_machine_has(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert usable_cores(tmp_path) == usable_cores(tmp_path / "nowhere") >= 1
    assert free_memory(tmp_path) > 2**20
