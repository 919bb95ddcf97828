"""Exports an actor as ONNX, verified with onnxruntime before it is written."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from td3core.arrays import Floats
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from td3core.inference.normaliser import OBS_CLIP
from td3core.system.files import write_atomically
from td3core.system.packages import missing
from td3core.text import Text

OPSET, IR_VERSION = 13, 8
"""Readable by every runtime since 2021."""
_ACTIVATIONS = {"relu": "Relu", "tanh": "Tanh"}


def export(checkpoint: Path, target: Path) -> Text:
    """Write the model; its input ``obs`` and output ``action`` have one row per observation."""
    # Imported here: both belong to an extra.
    try:
        import onnx  # noqa: F401
        import onnxruntime as runtime
    except ImportError as problem:
        raise missing("ONNX", "onnx", problem) from problem
    actor = deployed_actor(checkpoint)
    data = model_of(actor)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])

    def act(obs: Floats) -> Floats:
        answer: Floats = session.run(["action"], {"obs": obs})[0]
        return answer

    checked = actor.require_parity(act)
    write_atomically(target, data)
    return checked


def model_of(actor: DeployedActor) -> bytes:
    """Return the model, with the facts about the actor as its metadata."""
    from onnx import TensorProto, checker, helper, numpy_helper

    constants, nodes = graph_of(actor)
    obs_dim, act_dim = actor.source.header.env.sizes
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [to], **options) for kind, inputs, to, options in nodes],
        "actor",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["batch", obs_dim])],
        [helper.make_tensor_value_info("action", TensorProto.FLOAT, ["batch", act_dim])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="td3-studio"
    )
    model.ir_version = IR_VERSION
    facts = actor.facts().items()
    helper.set_model_props(model, {k: v if isinstance(v, str) else json.dumps(v) for k, v in facts})
    checker.check_model(model, full_check=True)
    data: bytes = model.SerializeToString()
    return data


_Node = tuple[str, list[str], str, dict[str, Any]]
"""Operator, names of its inputs, name of its output, attributes."""


def graph_of(actor: DeployedActor) -> tuple[dict[str, Floats], list[_Node]]:
    """Return constants by name, and operators in order."""
    constants, nodes, x = dict[str, Floats](), list[_Node](), "obs"
    if actor.normalisation is not None:
        constants |= {
            "obs_shift": actor.normalisation.shift,
            "obs_scale": actor.normalisation.scale,
        }
        constants |= {
            "clip_low": np.array(-OBS_CLIP, np.float32),
            "clip_high": np.array(OBS_CLIP, np.float32),
        }
        nodes += [
            ("Sub", [x, "obs_shift"], "centred", {}),
            ("Mul", ["centred", "obs_scale"], "scaled", {}),
            ("Clip", ["scaled", "clip_low", "clip_high"], "normalised", {}),
        ]
        x = "normalised"
    for at, (weight, bias) in enumerate(actor.layers):
        constants |= {f"weight{at}": weight, f"bias{at}": bias}
        kind = _ACTIVATIONS[actor.activation] if at < len(actor.layers) - 1 else "Tanh"
        nodes += [
            ("Gemm", [x, f"weight{at}", f"bias{at}"], f"sum{at}", {"transB": 1}),
            (kind, [f"sum{at}"], f"x{at}", {}),
        ]
        x = f"x{at}"
    constants |= {"half": actor.half, "centre": actor.centre, "low": actor.low, "high": actor.high}
    nodes += [
        ("Mul", [x, "half"], "ranged", {}),
        ("Add", ["ranged", "centre"], "unbounded", {}),
        ("Max", ["unbounded", "low"], "at_least_low", {}),
        ("Min", ["at_least_low", "high"], "action", {}),
    ]
    return constants, nodes
