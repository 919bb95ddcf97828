"""Making environments, and refusing those that do not suit TD3."""

import difflib
import importlib
import math
import re
import stat
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import error as gym_error
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete

from td3core.config.env_choice import EnvChoice
from td3core.envs import simulators, trust
from td3core.envs.agent_view import ActionRepeat, AgentView, close_quietly
from td3core.envs.catalogue import KNOWN, find_known
from td3core.envs.info import EnvInfo
from td3core.envs.rendering import (
    draw_faster,
    prepare_rendering,
    rendering_error,
    require_rendering,
)
from td3core.errors import (
    RequestError,
    brief,
    quoted,
    reason_of,
    require_no_interrupt,
    unknown_name,
)
from td3core.system.imported_code import ImportedCode
from td3core.text import SettingName, Text

_GYMNASIUMS = ("gymnasium", "shimmy")
_REGISTERED_FIRST = frozenset(gym.registry)
"""What importing Gymnasium registers: its own environments, and those of installed plug-ins."""

_LARGEST_WHOLE = 2.0**53
"""Beyond this, float64 does not represent every whole number."""

# Its warnings (old versions, unknown render modes) would be printed in every episode.
gym.logger.min_level = gym.logger.ERROR


_own_code = ImportedCode()
usable_environments: set[EnvChoice] = set()
"""Environments that another process has made and stepped for this one."""


def note_usable(choice: EnvChoice) -> None:
    """Note that another process could make and step this environment without hanging."""
    usable_environments.add(choice.simulated)


def is_usable(choice: EnvChoice) -> bool:
    """Return whether another process has made and stepped this environment before."""
    return choice.simulated in usable_environments


def forget_changed_code(choice: EnvChoice) -> None:
    """Make the next environment import the user's own modules again if any has changed.

    Not to be called during a run: its later episodes would use another environment.

    Raises:
        RequestError: a compiled module of it has changed, which cannot be loaded twice.
    """
    names = _own_code.drop_changed(trust.folders_of(choice))
    if names:
        usable_environments.discard(choice.simulated)
    dropped = {name.partition(".")[0] for name in names}
    for env_id, spec in [*gym.registry.items()] if dropped else ():
        if _package_of(spec.entry_point) in dropped:
            del gym.registry[env_id]


def make_env(which: EnvChoice | str, *, render: bool = False) -> AgentView:
    """Make a fresh environment, wrapped for TD3.

    The user must have allowed the code it names (:mod:`td3core.envs.trust`).

    Raises:
        UntrustedCodeError: the user has not allowed a module; nothing was imported.
        RequestError: it does not exist, is not installed, refuses its arguments, or does not suit
            TD3.
    """
    choice = _choice(which)
    if not choice.env_id.strip():
        raise RequestError("Name an environment, for instance Pendulum-v1.")
    if render:
        prepare_rendering(choice.env_id)
        require_rendering(choice.env_id)
    env = _make_gym_env(choice, render)
    try:
        _require_suitable(choice.env_id, env)
        if render and "rgb_array" not in (env.metadata.get("render_modes") or ()):
            raise rendering_error(choice.env_id)
    except BaseException as problem:
        close_quietly(env)
        if isinstance(problem, RequestError):
            raise
        # Reading a space that the environment lacks is like failing to make it.
        require_no_interrupt(problem)
        raise _creation_error(choice, problem) from problem
    if render:
        draw_faster(env)
    return AgentView(env if choice.action_repeat == 1 else ActionRepeat(env, choice.action_repeat))


def _make_gym_env(choice: EnvChoice, render: bool) -> gym.Env[Any, Any]:
    env_id, known = choice.env_id, find_known(choice.env_id)
    # Not render_mode=None: an environment may lack that parameter.
    given = choice.kwargs | ({"render_mode": "rgb_array"} if render else {})
    try:
        require_notation(env_id)
        _require_regular_files(choice)
        trust.require_consent(choice)
        # The user's own environments are usually in the folder where the program is started.
        trust.prepare_import(env_id)
        if known is not None:
            simulators.register(known)
        simulators.log_mujoco_warnings()
        with _own_code.importing(trust.folders_of(choice)):
            env = gym.make(_id_or_spec(env_id), disable_env_checker=True, **given)
        return simulators.without_stdout(known, env)
    except (gym_error.DependencyNotInstalled, ModuleNotFoundError) as problem:
        if isinstance(problem, ModuleNotFoundError) and (known is None or known.installed):
            raise _creation_error(choice, problem) from problem
        raise _dependency_error(env_id, problem) from problem
    except RequestError:
        raise
    except gym_error.UnregisteredEnv as problem:
        raise _unknown_env_error(env_id) from problem
    except BaseException as problem:
        # An environment is third-party code and may raise anything, or call sys.exit.
        require_no_interrupt(problem)
        if render and _unexpected_argument(problem) == "render_mode":
            raise rendering_error(env_id) from problem
        raise _creation_error(choice, problem) from problem


def _choice(which: EnvChoice | str) -> EnvChoice:
    return which if isinstance(which, EnvChoice) else EnvChoice(which)


def require_notation(env_id: str) -> None:
    """Refuse anything but an id or a module name with an id or a class.

    Raises:
        RequestError: it is neither.
    """
    module, colon, name = env_id.partition(":")
    if colon and not all(part.isidentifier() for part in module.split(".")):
        raise RequestError(
            "{env_id} names no module; write package.module:Class.", env_id=brief(env_id)
        )
    if ":" in name:
        raise RequestError(
            "{env_id} has more than one colon; write package.module:Class.", env_id=brief(env_id)
        )


def _require_regular_files(choice: EnvChoice) -> None:
    """Refuse arguments that name a pipe or a device: reading it may never end.

    Raises:
        RequestError: an argument does.
    """
    for text in trust.texts_of(choice.kwargs):
        try:
            kind = Path(text).expanduser().stat().st_mode
        except (OSError, ValueError, RuntimeError):
            continue  # It names no file here.
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise RequestError(
                "{key} of {env_id} name {path}, which is not a regular file.",
                key=SettingName("env_args"),
                env_id=choice.env_id,
                path=brief(repr(text)),
            )


def _id_or_spec(env_id: str) -> str | EnvSpec:
    """Resolve ``package.module:Class``, which names a class that is not registered.

    ``package.module:Id-v0`` is Gymnasium's own notation: import the module, then make the id. The
    version may be missing there, too.

    Raises:
        RequestError: the module has no such class, and no such id is registered.
    """
    module, colon, name = env_id.partition(":")
    if not colon or not name.isidentifier():
        return env_id
    found = getattr(importlib.import_module(module), name, None)
    if isinstance(found, type) and issubclass(found, gym.Env):
        return EnvSpec(id=name, entry_point=env_id)
    # The class of an id may lie in another package than the module that registers it.
    ids = [*_ids_of(module), *(each for each in gym.registry if not _is_gymnasiums(each))]
    if name in gym.registry or name in (each.rpartition("-v")[0] for each in ids):
        return env_id
    raise _unknown_in_module(module, name)


def check_env(which: EnvChoice | str) -> EnvInfo:
    """Make an environment once and return its sizes and bounds.

    Raises:
        RequestError: it cannot be made, or does not suit TD3.
    """
    choice = _choice(which)
    env = make_env(choice)
    try:
        return _env_info(choice, env)
    finally:
        env.close()


def _env_info(choice: EnvChoice, env: AgentView) -> EnvInfo:
    space, obs_space = env.env.action_space, env.env.observation_space
    assert isinstance(space, Box)
    assert isinstance(obs_space, Box)
    spec = env.spec
    limit = spec.max_episode_steps if spec else None
    return EnvInfo(
        env_id=spec.id if spec and ":" not in choice.env_id else choice.env_id,
        args=choice.args,
        obs_dim=int(np.prod(obs_space.shape)),
        act_dim=int(np.prod(space.shape)),
        action_low=tuple(float(v) for v in space.low.ravel()),
        action_high=tuple(float(v) for v in space.high.ravel()),
        max_episode_steps=math.ceil(limit / choice.fewest_repeats) if limit else limit,
        # With arguments it is another task, without a known return at which it is solved.
        reward_threshold=spec.reward_threshold if spec and not choice.kwargs else None,
    )


def is_registered(env_id: str) -> bool:
    """Return whether an environment is known, or was registered by an imported module."""
    return find_known(env_id) is not None or env_id in gym.registry


def registered_elsewhere() -> list[str]:
    """Return the ids registered by other packages, without the known environments."""
    return [
        env_id
        for env_id in gym.registry
        # Gymnasium's others are older versions, have discrete actions, or convert older ones.
        if find_known(env_id) is None and not _is_gymnasiums(env_id)
    ]


def _is_gymnasiums(env_id: str) -> bool:
    """Return whether Gymnasium registers an environment itself.

    Others may register its classes, too, with arguments of their own.
    """
    package = _package_of(gym.registry[env_id].entry_point)
    return env_id in _REGISTERED_FIRST and package in _GYMNASIUMS


def _ids_of(module: str) -> list[str]:
    """Return the registered ids of the environments in a module's package."""
    package = module.partition(".")[0]
    return [each for each, spec in gym.registry.items() if _package_of(spec.entry_point) == package]


def _package_of(entry_point: Any) -> str:
    """Return the top-level package of the code behind a registered environment."""
    module = entry_point if isinstance(entry_point, str) else getattr(entry_point, "__module__", "")
    package: str = module.partition(":")[0].partition(".")[0]
    return package


def _require_suitable(env_id: str, env: gym.Env[Any, Any]) -> None:
    action, obs = env.action_space, env.observation_space
    if not isinstance(action, Box):
        raise RequestError(
            "{env_id} has {kind} actions; TD3 needs continuous actions (a Box).",
            env_id=env_id,
            kind=_kind_of(action),
        )
    for space, what in ((action, Text("actions")), (obs, Text("observations"))):
        if 0 in (space.shape or ()):
            raise RequestError(
                "{env_id} has {what} of shape {shape}, which are empty.",
                env_id=env_id,
                what=what,
                shape=space.shape,
            )
    if not (np.isfinite(action.low).all() and np.isfinite(action.high).all()):
        raise RequestError(
            "{env_id} has unbounded actions; TD3 needs a bounded Box.", env_id=env_id
        )
    if not (action.low < action.high).all():
        raise RequestError(
            "{env_id} has an action whose lower bound is not below its upper bound.", env_id=env_id
        )
    if not _can_scale(action):
        raise RequestError(
            "{env_id} has actions whose bounds are too far apart to be scaled from [-1, 1].",
            env_id=env_id,
        )
    if not isinstance(obs, Box):
        raise RequestError(
            "{env_id} has {kind} observations; TD3 needs arrays of numbers (a Box).",
            env_id=env_id,
            kind=_kind_of(obs),
        )


def _can_scale(action: Box) -> bool:
    """Return whether float64 represents the range of every action, and every whole number in it."""
    low, high = action.low.astype(np.float64), action.high.astype(np.float64)
    if np.dtype(action.dtype).kind in "iu":
        return bool(max(np.abs(low).max(), np.abs(high).max()) <= _LARGEST_WHOLE)
    with np.errstate(over="ignore"):
        return bool(np.isfinite(high - low).all() and np.isfinite(high + low).all())


def _kind_of(space: gym.Space[Any]) -> Text:
    if isinstance(space, Discrete | MultiDiscrete):
        return Text("discrete")
    if isinstance(space, MultiBinary):
        return Text("binary")
    return quoted(type(space).__name__)


def _unknown_in_module(module: str, name: str) -> RequestError:
    near = difflib.get_close_matches(name, _ids_of(module), n=1, cutoff=0.5)
    if near:
        return unknown_name(
            "There is no environment called {name}.", f"{module}:{name}", [f"{module}:{near[0]}"]
        )
    return RequestError(
        "{module} has no environment class called {name}.", module=module, name=name
    )


def _unknown_env_error(env_id: str) -> RequestError:
    module, colon, name = env_id.partition(":")
    if colon:
        return _unknown_in_module(module, name)
    ours = [known.env_id for known in KNOWN]
    same = [name for name in ours if name.lower() == env_id.lower()]
    # Gymnasium registers ids of simulators that few users have; suggest them last.
    near = difflib.get_close_matches(env_id, ours, n=1, cutoff=0.8)
    if same or near:
        return unknown_name("There is no environment called {name}.", env_id, same or near)
    every = sorted({*ours, *gym.registry})
    # A list of all of them would be too long to read.
    similar = difflib.get_close_matches(env_id, every, n=1, cutoff=0.5)
    return unknown_name(
        "There is no environment called {name}.", env_id, every if similar else sorted(ours)
    )


def _dependency_error(env_id: str, problem: Exception) -> RequestError:
    known = find_known(env_id)
    if known is not None:
        return RequestError(
            "{env_id} needs a package that is not installed: pip install '{package}'.",
            env_id=env_id,
            package=known.package,
        )
    return RequestError(
        "{env_id} needs a package that is not installed: {reason}.",
        env_id=env_id,
        reason=_reason(problem),
    )


def _creation_error(choice: EnvChoice, problem: BaseException) -> RequestError:
    env_id, given = choice.env_id, choice.kwargs
    name = _unexpected_argument(problem)
    if name in given:
        return RequestError(
            "{key} cannot contain {name} = {value}: {env_id} has no such argument.",
            key=SettingName("env_args"),
            name=name,
            value=repr(given[name]),
            env_id=env_id,
        )
    if given:
        return RequestError(
            "{env_id} cannot be made with {key} {args}: {reason}.",
            key=SettingName("env_args"),
            env_id=env_id,
            args=choice.args,
            reason=_reason(problem),
        )
    return RequestError(
        "{env_id} cannot be made: {reason}.", env_id=env_id, reason=_reason(problem)
    )


def _unexpected_argument(problem: BaseException) -> str:
    found = re.search(r"unexpected keyword argument '(\w+)'", str(problem))
    return found[1] if found else ""


def _reason(problem: BaseException) -> str:
    """Return the first line of an exception's text, or its type if it has none."""
    # Gymnasium appends its call of the environment, whose arguments are in the message already.
    text = reason_of(problem).split(" was raised from the environment creator")[0]
    lines = text.strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
