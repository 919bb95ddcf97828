"""State of a run: captured in checkpoints, restored from them, and reported."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from td3core.algorithm.agent import Algorithm
from td3core.buffer.replay_buffer import ReplayBuffer
from td3core.buffer.sampler import Sampler
from td3core.checkpoint import Checkpoint, Counters, Header, Origin
from td3core.config import RunConfig
from td3core.config.networks import LAST_LR
from td3core.envs.info import EnvInfo
from td3core.protocol.events import Phase, Progress
from td3core.system import timestamp
from td3core.training.collector import Collector
from td3core.training.divergence import require_finite_agent, require_finite_state
from td3core.training.live_settings import LiveSettings
from td3core.training.recorder import Recorder
from td3core.training.run_clock import RunClock


class RunState:
    """The counters of a run, and the parts that make up a checkpoint."""

    def __init__(
        self,
        config: RunConfig,
        info: EnvInfo,
        agent: Algorithm,
        collector: Collector,
        sampler: Sampler,
        buffer: ReplayBuffer,
        live: LiveSettings,
        clock: RunClock,
        numerics: Mapping[str, str],
    ) -> None:
        """``numerics``: the record of :mod:`td3core.algorithm.fingerprint`, for checkpoints."""
        self._config, self._info, self._agent = config, info, agent
        self._collector, self._sampler, self._buffer = collector, sampler, buffer
        self._live, self._clock, self._numerics = live, clock, numerics
        self.env_steps = self.episodes = self.sampled = 0
        self.no_updates_until = 0
        """No updates before this step, if the replay buffer has to be refilled."""
        self.origin: Origin | None = None
        """The file of another program that the agent was imported from."""
        self._wall_before_s = 0.0
        self._pending_metrics: dict[str, NDArray[Any]] = {}

    @property
    def wall_s(self) -> float:
        """Wall time of the run in all processes that took part, pauses included."""
        return self._wall_before_s + self._clock.wall_s

    @property
    def phase(self) -> Phase:
        """Warm-up or learning, by the number of steps."""
        starts = self._config.learning_starts
        return Phase.at(self.env_steps, starts, imported=self.origin is not None)

    @property
    def exploring(self) -> bool:
        """Whether the actor, with noise, chooses actions; if imported, from the first step on."""
        return self.phase is Phase.LEARNING

    def keep_pending_metrics(self) -> None:
        """Keep the pending metrics for the next checkpoint, before a row consumes them.

        The last row of a run may cover fewer updates than usual. If the run is resumed, these
        updates and the following ones make a full row.
        """
        self._pending_metrics = self._agent.pending_metrics()

    # Checkpoints --------------------------------------------------------------------------------

    def capture(self) -> Checkpoint:
        """Return a copy of all state needed to resume, except the replay buffer.

        Raises:
            DivergedError: a weight, moment or metric is NaN or infinite.
        """
        require_finite_agent(self._agent, self.env_steps)
        counters = Counters(
            env_steps=self.env_steps,
            updates=self._agent.updates,
            episodes=self.episodes,
            exploration_noise=self._collector.exploration.noise,
            stored=self._buffer.stored,
            unmarked=self._buffer.unmarked,
            changes=self._live.made_at(self.env_steps),
            no_updates_until=self.no_updates_until,
            sampled=self.sampled,
        )
        header = Header(
            config=self._config,
            tunables=self._agent.tunables,
            env=self._info,
            counters=counters,
            evaluation=None,
            complete=True,
            created=timestamp.now(),
            wall_s=self.wall_s,
            numerics=dict(self._numerics),
            origin=self.origin,
        )
        learned = self._agent.state() | self._pending_metrics
        require_finite_state(learned, self.env_steps)
        tensors = learned | self._collector.state() | self._sampler.state()
        return Checkpoint(header=header, tensors=tensors)

    def restore(self, saved: Checkpoint, *, wall_s: float) -> None:
        """Restore what :meth:`capture` returned; ``wall_s`` is the wall time so far."""
        counters, tensors = saved.header.counters, saved.tensors
        # For a branch with another rate: a checkpoint names the last one only if it differs from
        # that of its own settings.
        rate = {LAST_LR: np.array([saved.header.tunables.actor_lr])}
        self._agent.load_state(rate | tensors, counters.updates)
        self._collector.load_state(tensors)
        self._sampler.load_state(tensors)
        self._collector.exploration.noise = counters.exploration_noise
        self._live.resume_from(counters.env_steps, counters.changes)
        self.env_steps, self.episodes = counters.env_steps, counters.episodes
        self.no_updates_until, self.sampled = counters.no_updates_until, counters.sampled
        origin = saved.header.origin
        # From now on nothing is missing.
        self.origin = None if origin is None else replace(origin, notes=())
        self._wall_before_s = wall_s
        self._clock.begin_at(self.env_steps)

    # Reports ------------------------------------------------------------------------------------

    def progress(self, phase: Phase, recorder: Recorder) -> Progress:
        """Return a progress report with the rows that ``recorder`` has buffered."""
        training, times, ended = recorder.take()
        return Progress(
            phase=phase,
            env_steps=self.env_steps,
            updates=self._agent.updates,
            episodes=self.episodes,
            steps_per_s=self._clock.recent(self.env_steps),
            wall_s=self.wall_s,
            exploration_noise=self._collector.exploration.noise,
            revision=self._live.revision,
            tunables=self._agent.tunables,
            training=training,
            training_times=times,
            ended=ended,
        )
