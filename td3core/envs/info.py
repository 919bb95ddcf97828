"""Facts about an environment that an agent needs; imports no simulator."""

from dataclasses import dataclass

from td3core.config.env_choice import EnvChoice
from td3core.config.networks import Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvInfo:
    """Sizes and bounds of an environment."""

    env_id: str
    obs_dim: int
    act_dim: int
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    max_episode_steps: int | None
    reward_threshold: float | None
    args: str = ""
    """Its arguments (see :class:`~td3core.config.env_choice.EnvChoice`)."""

    @property
    def sizes(self) -> Sizes:
        """The sizes that determine the networks."""
        return Sizes(self.obs_dim, self.act_dim)

    @property
    def choice(self) -> EnvChoice:
        """Identifier and arguments, to make it again."""
        return EnvChoice(self.env_id, self.args)
