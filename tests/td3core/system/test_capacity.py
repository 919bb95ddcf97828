"""Cores and memory in containers of every kind; their files are scripted."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from td3core.config import default_threads
from td3core.system.capacity import free_cores, free_memory, usable_cores, usable_memory

MACHINE_CORES = 64
GIB = 2**30
NO_LIMIT = str(2**63 - 4096)
Files = dict[str, str]


@pytest.fixture(autouse=True)
def _large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = set(range(MACHINE_CORES))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: everything, raising=False)
    for name in ("cpu_count", "process_cpu_count"):
        monkeypatch.setattr(os, name, lambda: MACHINE_CORES, raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    memory = psutil.virtual_memory()._replace(total=256 * GIB, available=128 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)


@pytest.fixture
def machine(tmp_path: Path) -> Callable[[str, Files], Path]:
    """Write which groups a process is in, and their files."""

    def write(groups: str, files: Files) -> Path:
        for name, text in {"proc/self/cgroup": groups, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


V1 = "5:cpu,cpuacct:/docker/3f\n4:memory:/docker/3f\n1:name=systemd:/docker/3f\n"
CPU, MEMORY = "sys/fs/cgroup/cpu/", "sys/fs/cgroup/memory/"


@pytest.mark.parametrize(
    ("groups", "files", "cores"),
    [
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"}, MACHINE_CORES),
        # Half a core too many would be taken away again, in the middle of an update.
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "350000 100000\n"}, 3),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        # The group itself has no limit, but one that it is in.
        (
            "0::/user.slice/run.scope\n",
            {
                "sys/fs/cgroup/user.slice/run.scope/cpu.max": "max 100000\n",
                "sys/fs/cgroup/user.slice/cpu.max": "400000 100000\n",
            },
            4,
        ),
        ("0::/../../outside\n", {"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
        # The older version; the folder of the group cannot be seen from within.
        (V1, {CPU + "cpu.cfs_quota_us": "200000\n", CPU + "cpu.cfs_period_us": "100000\n"}, 2),
        (
            V1,
            {
                CPU + "cpu.cfs_quota_us": "-1\n",
                CPU + "cpu.cfs_period_us": "100000\n",
                CPU + "docker/3f/cpu.cfs_quota_us": "300000\n",
                CPU + "docker/3f/cpu.cfs_period_us": "100000\n",
            },
            3,
        ),
        (V1 + "0::/\n", {"sys/fs/cgroup/unified/cgroup.procs": ""}, MACHINE_CORES),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": ""}, MACHINE_CORES),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "100000 0\n"}, MACHINE_CORES),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "1 2 3\n"}, MACHINE_CORES),
        ("nonsense\n\n::::\n0", {}, MACHINE_CORES),
    ],
)
def test_no_more_cores_are_used_than_the_container_has(
    machine, groups: str, files: Files, cores: int
) -> None:
    assert usable_cores(machine(groups, files)) == cores


@pytest.mark.parametrize(
    ("groups", "files", "whole", "free"),
    [
        (
            "0::/\n",
            {
                "sys/fs/cgroup/memory.max": f"{4 * GIB}\n",
                "sys/fs/cgroup/memory.current": f"{3 * GIB}\n",
                # Of files that were written lately.
                "sys/fs/cgroup/memory.stat": f"anon {GIB}\ninactive_file {GIB}\n",
            },
            4,
            2,
        ),
        (
            "0::/a/b\n",
            {
                "sys/fs/cgroup/a/b/memory.max": "max\n",
                "sys/fs/cgroup/a/b/memory.current": "1000\n",
                "sys/fs/cgroup/a/memory.max": f"{8 * GIB}\n",
                "sys/fs/cgroup/a/memory.current": f"{9 * GIB}\n",
            },
            8,
            0,
        ),
        (
            V1,
            {
                MEMORY + "memory.limit_in_bytes": f"{6 * GIB}\n",
                MEMORY + "memory.usage_in_bytes": f"{2 * GIB}\n",
                MEMORY + "memory.stat": f"inactive_file 0\ntotal_inactive_file {GIB}\n",
            },
            6,
            5,
        ),
        (
            V1,
            {
                MEMORY + "memory.limit_in_bytes": NO_LIMIT,
                MEMORY + "memory.usage_in_bytes": "2000\n",
            },
            256,
            128,
        ),
        ("0::/\n", {"sys/fs/cgroup/memory.max": "4096\n"}, 256, 128),
        ("", {}, 256, 128),
    ],
)
def test_no_more_memory_is_used_than_the_container_has(
    machine, groups: str, files: Files, whole: int, free: int
) -> None:
    root = machine(groups, files)
    assert (usable_memory(root), free_memory(root)) == (whole * GIB, free * GIB)


def test_only_the_cores_this_process_may_run_on_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 2, raising=False)
    assert usable_cores(tmp_path) == 2


@pytest.mark.parametrize(("load", "free"), [(0.2, 4), (61.4, 3), (80.0, 1)])
def test_cores_are_free_as_far_as_the_load_of_the_machine_leaves_them(
    machine, monkeypatch: pytest.MonkeyPatch, load: float, free: int
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert free_cores(machine("0::/\n", {"sys/fs/cgroup/cpu.max": "400000 100000"})) == free


def test_a_run_takes_one_thread_fewer_than_the_container_has_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for cores, threads in ((2, 1), (1, 1), (8, 7)):
        monkeypatch.setattr("td3core.config.run_config.usable_cores", lambda cores=cores: cores)
        assert default_threads() == threads


def test_nobody_else_counts_cores_or_memory(root: Path) -> None:
    counting = re.compile(
        r"cpu_count|sched_getaffinity|getloadavg|SC_PHYS_PAGES|SC_NPROCESSORS|virtual_memory"
    )
    modules = [path for name in ("td3core", "studio") for path in (root / name).rglob("*.py")]
    found = {path.name for path in modules if counting.search(path.read_text("utf-8"))}
    assert found == {"capacity.py"}
