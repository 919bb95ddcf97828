"""Environments known to suit TD3, with their sizes and the packages they need.

The sizes are listed here so that they can be shown before any simulator is imported; a test
compares them with the environments.
"""

import importlib.util
from dataclasses import dataclass
from functools import cache

FIRST_ENV = "BipedalWalker-v3"
"""The first environment offered: its preset walks within a minute or two, and walking is worth
watching."""


@dataclass(frozen=True, slots=True)
class KnownEnv:
    """An environment that TD3 is known to suit."""

    env_id: str
    group: str
    needs: tuple[str, ...]
    """Modules that must be importable."""
    package: str
    """Package to install if they are missing."""
    obs_dim: int
    act_dim: int
    max_episode_steps: int
    reward_threshold: float | None = None
    registered_by: str = ""
    """Module that registers it when imported; empty if Gymnasium does."""

    @property
    def installed(self) -> bool:
        """True if all modules it needs can be found; none is imported."""
        return all(is_importable(module) for module in self.needs)


# find_spec searches every import folder, and lists of environments ask repeatedly.
@cache
def is_importable(module: str) -> bool:
    """Return whether a module can be found; it is not imported."""
    return importlib.util.find_spec(module) is not None


_Row = tuple[str, int, int, int, float | None]


def _family(
    group: str,
    needs: tuple[str, ...],
    package: str,
    rows: tuple[_Row, ...],
    registered_by: str = "",
) -> tuple[KnownEnv, ...]:
    return tuple(KnownEnv(row[0], group, needs, package, *row[1:], registered_by) for row in rows)


PYBULLET = "pybullet_envs_gymnasium"

KNOWN: tuple[KnownEnv, ...] = (
    *_family(
        "Classic control",
        ("pygame",),
        "gymnasium[classic-control]",
        (
            ("Pendulum-v1", 3, 1, 200, None),
            ("MountainCarContinuous-v0", 2, 1, 999, 90.0),
        ),
    ),
    *_family(
        "Box2D",
        ("Box2D",),
        "gymnasium[box2d]",
        (
            ("LunarLanderContinuous-v3", 8, 2, 1000, 200.0),
            ("BipedalWalker-v3", 24, 4, 1600, 300.0),
            ("BipedalWalkerHardcore-v3", 24, 4, 2000, 300.0),
        ),
    ),
    *_family(
        "MuJoCo",
        ("mujoco",),
        "gymnasium[mujoco]",
        (
            ("InvertedPendulum-v5", 4, 1, 1000, 950.0),
            ("InvertedDoublePendulum-v5", 9, 1, 1000, 9100.0),
            ("Reacher-v5", 10, 2, 50, -3.75),
            ("Pusher-v5", 23, 7, 100, 0.0),
            ("Swimmer-v5", 8, 2, 1000, 360.0),
            ("Hopper-v5", 11, 3, 1000, 3800.0),
            ("Walker2d-v5", 17, 6, 1000, None),
            ("HalfCheetah-v5", 17, 6, 1000, 4800.0),
            ("Ant-v5", 105, 8, 1000, 6000.0),
            ("Humanoid-v5", 348, 17, 1000, None),
            ("HumanoidStandup-v5", 348, 17, 1000, None),
        ),
    ),
    *_family(
        "PyBullet",
        ("pybullet", PYBULLET),
        PYBULLET,
        (
            ("InvertedPendulumBulletEnv-v0", 5, 1, 1000, 950.0),
            ("InvertedPendulumSwingupBulletEnv-v0", 5, 1, 1000, 800.0),
            ("InvertedDoublePendulumBulletEnv-v0", 9, 1, 1000, 9100.0),
            ("ReacherBulletEnv-v0", 9, 2, 150, 18.0),
            ("PusherBulletEnv-v0", 55, 7, 150, 18.0),
            ("HopperBulletEnv-v0", 15, 3, 1000, 2500.0),
            ("Walker2DBulletEnv-v0", 22, 6, 1000, 2500.0),
            ("HalfCheetahBulletEnv-v0", 26, 6, 1000, 3000.0),
            ("AntBulletEnv-v0", 28, 8, 1000, 2500.0),
            ("HumanoidBulletEnv-v0", 44, 17, 1000, None),
        ),
        PYBULLET,
    ),
)
"""Continuous-control environments, in listing order."""


def find_known(env_id: str) -> KnownEnv | None:
    """Return the known environment with exactly that id, if there is one."""
    return next((known for known in KNOWN if known.env_id == env_id), None)
