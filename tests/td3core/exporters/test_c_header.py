"""The C header, compiled, acts as the agent."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.exporters import c_header, numpy_file, onnx_file
from td3core.exporters.actor.deployed import DeployedActor, deployed_actor
from tests.td3core.exporters.actors import BUNDLED, KINDS, expected, replayed, trained

COMPILER = shutil.which("cc")
MAIN = """
#include <stdio.h>
#include "actor.h"
int main(void) {
    float observation[TD3_OBS_DIM], action[TD3_ACT_DIM];
    while (fread(observation, sizeof observation, 1, stdin) == 1) {
        td3_act(observation, action);
        fwrite(action, sizeof action, 1, stdout);
    }
    return 0;
}
"""
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler (cc) is installed")


def answers(folder: Path, obs: np.ndarray, act_dim: int) -> np.ndarray:
    """Compile the header in a folder without warnings, and return its actions (n, act_dim)."""
    assert COMPILER is not None
    (folder / "main.c").write_text(MAIN)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wdouble-promotion"]
    words = [COMPILER, *strict, "-O2", "main.c", "-o", "main", "-lm"]
    made = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    told = subprocess.run([folder / "main"], input=obs.tobytes(), capture_output=True, check=True)
    return np.frombuffer(told.stdout, np.float32).reshape(-1, act_dim)


@compiled
@pytest.mark.parametrize("kind", KINDS)
def test_the_compiled_header_acts_as_the_networks_written_out(
    runs_dir: Path, tmp_path: Path, kind: str
) -> None:
    source = trained(runs_dir, kind)
    said = c_header.export(source, tmp_path / "actor.h")
    assert str(said) == "452 bytes of weights"
    obs = replayed(source)
    assert answers(tmp_path, obs, 1) == pytest.approx(expected(source, obs, kind), abs=2e-5)


@compiled
def test_a_second_actor_in_a_source_file_is_an_error_and_the_same_one_again_is_none(
    runs_dir: Path, tmp_path: Path
) -> None:
    one = deployed_actor(trained(runs_dir, "relu"))
    # The same weights: with other bounds they are another actor.
    other = replace(one, low=one.low / 2, high=one.high / 2)
    for name, actor in (("one", one), ("other", other)):
        (tmp_path / f"{name}.h").write_text(c_header.source_of(actor))

    def compile_with(*names: str) -> tuple[int, str]:
        assert COMPILER is not None
        lines = "".join(f'#include "{name}.h"\n' for name in names)
        words = [COMPILER, "-std=c99", "-fsyntax-only", "-x", "c", "-"]
        made = subprocess.run(words, cwd=tmp_path, input=lines, capture_output=True, text=True)
        return made.returncode, made.stderr

    assert compile_with("one", "one") == (0, "")
    status, said = compile_with("one", "other")
    assert status != 0
    assert "One actor per source file" in said


def in_each_format(actor: DeployedActor, folder: Path, obs: np.ndarray) -> list[np.ndarray]:
    """Return the actions (n, act_dim) of an actor of one action in C, in NumPy and in ONNX."""
    runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    (folder / "actor.h").write_text(c_header.source_of(actor))
    in_numpy: dict[str, Any] = {}
    exec(numpy_file.source_of(actor), in_numpy)
    in_onnx = runtime.InferenceSession(onnx_file.model_of(actor))
    found = in_onnx.run(["action"], {"obs": obs})
    return [answers(folder, obs, 1), in_numpy["act"](obs), *found]


@compiled
@pytest.mark.slow
def test_an_observation_far_from_all_that_were_seen_is_clipped_in_c_and_numpy_and_onnx(
    runs_dir: Path, tmp_path: Path
) -> None:
    actor = deployed_actor(trained(runs_dir, "normalised"))
    obs = 100.0 * actor.replayed[:50]
    for found in in_each_format(actor, tmp_path, obs):
        assert found == pytest.approx(actor.exact(obs), abs=2e-5)


@compiled
def test_an_action_stays_within_its_bounds_in_c_and_numpy_and_onnx(
    runs_dir: Path, tmp_path: Path
) -> None:
    actor = deployed_actor(trained(runs_dir, "relu"))
    # In float32, half of this range on either side of its middle is beyond both of its ends.
    low, high = np.array([-0.5], np.float32), np.array([1.9], np.float32)
    weight, bias = actor.layers[-1]
    for sign in (-1, 1):
        layers = (*actor.layers[:-1], (weight, np.full_like(bias, sign * 100)))
        bounded = replace(actor, low=low, high=high, layers=layers)
        for found in in_each_format(bounded, tmp_path, actor.replayed[:5]):
            assert (found == (low if sign < 0 else high)).all()


@compiled
@pytest.mark.parametrize("kind", ["relu", "tanh", "normalised"])
def test_an_observation_that_is_no_number_gives_no_action_in_c_and_numpy_and_onnx(
    runs_dir: Path, tmp_path: Path, kind: str
) -> None:
    actor = deployed_actor(trained(runs_dir, kind))
    obs = actor.replayed[:5].copy()
    failed = np.arange(1, 4), np.arange(3)
    obs[failed] = np.nan
    for found in in_each_format(actor, tmp_path, obs):
        assert np.isnan(found).ravel().tolist() == [False, True, True, True, False]


@compiled
@pytest.mark.slow
def test_the_compiled_header_of_a_bundled_agent_passes_the_parity_check(tmp_path: Path) -> None:
    source = BUNDLED / "BipedalWalkerHardcore-v3.safetensors"
    c_header.export(source, tmp_path / "actor.h")
    deployed_actor(source).require_parity(lambda obs: answers(tmp_path, obs, 4))


def test_the_header_says_how_often_to_decide(runs_dir: Path, tmp_path: Path) -> None:
    c_header.export(trained(runs_dir, "repeated"), tmp_path / "actor.h")
    text = (tmp_path / "actor.h").read_text()
    assert "#define TD3_ACTION_REPEAT 2\n#define TD3_CONTROL_RATE_HZ 10.0f\n" in text


def test_every_number_of_the_header_is_read_as_the_same_float32() -> None:
    values = np.random.default_rng(0).normal(size=1000).astype(np.float32)
    extremes = np.array([0.0, 1.0, -2.0, 1e-30, 3.4e38, 1e-45], np.float32)
    for value in (*values, *extremes):
        text = c_header.number(value)
        assert text.endswith("f")
        assert np.float32(text[:-1]) == value
        assert "." in text or "e" in text
