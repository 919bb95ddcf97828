"""The contents of a checkpoint: a header and tensors."""

import math
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from td3core.config import EnvChoice, RunConfig, Tunables
from td3core.config.networks import ACTOR, CRITIC, NetworkGroup, networks
from td3core.envs.info import EnvInfo
from td3core.evaluation.result import EvaluationResult
from td3core.inference.critic import Critic
from td3core.inference.normaliser import Normaliser
from td3core.inference.policy import Policy
from td3core.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Progress counters of a run."""

    env_steps: int = 0
    updates: int = 0
    episodes: int = 0
    exploration_noise: float = 0.0
    stored: int = 0
    """Transitions ever added to the replay buffer."""
    unmarked: int = 0
    """Number of oldest transitions stored without a truncation flag; all of them in older files."""
    changes: int = 0
    """Live changes that took effect at this step."""
    no_updates_until: int = 0
    """No updates before this step, if the replay buffer has to be filled again."""
    sampled: int = 0
    """Transitions drawn for updates so far, over all batch sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The file of another program that an agent was imported from."""

    kind: str
    """Program and algorithm."""
    file: str
    sha256: str
    """Digest of the file; for several files, of the list of their digests."""
    notes: tuple[Text, ...] = ()
    """Data missing from the file; empty once a run has continued from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """Description of a checkpoint; cheap to read."""

    config: RunConfig
    tunables: Tunables
    env: EnvInfo
    counters: Counters
    evaluation: EvaluationResult | None
    complete: bool
    """False for an exported agent, which has networks but not the state needed to resume."""
    created: str
    wall_s: float = 0.0
    """Wall time of the run in all processes that took part, pauses included."""
    numerics: dict[str, str] = field(default_factory=dict)
    """Everything that determines the last bits, such as versions, processor and number of threads;
    see :mod:`td3core.algorithm.fingerprint`."""
    origin: Origin | None = None
    """The file it was imported from, also if it has been trained on since."""

    @property
    def choice(self) -> EnvChoice:
        """The environment as in the step of the checkpoint."""
        return self.config.choice.at(max(self.counters.env_steps, 1))

    @property
    def most_steps(self) -> int | None:
        """Maximum steps of an episode of this agent; None if unknown."""
        most, choice = self.env.max_episode_steps, self.choice
        # That of the environment is the maximum at any step of the run.
        return most and math.ceil(most * self.config.choice.fewest_repeats / choice.action_repeat)

    @property
    def networks(self) -> dict[str, NetworkGroup]:
        """The networks that its settings define."""
        return networks(self.config, self.env.sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A header and its tensors, checked against each other."""

    header: Header
    tensors: dict[str, NDArray[Any]]

    def policy(self) -> Policy:
        """Return the saved actor."""
        return Policy.from_tensors(self.tensors, self.header.networks[ACTOR], self._normaliser())

    def target_policy(self) -> Policy:
        """Return the target of the saved actor.

        Raises:
            KeyError: only the actor was exported.
        """
        group = self.header.networks[ACTOR]
        slow = group._replace(names=group.targets)
        return Policy.from_tensors(self.tensors, slow, self._normaliser())

    def critic(self) -> Critic | None:
        """Return the saved critics; None if only the actor was exported."""
        return self._critic(self.header.networks[CRITIC])

    def target_critic(self) -> Critic | None:
        """Return the targets of the saved critics; None if only the actor was exported."""
        group = self.header.networks[CRITIC]
        return self._critic(group._replace(names=group.targets))

    def _critic(self, group: NetworkGroup) -> Critic | None:
        dropped = self.header.tunables.dropped_quantiles
        return Critic.from_tensors(self.tensors, group, self._normaliser(), dropped=dropped)

    def _normaliser(self) -> Normaliser | None:
        if not self.header.config.normalize_observations:
            return None
        return Normaliser.from_tensors(self.tensors, self.header.env.obs_dim)
