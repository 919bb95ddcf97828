"""The ONNX model: valid, small, and the actions of the agent in onnxruntime."""

import builtins
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.errors import RequestError
from td3core.exporters import onnx_file
from tests.td3core.exporters.actors import BUNDLED, KINDS, expected, replayed, trained


def opened(path: Path) -> Any:
    runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.fixture
def onnx() -> Any:
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    return pytest.importorskip("onnx", reason="the extra onnx is not installed")


@pytest.mark.parametrize("kind", KINDS)
def test_the_model_acts_as_the_networks_written_out(
    runs_dir: Path, tmp_path: Path, kind: str, onnx: Any
) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "actor.onnx"
    said = onnx_file.export(source, target)
    assert str(said).startswith("largest error ")
    obs = replayed(source)
    session = opened(target)
    (action,) = session.run(None, {"obs": obs})
    assert action == pytest.approx(expected(source, obs, kind), abs=2e-5)
    (alone,) = session.run(None, {"obs": obs[:1]})
    assert alone.shape == (1, 1)


def test_the_model_carries_what_a_robot_must_know(
    runs_dir: Path, tmp_path: Path, onnx: Any
) -> None:
    target = tmp_path / "actor.onnx"
    onnx_file.export(trained(runs_dir, "repeated"), target)
    model = onnx.load(target)
    assert (model.opset_import[0].version, model.ir_version) == (13, 8)
    told = {each.key: each.value for each in model.metadata_props}
    assert told["env_id"] == "Pendulum-v1"
    assert json.loads(told["action_repeat"]) == 2
    assert json.loads(told["control_rate_hz"]) == 10.0
    assert json.loads(told["action_low"]) == [-2.0]
    assert json.loads(told["normalised_observations"]) is False


def test_a_model_that_deviates_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, onnx: Any
) -> None:
    good = onnx_file.graph_of

    def wrong(actor: Any) -> Any:
        constants, nodes = good(actor)
        return constants | {"half": constants["half"] * np.float32(1.001)}, nodes

    monkeypatch.setattr(onnx_file, "graph_of", wrong)
    with pytest.raises(RequestError, match="deviates by"):
        onnx_file.export(BUNDLED / "Pendulum-v1.safetensors", tmp_path / "actor.onnx")
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_the_command_to_install_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def absent(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002
        locals: Mapping[str, object] | None = None,  # noqa: A002
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        if name == "onnx":
            raise ModuleNotFoundError("No module named 'onnx'", name="onnx")
        return real(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(RequestError, match=r'package onnx: pip install "td3-studio\[onnx\]"'):
        onnx_file.export(BUNDLED / "Pendulum-v1.safetensors", tmp_path / "actor.onnx")
