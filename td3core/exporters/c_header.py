"""Exports an actor as a C header without dependencies, for microcontrollers."""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np

from td3core.arrays import Floats
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from td3core.inference.normaliser import OBS_CLIP
from td3core.system.files import write_atomically
from td3core.text import Text

_TEMPLATE = """\
/* An actor of TD3 Studio, in C99 and float32.
 *
{usage}
 *
 *     float action[TD3_ACT_DIM];
 *     td3_act(observation, action);
 *
 * If a number of the observation is NaN, as from a sensor that failed, each action is NaN: check
 * isnan(action[0]) before an action reaches a motor. Compile without -ffast-math, which drops such
 * checks.
 *
 * Names are the same for every actor: include one actor per source file.
 *
 * Weights take {bytes} bytes of read-only memory, a call {stack} bytes of stack.
 */
#ifndef TD3_ACTOR_{digest}
#define TD3_ACTOR_{digest}

#ifdef TD3_ACT_DIM
#error "One actor per source file: another one is included already."
#endif

{code}
#endif
"""
_CODE = """\
#include <math.h>

#define TD3_ENV {env}
#define TD3_OBS_DIM {obs_dim}
#define TD3_ACT_DIM {act_dim}
#define TD3_ACTION_REPEAT {repeat}
{rate}
{arrays}

static void td3_layer(const float *weight, const float *bias, int rows, int columns,
                      const float *x, float *y)
{{
    for (int i = 0; i < rows; i++) {{
        float sum = bias[i];
        for (int j = 0; j < columns; j++)
            sum += weight[i * columns + j] * x[j];
        y[i] = sum;
    }}
}}

/* Unlike fminf and fmaxf, keep NaN. */
static float td3_clip(float x, float low, float high)
{{
    return x < low ? low : x > high ? high : x;
}}

/* Write TD3_ACT_DIM numbers within td3_low and td3_high for TD3_OBS_DIM numbers. */
static void td3_act(const float *observation, float *action)
{{
    float x[{widest}], y[{widest}];
    for (int i = 0; i < TD3_OBS_DIM; i++)
        x[i] = {observation};
{layers}
    for (int i = 0; i < TD3_ACT_DIM; i++) {{
        float a = td3_centre[i] + td3_half[i] * tanhf(y[i]);
        action[i] = td3_clip(a, td3_low[i], td3_high[i]);
    }}
}}
"""
_LAYER = """\
    td3_layer(td3_weight{at}, td3_bias{at}, {rows}, {columns}, x, y);"""
_HIDDEN = """
    for (int i = 0; i < {rows}; i++)
        x[i] = {activation};"""
_ACTIVATIONS = {"relu": "y[i] <= 0.0f ? 0.0f : y[i]", "tanh": "tanhf(y[i])"}
_COLUMNS = 6


def export(checkpoint: Path, target: Path) -> Text:
    """Write the header; return a note on its memory use."""
    actor = deployed_actor(checkpoint)
    write_atomically(target, source_of(actor).encode())
    return Text("{n:,} bytes of weights", n=_bytes(actor))


def source_of(actor: DeployedActor) -> str:
    """Return the text of the header."""
    widest = max(max(weight.shape) for weight, _ in actor.layers)
    code = _code(actor, widest)
    return _TEMPLATE.format(
        usage="\n".join(f" * {_comment(line)}" for line in actor.usage()),
        bytes=_bytes(actor),
        stack=2 * 4 * widest,
        # Of all the code, not only of the weights: bounds and normalisation may differ as well.
        digest=sha256(code.encode()).hexdigest()[:16].upper(),
        code=code,
    )


def _code(actor: DeployedActor, widest: int) -> str:
    """Return the code of the header, without comment and guards."""
    facts, rate = actor.facts(), actor.control_rate_hz
    return _CODE.format(
        env=json.dumps(facts["env_id"]),
        obs_dim=facts["obs_dim"],
        act_dim=facts["act_dim"],
        repeat=facts["action_repeat"],
        rate="" if rate is None else f"#define TD3_CONTROL_RATE_HZ {number(rate)}\n",
        arrays="\n".join(_arrays(actor)),
        widest=widest,
        observation="observation[i]" if actor.normalisation is None else _NORMALISED,
        layers="\n".join(_layers(actor)),
    )


_NORMALISED = (
    f"td3_clip((observation[i] - td3_shift[i]) * td3_scale[i], -{OBS_CLIP:.1f}f, {OBS_CLIP:.1f}f)"
)


def _bytes(actor: DeployedActor) -> int:
    return sum(weight.nbytes + bias.nbytes for weight, bias in actor.layers)


def _comment(line: str) -> str:
    """Return text that cannot end the comment it is in."""
    return line.replace("*/", "* /").replace("/*", "/ *")


def _arrays(actor: DeployedActor) -> list[str]:
    named = {"low": actor.low, "high": actor.high, "centre": actor.centre, "half": actor.half}
    if actor.normalisation is not None:
        named |= {"shift": actor.normalisation.shift, "scale": actor.normalisation.scale}
    for at, (weight, bias) in enumerate(actor.layers):
        named |= {f"weight{at}": weight.ravel(), f"bias{at}": bias}
    return [_array(name, values) for name, values in named.items()]


def _array(name: str, values: Floats) -> str:
    numbers = [number(value) for value in values]
    rows = (
        "    " + ", ".join(numbers[at : at + _COLUMNS]) for at in range(0, len(numbers), _COLUMNS)
    )
    return f"static const float td3_{name}[{len(numbers)}] = {{\n" + ",\n".join(rows) + "\n};"


def number(value: float) -> str:
    """Return a literal that is read as the same float32."""
    text = f"{np.float32(value):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


def _layers(actor: DeployedActor) -> list[str]:
    calls = []
    for at, (weight, _) in enumerate(actor.layers):
        rows, columns = weight.shape
        call = _LAYER.format(at=at, rows=rows, columns=columns)
        if at < len(actor.layers) - 1:
            call += _HIDDEN.format(rows=rows, activation=_ACTIVATIONS[actor.activation])
        calls.append(call)
    return calls
