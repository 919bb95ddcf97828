"""Reads the folder of a run of RL Zoo: its agent, environment, statistics and evaluations."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from td3core.config.env_choice import EnvChoice
from td3core.errors import RequestError
from td3core.importers import stable_baselines3, vec_normalize
from td3core.importers.archive import read_file
from td3core.importers.damage import UnexpectedError, reading
from td3core.importers.foreign import ForeignAgent
from td3core.importers.plain_yaml import read_yaml
from td3core.system.regular_files import glob, is_regular

_ARGS, _CONFIG, _ENV_ARGS = "args.yml", "config.yml", "env_kwargs.yml"
_STATISTICS = ("vecnormalize.pkl", "vec_normalize.pkl")
_NO_AGENTS = ("train_eval_metrics.zip",)
_MOST_FILES = 2_000
_NOT_OBSERVATIONS = re.compile(r"norm_obs['\"]? ?[=:] ?False")
"""Matches settings that normalise only rewards."""


def is_readable(path: Path) -> bool:
    """Return whether a path is the folder of such a run, or a zip in one."""
    if path.is_dir():
        return _settings_folder(path) is not None and bool(_zips(path))
    return stable_baselines3.is_readable(path) and _settings_folder(path.parent) is not None


def read(path: Path) -> ForeignAgent:
    """Return the agent of a folder, or of one of its zips, with the files next to it.

    Raises:
        RequestError: it cannot be imported; the message names file, part and reason.
    """
    folder = path if path.is_dir() else path.parent
    settings = _settings_folder(folder)
    assert settings is not None
    agent = stable_baselines3.read(_main_zip(path) if path.is_dir() else path)
    env = _environment(settings)
    statistics = [settings / name for name in _STATISTICS if is_regular(settings / name)]
    if statistics:
        agent = vec_normalize.normalised(agent, statistics[0])
    else:
        _require_not_normalised(settings)
    return replace(agent, env=agent.env or env)


def _settings_folder(folder: Path) -> Path | None:
    """Return the folder of ``args.yml``: the folder of a run, or one inside it."""
    for each in (folder, *glob(folder, "*/")):
        if is_regular(each / _ARGS):
            return each
    return None


def _zips(folder: Path) -> list[Path]:
    return [
        path
        for path in glob(folder, "*.zip")[:_MOST_FILES]
        if path.name not in _NO_AGENTS and is_regular(path)
    ]


def _main_zip(folder: Path) -> Path:
    """Return the agent after the last step.

    Raises:
        RequestError: there are several, and none is named after the environment.
    """
    zips = _zips(folder)
    last = [z for z in zips if z.stem != "best_model" and not z.stem.startswith("rl_model_")]
    named = [z for z in last if (folder / z.stem).is_dir()]
    for found in (named, last, zips):
        if len(found) == 1:
            return found[0]
    raise RequestError("{folder} holds several agents; name the .zip of one.", folder=folder.name)


def _document(path: Path) -> Mapping[str, Any]:
    if not is_regular(path):
        return {}
    with reading(path.name, "the file"):
        found = read_yaml(read_file(path))
        if not isinstance(found, dict):
            raise UnexpectedError("there are no settings")
        return found


def _environment(folder: Path) -> EnvChoice | None:
    args, config = _document(folder / _ARGS), _document(folder / _CONFIG)
    with reading(_CONFIG, "the file"):
        for name in ("env_wrapper", "vec_env_wrapper", "frame_stack"):
            if config.get(name) not in (None, [], 1):
                raise UnexpectedError(
                    "{name} changes what the agent sees: {value}",
                    name=name,
                    value=str(config[name])[:80],
                )
    env_id, kwargs = args.get("env"), args.get("env_kwargs")
    if is_regular(folder / _ENV_ARGS):
        kwargs = _document(folder / _ENV_ARGS)
    with reading(_ARGS, "env"):
        if env_id is None:
            return None
        if not isinstance(kwargs, dict | None) or not isinstance(env_id, str):
            raise UnexpectedError("the environment is described in an unknown way")
        return EnvChoice(env_id, json.dumps(kwargs) if kwargs else "")


def _require_not_normalised(folder: Path) -> None:
    """Refuse an agent whose statistics are missing.

    Raises:
        RequestError: ``config.yml`` says that observations are normalised.
    """
    found = _document(folder / _CONFIG).get("normalize")
    with reading(_CONFIG, "normalize"):
        if found not in (None, False, "False") and not _NOT_OBSERVATIONS.search(str(found)):
            raise UnexpectedError("observations are normalised, but vecnormalize.pkl is missing")
