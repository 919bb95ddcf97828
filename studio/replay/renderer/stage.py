"""A loaded agent, its current episode, and the clock that paces it."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studio.replay.renderer.camera import Camera
from studio.replay.renderer.measurement import EpisodeLog
from studio.replay.renderer.protocol import MoveCamera
from td3core import checkpoint
from td3core.arrays import Floats
from td3core.config.consent import Consent
from td3core.envs.agent_view import AgentView
from td3core.envs.make import forget_changed_code, make_env
from td3core.envs.rendering import DEFAULT_FPS, rgb_frame
from td3core.errors import RequestError
from td3core.evaluation.disturbance import noise_of
from td3core.evaluation.rollout import RolloutStep, rollout
from td3core.randomness import Purpose, episode_seed
from td3core.runs.directory import note_module_folder

HOLD_S = 1.0
_EARLY = 0.1
"""Share of the interval between pictures by which one may be early, so that jitter does not halve
60 Hz."""
_MAX_GAP_S = 0.1
_UNPACED_GAP_S = 1 / 30
_MAX_DEBT_S = 0.5


Variation = Callable[[float, int], Callable[[Floats], Floats]]
"""Returns the policy of an episode, for its steps per second and its reset seed."""


class LoadedAgent:
    """A checkpoint with its policy."""

    def __init__(self, path: Path, consent: Consent) -> None:
        """Read the file; ``consent`` is to the code of its environment.

        Raises:
            RequestError: it is not a valid checkpoint, or compiled code of an environment has
                changed.
        """
        self.path = path
        found, self.changed_ns = _load_settled(path)
        self.header = found.header
        self.env_id = found.header.config.env
        self.choice = found.header.config.choice.with_consent(consent)
        note_module_folder(path)
        forget_changed_code(self.choice)
        self.policy = found.policy()
        self.critic = found.critic()

    @property
    def noise(self) -> float:
        """Its exploration noise, in units of half the action range."""
        return noise_of(self.header.tunables, self.header.counters.exploration_noise)


class Episode:
    """An episode, noise-free unless it is varied: the same as in an evaluation with this seed."""

    def __init__(
        self,
        agent: LoadedAgent,
        seed: int,
        index: int,
        *,
        draws: bool = True,
        vary: Variation | None = None,
        camera: Camera | None = None,
    ) -> None:
        """Create a new environment and reset it.

        Args:
            agent: Acts in it.
            seed: The seed of all episodes.
            index: Number of the episode, from 0.
            draws: False for an environment that cannot render.
            vary: Changes its actions.
            camera: From where it is drawn.

        Raises:
            RequestError: the environment cannot be created, or has other dimensions.
        """
        self.index, self._draws = index, draws
        self._camera = camera or Camera()
        self.lanes: tuple[RolloutStep, ...] = ()
        self.moment = RolloutStep(0, 0.0, 0.0, False, False)
        self._env_id = agent.env_id
        self._picture: NDArray[np.uint8] | None = None
        reset_seed = episode_seed(seed, Purpose.EVALUATION, index)
        self._env = _OpenedEnv(make_env(agent.choice, render=draws), reset_seed)
        try:
            self._env.require_sizes(agent)
        except RequestError:
            self.close()
            raise
        policy = agent.policy if vary is None else vary(self.fps, reset_seed)
        self.log = EpisodeLog(policy, agent.header.env.obs_dim)
        self._moments = rollout(self._env, self.log, reset_seed)

    @property
    def fps(self) -> float:
        """Steps per second at the environment's own speed."""
        rate = self._env.metadata.get("render_fps")
        return float(rate) if isinstance(rate, (int, float)) and rate >= 1 else float(DEFAULT_FPS)

    def step(self) -> None:
        """Take one step."""
        self.moment = next(self._moments)
        self.log.add(self.moment)
        self._picture = None

    def picture(self) -> NDArray[np.uint8]:
        """Draw the current step, shape (height, width, 3); one black pixel if it cannot be drawn.

        Raises:
            RequestError: the environment cannot draw itself.
        """
        if not self._draws:
            return np.zeros((1, 1, 3), np.uint8)
        if self._picture is None:
            try:
                rendered = self._camera.draw(self._env)
            except Exception as problem:
                # A missing driver or library may raise anything.
                lines = str(problem).strip().splitlines() or [type(problem).__name__]
                raise RequestError(
                    f"{self._env_id} cannot draw itself here: {lines[0].rstrip('.')}."
                ) from problem
            self._picture = rgb_frame(rendered, self._env_id)
        return self._picture

    def cameras(self) -> tuple[tuple[str, ...], str]:
        """Return the cameras to choose from, and the one in use; known once it has been drawn."""
        return self._camera.names(self._env), self._camera.chosen(self._env)

    def move_camera(self, wanted: MoveCamera) -> None:
        """Move the camera."""
        self._camera.move(self._env, wanted)

    def redraw(self) -> None:
        """Draw the current step again when it is asked for: the camera is another."""
        self._picture = None

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


class Clock:
    """Decides when the next step is due and whether to draw it.

    Steps are taken in real time. If drawing is too slow for that, pictures are skipped.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._due = self._picture_due = self._drawing_ended = now()
        self.fps = float(DEFAULT_FPS)
        self.pictures_per_s = 60.0
        """At most."""
        self.speed = 1.0
        """Infinity takes step after step without waiting."""

    def restart(self, wait_s: float = 0.0) -> None:
        """Make the next step due now, or in ``wait_s`` seconds."""
        self._due = self._now() + wait_s

    def tick(self, steps: int = 1) -> None:
        """Note one step or several; the next is due as many intervals after this one was."""
        self._due += steps / (self.fps * self.speed)
        if self._now() - self._due > _MAX_DEBT_S:
            # The environment is too slow for this speed; do not try to catch up.
            self._due = self._now()

    def wait_s(self) -> float:
        """Return the time left before the next step."""
        return max(0.0, self._due - self._now())

    def may_draw(self) -> bool:
        """Return whether there is time for a picture before the next step."""
        now = self._now()
        if now < self._picture_due - _EARLY / self.pictures_per_s:
            return False
        gap = _UNPACED_GAP_S if math.isinf(self.speed) else _MAX_GAP_S
        return now < self._due or now - self._drawing_ended > gap

    def note_drawn(self, began: float) -> None:
        """Note that a picture was drawn, started at ``began``."""
        between = 1.0 / self.pictures_per_s
        # Counted from when it was due, so that 30 of 50 steps per second are drawn, not 25.
        self._picture_due = max(self._picture_due, began - between) + between
        self._drawing_ended = self._now()

    def now(self) -> float:
        """Return the clock's time in seconds."""
        return self._now()


def _load_settled(path: Path) -> tuple[checkpoint.Checkpoint, int]:
    """Return a checkpoint and the time of its file, which may be replaced at any moment."""
    before = -1
    found, after = None, _changed_ns(path)
    while found is None or before != after:
        before = after
        found = checkpoint.load(path)
        after = _changed_ns(path)
    return found, after


def _changed_ns(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0  # Loading it gives the reason.


class _OpenedEnv(AgentView):
    """An environment that has been reset, so that its first state can be drawn.

    The reset of the rollout must not be a second one: some physics engines remember the first.
    """

    def __init__(self, env: AgentView, seed: int) -> None:
        super().__init__(env.env)
        self._opening = super().reset(seed=seed)

    def reset(self, **_: Any) -> tuple[Floats, Any]:
        """Return what the first reset returned."""
        return self._opening

    def require_sizes(self, agent: LoadedAgent) -> None:
        """Refuse an environment with other dimensions than the agent's."""
        known = agent.header.env
        sizes = (self._opening[0].size, int(np.prod(self._shape)))
        if sizes != (known.obs_dim, known.act_dim):
            raise RequestError(
                f"{agent.path.name} was trained on {agent.env_id} with {known.obs_dim}"
                f" observations and {known.act_dim} actions; the one installed here has"
                f" {sizes[0]} and {sizes[1]}."
            )
