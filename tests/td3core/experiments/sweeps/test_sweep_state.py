"""A sweep's state for the window keeps its texts, and is read from earlier versions."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.folder import SweepFolder, SweepState, TrialState
from td3core.experiments.sweeps.state import state_of
from td3core.protocol.trial_status import TrialStatus
from td3core.text import Text
from tests.td3core.experiments.sweeps.scripted_runs import TEXT

STATE = SweepState(
    name="small",
    environment="Pendulum-v1",
    objective="area",
    path="somewhere",
    wanted=2,
    message=Text("All of the first {count} trials failed", count=2),
    trials=(
        TrialState(
            number=0,
            state=TrialStatus.PRUNED,
            settings={"tau": 0.01},
            runs=("small_t000_s0",),
            reason=Text("pruned at step {step:,}", step=1_200),
        ),
        TrialState(number=1, state=TrialStatus.FAILED, settings={}, reason=Text("it was stopped")),
    ),
    space={"tau": {"low": 0.001, "high": 0.1, "log": True, "whole": False}},
)


def made(tmp_path: Path) -> SweepFolder:
    folder = SweepFolder(tmp_path, "small")
    folder.path.mkdir(parents=True)
    return folder


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.write_state(STATE)
    assert folder.read_state() == STATE
    assert str(STATE.trials[0].reason) == "pruned at step 1,200"


def test_a_state_of_an_earlier_version_is_read_with_its_words(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.write_state(STATE)
    (file,) = folder.path.glob("*.json")
    found = json.loads(file.read_text())
    found["message"] = "The time limit was reached {braces}"
    found["steps_per_trial"] = 100
    for trial in found["trials"]:
        trial["reason"] = "pruned at step 7"
    file.write_text(json.dumps(found))
    trials = tuple(replace(each, reason=Text("pruned at step 7")) for each in STATE.trials)
    message = Text("The time limit was reached {braces}")
    assert folder.read_state() == replace(STATE, message=message, trials=trials)
    assert str(message) == "The time limit was reached {braces}"


def test_a_damaged_text_is_no_state(tmp_path: Path) -> None:
    folder = made(tmp_path)
    folder.write_state(STATE)
    (file,) = folder.path.glob("*.json")
    found = json.loads(file.read_text())
    found["message"] = {"template": "{missing}", "values": {"count": 2}}
    file.write_text(json.dumps(found))
    assert folder.read_state() is None


@pytest.mark.parametrize(("rate", "left"), [(1.0, 20.0), (0.1, 30.0)])
def test_the_time_left_ends_with_the_trials_or_with_the_time_limit(
    tmp_path: Path, rate: float, left: float
) -> None:
    spec = parse(TEXT.format(trials=20, more="time_limit_min = 1"), "small")
    now = {"seconds": 30.0, "running": True, "rate": rate}
    assert state_of(spec, made(tmp_path), [], {}, **now).time_left_s == left


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (["name"], 5),
        (["path"], None),
        (["wanted"], "two"),
        (["wanted"], -1),
        (["seconds"], "long"),
        (["time_left_s"], []),
        (["trials"], 3),
        (["trials", 0], "first"),
        (["trials", 0, "number"], "0"),
        (["trials", 0, "state"], "lost"),
        (["trials", 0, "settings"], [1]),
        (["trials", 0, "settings"], None),
        (["trials", 0, "settings", "tau"], {}),
        (["trials", 0, "settings", "tau"], float("nan")),
        (["trials", 0, "value"], "x"),
        (["trials", 0, "value"], float("inf")),
        (["trials", 0, "env_steps"], 1.5),
        (["trials", 0, "seconds"], "x"),
        (["trials", 0, "runs"], [7]),
        (["space"], []),
        (["space", "tau"], 1),
        (["space", "tau", "low"], 0.0),
        (["space", "tau", "high"], 0.001),
        (["space", "tau", "high"], None),
        (["space", "tau", "choices"], []),
    ],
)
def test_a_state_with_a_damaged_field_is_no_state(
    tmp_path: Path, path: Sequence[Any], wrong: object
) -> None:
    folder = made(tmp_path)
    folder.write_state(STATE)
    (file,) = folder.path.glob("*.json")
    found = json.loads(file.read_text())
    *outer, last = path
    place = found
    for step in outer:
        place = place[step]
    place[last] = wrong
    file.write_text(json.dumps(found))
    assert folder.read_state() is None
