"""The report command: arguments, output, messages and refusals."""

import json
from pathlib import Path

import pytest

from td3core.cli import app
from td3core.runs.directory import RunDirectory
from tests.td3core.analysis.many_runs import two_groups, write_run
from tests.td3core.experiments.sweeps.scripted_runs import ScriptedExecutor, conduct
from tests.td3core.exporters.read_page import read, section, sections
from tests.td3core.helpers import finish


@pytest.fixture
def run(runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Return a function that writes a report and returns status, answer and errors."""

    def call(*words: str, out: str = "report.html") -> tuple[int, dict, str]:
        target = str(tmp_path / out)
        options = ["--out", target, "--runs-dir", str(runs_dir), "--json"]
        status = app.main(["report", *words, *options])
        shown = capsys.readouterr()
        return status, json.loads(shown.out.splitlines()[-1]), shown.err

    return call


def test_a_group_is_named_and_written_as_a_page(run, runs_dir: Path, tmp_path: Path) -> None:
    for seed in range(3):
        write_run(runs_dir, [1.0 + seed, 2.0], seed=seed, group="mine")
    write_run(runs_dir, [5.0], seed=9)
    status, told, _ = run("mine", "--question", "Is it better?")
    assert status == 0
    assert told["file"] == str(tmp_path / "report.html")
    assert (told["format"], len(told["runs"]), told["films"]) == ("page", 3, 0)
    assert told["title"] == "Pendulum-v1: mine"
    page = read((tmp_path / "report.html").read_text("utf-8"))
    assert told["bytes"] == (tmp_path / "report.html").stat().st_size
    assert sections(page) == told["sections"]
    missing = section(page, "missing").all("li")
    assert [each.text for each in missing] == told["missing"]


def test_several_runs_are_compared_as_asked(run, runs_dir: Path, tmp_path: Path) -> None:
    two_groups(runs_dir, seeds=2)
    words = ("--group-by", "run", "--metric", "return", "--x", "time", "--title", "Mine")
    status, told, _ = run("Pendulum*", *words, "--without", "settings, machine,commands")
    assert status == 0
    assert told["title"] == "Mine"
    assert not {"settings", "machine", "commands"} & set(told["sections"])
    page = read((tmp_path / "report.html").read_text("utf-8"))
    assert len(section(page, "results").all("table")[0].rows) == 4
    (svg,) = section(page, "curves").all("svg")
    assert "Episode return" in svg.text
    assert "Wall time" in svg.text


@pytest.mark.slow
def test_a_sweep_shows_its_trials_and_the_curves_of_the_best(
    run, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def height(run: RunDirectory) -> list[float]:
        return [run.first_tunables.tau * 100 + at for at in range(4)]

    state, _ = conduct(runs_dir, ScriptedExecutor(height), trials=7)
    status, told, _ = run("scripted")
    assert status == 0
    assert told["title"] == "Sweep scripted"
    assert len(told["runs"]) == 5
    lacking = "Importance of the settings: it needs 20 completed trials; there are 7."
    assert lacking in told["missing"]
    assert (
        len(section(read((tmp_path / "report.html").read_text("utf-8")), "sweep").all("table")) == 1
    )
    (tmp_path / "report.html").unlink()
    monkeypatch.setattr("td3core.experiments.sweeps.study.FEWEST_TRIALS", 4)
    _, told, _ = run("scripted")
    assert lacking not in told["missing"]
    page = read((tmp_path / "report.html").read_text("utf-8"))
    best = max(state.trials, key=lambda trial: trial.value or 0.0)
    table, importance = section(page, "sweep").all("table")
    assert table.rows[0][:2] == [str(best.number), f"{best.value:,.1f}"]
    assert len(table.rows) == 7
    about = "How much the best tenth of 7 trials differ from the rest"
    assert about in section(page, "sweep").text
    assert importance.rows[0][0] == "τ  Target averaging"
    assert importance.rows[0][1].endswith(" %")
    (plot,) = section(page, "sweep").all("svg")
    assert "Trial" in plot.text
    (file,) = section(page, "sweep").all("pre")
    assert "trials = 7" in file.text
    assert "Curves of all trials: those of the best 5 are shown." in told["missing"]


@pytest.mark.parametrize(
    ("words", "out", "reason"),
    [
        (["Pendulum*"], "report.docx", "matches no format; choose one: .html, .pdf"),
        (["Pendulum*", "--film"], "report.pdf", "--film needs an .html file"),
        (["Pendulum*", "--without", "jornal"], "report.html", "Did you mean journal"),
        (["nothing"], "report.html", "is no run, pattern or group"),
        (["Pendulum*", "--group-by", "tua"], "report.html", "setting to group by"),
    ],
)
def test_what_cannot_be_reported_is_refused_with_a_sentence(
    run, runs_dir: Path, tmp_path: Path, words: list[str], out: str, reason: str
) -> None:
    write_run(runs_dir, [1.0])
    status, told, _ = run(*words, out=out)
    assert status == 2
    assert reason in told["error"]
    assert not (tmp_path / out).exists()


def test_a_file_is_replaced_only_on_demand(run, runs_dir: Path, tmp_path: Path) -> None:
    write_run(runs_dir, [1.0])
    (tmp_path / "report.html").write_text("mine")
    status, told, _ = run("Pendulum*")
    assert (status, "--force replaces it" in told["error"]) == (2, True)
    assert (tmp_path / "report.html").read_text() == "mine"
    assert run("Pendulum*", "--force")[0] == 0


@pytest.mark.release
def test_a_film_shows_how_the_agent_of_a_run_grew(run, runs_dir: Path, tmp_path: Path) -> None:
    values = {"steps": 600, "eval_interval": 300, "checkpoint_interval": 200, "eval_episodes": 1}
    finish(runs_dir, "Pendulum-v1", **values)
    status, told, _ = run("Pendulum*", "--film")
    assert (status, told["films"]) == (0, 1)
    page = read((tmp_path / "report.html").read_text("utf-8"))
    (film,) = section(page, "films").all("img")
    assert film.attributes["src"].startswith("data:image/gif;base64,R0lGOD")
    assert int(film.attributes["width"]) == 360
    assert "an episode without noise after" in film.attributes["alt"]
    assert told["bytes"] < 3_000_000


def test_a_run_without_an_agent_has_no_film(run, runs_dir: Path) -> None:
    write_run(runs_dir, [1.0])
    status, told, _ = run("Pendulum*", "--film")
    assert (status, told["films"]) == (0, 0)
    assert "Film of 1 group: it has no checkpoint." in told["missing"]


def test_the_groups_that_are_too_many_to_film_are_counted(run, runs_dir: Path) -> None:
    for at in range(5):
        write_run(runs_dir, [1.0], tau=0.01 + at / 100)
    _, told, _ = run("Pendulum*", "--film")
    assert "Film of 1 group: the first 4 are filmed." in told["missing"]
    write_run(runs_dir, [1.0], tau=0.5)
    _, told, _ = run("Pendulum*", "--film", "--force")
    assert "Films of 2 groups: the first 4 are filmed." in told["missing"]


def test_a_folder_that_is_missing_is_noticed_before_anything_is_read(run, runs_dir: Path) -> None:
    status, told, _ = run("no such run", out="none/report.html")
    assert status == 2
    assert "report.html cannot be written: No such file or directory." in told["error"]
