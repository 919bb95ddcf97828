"""A return has the same digits wherever a command or a report shows it."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from td3core.analysis.aggregate import Estimate
from td3core.analysis.wording import estimate_text
from td3core.cli import app
from td3core.cli.experiments.group_progress import result_table
from td3core.cli.experiments.sweep_progress import SweepProgress, summary, trials_table
from td3core.cli.progress import evaluation_text
from td3core.config.value_text import plain_minus
from td3core.experiments.groups.seed_status import SeedState, SeedStatus
from td3core.experiments.sweeps.folder import SweepState, TrialState
from td3core.exporters.report.contents import ReportRequest, document_of
from td3core.exporters.report.page import html_of
from td3core.exporters.report.run_facts import read_facts
from td3core.protocol.trial_status import TrialStatus
from tests.support.events import evaluated
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.exporters.read_page import read, section

pytestmark = pytest.mark.parametrize(
    ("value", "text"), [(-0.04, "0.0"), (-207.13, "-207.1"), (352.64, "352.6"), (9352.6, "9,352.6")]
)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be wrapped."""
    monkeypatch.setenv("COLUMNS", "400")


def test_the_list_of_runs(
    runs_dir: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    value: float,
    text: str,
) -> None:
    write_run(runs_dir, [value])
    words = ["list", "--runs-dir", str(runs_dir)]
    assert app.main(words) == 0
    # Programs read numbers without separators.
    assert capsys.readouterr().out.split("\t")[4:6] == [text.replace(",", "")] * 2
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert app.main(words) == 0
    assert capsys.readouterr().out.split().count(text) == 2


def test_a_report(runs_dir: Path, value: float, text: str) -> None:
    document = document_of([read_facts(write_run(runs_dir, [value]))], ReportRequest())
    (table,) = section(read(html_of(document)), "runs").all("table")
    assert [plain_minus(cell) for cell in table.rows[0][4:6]] == [text, text]


def test_a_comparison(value: float, text: str) -> None:
    # A large estimate has no decimals.
    wanted = text if abs(value) < 1000 else "9,353"
    assert estimate_text(Estimate(value=value, interval=None)) == wanted


def test_an_evaluation_during_training(value: float, text: str) -> None:
    assert evaluation_text(evaluated(60, value)).split()[2:6] == ["return", text, "±", "0.0"]


def test_the_runs_of_a_group(value: float, text: str) -> None:
    status = SeedStatus(seed=0, steps=60, state=SeedState.FINISHED, last=value, best=value)
    out = io.StringIO()
    Console(file=out, width=400).print(result_table("g", [status]))
    assert out.getvalue().split().count(text) == 4


def test_the_trials_of_a_sweep(capsys: pytest.CaptureFixture[str], value: float, text: str) -> None:
    state = SweepState(
        name="small",
        environment="Pendulum-v1",
        objective="area",
        path="somewhere",
        wanted=1,
        trials=(TrialState(number=7, state=TrialStatus.DONE, settings={}, value=value),),
    )
    assert summary(state)[1] == f"best area {text} in trial 7"
    trials_table(state)
    assert text in capsys.readouterr().out.split()
    out = io.StringIO()
    with SweepProgress(
        Console(file=out, force_terminal=True, no_color=True, highlight=False)
    ) as report:
        report(state)
    shown = out.getvalue()
    assert f"done  {text}" in shown
    assert f"best area {text} (trial 7)" in shown
