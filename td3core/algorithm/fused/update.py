"""Runs an agent's updates with the compiled kernel."""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from td3core.algorithm import memory
from td3core.algorithm.fused import kernel, parallel, passes
from td3core.arrays import Doubles
from td3core.buffer.rows import RowLayout
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig, Tunables

if TYPE_CHECKING:
    from td3core.algorithm.train_state import TrainState

log = logging.getLogger(__name__)

Kernel = Callable[..., int]

_LIVE_OF = attrgetter(*kernel.Live._fields)
_size_of_h = passes.size_of_h.py_func
_CHANGED = ("online", "target", "gradient", "exp_avg", "exp_avg_sq", "step")
"""Parts of a network that an update modifies."""


class KernelChoice:
    """Runs the kernel on one thread or two, whichever is currently faster, with equal results."""

    BLOCK, ROUNDS = 12, 3
    """Consecutive calls with one thread count, and number of such blocks for each. Single calls
    would not be comparable: only every second one moves the actor, and sleeping threads take time
    to wake."""
    TRIALS = 2 * ROUNDS * BLOCK
    RECHECK_AFTER_CALLS = 3_000
    """Calls until both are tried again: another program may need the second core by then."""
    CLEARLY_FASTER = 1.1
    """Minimum speed-up by the second thread, which takes a core from everything else."""

    _pool = threading.Lock()
    """Numba's thread pool may run only one call at a time; a second one could abort the process."""

    def __init__(self, *, may_be_parallel: bool) -> None:
        self._possible = self._may_be_parallel = may_be_parallel
        self._same: dict[int, bool] = {}
        """By batch size, whether two threads give the same result as one, bit for bit."""
        self._serial: Kernel = kernel.update_many
        self._begin_trials()

    def _begin_trials(self) -> None:
        self.parallel: bool | None = None if self._may_be_parallel else False
        """``None`` during trials."""
        self._calls = 0
        """Calls since the trials began or ended."""
        self._seconds: tuple[list[float], list[float]] = ([], [])
        """Seconds of each block: on one thread, on two."""

    def __call__(self, count: int, arguments: tuple[Any, ...]) -> int:
        """Do ``count`` updates; return how many moved the actor."""
        self._calls += 1
        if self.parallel is None:
            return self._try(count, arguments)
        if self._may_be_parallel and self._calls > self.RECHECK_AFTER_CALLS:
            self._begin_trials()
            return self(count, arguments)
        return self.run(self.parallel, arguments)

    def _try(self, count: int, arguments: tuple[Any, ...]) -> int:
        block, place = divmod(self._calls - 1, self.BLOCK)
        threaded = block % 2 == 1
        start = time.perf_counter()
        moved = self.run(threaded, arguments)
        if place == 0:
            # Not measured: this call wakes the threads.
            self._seconds[threaded].append(0.0)
        else:
            self._seconds[threaded][-1] += (time.perf_counter() - start) / count
        if self._calls == self.TRIALS:
            alone, together = (float(np.median(each)) for each in self._seconds)
            self.parallel, self._calls = alone > self.CLEARLY_FASTER * together, 0
        return moved

    def set_batch(self, batch: int, trial: Callable[[], tuple[Any, ...]]) -> None:
        """Begin trials for a batch size, unless two threads would change a bit of its updates.

        Args:
            batch: transitions per update.
            trial: returns the arguments of a call: equal each time, not shared with anything else.
        """
        if self._possible and batch not in self._same:
            enough = batch >= parallel.SMALLEST_BATCH
            self._same[batch] = enough and self._same_bits(trial(), trial())
            if not self._same[batch]:
                log.info("one thread for batches of %d: few rows, or two change bits", batch)
        # Times of another batch size say nothing about this one.
        self._may_be_parallel = self._same.get(batch, False)
        self._begin_trials()

    def _same_bits(self, one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
        with self._pool:
            self._on_one_thread(one)
            self._on_two_threads(two)
        results = [
            [array.tobytes() for array in (*_arrays(actor), *_arrays(critics), sums)]
            for _, _, actor, critics, *_, sums in (one, two)
        ]
        return bool(results[0] == results[1])

    def run(self, threaded: bool, arguments: tuple[Any, ...]) -> int:
        """Do updates; two threads are used only if no other call in this process uses them."""
        if not threaded or not self._pool.acquire(blocking=False):
            return self._on_one_thread(arguments)
        try:
            return self._on_two_threads(arguments)
        finally:
            self._pool.release()

    def _on_one_thread(self, arguments: tuple[Any, ...]) -> int:
        moved = self._serial(*arguments)
        if self._serial is kernel.update_many:
            self._serial = _without_dispatch(self._serial)
        return moved

    def _on_two_threads(self, arguments: tuple[Any, ...]) -> int:
        """Run on two threads; the caller must hold the lock ``_pool``."""
        numba.set_num_threads(parallel.THREADS)
        parallel_kernel: Kernel = parallel.update_many
        return parallel_kernel(*arguments)


def _arrays(network: Any) -> list[Any]:
    return [getattr(network, name) for name in _CHANGED]


def _live(tunables: Tunables) -> Any:
    return kernel.Live(*_LIVE_OF(tunables))


def _without_dispatch(function: Any) -> Kernel:
    """Return the compiled code of a function that has been called before.

    This saves 4 µs per call for checking the argument types.
    """
    overloads = list(function.overloads.values())
    entry: Kernel = overloads[0].entry_point if len(overloads) == 1 else function
    return entry


class FusedUpdate:
    """Runs several updates of an agent in one compiled call, in place on its tensors."""

    def __init__(
        self,
        config: RunConfig,
        actor: "TrainState",
        critics: "TrainState",
        smoothing: np.random.Generator,
        sums: Doubles,
    ) -> None:
        """``sums``: the sums of :class:`~td3core.algorithm.update_metrics.UpdateMetrics`."""
        self._smoothing, self._sums = smoothing, sums
        self._networks = tuple(
            passes.Network(
                np.array(state.group.widths, np.int64),
                len(state.group.names),
                state.group.activation == "relu",
                state.group.layer_norm,
                *state.arrays(),
            )
            for state in (actor, critics)
        )
        pool: Any = numba.config
        threads = min(config.torch_threads, pool.NUMBA_NUM_THREADS)
        self.choice = KernelChoice(may_be_parallel=len(critics.group.names) > 1 and threads > 1)
        self._obs_dim, self._act_dim = actor.group.widths[0], actor.group.widths[-1]
        self._identity = np.zeros(self._obs_dim, np.float32), np.ones(self._obs_dim, np.float32)
        self._work: Any = None
        self._tunables: Tunables | None = None
        """Live settings that ``_live`` was made from."""
        self._live: Any = None

    def __call__(self, draws: Draws, tunables: Tunables, updates: int) -> int:
        """Do the updates of ``draws``, after the first ``updates`` of the run.

        Returns:
            The number of updates that moved the actor.
        """
        count, batch = draws.index.shape
        if self._work is None or len(self._work.y) != batch:
            self._work = self._make_work(batch)
            self.choice.set_batch(batch, partial(self._trial, batch))
        noise = self._smoothing.standard_normal((count, batch, self._act_dim), np.float32)
        normaliser = draws.normaliser
        shift, scale = self._identity if normaliser is None else normaliser.affine()
        sources = kernel.Sources(
            draws.rows,
            draws.index,
            noise,
            shift,
            scale,
            normaliser is not None,
            draws.reward_floor,
        )
        if tunables is not self._tunables:
            self._tunables, self._live = tunables, _live(tunables)
        rest = self._live, updates, self._work, self._sums
        return self.choice(count, (sources, draws.buffer.layout, *self._networks, *rest))

    def try_out(self, threads: int) -> None:
        """Do an update on one or two threads, of copies of the networks, so that it is compiled."""
        self.choice.run(threads > 1, self._trial(parallel.SMALLEST_BATCH))

    def _trial(self, batch: int) -> tuple[Any, ...]:
        """Return the arguments of a trial update: copies of the networks, and random inputs."""
        source = np.random.default_rng(0)
        layout = RowLayout.of(self._obs_dim, self._act_dim)
        rows = source.standard_normal((batch, layout.end), np.float32)
        noise = source.standard_normal((1, batch, self._act_dim), np.float32)
        sources = kernel.Sources(
            rows, np.arange(batch)[None], noise, *self._identity, False, -np.inf
        )
        networks = [
            network._replace(**{name: getattr(network, name).copy() for name in _CHANGED})
            for network in self._networks
        ]
        live = _live(Tunables())._replace(policy_delay=1)
        return sources, layout, *networks, live, 0, self._make_work(batch), self._sums.copy()

    def td_errors(self) -> Doubles:
        """Return |Q1(s, a) - y| of the last batch, shape (batch,), as it was before the step."""
        errors: Doubles = self._work.td_error.astype(np.float64)
        return errors

    def _make_work(self, batch: int) -> Any:
        """Return the arrays that an update of this batch size computes in."""
        _, critics = self._networks
        members = critics.members
        (actor_h, actor_g), (critic_h, critic_g) = (
            [int(_size_of_h(each.widths, batch, kept)) for kept in (each.layer_norm, False)]
            for each in self._networks
        )
        pair, obs = (batch, int(critics.widths[0])), (batch, self._obs_dim)
        quantiles = int(critics.widths[-1]) if critics.widths[-1] > 1 else 0
        atoms = (members * quantiles, batch), (members, 2 * quantiles + 1, batch)
        batches = (batch,), (batch,), (members, batch), (batch,), *atoms, (batch,)
        # Q' does not need the outputs of the target actor: both share memory.
        longest = max(actor_h, critic_h)
        sizes = (actor_h,), (actor_g,), (members, longest), (members, critic_g)
        shapes = (pair, pair, obs, *batches, *sizes)
        return kernel.Work(*memory.zeros(shapes))
