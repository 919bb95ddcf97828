"""Groups small enough for a test, in an environment that new processes know too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from td3core.experiments.groups.group import Group
from tests.td3core.helpers import new_group, tiny

STEPS_ENV = "tests.support.scripted:StepsEnv"
"""Unlike a registered name, a module can be imported anywhere."""


@pytest.fixture
def make_group(runs_dir: Path) -> Callable[..., Group]:
    """Make a group of tiny runs."""

    def make(seeds: tuple[int, ...] = (0, 1), env: str = STEPS_ENV, **values: Any) -> Group:
        config, tunables = tiny(env, **values)
        return new_group(runs_dir, seeds, config, tunables)

    return make
