"""Checkpoints whose tensors are not those that their header describes."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import checkpoint
from tests.td3core.helpers import make_agent, make_header, refusal, write_checkpoint


def with_tensors(path: Path, **changes: Any) -> Path:
    """Write a checkpoint some of whose tensors are changed, or left out where None."""
    state = make_agent().state() | {name.replace("__", "."): v for name, v in changes.items()}
    kept = {name: array for name, array in state.items() if array is not None}
    checkpoint.save(path, make_header(path), kept)
    return path


NETWORKS = ["actor", "actor_target", "critic1", "critic1_target", "critic2", "critic2_target"]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("part", ["0__weight", "2__bias"])
def test_a_missing_tensor_is_named(spot: Path, network: str, part: str) -> None:
    said = refusal(with_tensors(spot, **{f"{network}__{part}": None}))
    assert f"lacks the tensor {network}.{part.replace('__', '.')}" in said


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("shape", [(8,), (8, 9), (5, 8), (0, 0), (1, 8, 8)])
def test_a_tensor_of_another_shape_is_named_with_both_shapes(
    spot: Path, network: str, shape: tuple[int, ...]
) -> None:
    said = refusal(with_tensors(spot, **{f"{network}__1__weight": np.zeros(shape, np.float32)}))
    assert f"{network}.1.weight of shape {shape}" in said
    assert "(8, 8)" in said


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_an_actor_whose_weights_are_not_numbers_is_refused(spot: Path, bad: float) -> None:
    weight = np.zeros((8, 8), np.float32)
    weight[3, 4] = bad
    assert "actor.1.weight" in refusal(with_tensors(spot, actor__1__weight=weight))


@pytest.mark.parametrize("network", NETWORKS[1:])
def test_any_network_whose_weights_are_not_numbers_is_refused(spot: Path, network: str) -> None:
    weight = np.full((8, 8), np.nan, np.float32)
    assert f"{network}.1.weight" in refusal(with_tensors(spot, **{f"{network}__1__weight": weight}))


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.int32, np.bool_])
def test_an_actor_in_another_precision_is_refused(spot: Path, dtype: Any) -> None:
    assert refusal(with_tensors(spot, actor__1__weight=np.zeros((8, 8), dtype)))


def test_a_critic_in_another_precision_is_refused(spot: Path) -> None:
    assert refusal(with_tensors(spot, critic1__1__weight=np.zeros((8, 8), np.float64)))


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F8_E5M2", "F8_E8M0"])
def test_a_tensor_of_a_kind_numpy_does_not_know_is_refused(
    whole: bytes, spot: Path, kind: str
) -> None:
    head = struct.unpack("<Q", whole[:8])[0]
    entries = json.loads(whole[8 : 8 + head])
    words = entries["generator.smoothing"]
    words["dtype"], words["shape"] = kind, [24 if kind == "BF16" else 48]
    text = json.dumps(entries).encode()
    spot.write_bytes(struct.pack("<Q", len(text)) + text + whole[8 + head :])
    refusal(spot)


def test_a_checkpoint_of_other_layers_than_it_says_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, make_header(path, actor_hidden=(8,)), make_agent().state())
    refusal(path)
    write_checkpoint(path)
    checkpoint.load(path)
