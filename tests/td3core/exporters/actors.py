"""Agents to export, and their actions by a forward pass of its own in float64."""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from td3core.arrays import Doubles
from td3core.exporters.actor.deployed import deployed_actor
from tests.td3core.helpers import finish

BUNDLED = Path(__file__).parents[3] / "resources" / "agents"
KINDS: dict[str, dict[str, Any]] = {
    "relu": {},
    "tanh": {"actor_activation": "tanh", "critic_activation": "tanh"},
    "normalised": {"normalize_observations": True},
    "one_critic": {"twin_critics": False},
    "repeated": {"env_args": '{"action_repeat": 2, "g": 9.5}'},
}


def trained(runs_dir: Path, kind: str, steps: int = 60) -> Path:
    """Return the last checkpoint of a pendulum that was trained for a moment."""
    saved = finish(runs_dir, "Pendulum-v1", steps=steps, **KINDS[kind]).last_checkpoint
    assert saved is not None
    return saved


def replayed(source: Path) -> Any:
    """Return the observations of an episode."""
    return deployed_actor(source).replayed


def expected(source: Path, obs: Any, kind: str = "relu") -> Doubles:
    """Return the torques of a pendulum, written out from the tensors in the file."""
    tensors = load_file(source)
    x = obs.astype(np.float64)
    if kind == "normalised":
        variance = tensors["obs_norm.squares"] / tensors["obs_norm.count"]
        x = np.clip((x - tensors["obs_norm.mean"]) / np.sqrt(variance + 1e-8), -10, 10)
    last = sum(name.startswith("actor.") for name in tensors) // 2 - 1
    for at in range(last + 1):
        x = x @ tensors[f"actor.{at}.weight"].T.astype(np.float64) + tensors[f"actor.{at}.bias"]
        x = np.tanh(x) if kind == "tanh" or at == last else np.maximum(x, 0)
    return 2.0 * x
