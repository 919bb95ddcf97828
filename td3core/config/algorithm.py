"""What to call the algorithm that a run's settings amount to."""

from td3core.config.run_config import RunConfig
from td3core.config.tunables import Tunables

TD3, DDPG = "TD3", "DDPG"


def algorithm_of(config: RunConfig, tunables: Tunables) -> str:
    """Return ``DDPG`` for TD3 without any of its three tricks, else ``TD3``.

    Source: Fujimoto et al. 2018, section 6.1.
    """
    tricks = config.twin_critics or tunables.policy_delay > 1 or tunables.policy_noise > 0
    return TD3 if tricks else DDPG
