"""The loaded agents: one, or several that play the same episode in step."""

from math import prod
from pathlib import Path

from studio.replay.renderer import protocol
from studio.replay.renderer.camera import Camera
from studio.replay.renderer.episode import LastPictures, RenderedEpisode
from td3core import checkpoint
from td3core.checkpoint.agent import agent_of, facts_of, spec_of
from td3core.envs.make import forget_changed_code
from td3core.errors import RequestError
from td3core.inference.critic import Critic
from td3core.playing.compared import ComparedAgent
from td3core.playing.disturbance import Pushes
from td3core.playing.numbers import EpisodeLog
from td3core.playing.playback import Playback
from td3core.playing.side_by_side import SideBySide
from td3core.runs.directory import note_module_folder
from td3core.runs.naming import runs_of_agents


class LoadedAgent:
    """A checkpoint with its policy."""

    def __init__(self, compared: ComparedAgent) -> None:
        """Read the file.

        Raises:
            RequestError: it is not a valid checkpoint, or compiled code of an environment has
                changed.
        """
        self.path = compared.path
        found, self.changed_ns = _load_settled(compared.path)
        self.header, self.critic = found.header, found.critic()
        self.env_id = found.header.config.env
        self.playing = agent_of(found, compared.variant)
        note_module_folder(compared.path)
        forget_changed_code(self.playing.choice)

    def require_sizes(self, playback: Playback) -> None:
        """Refuse an environment with other dimensions than the agent's.

        Raises:
            RequestError: the dimensions differ.
        """
        known = self.header.env
        sizes = (playback.first_obs.size, prod(playback.env.action_space.shape or ()))
        if sizes != (known.obs_dim, known.act_dim):
            raise RequestError(
                "{file} was trained on {env_id} with observations of size {obs_dim} and actions of"
                " size {act_dim}; the one installed here has {obs_here} and {act_here}.",
                file=self.path.name,
                env_id=self.env_id,
                obs_dim=known.obs_dim,
                act_dim=known.act_dim,
                obs_here=sizes[0],
                act_here=sizes[1],
            )


class LoadedAgents:
    """The agents that play; starts their episodes."""

    def __init__(self, load: protocol.Load, camera: Camera) -> None:
        """Read the files; all episodes are drawn with ``camera``.

        Raises:
            RequestError: a file is not a valid checkpoint, or for another environment than the
                first.
        """
        self._compared = load.compared or (ComparedAgent(load.path),)
        self._agents = [LoadedAgent(each) for each in self._compared]
        for agent in self._agents:
            _require_same_environment(agent, self.first)
        self._pushes: Pushes | None = None
        self._camera = camera
        self._last: LastPictures = {}

    @property
    def first(self) -> LoadedAgent:
        """The agent whose numbers are measured."""
        return self._agents[0]

    @property
    def critic(self) -> Critic | None:
        """The critics of the first agent."""
        return self.first.critic

    def begin(self, seed: int, index: int, *, draws: bool) -> RenderedEpisode:
        """Start an episode.

        Raises:
            RequestError: the environment cannot be created, or has other dimensions.
        """
        log = EpisodeLog(self.first.header.env.obs_dim)
        playing = SideBySide(
            [agent.playing for agent in self._agents],
            seed,
            index,
            render=draws,
            pushes=self._pushes_at,
            log=log,
        )
        try:
            for agent, playback in zip(self._agents, playing.playbacks, strict=True):
                agent.require_sizes(playback)
        except RequestError:
            playing.close()
            raise
        env_id, camera = self.first.env_id, self._camera
        return RenderedEpisode(playing, log, env_id, camera, self._last, draws=draws)

    def push(self, step: int) -> tuple[int, ...]:
        """Push those agents that can be pushed, from this step on; return all such steps."""
        if self._pushes is None:
            return ()
        self._pushes.add(step)
        return tuple(self._pushes.starts)

    def loaded(
        self, load: protocol.Load, episode: RenderedEpisode, no_picture: str
    ) -> protocol.Loaded:
        """Return the message about the agents, whose first episode has been drawn."""
        cameras, camera = episode.cameras()
        runs = runs_of_agents([agent.path for agent in self._agents])
        facts = tuple(
            facts_of(compared, agent.header, run)._replace(changed_ns=agent.changed_ns)
            for compared, agent, run in zip(self._compared, self._agents, runs, strict=True)
        )
        return protocol.Loaded(
            ticket=load.ticket,
            path=load.path,
            env_id=self.first.env_id,
            env_steps=facts[0].env_steps,
            mean_return=facts[0].mean_return,
            changed_ns=self.first.changed_ns,
            spec=spec_of(self.first.header, self.critic),
            no_picture=no_picture,
            agents=facts if len(facts) > 1 else (),
            run=runs[0],
            cameras=cameras,
            camera=camera,
        )

    def _pushes_at(self, fps: float) -> Pushes:
        """Return the same pushes for every episode."""
        self._pushes = self._pushes or Pushes(fps)
        return self._pushes


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


def _load_settled(path: Path) -> tuple[checkpoint.Checkpoint, int]:
    """Return a checkpoint and its modification time; load again if replaced meanwhile."""
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
        return 0  # Loading the file raises the error.
