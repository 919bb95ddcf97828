import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from td3core import checkpoint
from td3core.algorithm.td3 import TD3
from td3core.envs.info import EnvInfo
from td3core.errors import RequestError
from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.result import EvaluationResult
from td3core.exporters import weights
from tests.td3core.helpers import (
    batch,
    make_agent,
    make_header,
    refusal,
    same,
    tiny,
    write_checkpoint,
)

TORCHLESS = (
    "td3core.checkpoint, td3core.inference.policy, td3core.evaluation.evaluate, td3core.config,"
    " td3core.protocol.events, td3core.protocol.control, td3core.runs.directory,"
    " td3core.config.presets, td3core.exporters.video, td3core.cli.app"
)


def test_a_checkpoint_reads_as_it_was_written(tmp_path: Path) -> None:
    path, agent = tmp_path / "a.safetensors", make_agent()
    agent.update(batch())
    agent.update(batch())
    header = make_header(path)
    checkpoint.save(path, header, agent.state())
    found = checkpoint.load(path)
    assert found.header == header
    assert checkpoint.read_header(path) == header
    assert same(found.tensors, agent.state())


def test_a_checkpoint_without_an_evaluation_reads_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    header = make_header(path)
    values = {name: getattr(header, name) for name in header.__slots__}
    header = checkpoint.Header(**values | {"evaluation": None})
    checkpoint.save(path, header, make_agent().state())
    assert checkpoint.load(path).header == header


@pytest.mark.parametrize("values", [{}, {"twin_critics": False}, {"actor_hidden": ()}], ids=str)
def test_an_agent_read_back_trains_on_bit_for_bit(
    tmp_path: Path, values: dict[str, object]
) -> None:
    path, agent = tmp_path / "a.safetensors", make_agent(**values)
    for seed in range(3):
        agent.update(batch(seed=seed))
    checkpoint.save(path, make_header(path, **values), agent.state())
    found = checkpoint.load(path)
    other = TD3(found.header.config, found.header.tunables, 3, 2)
    other.load_state(found.tensors, 3)
    for seed in range(3, 6):
        agent.update(batch(seed=seed))
        other.update(batch(seed=seed))
    assert same(agent.state(), other.state())


def test_a_checkpoint_holds_all_six_networks_and_both_optimisers_under_their_names(
    tmp_path: Path,
) -> None:
    agent = make_agent(policy_delay=1)
    agent.update(batch())
    path = tmp_path / "a.safetensors"
    checkpoint.save(path, make_header(path), agent.state())
    with safe_open(path, framework="numpy") as file:
        names = set(file.keys())
    for network in ("actor", "critic1", "critic2"):
        for target in ("", "_target"):
            assert f"{network}{target}.0.weight" in names
            assert f"{network}{target}.2.bias" in names
    assert {"actor_adam.step", "critic_adam.step"} <= names
    for moment in ("exp_avg", "exp_avg_sq"):
        assert f"actor_adam.actor.0.weight.{moment}" in names
        assert f"critic_adam.critic2.2.bias.{moment}" in names
    assert "generator.smoothing" in names


def test_the_saved_policy_acts_as_the_agent_did(tmp_path: Path) -> None:
    path, agent = tmp_path / "a.safetensors", make_agent(actor_activation="tanh")
    checkpoint.save(path, make_header(path, actor_activation="tanh"), agent.state())
    policy, saved = agent.policy(), checkpoint.load(path).policy()
    assert all(np.array_equal(policy(obs), saved(obs)) for obs in batch(20).obs)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"env_id": [1]}, "name of the environment"),
        ({"reward_threshold": "abc"}, "reward threshold"),
        ({"reward_threshold": [1]}, "reward threshold"),
        ({"reward_threshold": float("nan")}, "reward threshold"),
        ({"max_episode_steps": "abc"}, "longest episode"),
        ({"max_episode_steps": -5}, "longest episode"),
        ({"action_low": (float("nan"), 0.0)}, "bounds of an action"),
        ({"action_low": (5.0, 0.0)}, "bounds of an action"),
        ({"action_high": (1.0, float("inf"))}, "bounds of an action"),
    ],
    ids=str,
)
def test_an_environment_that_there_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, values: dict[str, Any], reason: str
) -> None:
    path = tmp_path / "a.safetensors"
    header = make_header(path)
    forged = replace(header, env=replace(header.env, **values))
    checkpoint.save(path, forged, make_agent().state())
    assert reason in refusal(path)


def test_noise_and_evaluations_that_there_cannot_be_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    header = make_header(path)
    noisy = replace(header.counters, exploration_noise=float("nan"))
    checkpoint.save(path, replace(header, counters=noisy), make_agent().state())
    assert "exploration noise" in refusal(path)
    evaluation = EvaluationResult((1.0, 2.0), (), 0)
    checkpoint.save(path, replace(header, evaluation=evaluation), make_agent().state())
    assert "length for each return" in refusal(path)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_older_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    path = write_checkpoint(tmp_path / "best.safetensors")
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        with pytest.raises(OSError, match="No space left"):
            write_checkpoint(path, seed=9)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["best.safetensors"]


def test_an_interrupted_write_leaves_the_older_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_checkpoint(tmp_path / "best.safetensors")
    before = path.read_bytes()

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_checkpoint(path, seed=9)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["best.safetensors"]


def test_a_later_write_replaces_the_file(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path / "best.safetensors", seed=1)
    write_checkpoint(path, seed=2)
    assert checkpoint.load(path).header.config.seed == 2
    assert [p.name for p in tmp_path.iterdir()] == ["best.safetensors"]


def test_a_file_is_flushed_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order, real_sync, real_replace = [], os.fsync, os.replace

    def sync(handle: int) -> None:
        order.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_sync(handle)

    def replace(*names: Any, **more: Any) -> None:
        order.append("rename")
        real_replace(*names, **more)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", replace)
    write_checkpoint(tmp_path / "a.safetensors")
    assert order == ["file", "rename", "folder"]


def test_a_checkpoint_may_be_read_by_whoever_may_read_new_files(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    path = write_checkpoint(tmp_path / "a.safetensors")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_an_exported_agent_holds_only_its_networks_and_earns_the_same(tmp_path: Path) -> None:
    agent = make_agent(seed=4)
    agent.update(batch())
    agent.update(batch())
    source, target = tmp_path / "full.safetensors", tmp_path / "slim.safetensors"
    checkpoint.save(source, make_header(source, seed=4), agent.state())
    weights.export(source, target)
    full, slim = checkpoint.load(source), checkpoint.load(target)
    assert {name.split(".")[0] for name in slim.tensors} == {"actor", "critic1", "critic2"}
    assert target.stat().st_size < source.stat().st_size / 2
    assert (full.header.complete, slim.header.complete) == (True, False)
    for name in ("config", "tunables", "env", "counters", "evaluation"):
        assert getattr(slim.header, name) == getattr(full.header, name)
    env = full.header.config.env
    one, other = (evaluate(c.policy(), env, episodes=3, seed=1) for c in (full, slim))
    assert one == other
    assert one is not None


def test_an_exported_agent_can_be_exported_again(tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.safetensors" for name in "abc"]
    write_checkpoint(paths[0])
    weights.export(paths[0], paths[1])
    weights.export(paths[1], paths[2])
    assert same(checkpoint.load(paths[1]).tensors, checkpoint.load(paths[2]).tensors)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none.safetensors", tmp_path):
        for read in (checkpoint.load, checkpoint.read_header):
            with pytest.raises(RequestError, match="There is no checkpoint at"):
                read(path)


@pytest.mark.slow
def test_all_that_acts_evaluates_and_lists_needs_no_torch(root: Path) -> None:
    code = f"import sys, {TORCHLESS}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


@pytest.mark.slow
def test_a_saved_agent_evaluates_and_films_without_torch(root: Path, tmp_path: Path) -> None:
    config, tunables = tiny("Pendulum-v1")
    path = tmp_path / "a.safetensors"
    agent = TD3(config, tunables, 3, 1)
    header = make_header(path)
    values = {name: getattr(header, name) for name in header.__slots__}
    env = {"env_id": "Pendulum-v1", "act_dim": 1, "action_low": (-2.0,), "action_high": (2.0,)}
    values["env"] = EnvInfo(obs_dim=3, max_episode_steps=200, reward_threshold=None, **env)
    checkpoint.save(path, checkpoint.Header(**values | {"config": config}), agent.state())
    code = (
        "import sys; from td3core.cli.app import main;"
        f"status = main(['replay', {str(path)!r}, '--video', {str(tmp_path / 'a.mp4')!r}]);"
        f"status = status or main(['eval', {str(path)!r}, '--episodes', '1']);"
        "print(status, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "0 False", done.stderr
