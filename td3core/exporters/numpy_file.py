"""Exports an actor as one Python file that only needs NumPy."""

import base64
from pathlib import Path
from pprint import pformat
from typing import Any

from td3core.arrays import Floats
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from td3core.inference.normaliser import OBS_CLIP
from td3core.system.files import write_atomically
from td3core.text import Text

_TEMPLATE = '''\
"""An actor of TD3 Studio, in NumPy: action = act(observation)."""

{usage}

import base64

import numpy as np

FACTS = {facts}
ACTION_REPEAT = FACTS["action_repeat"]
CONTROL_RATE_HZ = FACTS["control_rate_hz"]
LOW = np.array(FACTS["action_low"])
HIGH = np.array(FACTS["action_high"])


def act(observation):
    """Return actions (..., {act_dim}) within LOW and HIGH for observations (..., {obs_dim})."""
    x = np.asarray(observation, dtype=np.float32)
{normalise}    for weight, bias in _LAYERS[:-1]:
        x = {activation}
    weight, bias = _LAYERS[-1]
    x = np.tanh(x @ weight.T + bias)
    return np.clip((HIGH + LOW) / 2 + (HIGH - LOW) / 2 * x, LOW, HIGH).astype(np.float32)


def _array(text, *shape):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape)


{arrays}
'''
_ACTIVATIONS = {
    "relu": "np.maximum(x @ weight.T + bias, 0)",
    "tanh": "np.tanh(x @ weight.T + bias)",
}
_COLUMNS = 96


def export(checkpoint: Path, target: Path) -> Text:
    """Compare the file's actions with the studio's, then write it."""
    return write(deployed_actor(checkpoint), target)


def write(actor: DeployedActor, target: Path) -> Text:
    """Write the file of an actor already read; see :func:`export`."""
    text = source_of(actor)
    made: dict[str, Any] = {}
    exec(compile(text, target.name, "exec"), made)  # noqa: S102 - written just above
    checked = actor.require_parity(made["act"])
    write_atomically(target, text.encode())
    return checked


def source_of(actor: DeployedActor) -> str:
    """Return the text of the file."""
    layers = "".join(f"    ({_array(w)}, {_array(b)}),\n" for w, b in actor.layers)
    arrays = [f"_LAYERS = [\n{layers}]"]
    normalise = ""
    if actor.normalisation is not None:
        shift, scale = actor.normalisation
        arrays += [f"_SHIFT = {_array(shift)}", f"_SCALE = {_array(scale)}"]
        normalise = f"    x = np.clip((x - _SHIFT) * _SCALE, -{OBS_CLIP}, {OBS_CLIP})\n"
    facts = actor.facts()
    return _TEMPLATE.format(
        usage="\n".join(f"# {line}" for line in actor.usage()),
        facts=pformat(facts, sort_dicts=False),
        act_dim=facts["act_dim"],
        obs_dim=facts["obs_dim"],
        normalise=normalise,
        activation=_ACTIVATIONS[actor.activation],
        arrays="\n".join(arrays),
    )


def _array(values: Floats) -> str:
    """Return a call that recreates an array, bit for bit."""
    text = base64.b64encode(values.astype("<f4").tobytes()).decode()
    lines = (f'\n    "{text[at : at + _COLUMNS]}"' for at in range(0, len(text), _COLUMNS))
    return f"_array({''.join(lines)},\n    {', '.join(map(str, values.shape))})"
