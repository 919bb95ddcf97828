"""A user corrects the code of an environment; the next run of the same process uses it."""

import gc
import shutil
import sys
import sysconfig
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from td3core.config.env_choice import EnvChoice
from td3core.envs.make import check_env, forget_changed_code
from td3core.envs.trust import with_user_consent
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed
from td3core.training.launch import branch, resume, train
from tests.support.marks import slow
from tests.td3core.helpers import Told, tiny

WHEELS = "def load(step):\n    return 1 / (step < 45)\n"
CORRECTED = "def load(step):\n    return 1 / (step > -9)\n"

CART = """
import gymnasium as gym
import numpy as np
import cart_wheels
import cart_neighbour

class Cart(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,))
    action_space = gym.spaces.Box(-1, 1, (1,))
    taken = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(2, "f"), {}

    def step(self, action):
        self.steps += 1
        Cart.taken += 1
        return np.zeros(2, "f"), cart_wheels.load(Cart.taken), False, self.steps == 10, {}

gym.register("Cart-v0", Cart, max_episode_steps=7)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder with an environment, one of its own modules, and one that is installed."""
    folder, installed = tmp_path / "mine", tmp_path / "mine/lib/site-packages"
    installed.mkdir(parents=True)
    (folder / "cart.py").write_text(CART)
    (folder / "cart_wheels.py").write_text(WHEELS)
    (installed / "cart_neighbour.py").write_text("")
    for each in (installed, folder):
        monkeypatch.syspath_prepend(str(each))
    yield folder
    for name in [name for name in sys.modules if name.startswith(("cart", "xxlimited"))]:
        del sys.modules[name]
    gym.registry.pop("Cart-v0", None)


def begin(runs_dir: Path, env: str = "cart:Cart") -> Ended | Failed:
    with_user_consent(EnvChoice(env))
    config, tunables = tiny(env, steps=80, checkpoint_interval=20, env_check=False)
    return train(config, tunables, Control(), Told(), runs_dir)


def go_on(first: Failed, runs_dir: Path) -> Ended | Failed:
    assert first.run is not None
    return resume(first.run, Control(), Told())


def branch_off(first: Failed, runs_dir: Path) -> Ended | Failed:
    assert first.last_checkpoint is not None
    values = {"tau": 0.01}
    return branch(first.last_checkpoint, values, Control(), Told(), runs_dir)


@pytest.mark.parametrize(
    "again",
    [*slow(go_on, branch_off), lambda first, runs_dir: begin(runs_dir)],
    ids=["resume", "branch", "train"],
)
@pytest.mark.slow
def test_the_next_run_uses_the_corrected_module(
    folder: Path, runs_dir: Path, again: Callable[[Failed, Path], Any]
) -> None:
    first = begin(runs_dir)
    assert isinstance(first, Failed)
    assert "ZeroDivisionError" in str(first.message)
    # As long as before, and perhaps in the same second: Python's own cache would not notice.
    (folder / "cart_wheels.py").write_text(CORRECTED)
    assert isinstance(again(first, runs_dir), Ended)


@pytest.mark.slow
def test_nothing_keeps_what_was_corrected(folder: Path, runs_dir: Path) -> None:
    begin(runs_dir, "cart:Cart-v0")
    before, neighbour = weakref.ref(sys.modules["cart"].Cart), sys.modules["cart_neighbour"]
    (folder / "cart_wheels.py").write_text(CORRECTED)
    (folder / "cart.py").write_text(CART.replace("=7", "=5"))
    begin(runs_dir, "cart:Cart-v0")
    gc.collect()
    assert before() is None
    assert check_env(with_user_consent(EnvChoice("cart:Cart-v0"))).max_episode_steps == 5
    assert sys.modules["cart_neighbour"] is neighbour


def test_a_module_that_could_not_be_imported_is_imported_again(folder: Path) -> None:
    choice = with_user_consent(EnvChoice("cart:Cart"))
    (folder / "cart_wheels.py").write_text("load = None\n")
    (folder / "cart.py").write_text(f"{CART}\nassert cart_wheels.load\n")
    with pytest.raises(RequestError):
        check_env(choice)
    (folder / "cart_wheels.py").write_text(CORRECTED)
    forget_changed_code(choice)
    assert check_env(choice).obs_dim == 2


def test_a_module_that_is_as_it_was_is_kept(folder: Path) -> None:
    choice = with_user_consent(EnvChoice("cart:Cart"))
    check_env(choice)
    before = sys.modules["cart"]
    forget_changed_code(choice)
    check_env(choice)
    assert sys.modules["cart"] is before


@pytest.mark.slow
def test_a_compiled_module_that_has_changed_is_refused(folder: Path, runs_dir: Path) -> None:
    compiled = next(Path(sysconfig.get_config_var("DESTSHARED") or "").glob("xxlimited.*"), None)
    if compiled is None:
        pytest.skip("this interpreter brings no example of a compiled module")
    shutil.copy(compiled, folder)
    (folder / "cart.py").write_text(f"import xxlimited\n{CART}")
    (folder / "cart_wheels.py").write_text(CORRECTED)
    sys.path_importer_cache.clear()
    assert isinstance(begin(runs_dir), Ended)
    (folder / "cart_wheels.py").write_text(WHEELS)
    assert "ZeroDivisionError" in str(begin(runs_dir).message)  # type: ignore[union-attr]
    (folder / compiled.name).touch()
    outcome = begin(runs_dir)
    assert isinstance(outcome, Failed)
    assert outcome.request
    assert "xxlimited is compiled" in str(outcome.message)
    assert "restart the studio" in str(outcome.message)
    # Another environment has nothing to do with it.
    assert isinstance(begin(runs_dir, "Pendulum-v1"), Ended)
