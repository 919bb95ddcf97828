"""What this machine has, what is missing, and how to get it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from td3core.config import default_threads
from td3core.envs.catalogue import KNOWN, KnownEnv
from td3core.runs.new_run import default_runs_dir, versions

_DRAW_ONCE = """
import sys
from td3core.envs.make import make_env
env = make_env(sys.argv[1], render=True)
env.reset(seed=0)
print(env.render().shape)
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``ok`` is None where nothing is right or wrong."""

    what: str
    value: str
    ok: bool | None = None


def examine() -> Iterator[Finding]:
    """Look at versions, processors, environments and renderers, one finding at a time."""
    for package, found in versions().items():
        yield Finding(package, found)
    yield _package("PySide6-Essentials", "the window; pip install td3-studio brings it")
    yield _package("av", "films (replay --video); pip install av")
    yield Finding("processor", f"{os.cpu_count()} cores, {default_threads()} for training")
    yield _accelerator()
    yield Finding("runs folder", str(default_runs_dir()), _writable())
    for group in dict.fromkeys(known.group for known in KNOWN):
        members = [known for known in KNOWN if known.group == group]
        first = members[0]
        if not first.installed:
            yield _not_there(first)
            continue
        yield Finding(group, f"{len(members)} environments", True)
        yield _draws(first.env_id)


def _package(name: str, purpose: str) -> Finding:
    try:
        return Finding(name, version(name), True)
    except PackageNotFoundError:
        return Finding(name, f"missing: {purpose}", False)


def _not_there(known: KnownEnv) -> Finding:
    """Gymnasium's own simulators come with the studio; others only when asked for."""
    command = f"pip install '{known.package}'"
    if known.registered_by:
        return Finding(known.group, f"not installed (optional); {command}")
    return Finding(known.group, f"missing; {command}", False)


def _accelerator() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("accelerator", f"{torch.cuda.get_device_name()} (training uses the CPU)")
    return Finding("accelerator", "none found; training uses the CPU")


def _writable() -> bool:
    folder = default_runs_dir()
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return os.access(folder, os.W_OK)


def _draws(env_id: str) -> Finding:
    """Draw one picture in a process of its own: a broken graphics driver may end the process."""
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", _DRAW_ONCE, env_id],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(f"draws {env_id}", "no picture within 60 s", False)
    if done.returncode == 0:
        return Finding(f"draws {env_id}", "yes", True)
    reason = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    hint = "" if not sys.platform.startswith("linux") else " (try MUJOCO_GL=osmesa)"
    return Finding(f"draws {env_id}", f"no: {reason}{hint}", False)
