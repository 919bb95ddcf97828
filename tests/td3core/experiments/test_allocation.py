"""How many runs train at once, by cores, memory and wish."""

import pytest

from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.experiments.groups.allocation import allocate, bytes_of_run
from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.launch import local_slots
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
    """Pretend to have this many cores and this much memory."""

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
    assert "each takes about 1.0 GiB and 2.5 GiB of memory are free" in str(allocate(5, GIB).reason)


@pytest.mark.parametrize("jobs", [0, -1, 5000])
def test_an_absurd_number_of_jobs_is_refused(jobs: int) -> None:
    with pytest.raises(RequestError, match="jobs cannot be"):
        allocate(5, GIB, jobs)


def test_a_larger_buffer_takes_more_memory_as_far_as_the_run_fills_it() -> None:
    small = bytes_of_run(*tiny(steps=10**6, buffer_size=10**5), INFO)
    large = bytes_of_run(*tiny(steps=10**6, buffer_size=10**6), INFO)
    short = bytes_of_run(*tiny(steps=1000, buffer_size=10**6), INFO)
    assert short < small < large


def test_the_largest_of_all_choices_decides_how_many_runs_of_a_sweep_train_at_once(
    machine, monkeypatch
) -> None:
    machine(16, 8)
    monkeypatch.setattr("td3core.experiments.sweeps.launch.free_cores", lambda: 16)
    text = SWEEP.format(more="")
    jobs = [
        local_slots(
            parse(f"{text}{name} = {{ choices = [[64, 64], {largest}, [128, 128]] }}", "sweep"),
            INFO,
        )
        for name in ("actor_hidden", "critic_hidden")
        for largest in ([32, 32], [8192, 8192])
    ]
    assert jobs[0] == jobs[2] > max(jobs[1], jobs[3])


SWEEP = """
environment = "Pendulum-v1"
steps = 60_000
[settings]
learning_starts = 20
eval_interval = 30
{more}
[space]
tau = {{ low = 0.1, high = 0.2 }}
buffer_size = {{ choices = [1000, 100_000_000] }}
"""


@pytest.mark.parametrize(
    ("free", "cores", "memory", "more", "expected"),
    [
        (16, 16, 64, "", 16),
        (5, 16, 64, "", 5),
        (16, 16, 64, "threads = 4", 4),
        (3, 16, 64, "threads = 4", 1),
        # A process of 600 MB each, and what 60,000 rows take.
        (16, 16, 2, "", 3),
        (2, 2, 0.1, "", 1),
    ],
)
def test_no_more_runs_of_a_sweep_train_at_once_than_cores_and_memory_allow(
    machine, monkeypatch, free: int, cores: int, memory: float, more: str, expected: int
) -> None:
    machine(cores, memory)
    monkeypatch.setattr("td3core.experiments.sweeps.launch.free_cores", lambda: free)
    assert local_slots(parse(SWEEP.format(more=more), "sweep"), INFO) == expected
