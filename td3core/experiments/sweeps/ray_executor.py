"""Trains the runs of a sweep on a Ray cluster, or on this machine through Ray.

One actor per run. Ray restarts the actor of a lost node elsewhere, and it continues from the run's
last checkpoint: in the runs folder if the nodes share it, else from the last fetched files.
"""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from td3core import __version__
from td3core.errors import RequestError, brief
from td3core.experiments.jobs import CODEC
from td3core.experiments.sweeps.executor import RunEnd, outcome_of
from td3core.experiments.sweeps.ray_worker import TABLES, RayWorker, pack, unpack
from td3core.runs.layout import DESCRIPTION
from td3core.system import numerics
from td3core.system.capacity import usable_cores
from td3core.system.files import write_atomically
from td3core.text import Text

_RESTARTS = 3
_NEWS_EVERY_S = 2.0
_CLOSE_S = 60.0
_LOCALHOST = "127.0.0.1"


@contextmanager
def connect(address: str) -> Iterator[None]:
    """Connect to a cluster, or start one on this machine, as long as the context lasts.

    Args:
        address: ``local``, ``auto`` or ``ray://host:port``.

    Raises:
        RequestError: the address is none of these, or the cluster cannot be reached or started.
    """
    if address not in ("local", "auto") and not address.startswith("ray://"):
        raise RequestError(
            "--ray cannot be {address}; it must be auto, local or ray://HOST:PORT.",
            address=repr(address),
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    options: dict[str, Any] = {"address": address, "log_to_driver": False}
    if address == "local":
        # The cluster is not reachable from other machines.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        options |= {"include_dashboard": False, "_node_ip_address": _LOCALHOST}
        options["num_cpus"] = usable_cores()
    try:
        ray.init(logging_level=logging.CRITICAL, **options)
    except Exception as problem:
        # Ray raises errors of many kinds, some of them bare Exceptions.
        reason = brief(problem, 160).rstrip(".")
        if address == "local":
            raise RequestError(
                "Ray could not be started on this machine: {reason}.", reason=reason
            ) from problem
        raise RequestError(
            "The Ray cluster {address} cannot be reached: {reason}. The extra {extra} must be"
            " installed there in the same version.",
            address=address,
            reason=reason,
            extra="td3-studio[ray]",
        ) from problem
    try:
        yield
    finally:
        ray.shutdown()


@dataclass(slots=True)
class _Job:
    """A run that trains on the cluster."""

    run: Path
    steps: int
    actor: Any
    result: Any
    stopping: bool = False
    shared: bool = True
    """Whether the node sees the run's folder, as far as known."""
    news: Any = None


class RayExecutor:
    """One Ray actor for each run."""

    def __init__(
        self, slots: int, modules: Sequence[str] = (), numerics_class: str = numerics.AUTO
    ) -> None:
        """Make an executor.

        Args:
            slots: Runs at once; 0 for one per core of the cluster.
            modules: The modules that the user allowed; on other nodes they may be in other
                folders.
            numerics_class: The class of its processes.
        """
        self.numerics, self._modules = numerics_class, tuple(modules)
        cores = int(ray.cluster_resources().get("CPU", 1))
        self.slots = slots or max(1, cores)
        self._jobs: dict[Path, _Job] = {}
        self._asked = 0.0

    def start(self, run: Path, steps: int) -> None:
        """Train this run from its current state to the end of this length."""
        actor = _actor_class(numerics.pinning(self.numerics)).remote()
        result = _train(actor, run, steps, None, self._modules)
        self._jobs[run] = _Job(run=run, steps=steps, actor=actor, result=result)

    def stop(self, run: Path) -> None:
        """Ask a run to save and end."""
        job = self._jobs.get(run)
        if job is not None:
            job.stopping = True
            job.actor.stop.remote()

    def wait(self, timeout_s: float) -> list[RunEnd]:
        """Return the runs that ended since the last call; wait for one, but no longer than this."""
        if not self._jobs:
            time.sleep(timeout_s)
            return []
        by_result = {job.result: job for job in self._jobs.values()}
        ready, _ = ray.wait(list(by_result), num_returns=1, timeout=timeout_s)
        ends = [self._end_of(by_result[each]) for each in ready]
        self._look_after()
        return [end for end in ends if end is not None]

    def kill(self) -> None:
        """Kill all remaining runs; they can be resumed from their last checkpoints."""
        for job in self._jobs.values():
            ray.kill(job.actor)
        self._jobs.clear()

    def close(self) -> None:
        """Stop all remaining runs, and kill those that do not stop."""
        for run in self._jobs:
            self.stop(run)
        end = time.monotonic() + _CLOSE_S
        while self._jobs and time.monotonic() < end:
            self.wait(0.5)
        self.kill()

    def _look_after(self) -> None:
        """Fetch new files of runs without a shared folder; repeat requests to stop.

        A restarted actor does not know of earlier requests.
        """
        if time.monotonic() - self._asked < _NEWS_EVERY_S:
            return
        self._asked = time.monotonic()
        for job in self._jobs.values():
            if job.stopping:
                job.actor.stop.remote()
            if job.shared:
                continue
            if job.news is None:
                job.news = job.actor.news.remote()
            elif ray.wait([job.news], timeout=0)[0]:
                self._store_news(job)

    def _store_news(self, job: _Job) -> None:
        news, job.news = job.news, None
        try:
            snapshot, tables = ray.get(news)
        except ray.exceptions.RayError:
            return
        if snapshot is not None:
            unpack(snapshot, job.run)
        for name in TABLES:
            if tables.get(name):
                write_atomically(job.run / name, tables[name])

    def _end_of(self, job: _Job) -> RunEnd | None:
        """Return how a run ended; None if its node only lacked the files and now trains it."""
        try:
            found = ray.get(job.result)
        except ray.exceptions.RayError as problem:
            del self._jobs[job.run]
            cause = brief(type(problem).__name__)
            lost = Text("its Ray worker was lost ({cause})", cause=cause)
            return RunEnd(run=job.run, outcome=None, lost=lost)
        if found.get("needs_files"):
            job.shared = False
            files = ray.put(pack(job.run))
            job.result = _train(job.actor, job.run, job.steps, files, self._modules)
            return None
        files = found.pop("files", None)
        if files is not None:
            unpack(files, job.run)
        del self._jobs[job.run]
        ray.kill(job.actor)
        return RunEnd(run=job.run, outcome=outcome_of(CODEC.decode(found["event"])))


def _train(actor: Any, run: Path, steps: int, files: Any, modules: tuple[str, ...]) -> Any:
    description = (run / DESCRIPTION).read_bytes()
    return actor.train.remote(__version__, str(run), steps, description, files, modules)


def classes_of_nodes() -> list[tuple[str, ...]]:
    """Return the numerics classes of each node of the cluster, the fastest first."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    look = ray.remote(num_cpus=0)(numerics.available)
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    plans = [NodeAffinitySchedulingStrategy(node, soft=False) for node in nodes]
    return list(ray.get([look.options(scheduling_strategy=plan).remote() for plan in plans]))


def _actor_class(variables: dict[str, str]) -> Any:
    """Return the worker as an actor, which Ray restarts when its node or process is lost.

    ``variables`` are set in its process before it imports anything.
    """

    class Actor(RayWorker):
        def __init__(self) -> None:
            restarted = ray.get_runtime_context().was_current_actor_reconstructed
            super().__init__(restarted=restarted)

    options = {
        "num_cpus": 1,
        "max_restarts": _RESTARTS,
        "max_task_retries": _RESTARTS,
        # One thread for the run, the others for requests meanwhile.
        "max_concurrency": 3,
        "runtime_env": {"env_vars": variables},
    }
    return ray.remote(**options)(Actor)
