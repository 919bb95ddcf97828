"""The agents that are loaded: one, or several that play the same episode in step."""

from collections.abc import Callable
from contextlib import ExitStack

import numpy as np

from studio.replay.renderer import protocol
from studio.replay.renderer.camera import Camera
from studio.replay.renderer.measurement import facts_of
from studio.replay.renderer.scaling import Picture
from studio.replay.renderer.stage import Episode, LoadedAgent, Variation
from td3core.arrays import Floats
from td3core.config.consent import Consent
from td3core.errors import RequestError
from td3core.evaluation.bundled import bundled_evaluation
from td3core.evaluation.disturbance import Pushes, Variant, acting
from td3core.evaluation.entrants import Entrant, Lane
from td3core.evaluation.rollout import RolloutStep
from td3core.inference.critic import Critic
from td3core.runs.naming import runs_of_agents


class Cast:
    """Who plays; starts their episodes."""

    def __init__(self, load: protocol.Load, consent: Consent, camera: Camera) -> None:
        """Read the files; all episodes are drawn with ``camera``.

        Raises:
            RequestError: one is not a valid checkpoint, or of another environment than the first.
        """
        self.entrants = load.entrants or (Entrant(load.path),)
        self._agents = [LoadedAgent(entrant.path, consent) for entrant in self.entrants]
        for agent in self._agents:
            _require_same_environment(agent, self.first)
        self._pushes: Pushes | None = None
        self._camera = camera

    @property
    def first(self) -> LoadedAgent:
        """The agent whose numbers are measured."""
        return self._agents[0]

    @property
    def critic(self) -> Critic | None:
        """The critics of the first agent."""
        return self.first.critic

    @property
    def compares(self) -> bool:
        """True if several play side by side."""
        return len(self._agents) > 1

    def begin(self, seed: int, index: int, *, draws: bool) -> "Episode | JointEpisode":
        """Start an episode.

        Raises:
            RequestError: the environment cannot be created, or has other dimensions.
        """
        if not self.compares:
            return Episode(self.first, seed, index, draws=draws, camera=self._camera)
        with ExitStack() as made:
            episodes = []
            for agent, entrant in zip(self._agents, self.entrants, strict=True):
                vary = self._variation(agent, entrant.variant)
                episode = Episode(agent, seed, index, draws=draws, vary=vary, camera=self._camera)
                made.callback(episode.close)
                episodes.append(episode)
            self._pushes = self._pushes or Pushes(episodes[0].fps)
            made.pop_all()
        return JointEpisode(episodes)

    def push(self, step: int) -> tuple[int, ...]:
        """Push the agents that are pushed at all, from this step on; return all such steps."""
        if self._pushes is None:
            return ()
        self._pushes.add(step)
        return tuple(self._pushes.starts)

    def loaded(
        self, load: protocol.Load, episode: "Episode | JointEpisode", no_picture: str
    ) -> protocol.Loaded:
        """Return the message about the agents, whose first episode has been drawn."""
        cameras, camera = episode.cameras()
        first = self.first
        runs = runs_of_agents([entrant.path for entrant in self.entrants])
        return protocol.Loaded(
            ticket=load.ticket,
            path=load.path,
            env_id=first.env_id,
            env_steps=first.header.counters.env_steps,
            mean_return=_mean_return(first),
            changed_ns=first.changed_ns,
            facts=facts_of(first.header, first.critic),
            no_picture=no_picture,
            lanes=tuple(map(_lane, self.entrants, self._agents, runs)) if self.compares else (),
            run=runs[0],
            cameras=cameras,
            camera=camera,
        )

    def _variation(self, agent: LoadedAgent, variant: Variant) -> Variation | None:
        """Return how an agent's actions are changed in an episode with a reset seed."""
        if variant is Variant.PLAIN:
            return None

        def vary(fps: float, seed: int) -> Callable[[Floats], Floats]:
            return acting(
                agent.policy,
                agent.header.tunables,
                variant,
                seed,
                sigma=agent.noise,
                pushes=self._pushes_at(fps),
            )

        return vary

    def _pushes_at(self, fps: float) -> Pushes:
        self._pushes = self._pushes or Pushes(fps)
        return self._pushes


class JointEpisode:
    """Episodes from the same first state, in step, that are played and drawn as one.

    Those that are over wait for the others.
    """

    def __init__(self, episodes: list[Episode]) -> None:
        self._episodes = episodes
        self.index, self.fps = episodes[0].index, episodes[0].fps
        self.log = episodes[0].log

    @property
    def lanes(self) -> tuple[RolloutStep, ...]:
        """Where each of them is."""
        return tuple(episode.moment for episode in self._episodes)

    @property
    def moment(self) -> RolloutStep:
        """The furthest step, over when all are, with the reward and return of the first."""
        first, lanes = self._episodes[0].moment, self.lanes
        over = all(lane.over for lane in lanes)
        ended = over and all(lane.terminated for lane in lanes)
        step = max(lane.step for lane in lanes)
        return RolloutStep(step, first.reward, first.total, ended, over and not ended)

    def step(self) -> None:
        """Take one step with each that is not over."""
        for episode in self._episodes:
            if not episode.moment.over:
                episode.step()

    def picture(self) -> Picture:
        """Draw them next to each other, all in the size of the first.

        Raises:
            RequestError: the environment cannot draw itself.
        """
        pictures = [episode.picture() for episode in self._episodes]
        return np.concatenate([_cropped(each, pictures[0]) for each in pictures], axis=1)

    def cameras(self) -> tuple[tuple[str, ...], str]:
        """Return the cameras to choose from, and the one in use."""
        return self._episodes[0].cameras()

    def move_camera(self, wanted: protocol.MoveCamera) -> None:
        """Move the camera of all."""
        self._episodes[0].move_camera(wanted)

    def redraw(self) -> None:
        """Draw the current step again when it is asked for."""
        for episode in self._episodes:
            episode.redraw()

    def close(self) -> None:
        """Close the environments."""
        for episode in self._episodes:
            episode.close()


def _cropped(picture: Picture, model: Picture) -> Picture:
    """Return a picture in the size of another one; few environments draw in several sizes."""
    if picture.shape == model.shape:
        return picture
    found = np.zeros_like(model)
    height, width = min(picture.shape[0], model.shape[0]), min(picture.shape[1], model.shape[1])
    found[:height, :width] = picture[:height, :width]
    return found


def _require_same_environment(agent: LoadedAgent, first: LoadedAgent) -> None:
    if agent.env_id != first.env_id:
        raise RequestError(
            "{name} was trained on {env_id}, {first} on {first_env}: only agents of one"
            " environment can be compared.",
            name=agent.path.name,
            env_id=agent.env_id,
            first=first.path.name,
            first_env=first.env_id,
        )


def _lane(entrant: Entrant, agent: LoadedAgent, run: str) -> Lane:
    noisy = entrant.variant is Variant.NOISE
    return Lane(
        entrant=entrant,
        env_steps=agent.header.counters.env_steps,
        mean_return=_mean_return(agent),
        noise=agent.noise if noisy else 0.0,
        run=run,
    )


def _mean_return(agent: LoadedAgent) -> float | None:
    result = bundled_evaluation(agent.path) or agent.header.evaluation
    return result.mean if result else None
