"""The Python file: NumPy only, and the actions of the agent."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from td3core.cli import app
from td3core.errors import RequestError
from td3core.exporters import c_header, numpy_file, stable_baselines3_zip
from td3core.exporters.actor.deployed import deployed_actor
from td3core.runs.directory import RunDirectory
from tests.td3core.exporters.actors import BUNDLED, KINDS, expected, replayed, trained
from tests.td3core.exporters.test_stable_baselines3_zip import notes
from tests.td3core.helpers import finish


def imported(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("exported_actor", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_acts_as_the_networks_written_out(
    runs_dir: Path, tmp_path: Path, kind: str
) -> None:
    source, target = trained(runs_dir, kind), tmp_path / "actor.py"
    said = numpy_file.export(source, target)
    assert "of half the action range over" in str(said)
    obs, module = replayed(source), imported(target)
    assert module.act(obs) == pytest.approx(expected(source, obs, kind), abs=2e-5)
    assert module.act(obs[0]).shape == (1,)
    assert module.act(obs[0]).dtype == np.float32


def test_the_file_says_how_it_is_called(runs_dir: Path, tmp_path: Path) -> None:
    target = tmp_path / "actor.py"
    numpy_file.export(trained(runs_dir, "repeated"), target)
    module = imported(target)
    assert (module.LOW, module.HIGH) == ([-2.0], [2.0])
    assert (module.ACTION_REPEAT, module.CONTROL_RATE_HZ) == (2, 10.0)
    assert module.FACTS["env_args"] == {"g": 9.5}
    assert "# Action repeat: 2 (take each action 2 times" in target.read_text()


def test_an_agent_of_a_schedule_is_exported_with_the_repeats_of_its_step(
    runs_dir: Path, tmp_path: Path
) -> None:
    values = {"env_args": '{"action_repeat": "4, 2@40"}', "checkpoint_interval": 30}
    run = RunDirectory.open(finish(runs_dir, "Pendulum-v1", keep_every=1, **values).run)
    for step, repeat, rate in ((30, 4, 5.0), (60, 2, 10.0)):
        source, target = run.step_checkpoint(step), tmp_path / f"{step}.py"
        numpy_file.export(source, target)
        facts = imported(target).FACTS
        assert (facts["action_repeat"], facts["control_rate_hz"]) == (repeat, rate)
        c_header.export(source, header := tmp_path / f"{step}.h")
        assert f"#define TD3_ACTION_REPEAT {repeat}\n" in header.read_text()
        stable_baselines3_zip.export(source, archive := tmp_path / f"{step}.zip")
        assert f"Take each action {repeat} times." in notes(archive)["notes"]
        # Nor does the environment's name say another number.
        for file in (target, header):
            assert f'Environment: Pendulum-v1 {{"action_repeat": {repeat}}}\n' in file.read_text()


def test_the_file_imports_numpy_and_nothing_of_the_studio(tmp_path: Path) -> None:
    target = tmp_path / "actor.py"
    numpy_file.export(BUNDLED / "Pendulum-v1.safetensors", target)
    code = (
        "import sys, actor; actor.act([1, 0, 0]);"
        "print([m for m in ('td3core', 'gymnasium', 'torch', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.append({str(tmp_path)!r}); {code}"],
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_command_says_the_largest_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = BUNDLED / "Pendulum-v1.safetensors", tmp_path / "actor.py"
    assert app.main(["export", str(source), "--to", str(target), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["format"] == "numpy"
    assert said["note"].startswith("largest error ")
    assert said["note"].endswith("of half the action range over 200 observations")


def test_an_actor_that_deviates_is_refused_with_the_error() -> None:
    actor = deployed_actor(BUNDLED / "Pendulum-v1.safetensors")
    exact = actor.exact(actor.replayed)
    actor.require_parity(lambda _: exact + 1e-5)
    with pytest.raises(RequestError, match=r"deviates by 2\.0e-05 of half the range"):
        actor.require_parity(lambda _: exact + 4e-5)
    with pytest.raises(RequestError, match="deviates by nan"):
        actor.require_parity(lambda _: exact * np.nan)


@pytest.mark.parametrize("kind", KINDS)
def test_the_exact_actions_are_those_of_the_studio(runs_dir: Path, kind: str) -> None:
    source = trained(runs_dir, kind)
    actor = deployed_actor(source)
    played = 2.0 * actor.source.policy()(actor.replayed)
    assert actor.exact(actor.replayed) == pytest.approx(played, abs=1e-5)


class Table(gym.Env[Any, Any]):
    """Observations and actions are tables."""

    observation_space = gym.spaces.Box(-1, 1, (2, 3))
    action_space = gym.spaces.Box(-2, 2, (2, 1))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        return self.observation_space.sample(), 0.0, True, False, {}


def test_the_file_says_how_tables_become_rows(runs_dir: Path, tmp_path: Path) -> None:
    gym.register("Table-v0", Table)
    try:
        source = finish(runs_dir, "Table-v0", steps=20).last_checkpoint
        assert source is not None
        numpy_file.export(source, tmp_path / "actor.py")
    finally:
        del gym.registry["Table-v0"]
    text = (tmp_path / "actor.py").read_text()
    row = "as the environment returns them, flattened row by row (shape (2, 3))"
    assert f"# Observation: 6 numbers, {row}\n" in text
    assert "# Action: 2 numbers, flattened row by row (shape (2, 1)) within low" in text
    seen = Table.observation_space.sample()
    actions = imported(tmp_path / "actor.py").act(seen.reshape(-1))
    assert actions.reshape(Table.action_space.shape) in Table.action_space
