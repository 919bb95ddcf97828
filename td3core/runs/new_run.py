"""Description and folder of a new run."""

import os
import platform
from datetime import datetime
from pathlib import Path
from typing import Any

import platformdirs

from td3core.checkpoint.format import SCHEMA
from td3core.config import RunConfig, Tunables, title_of, to_dict
from td3core.system import files, processor
from td3core.system.capacity import usable_cores
from td3core.system.packages import version_of

_PACKAGES = (
    "td3-studio",
    "torch",
    "gymnasium",
    "numpy",
    "scipy",
    "numba",
    "llvmlite",
    "mujoco",
    "box2d",
    "pygame-ce",
)


def default_runs_dir() -> Path:
    """Return the folder for runs: ``TD3_STUDIO_RUNS``, else the user's data folder."""
    chosen = os.environ.get("TD3_STUDIO_RUNS")
    return (
        Path(chosen).absolute()
        if chosen
        else platformdirs.user_data_path("td3-studio", False) / "runs"
    )


def versions() -> dict[str, str]:
    """Return the versions of everything a result depends on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version_of(package)
        except ModuleNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return what determines the speed of this machine: system, processor, number of cores."""
    return {
        "system": platform.platform(),
        "processor": processor.name(),
        "cores": usable_cores(),
    }


def describe(config: RunConfig, tunables: Tunables, created: str) -> dict[str, Any]:
    """Return the contents of ``run.toml``."""
    return {
        "schema": SCHEMA,
        "created": created,
        "config": to_dict(config),
        "tunables": to_dict(tunables),
        "versions": versions(),
        "machine": machine(),
    }


def new_folder(runs_dir: Path, config: RunConfig, tunables: Tunables) -> Path:
    """Make a folder named after environment, algorithm, seed and local time.

    Raises:
        OSError: the folder cannot be made.
    """
    env, algorithm = files.slug(config.env), files.slug(title_of(config, tunables).lower())
    stem = f"{env}_{algorithm}_s{config.seed}_{datetime.now():%Y%m%d-%H%M%S}"
    return files.new_folder(runs_dir, stem)
