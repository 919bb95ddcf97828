"""Traces of single updates: reported at intervals, or one by one while a run is paused.

Without a viewer this costs one call per turn, and nothing is computed.
"""

from collections.abc import Callable
from time import perf_counter

from td3core.algorithm.agent import Algorithm, UpdateTracer, make_tracer
from td3core.buffer.sampler import Draws
from td3core.config import RunConfig
from td3core.config.networks import Sizes
from td3core.protocol.events import Traced

TRACE_S = 0.5
"""Seconds between two reports while the run is not paused."""


class Tracing:
    """Does the updates of a turn, and reports traces of some if requested."""

    def __init__(
        self,
        agent: Algorithm,
        config: RunConfig,
        sizes: Sizes,
        report: Callable[[Traced], None],
        wait: Callable[[], bool],
    ) -> None:
        """``wait``: waits within a turn for the next request; returns whether it is a step."""
        self._agent, self._config, self._sizes = agent, config, sizes
        self._report, self._wait = report, wait
        self._tracer: UpdateTracer | None = None
        """Made on first use; it includes a copy of the agent."""
        self.wanted = False
        """Whether single updates should be reported."""
        self.single = False
        """Whether the run should pause after the next update."""
        self._reported_at = 0.0

    def watch(self, *, wanted: bool, single: bool) -> None:
        """Set the requests; ``single`` works without ``wanted``."""
        self.wanted, self.single = wanted, single
        if not (wanted or single):
            self._tracer = None

    def update(self, draws: Draws, env_steps: int) -> None:
        """Do the updates of ``draws``."""
        if not (self.single or (self.wanted and self._is_due())):
            self._agent.update_from(draws)
            return
        tracer = self._tracer = self._tracer or make_tracer(self._agent, self._config, self._sizes)
        first = 0
        while first < len(draws):
            if tracer is None or not (self.single or first == 0):
                self._agent.update_from(draws.part(first))
                return
            single = self.single
            traced = tracer.update(draws.part(first, first + 1), env_steps=env_steps, single=single)
            self._report(traced)
            self._reported_at = perf_counter()
            first += 1
            if single and first < len(draws):
                # Any request other than a step is handled at the end of the turn.
                self.single = self._wait()

    def _is_due(self) -> bool:
        return perf_counter() - self._reported_at >= TRACE_S
