"""A run whose environment has changed since says so when it is resumed, or is refused."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from td3core import checkpoint
from td3core.config.env_choice import EnvChoice
from td3core.envs.check import identity
from td3core.envs.check.examine import examine
from td3core.envs.trust import with_user_consent
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Failed, Warned
from td3core.runs.directory import RunDirectory
from td3core.training.launch import branch, resume
from tests.support.stranger import Stranger
from tests.td3core.helpers import Told, finish

NAME = "changing_env"
ENV = EnvChoice(f"{NAME}:Slide")


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Stranger(tmp_path, monkeypatch)
    made.write(NAME)
    with_user_consent(ENV)
    yield made
    made.leave(NAME)


def changed(stranger: Stranger, before: str, after: str) -> None:
    path = stranger.folder / f"{NAME}.py"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def resumed(run: Path, *, exact: bool = False, steps: int = 80) -> tuple[Ended | Failed, str]:
    told = Told()
    outcome = resume(run, Control(), told, steps=steps, exact=exact)
    return outcome, " ".join(str(each.message) for each in told.all(Warned))


def test_a_run_is_resumed_exactly_with_the_code_it_was_made_with(
    stranger: Stranger, runs_dir: Path
) -> None:
    run = finish(runs_dir, ENV.env_id, env_check=True).run
    # Where the module lies says nothing.
    outcome, said = resumed(run, exact=True)
    assert isinstance(outcome, Ended)
    assert said == ""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("-abs(float(action[0]))", "-2 * abs(float(action[0]))", "The environment has changed"),
        pytest.param(
            "self.steps >= 20, {}",
            "self.steps >= 19, {}",
            "The environment has changed",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "import gymnasium",
            "# A word.\nimport gymnasium",
            "its code or a file named in env_args",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["rewards", "ends", "unseen"],
)
def test_changed_code_is_said_and_refused_where_the_run_must_be_exact(
    stranger: Stranger, runs_dir: Path, before: str, after: str, found: str
) -> None:
    run = finish(runs_dir, ENV.env_id, env_check=True).run
    changed(stranger, before, after)
    refused, said = resumed(run, exact=True)
    assert isinstance(refused, Failed)
    assert found in str(refused.message)
    outcome, said = resumed(run)
    assert isinstance(outcome, Ended)
    assert said.count(found) == 1
    # From here on it is the environment of the run.
    assert resumed(run, steps=100, exact=True)[1] == ""


@pytest.mark.slow
def test_a_branch_says_that_the_environment_has_changed(stranger: Stranger, runs_dir: Path) -> None:
    agent = finish(runs_dir, ENV.env_id, env_check=True).last_checkpoint
    assert agent is not None
    changed(stranger, "-abs(", "-3 * abs(")
    told = Told()
    outcome = branch(agent, {"steps": 90}, Control(), told, runs_dir)
    assert isinstance(outcome, Ended)
    assert "The environment has changed" in str(told.all(Warned)[0].message)


def test_without_the_check_before_training_only_files_are_compared(
    stranger: Stranger, runs_dir: Path
) -> None:
    run = finish(runs_dir, ENV.env_id).run
    changed(stranger, "-abs(", "-3 * abs(")
    assert "The environment may have changed" in resumed(run)[1]


@pytest.mark.slow
def test_a_changed_model_is_noticed(runs_dir: Path, tmp_path: Path) -> None:
    import gymnasium.envs.mujoco as package

    model = tmp_path / "a.xml"
    shutil.copy(Path(package.__file__).parent / "assets/hopper.xml", model)
    run = finish(
        runs_dir, "Hopper-v5", env_args=json.dumps({"xml_file": str(model)}), env_check=True
    ).run
    assert resumed(run, exact=True)[1] == ""
    model.write_text(model.read_text().replace('damping="1"', 'damping="2"'))
    refused, _ = resumed(run, exact=True, steps=100)
    assert isinstance(refused, Failed)
    assert "The environment has changed" in str(refused.message)


def test_as_many_steps_are_compared_as_are_on_record(stranger: Stranger) -> None:
    report = examine(ENV, thorough=False)
    whole = identity.record(ENV, report, {})
    few = identity.record(ENV, report, {"env_steps": "12"})
    assert (whole["env_steps"], few["env_steps"]) == ("100", "12")
    assert identity.differences(few, identity.record(ENV, report, few)) == []
    # A file may hold anything.
    for unusable in ("0", "101", "9" * 5000, "-3", "x"):
        assert identity.record(ENV, report, {"env_steps": unusable}) == whole


def test_an_environment_that_does_not_repeat_itself_is_compared_by_its_files_only(
    stranger: Stranger, runs_dir: Path
) -> None:
    changed(stranger, "-abs(", "-float(__import__('random').random()) * abs(")
    run = finish(runs_dir, ENV.env_id, env_check=True).run
    about = checkpoint.read_header(RunDirectory.open(run).last).numerics
    assert about["env_probe"] == ""
    assert "changed" not in resumed(run)[1]


def test_of_an_enormous_file_only_the_size_is_compared(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    os.truncate(tmp_path / "data", 1 << 40)
    choice = EnvChoice("Ant-v5", json.dumps({"xml_file": str(tmp_path / "data"), "other": "a\0b"}))
    before = identity.record(choice, None, {})
    os.truncate(tmp_path / "data", 1 << 39)
    (said,) = identity.differences(before, identity.record(choice, None, {}))
    assert "may have changed" in str(said)


def test_nothing_of_a_known_environment_without_arguments_is_on_record() -> None:
    assert identity.record(EnvChoice("Pendulum-v1"), None, {}) == {}
