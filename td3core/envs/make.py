"""Environments: making them, and the one view an agent has of any of them."""

import difflib
import importlib
import re
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import error as gym_error
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box

from td3core.config.env_choice import EnvChoice
from td3core.envs import simulators
from td3core.envs.agent_view import AgentView
from td3core.envs.catalogue import KNOWN, find_known
from td3core.envs.info import EnvInfo
from td3core.envs.rendering import cannot_draw, prepare_rendering
from td3core.errors import RequestError, unknown_name

# Its warnings (old versions, odd render modes) would be printed anew for every episode.
gym.logger.min_level = gym.logger.ERROR


def make_env(env: EnvChoice | str, *, render: bool = False) -> AgentView:
    """Make a fresh environment as an agent sees it.

    Raises:
        RequestError: it does not exist, is not installed, refuses its arguments, or does not suit
            TD3.
    """
    choice = env if isinstance(env, EnvChoice) else EnvChoice(env)
    if not choice.env_id.strip():
        raise RequestError("No environment is named; name one such as Pendulum-v1.")
    if render:
        prepare_rendering()
    made = _made(choice, render)
    try:
        _require_suitable(choice.env_id, made)
        if render and "rgb_array" not in made.metadata.get("render_modes", ()):
            raise cannot_draw(choice.env_id)
    except RequestError:
        made.close()
        raise
    return AgentView(made)


def _made(choice: EnvChoice, render: bool) -> gym.Env[Any, Any]:
    env_id, known = choice.env_id, find_known(choice.env_id)
    # Not render_mode=None: an environment may not know the word at all.
    given = choice.kwargs | ({"render_mode": "rgb_array"} if render else {})
    try:
        if known is not None:
            simulators.register(known)
        simulators.tame_mujoco()
        made = gym.make(_spec_of(env_id), disable_env_checker=True, **given)
        return simulators.quieted(known, made)
    except (gym_error.DependencyNotInstalled, ModuleNotFoundError) as problem:
        if isinstance(problem, ModuleNotFoundError) and (known is None or known.installed):
            raise _cannot_be_made(choice, problem) from problem
        raise _not_installed(env_id, problem) from problem
    except RequestError:
        raise
    except gym_error.UnregisteredEnv as problem:
        raise _unknown_env(env_id) from problem
    except Exception as problem:
        # Environments are anybody's code, and may raise anything while they are made.
        raise _cannot_be_made(choice, problem) from problem


def _spec_of(env_id: str) -> str | EnvSpec:
    """Let ``package.module:Class`` stand for a class that nobody has registered.

    ``package.module:Id-v0`` is Gymnasium's own notation: import the module, then make the id.
    """
    module, colon, name = env_id.partition(":")
    if not colon or not name.isidentifier():
        return env_id
    found = getattr(importlib.import_module(module), name, None)
    if not (isinstance(found, type) and issubclass(found, gym.Env)):
        raise RequestError(f"{module} holds no environment class called {name}.")
    return EnvSpec(id=name, entry_point=env_id)


def check_env(env: EnvChoice | str) -> EnvInfo:
    """Make the environment once, see that TD3 can be used on it, and return its sizes.

    Raises:
        RequestError: with one sentence that says what TD3 needs and what the environment has.
    """
    choice = env if isinstance(env, EnvChoice) else EnvChoice(env)
    made = make_env(choice)
    try:
        return describe(choice, made)
    finally:
        made.close()


def describe(choice: EnvChoice, made: AgentView) -> EnvInfo:
    """Return the sizes and bounds of an environment that has been made."""
    space, obs_space = made.env.action_space, made.env.observation_space
    assert isinstance(space, Box)
    assert isinstance(obs_space, Box)
    spec = made.spec
    return EnvInfo(
        env_id=spec.id if spec and ":" not in choice.env_id else choice.env_id,
        args=choice.args,
        obs_dim=int(np.prod(obs_space.shape)),
        act_dim=int(np.prod(space.shape)),
        action_low=tuple(float(v) for v in space.low.ravel()),
        action_high=tuple(float(v) for v in space.high.ravel()),
        max_episode_steps=spec.max_episode_steps if spec else None,
        reward_threshold=spec.reward_threshold if spec else None,
    )


def registered_elsewhere() -> list[str]:
    """Return what other packages have registered with Gymnasium, beyond the known environments."""
    return [
        env_id
        for env_id, spec in gym.registry.items()
        if find_known(env_id) is None and not _is_gymnasiums(spec.entry_point)
    ]


def _is_gymnasiums(entry_point: Any) -> bool:
    # Its own further ones are older versions, have discrete actions, or convert what is older yet.
    module = entry_point if isinstance(entry_point, str) else entry_point.__module__
    return module.split(".")[0] in ("gymnasium", "shimmy")


def _require_suitable(env_id: str, env: gym.Env[Any, Any]) -> None:
    action, obs = env.action_space, env.observation_space
    if not isinstance(action, Box):
        raise RequestError(
            f"{env_id} has {_words(action)} actions; TD3 needs continuous actions (a Box)."
        )
    if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
        raise RequestError(f"{env_id} has actions without bounds; TD3 needs a bounded Box.")
    if not (action.low < action.high).all():
        raise RequestError(f"{env_id} has an action whose lower bound is not below its upper one.")
    if not isinstance(obs, Box):
        raise RequestError(
            f"{env_id} has {_words(obs)} observations; TD3 needs arrays of numbers (a Box)."
        )


def _words(space: gym.Space[Any]) -> str:
    name = type(space).__name__
    return {"Discrete": "discrete", "MultiDiscrete": "discrete", "MultiBinary": "binary"}.get(
        name, name
    )


def _unknown_env(env_id: str) -> RequestError:
    ours = [known.env_id for known in KNOWN]
    same = [name for name in ours if name.lower() == env_id.lower()]
    # Gymnasium knows names of simulators that few have; they are guessed at last.
    near = difflib.get_close_matches(env_id, ours, n=1, cutoff=0.8)
    return unknown_name("environment", env_id, same or near or sorted({*ours, *gym.registry}))


def _not_installed(env_id: str, problem: Exception) -> RequestError:
    known = find_known(env_id)
    if known is not None:
        return RequestError(
            f"{env_id} needs a package that is not installed; pip install '{known.package}'."
        )
    return RequestError(f"{env_id} needs a package that is not installed: {_sentence(problem)}")


def _cannot_be_made(choice: EnvChoice, problem: Exception) -> RequestError:
    env_id, given = choice.env_id, choice.kwargs
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", str(problem))
    if unexpected and unexpected[1] in given:
        name = unexpected[1]
        return RequestError(
            f"env_args cannot hold {name} = {given[name]!r}: {env_id} takes no argument of that"
            " name."
        )
    reason = _sentence(problem).rstrip(".")
    if given:
        return RequestError(f"{env_id} cannot be made with env_args {choice.args}: {reason}.")
    return RequestError(f"{env_id} cannot be made: {reason}.")


def _sentence(problem: Exception) -> str:
    """First line of an exception's text, or its type when it has none."""
    # Gymnasium adds what it called; the arguments are named already.
    text = str(problem).split(" was raised from the environment creator")[0].strip().splitlines()
    return text[0] if text else type(problem).__name__
