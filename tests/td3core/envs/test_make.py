from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces import Box
from hypothesis import given
from hypothesis import strategies as st

from td3core.envs.agent_view import AgentView
from td3core.envs.catalogue import KNOWN, KnownEnv
from td3core.envs.make import check_env, make_env, registered_elsewhere
from td3core.errors import RequestError
from tests.support import scripted as known
from tests.support.scripted import Script, SpacesEnv


def view(low: Any, high: Any, dtype: Any) -> AgentView:
    space = Box(np.asarray(low, dtype), np.asarray(high, dtype), dtype=dtype)
    return AgentView(SpacesEnv(space, Box(-1.0, 1.0, (1,))))


@st.composite
def bounds(draw: Any) -> tuple[Any, Any, Any]:
    """Draw lower and upper bounds of each dimension, however lopsided, in single or double."""
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    number = st.floats(-1e9, 1e9, width=32) | st.floats(-1.0, 1.0).map(lambda x: float(dtype(x)))
    size = draw(st.integers(1, 4))
    pairs = st.tuples(number, number).filter(lambda pair: pair[0] != pair[1]).map(sorted)
    low, high = zip(*draw(st.lists(pairs, min_size=size, max_size=size)), strict=True)
    return np.array(low, dtype), np.array(high, dtype), dtype


@given(bounds(), st.data())
def test_no_action_ever_leaves_the_bounds_of_its_environment(
    limits: tuple[Any, Any, Any], data: st.DataObject
) -> None:
    low, high, dtype = limits
    action = data.draw(
        st.lists(st.floats(-1.0, 1.0, width=32), min_size=len(low), max_size=len(low))
    )
    found = view(low, high, dtype).to_env(np.array(action, np.float32))
    assert found.dtype == dtype
    assert found.shape == low.shape
    assert (low <= found).all()
    assert (found <= high).all()


@given(bounds())
def test_minus_one_nought_and_one_are_low_centre_and_high_of_each_dimension(
    limits: tuple[Any, Any, Any],
) -> None:
    low, high, dtype = limits
    env, ones = view(low, high, dtype), np.ones(len(low), np.float32)
    near = 1e-6 * (high.astype(float) - low) + 1e-37
    for action, expected in (
        (-ones, low),
        (0 * ones, (low.astype(float) + high) / 2),
        (ones, high),
    ):
        slack = near + 1e-6 * np.abs(expected)
        assert (np.abs(env.to_env(action).astype(float) - expected) <= slack).all()


def test_each_dimension_is_scaled_by_its_own_bounds() -> None:
    env = view([-3.0, 0.0, -1.0], [1.0, 10.0, 1.0], np.float32)
    assert env.to_env(np.float32([0.5, -0.5, 0.25])).tolist() == [0.0, 2.5, 0.25]


@pytest.mark.parametrize(("low", "high"), [(-0.1, 0.2), (0.1, 0.4), (-0.4, -0.1)])
def test_rounding_never_steps_over_a_bound(low: float, high: float) -> None:
    centre, half = (high + low) / 2, (high - low) / 2
    assert centre - half < low or high < centre + half, "chosen because plain arithmetic fails"
    env = view([low], [high], np.float64)
    ends = [float(env.to_env(np.float32([end]))[0]) for end in (-1.0, 1.0)]
    assert low <= ends[0] < ends[1] <= high


def test_observations_and_actions_of_many_dimensions_are_flat_for_the_agent() -> None:
    info = check_env(known.GRID)
    assert (info.obs_dim, info.act_dim) == (24, 4)
    env = make_env(known.GRID)
    obs, _ = env.reset(seed=1)
    next_obs, *_ = env.step(np.float32([-1.0, 0.0, 1.0, 0.5]))
    for found in (obs, next_obs):
        assert found.shape == (24,)
        assert found.dtype == np.float32
    (taken,) = env.unwrapped.taken
    assert taken.tolist() == [[-1.0, 1.0], [3.0, 2.0]]
    raw = gym.make(known.GRID, disable_env_checker=True)
    assert np.array_equal(raw.reset(seed=1)[0].astype(np.float32).ravel(), obs)


def test_an_observation_is_a_copy_of_an_array_that_the_environment_reuses() -> None:
    shared = np.zeros(3, np.float32)
    inner = SpacesEnv(Box(-1.0, 1.0, (1,)), Box(-1.0, 1.0, (3,)))
    inner.reset = lambda **_: (shared, {})
    obs, _ = AgentView(inner).reset()
    shared[:] = 1.0
    assert obs.tolist() == [0.0, 0.0, 0.0]


def test_rewards_and_flags_are_plain_numbers() -> None:
    inner = SpacesEnv(Box(-1.0, 1.0, (1,)), Box(-1.0, 1.0, (3,)))
    inner.step = lambda _: (np.zeros(3), np.float32(2.5), np.bool_(True), np.bool_(False), {})
    _, reward, terminated, truncated, _ = AgentView(inner).step(np.zeros(1, np.float32))
    assert [type(x) for x in (reward, terminated, truncated)] == [float, bool, bool]
    assert (reward, terminated, truncated) == (2.5, True, False)


def test_what_is_known_of_an_environment_are_its_sizes_and_bounds() -> None:
    info = check_env(known.STEPS)
    assert (info.env_id, info.obs_dim, info.act_dim) == (known.STEPS, 3, 2)
    assert (info.action_low, info.action_high) == ((-3.0, 0.0), (1.0, 10.0))
    assert check_env("Pendulum-v1").max_episode_steps == 200
    assert check_env("MountainCarContinuous-v0").reward_threshold == 90.0


@pytest.mark.parametrize(
    ("env_id", "has", "needs"),
    [
        (known.DISCRETE, "discrete actions", "continuous actions"),
        ("CartPole-v1", "discrete actions", "continuous actions"),
        (known.UNBOUNDED, "unbounded actions", "bounded"),
        (known.HALF_BOUNDED, "unbounded actions", "bounded"),
        (known.POINT, "lower bound is not below", "upper"),
        (known.DICT_OBS, "Dict observations", "arrays of numbers"),
    ],
)
def test_an_unsuitable_environment_is_refused_with_what_it_has_and_what_td3_needs(
    env_id: str, has: str, needs: str
) -> None:
    with pytest.raises(RequestError) as caught:
        check_env(env_id)
    said = str(caught.value)
    assert said.startswith(env_id)
    assert has in said
    assert needs in said
    assert said.endswith(".")


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("Pendulm-v1", "Pendulum-v1"),
        ("BipedalWalker-v33", "BipedalWalker-v3"),
        ("halfcheetah-v5", "HalfCheetah-v5"),
        ("Scripted/Step-v0", known.STEPS),
    ],
)
def test_an_unknown_environment_is_refused_with_the_nearest_known_ones(
    slip: str, meant: str
) -> None:
    with pytest.raises(RequestError) as caught:
        make_env(slip)
    assert slip in str(caught.value)
    assert meant in str(caught.value)


@pytest.mark.parametrize("env_id", ["", "no such thing!", "nosuchmodule:Thing-v0", "a/b/c-v0"])
def test_a_malformed_identifier_is_refused(env_id: str) -> None:
    with pytest.raises(RequestError):
        make_env(env_id)


def test_a_missing_package_is_named_with_how_to_get_it(
    scripted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> None:
        raise gym.error.DependencyNotInstalled("Box2D is not installed, run pip install swig")

    env_id = scripted(Script(on_make=missing))
    with pytest.raises(RequestError, match=f"{env_id} needs a package .*swig"):
        make_env(env_id)
    monkeypatch.setitem(gym.registry, "BipedalWalker-v3", gym.spec(env_id))
    with pytest.raises(RequestError, match=r"pip install 'gymnasium\[box2d\]'"):
        make_env("BipedalWalker-v3")


@pytest.mark.parametrize("problem", [ValueError("no licence found"), KeyError("model"), OSError()])
def test_an_environment_that_cannot_be_built_is_refused_with_its_reason(
    scripted: Any, problem: Exception
) -> None:
    def broken() -> None:
        raise problem

    env_id = scripted(Script(on_make=broken))
    with pytest.raises(RequestError, match=env_id):
        make_env(env_id)


def test_an_environment_without_spaces_is_refused_and_closed() -> None:
    class Bare(gym.Env[Any, Any]):
        closed = 0

        def close(self) -> None:
            type(self).closed += 1

    gym.register("Bare-v0", Bare)
    try:
        with pytest.raises(RequestError, match=r"Bare-v0 cannot be made: .*'action_space'\.$"):
            check_env("Bare-v0")
    finally:
        del gym.registry["Bare-v0"]
    assert Bare.closed == 1


class NoRenderMode(known.StepsEnv):
    def __init__(self) -> None:
        super().__init__()


class NoRenderModes(known.StepsEnv):
    metadata: ClassVar[dict[str, Any]] = {"render_modes": None}


@pytest.mark.parametrize("plain", [NoRenderMode, NoRenderModes])
def test_an_environment_that_knows_no_render_mode_can_be_used_but_not_drawn(
    plain: type[gym.Env[Any, Any]],
) -> None:
    gym.register("Scripted/Plain-v0", plain)
    try:
        assert check_env("Scripted/Plain-v0").obs_dim == 3
        with pytest.raises(RequestError, match=r"^Scripted/Plain-v0 cannot render images"):
            make_env("Scripted/Plain-v0", render=True)
    finally:
        gym.registry.pop("Scripted/Plain-v0")


def test_a_refused_environment_is_closed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    monkeypatch.setattr(SpacesEnv, "close", lambda self: closed.append(self))
    with pytest.raises(RequestError):
        make_env(known.DISCRETE)
    assert len(closed) == 1
    check_env(known.GRID)
    assert len(closed) == 2


def test_every_catalogued_environment_is_there_once() -> None:
    assert len({item.env_id for item in KNOWN}) == len(KNOWN)


@pytest.mark.parametrize("known_env", KNOWN, ids=lambda item: item.env_id)
def test_the_figures_of_the_catalogue_are_those_of_the_environment(known_env: KnownEnv) -> None:
    if not known_env.installed:
        pytest.skip(f"not installed: pip install '{known_env.package}'")
    info = check_env(known_env.env_id)
    for figure in ("env_id", "obs_dim", "act_dim", "max_episode_steps", "reward_threshold"):
        assert getattr(info, figure) == getattr(known_env, figure), figure


def test_what_others_registered_is_told_apart_from_gymnasiums_own() -> None:
    found = registered_elsewhere()
    assert known.STEPS in found
    assert set(found).isdisjoint({"CartPole-v1", "Ant-v3", "Walker2d-v4", "BipedalWalker-v3"})


def test_mujocos_warnings_about_gymnasiums_models_are_not_printed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for env_id in ("HalfCheetah-v5", "Humanoid-v5"):
        make_env(env_id).close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
