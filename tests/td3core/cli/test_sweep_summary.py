"""What a sweep found can be typed as it is printed."""

import io
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from td3core.cli.experiments.sweep import as_dict
from td3core.cli.experiments.sweep_progress import SweepProgress, summary, trials_table
from td3core.config import parse_value
from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.protocol.trial_status import TrialStatus

FOUND = {
    "actor_lr": 0.00031415926535897935,
    "batch_size": 256,
    "actor_hidden": [64, 32],
    "twin_critics": False,
    "actor_activation": "relu",
}
STATE = SweepState(
    name="small",
    environment="Pendulum-v1",
    objective="area",
    path="somewhere",
    wanted=1,
    trials=(TrialState(number=0, state=TrialStatus.DONE, settings=FOUND, value=-1.0),),
)


def typed_back(words: list[str]) -> dict[str, Any]:
    settings = (word.split("=", 1) for word in words)
    return {name.strip(): parse_value(name.strip(), value.strip()) for name, value in settings}


def test_the_best_settings_make_the_best_trial_again() -> None:
    assert typed_back(summary(STATE)[2:]) == FOUND | {"actor_hidden": (64, 32)}


def test_the_line_of_a_trial_makes_it_again() -> None:
    out = io.StringIO()
    with SweepProgress(Console(file=out)) as report:
        report(STATE)
    words = [word for word in out.getvalue().split() if "=" in word]
    assert typed_back(words) == FOUND | {"actor_hidden": (64, 32)}


@pytest.mark.parametrize(("running", "counts"), [(True, (1, 0)), (False, (0, 1))])
def test_a_trial_runs_only_while_its_sweep_does(running: bool, counts: tuple[int, int]) -> None:
    begun = TrialState(number=0, state=TrialStatus.RUNNING, settings={})
    answer = as_dict(replace(STATE, running=running, trials=(begun,)))
    assert (answer["trials"]["running"], answer["trials"]["stopped"]) == counts
    assert answer["stopped"] == ("running" if running else "user")


def test_the_names_of_settings_are_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    trials_table(replace(STATE, space={name: {} for name in FOUND}))
    assert "…" not in capsys.readouterr().out
