"""How many runs train at once, and with how many threads each."""

from dataclasses import dataclass

from td3core.buffer.replay_buffer import ring_rows
from td3core.buffer.rows import RowLayout
from td3core.config import RunConfig, Tunables
from td3core.config.network_size import network_bytes
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.system.capacity import MOST_JOBS, free_memory, usable_cores
from td3core.text import Text

PROCESS_BYTES = 600 * 2**20
"""Memory of a process before its first step: mostly torch, and the evaluation process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """How the runs of a group share this machine."""

    jobs: int
    """Number of runs at once."""
    threads: int
    """Torch threads of each run."""
    reason: Text
    """Why this many runs train at once, as a sentence."""


def bytes_of_run(config: RunConfig, tunables: Tunables, info: EnvInfo) -> int:
    """Return about how many bytes of memory a process takes to train with these settings."""
    layout = RowLayout.of(*info.sizes)
    rows = ring_rows(config.buffer_size, layout, kept=config.keep_replay)
    # Memory is allocated as rows are filled; a short run never fills the buffer.
    rows = min(rows, config.steps + config.num_envs)
    buffer = rows * layout.bytes
    networks = network_bytes(config, tunables, info.sizes)
    return PROCESS_BYTES * (1 + config.stepping_processes // 4) + buffer + networks


def allocate(runs: int, needed: int, jobs: int | None = None, threads: int = 0) -> Allocation:
    """Decide how many of ``runs`` train at once.

    Args:
        runs: Number of runs.
        needed: Bytes of memory per run.
        jobs: Number of runs at once that the user wants; None for as many as cores and memory
            allow.
        threads: Threads per run; 0 to divide the cores among the runs.

    Raises:
        RequestError: ``jobs`` is out of range.
    """
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise RequestError("jobs cannot be {jobs}; use 1 to {most}.", jobs=jobs, most=MOST_JOBS)
    cores, room = usable_cores(), free_memory()
    wanted = min(runs, jobs or max(cores // max(threads, 1), 1))
    at_once = max(1, min(wanted, room // max(needed, 1)))
    chosen = threads or max(1, cores // at_once)
    values = {"jobs": at_once, "threads": chosen}
    if at_once < wanted:
        reason = Text(
            "{jobs} at once (threads: {threads}): each takes about {needed:.1f} GiB and {room:.1f}"
            " GiB of memory are free",
            needed=needed / 2**30,
            room=room / 2**30,
            **values,
        )
    elif jobs is not None:
        reason = Text("{jobs} at once (threads: {threads}), as requested", **values)
    else:
        reason = Text.counted(
            "{jobs} at once (threads: {threads}) on {n} core",
            "{jobs} at once (threads: {threads}) on {n} cores",
            n=cores,
            **values,
        )
    return Allocation(jobs=at_once, threads=chosen, reason=reason)
