"""Records which environment a run is made with, so that resuming it with another one is noticed.

Only for environments with code or arguments of the user's: of all others the versions of their
packages are on record.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from td3core.config.env_choice import EnvChoice
from td3core.envs import trust
from td3core.envs.check.probe import STEPS, ProbeError, Rollout, run_probe
from td3core.envs.check.report import CheckReport
from td3core.text import SettingName, Text

_COUNT, _STEPS, _FILES = "env_steps", "env_probe", "env_files"
_LARGEST = 256 << 20
"""Bytes; of a larger file, which would take seconds to read, only the size is compared."""


def record(
    choice: EnvChoice, checked: CheckReport | None, recorded: Mapping[str, str]
) -> dict[str, str]:
    """Return digests of the environment's files and of some random steps in it.

    The files are those of the modules that ``choice`` names, and those named in its arguments.

    Args:
        choice: the environment.
        checked: the check before training; None if there was none, so that no steps are on record.
        recorded: the record of the checkpoint to resume from; as many steps are taken as there.
    """
    about = {}
    files = sorted(_digests_of_files(choice))
    if files:
        about[_FILES] = hashlib.sha256("".join(files).encode()).hexdigest()
    if checked is None:
        return about
    steps = checked.steps
    if steps is None:
        # It does not repeat itself.
        return about | {_STEPS: ""}
    count = _count(recorded.get(_COUNT, ""), len(steps.rewards))
    if count != len(steps.rewards):
        # The check takes fewer steps where they are slower.
        try:
            steps = run_probe(choice, count, least=count)
        except ProbeError:
            return about | {_STEPS: ""}
    return about | {_COUNT: str(count), _STEPS: _digest(steps)}


def differences(then: Mapping[str, str], now: Mapping[str, str]) -> list[Text]:
    """Return why the environment recorded as ``then`` is, or may be, another one ``now``."""
    steps = then.get(_STEPS)
    if steps and now.get(_STEPS, steps) != steps:
        return [
            Text(
                "The environment has changed: the same actions give other observations, rewards or"
                " ends than where the run was made."
            )
        ]
    if then.get(_FILES) and now.get(_FILES) != then[_FILES]:
        return [
            Text(
                "The environment may have changed: its code or a file named in {key} is not what it"
                " was.",
                key=SettingName("env_args"),
            )
        ]
    return []


def _count(recorded: str, taken: int) -> int:
    """Return the number of steps to compare: the recorded one, if it is in range."""
    found = int(recorded) if re.fullmatch("[0-9]{1,3}", recorded) else 0
    return found if 0 < found <= STEPS else taken


def _digests_of_files(choice: EnvChoice) -> Iterator[str]:
    named = [module.path for module in trust.needed(choice)]
    for path in map(Path, dict.fromkeys((*named, *trust.texts_of(choice.kwargs)))):
        try:
            if not path.is_file():
                continue
            if (size := path.stat().st_size) > _LARGEST:
                yield f"{size} bytes"
                continue
            with path.open("rb") as file:
                yield hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError):
            continue  # It names no file that can be read.


def _digest(steps: Rollout) -> str:
    digest = hashlib.sha256()
    for obs in steps.observations:
        digest.update(f"{obs.dtype.str} {obs.shape}".encode())
        digest.update(obs.tobytes())
    digest.update(np.array(steps.rewards).tobytes())
    digest.update(bytes(steps.ends))
    return digest.hexdigest()
