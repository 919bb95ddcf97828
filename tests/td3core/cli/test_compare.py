"""The command that compares: table, JSON, figures, and what it refuses."""

import csv
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from PIL import Image

from td3core.analysis.comparison import compare
from td3core.analysis.results import read_results
from td3core.cli import app
from td3core.runs.metadata import RunLabel, write_label
from tests.td3core.analysis.many_runs import CAR, two_groups, write_run


@pytest.fixture
def run(runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Return a function that runs the command and returns status, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*words: str) -> tuple[int, str, str]:
        status = app.main(["compare", *words, "--runs-dir", str(runs_dir)])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return call


def test_json_has_the_numbers_of_the_core(run, runs_dir: Path) -> None:
    paths = two_groups(runs_dir)
    wanted = compare([read_results(path) for path in paths])
    status, out, _ = run("Pendulum*", "--json")
    found = json.loads(out.splitlines()[-1])
    assert status == 0
    assert [each["n"] for each in found["groups"]] == [5, 5]
    for each, known in zip(found["groups"], wanted.groups, strict=True):
        assert each["name"] == known.name
        assert each["final"]["value"] == known.final.value
        assert each["final"]["interval"]["low"] == known.final.interval.low
        assert each["best"]["interval"]["high"] == known.best.interval.high
        assert each["final_steps"] == {"low": 1000, "high": 1000}
    assert found["differing"] == ["tau"]
    (chance,) = found["improvement"]
    # In the order of the groups, whichever has the higher returns.
    for keys in (("first", "second"), ("better", "worse")):
        assert tuple(chance[key] for key in keys) == ("TD3 tau 0.005", "TD3 tau 0.01")
    # Of 25 pairs 3 wins and 2 ties: seeds 4 and 3 against seed 0 and so on.
    wins = sum(a > b + 3 for a in range(5) for b in range(5))
    ties = sum(a == b + 3 for a in range(5) for b in range(5))
    assert chance["value"] == (wins + ties / 2) / 25


def test_the_table_names_groups_numbers_settings_and_notes(run, runs_dir: Path) -> None:
    two_groups(runs_dir, seeds=3)
    status, out, err = run("Pendulum*")
    assert status == 0
    assert "TD3 tau 0.005" in out
    assert "10.0 [9.0, 11.0]" in out
    assert "Settings that differ" in out
    assert "P(TD3 tau 0.005 > TD3 tau 0.01) = 0.00 [0.00, 0.00]" in out
    assert "2 groups have fewer than 5 runs" in err


def test_the_steps_of_final_values_are_in_the_table_and_said_if_they_differ(
    run, runs_dir: Path
) -> None:
    for tau, counts in ((0.005, (6, 6, 6)), (0.01, (2, 2, 3))):
        for seed, count in enumerate(counts):
            write_run(runs_dir, [1.0] * count, every=1000, seed=seed, tau=tau)
    _, out, err = run("Pendulum*")
    assert re.search(r"TD3 tau 0.005 +│ +3 │ +6,000 │", out)
    assert re.search(r"TD3 tau 0.01 +│ +3 │ +2,000-3,000 │", out)
    assert "TD3 tau 0.01 ends at step 3,000, TD3 tau 0.005 at 6,000: their final values" in err
    groups = json.loads(run("Pendulum*", "--json")[1].splitlines()[-1])["groups"]
    assert groups[1]["final_steps"] == {"low": 2000, "high": 3000}


@pytest.mark.parametrize("seeds", [1, 2])
def test_nothing_is_said_of_which_is_better_from_fewer_than_three_runs(
    run, runs_dir: Path, seeds: int
) -> None:
    two_groups(runs_dir, seeds=seeds)
    assert "P(" not in run("Pendulum*")[1]
    assert json.loads(run("Pendulum*", "--json")[1].splitlines()[-1])["improvement"] == []


def test_runs_are_named_by_folder_pattern_or_name_and_counted_once(run, runs_dir: Path) -> None:
    paths = two_groups(runs_dir, seeds=1)
    status, out, _ = run(str(paths[0]), paths[1].name, "*_s0_*", "--json")
    assert status == 0
    groups = json.loads(out.splitlines()[-1])["groups"]
    assert [each["runs"] for each in groups] == [[str(path)] for path in paths]


def test_a_pattern_tells_of_the_runs_that_it_leaves_out(run, runs_dir: Path) -> None:
    paths = two_groups(runs_dir)
    (paths[0] / "run.toml").write_text("schema = ")
    status, out, errors = run("Pendulum*", "--json")
    assert status == 0
    assert sum(each["n"] for each in json.loads(out.splitlines()[-1])["groups"]) == 9
    assert f"Left out {paths[0].name}: " in errors


def test_a_group_is_named_by_its_name(run, runs_dir: Path) -> None:
    paths = two_groups(runs_dir, seeds=2)
    for path in paths[1:3]:
        text = (path / "run.toml").read_text()
        (path / "run.toml").write_text(f'group = "night"\n{text}')
    status, out, _ = run("night", "--json")
    (group,) = json.loads(out.splitlines()[-1])["groups"]
    assert status == 0
    assert group["name"] == "night"
    assert sorted(group["runs"]) == sorted(map(str, paths[1:3]))
    assert sorted(group["settings"]["tau"].split(", ")) == ["0.005", "0.01"]


@pytest.mark.parametrize("x", ["steps", "episodes", "time"])
def test_the_table_of_curves_holds_every_point(run, runs_dir: Path, tmp_path: Path, x: str) -> None:
    two_groups(runs_dir)
    file = tmp_path / "curves.csv"
    assert run("Pend*", "--csv", str(file), "--x", x)[0] == 0
    with file.open() as text:
        rows = list(csv.reader(text))
    assert rows[0][2:] == ["Evaluation return", "low", "high"]
    assert len(rows) == 1 + 2 * 10
    first = [float(value) for value in rows[1][1:]]
    assert first[0] == {"steps": 100.0, "episodes": 10.0, "time": 10.0}[x]
    # The first evaluations of five seeds are 0 to 4.
    assert first[1] == 2.0
    assert 0 <= first[2] <= first[1] <= first[3] <= 4


@pytest.mark.slow
def test_figures_are_vectors_with_title_axes_and_legend(
    run, runs_dir: Path, tmp_path: Path
) -> None:
    two_groups(runs_dir, seeds=2)
    files = [tmp_path / f"a.{kind}" for kind in ("svg", "pdf", "png")]
    options = [word for file in files for word in (f"--{file.suffix[1:]}", str(file))]
    status, _, _ = run("Pend*", *options, "--size", "5x3", "--title", "My $ title")
    assert status == 0
    svg = files[0].read_text()
    assert "<image" not in svg
    texts = {"".join(each.itertext()).strip() for each in ET.fromstring(svg).iter()}
    for text in ("My $ title", "Environment steps", "Evaluation return", "TD3 tau 0.01 (n = 2)"):
        assert text in texts
    assert files[1].read_bytes().startswith(b"%PDF")
    with Image.open(files[2]) as picture:
        assert picture.size == (1500, 900)
    again = tmp_path / "b.svg"
    run("Pend*", "--svg", str(again), "--size", "5x3", "--title", "My $ title")
    assert again.read_text() == svg


@pytest.mark.slow
def test_both_axes_of_a_figure_have_groups_of_thousands(
    run, runs_dir: Path, tmp_path: Path
) -> None:
    write_run(runs_dir, [-4000.0, -2500.5, -1000.0], every=1000)
    write_run(runs_dir, [0.0], every=9000, seed=1)
    words = ("--group-by", "run", "--size", "7x4")
    assert run("Pend*", "--svg", str(tmp_path / "a.svg"), *words)[0] == 0
    root = ET.fromstring((tmp_path / "a.svg").read_text())
    texts = {"".join(each.itertext()).strip() for each in root.iter()}
    assert {"\N{MINUS SIGN}2,000", "2,000"} <= texts
    assert not {text for text in texts if re.fullmatch(r"\W?\d{4,}", text)}
    # Runs without a step in common have no curve, which the legend says.
    _, _, told = run("Pend*", "--svg", str(tmp_path / "b.svg"))
    assert "The runs of TD3 have no step in common" in told
    assert "TD3 (n = 2): no curve" in (tmp_path / "b.svg").read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nothing*"], "is no run, pattern or group in"),
        (["Pend*", "--group-by", "taux"], "no setting to group by called 'taux'"),
        (["Pend*", "--group-by", "seed"], "Runs cannot be grouped by seed: groups are averaged"),
        (["Pend*", "--group-by", "settings,tau"], "'settings' cannot be combined with others"),
        (["Pend*", "--rename", "TD3"], "--rename takes GROUP=NAME, not 'TD3'."),
        (["Pend*", "--rename", "TD3="], "--rename takes GROUP=NAME, not 'TD3='."),
        (["Pend*", "--rename", "=x"], "--rename takes GROUP=NAME, not '=x'."),
        (["Pend*", "--rename", "nope=x"], "no group called 'nope'. Known: 'TD3'."),
        (["*", "--group-by", "tau"], "would pool runs of"),
        (["Pend*", "--png", "a.svg"], "--png takes a file that ends in .png"),
        (["Pend*", "--svg", "a.svg", "--size", "huge"], "must be WIDTHxHEIGHT in inches"),
        (["Pend*", "--svg", "a.svg", "--size", "5x3000"], "must be WIDTHxHEIGHT in inches"),
        (["Pend*", "--title", "Hello"], "--title needs --png, --svg or --pdf."),
        (["Pend*", "--size", "nonsense"], "--size needs --png, --svg or --pdf."),
        (["Pend*", "--csv", "a.csv", "--columns", "2"], "--columns needs --png, --svg or --pdf."),
        (["Pend*", "--smooth", "3"], "--smooth needs --csv, --png, --svg or --pdf."),
        (["nothing*", "--svg", "nowhere/a.svg"], "nowhere/a.svg cannot be written"),
        (["Pend*", "--x", "days"], "must be one of"),
    ],
)
def test_a_wrong_request_gets_a_sentence(
    run, runs_dir: Path, tmp_path: Path, monkeypatch, words, sentence
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(runs_dir, [1.0])
    write_run(runs_dir, [1.0], env=CAR)
    status, out, _ = run(*words, "--json")
    assert status == 2
    assert sentence in json.loads(out.splitlines()[-1])["error"]
    assert not [each for each in tmp_path.iterdir() if each.suffix]


def test_an_empty_argument_selects_nothing(run, runs_dir: Path, monkeypatch) -> None:
    path = write_run(runs_dir, [1.0])
    monkeypatch.chdir(path)
    status, out, _ = run("", "--json")
    assert status == 2
    assert json.loads(out)["error"] == f"'' is no run, pattern or group in {runs_dir}."


def test_a_run_counts_once_whatever_paths_it_is_named_by(run, runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0])
    other = write_run(runs_dir, [2.0], seed=1)
    link = runs_dir / "link"
    link.symlink_to(path.name)
    around = f"{runs_dir}/../{runs_dir.name}/{path.name}"
    status, out, _ = run(str(link), str(path), around, "*", "--json")
    assert status == 0
    (group,) = json.loads(out)["groups"]
    assert group["runs"] == [str(link), str(other)]
    assert group["n"] == 2


def test_a_run_whose_name_has_the_brackets_of_a_pattern_is_found_by_it(run, runs_dir: Path) -> None:
    named, other = write_run(runs_dir, [1.0]), write_run(runs_dir, [1.0], seed=1)
    write_label(named, RunLabel(name="best [1]"))
    write_label(other, RunLabel(name="best 1"))
    _, out, _ = run("best [1]", "--json")
    assert json.loads(out)["groups"][0]["runs"] == [str(named)]


@pytest.mark.parametrize("called", ["NAME", "FOLDER", "PATH", "RELATIVE"])
def test_a_group_is_renamed_by_any_name_of_one_of_its_runs(
    run, runs_dir: Path, monkeypatch, called: str
) -> None:
    path = two_groups(runs_dir, seeds=2)[3]
    write_label(path, RunLabel(name="a = b"))
    monkeypatch.chdir(runs_dir.parent)
    names = {"NAME": "a = b", "FOLDER": path.name, "PATH": str(path)}
    names["RELATIVE"] = f"{runs_dir.name}/{path.name}"
    status, out, err = run("Pend*", "--rename", f"{names[called]}=fast", "--json")
    assert status == 0, err
    assert [each["name"] for each in json.loads(out)["groups"]] == ["TD3 tau 0.005", "fast"]


def test_a_name_that_runs_of_two_groups_share_renames_neither(run, runs_dir: Path) -> None:
    for path in two_groups(runs_dir, seeds=1):
        write_label(path, RunLabel(name="mine"))
    status, _, err = run("Pend*", "--group-by", "tau", "--rename", "mine=fast")
    assert status == 2
    assert "'mine' is the name of runs of several groups; give the folder of one." in err


def test_the_names_of_settings_that_differ_are_whole_on_a_narrow_terminal(
    run, runs_dir: Path, monkeypatch
) -> None:
    for number in range(4):
        write_run(runs_dir, [1.0], normalize_observations=number > 1, tau=0.001 * (number + 1))
    monkeypatch.setenv("COLUMNS", "40")
    _, out, _ = run("Pend*", "--group-by", "run")
    table = out[out.index("Settings that differ") :]
    assert "…" not in out
    first = "".join(line.split("│")[1].strip() for line in table.splitlines() if "│" in line)
    assert "normalize_observations" in first


def test_too_many_runs_are_refused(run, runs_dir: Path, monkeypatch) -> None:
    monkeypatch.setattr("td3core.analysis.comparison.MOST_RUNS", 2)
    two_groups(runs_dir, seeds=2)
    status, _, err = run("Pend*")
    assert status == 2
    assert "4 runs are too many to compare; choose at most 2." in err


def test_a_damaged_run_is_refused_by_name_and_skipped_by_a_pattern(run, runs_dir: Path) -> None:
    good, bad = write_run(runs_dir, [1.0]), write_run(runs_dir, [1.0], seed=1)
    (bad / "run.toml").write_text("nonsense =")
    assert run(bad.name)[0] == 2
    status, out, _ = run("Pend*", "--json")
    assert status == 0
    assert json.loads(out.splitlines()[-1])["groups"][0]["runs"] == [str(good)]


@pytest.mark.slow
def test_comparing_loads_neither_torch_nor_a_figure_that_nobody_wants(
    root: Path, runs_dir: Path
) -> None:
    write_run(runs_dir, [1.0])
    code = (
        "import sys; from td3core.cli.app import main;"
        f"main(['compare', 'Pend*', '--runs-dir', {str(runs_dir)!r}, '--json']);"
        "print(sorted({'torch', 'matplotlib', 'gymnasium', 'PySide6'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
