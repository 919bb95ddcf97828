"""A report presents the results of its runs, as a page that is safe to open."""

import json
import resource
import shlex
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from td3core.analysis.comparison import compare
from td3core.analysis.wording import estimate_text
from td3core.cli import app
from td3core.config import make_settings, parse_value, to_dict
from td3core.config.presets import compose
from td3core.errors import RequestError
from td3core.exporters.registry import REPORT_EXPORTERS, with_suffix_of
from td3core.exporters.report.commands import commands_of
from td3core.exporters.report.contents import PARTS, ReportRequest, document_of
from td3core.exporters.report.document import Film, Paragraph, Section
from td3core.exporters.report.page import LIMIT, html_of, within_limit
from td3core.exporters.report.run_facts import read_facts
from td3core.exporters.report.sheet import Sheets
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, Evaluated
from td3core.runs.directory import RunDirectory, training_columns
from td3core.runs.lock import RunLock
from td3core.runs.metadata import RunLabel, write_label
from td3core.training.launch import branch, resume
from tests.support.marks import release, slow
from tests.td3core.analysis.many_runs import CAR, PENDULUM, two_groups, write_run
from tests.td3core.exporters.read_page import Element, read, section, sections
from tests.td3core.helpers import finish, same, tensors
from tests.td3core.helpers import run as train_tiny

HOSTILE = "<script>alert(1)</script>\" onload='x' & \u202e$\\frac$ \x07\x00"
"""A name that would be code, an attribute, an entity, text turned around, a formula, a bell."""
ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "footer"),
    *("h1", "h2", "p", "ul", "li", "dl", "dt", "dd", "div", "span", "table", "thead", "tbody"),
    *("tr", "th", "td", "figure", "figcaption", "strong", "pre", "code", "details", "summary"),
    *("img", "svg", "g", "path", "text", "tspan", "use", "defs", "clippath", "rect"),
}


def written(*paths: Path, **request) -> Element:
    return read(
        html_of(document_of([read_facts(path) for path in paths], ReportRequest(**request)))
    )


def make_branch(path: Path, **parent: object) -> None:
    """Write into a run's description that it was branched from this parent."""
    description = tomllib.loads((path / "run.toml").read_text())
    (path / "run.toml").write_text(tomli_w.dumps(description | {"parent": parent}))


def test_a_report_has_the_numbers_and_settings_of_the_comparison(runs_dir: Path) -> None:
    paths = two_groups(runs_dir, seeds=3)
    page = written(*paths, question="Which tau?")
    wanted = compare([read_facts(path).results for path in paths])
    assert [each.text for each in page.all("h1")] == ["Pendulum-v1: TD3 tau 0.005, TD3 tau 0.01"]
    assert "Which tau?" in [each.text for each in page.all("p")]
    groups, chances = section(page, "results").all("table")
    for row, group in zip(groups.rows, wanted.groups, strict=True):
        final = group.final
        assert row[:3] == [group.name, "3", f"{final.value:,.1f}"]
        assert row[3] == f"[{final.interval.low:,.1f}, {final.interval.high:,.1f}]"
    assert chances.rows == [["TD3 tau 0.005", "TD3 tau 0.01", "0.00", "[0.00, 0.00]"]]
    assert "2 groups have fewer than 5 runs" in section(page, "results").text
    (differ,) = section(page, "differ").all("table")
    assert differ.heads == ["Group", "τ  Target averaging"]
    assert [row[1] for row in differ.rows] == ["0.005", "0.01"]
    everything = section(page, "settings").all("details")[0].all("table")[0]
    assert ["Critic layers", "critic_hidden"] in [row[:2] for row in everything.rows]
    (runs,) = section(page, "runs").all("table")
    assert [row[1] for row in runs.rows] == ["0", "1", "2"] * 2


@pytest.mark.slow
def test_groups_have_the_names_that_the_user_gave_them(
    runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = two_groups(runs_dir, seeds=3)
    target = tmp_path / "report.html"
    words = ["report", *map(str, paths), "--out", str(target), "--force"]
    last = str(paths[-1])
    named = ["--rename", "TD3 tau 0.005=slow <targets>", "--rename", f"{last}=tau = 0.01"]
    assert app.main([*words, *named]) == 0
    page = read(target.read_text("utf-8"))
    (differ,) = section(page, "differ").all("table")
    assert [row[0] for row in differ.rows] == ["slow <targets>", "tau = 0.01"]
    keys = [each.text.strip() for each in section(page, "curves").all("li")]
    assert keys == ["slow <targets> (n = 3)", "tau = 0.01 (n = 3)"]
    assert [each.text for each in page.all("h1")] == ["Pendulum-v1: slow <targets>, tau = 0.01"]
    capsys.readouterr()
    assert app.main(["compare", *map(str, paths), *named, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in told["groups"]] == ["slow <targets>", "tau = 0.01"]
    for wrong, said in (
        (["--rename", "TD3 tau 7=a"], "no group called 'TD3 tau 7'"),
        (["--rename", "nothing"], "--rename takes GROUP=NAME, not 'nothing'"),
        (["--rename", f"{last}=TD3 tau 0.005"], "Two groups would be called TD3 tau 0.005."),
    ):
        assert app.main([*words, *wrong]) == 2
        assert said in " ".join(capsys.readouterr().err.split())


def test_a_figure_has_a_line_and_a_band_for_each_group_and_takes_on_both_themes(
    runs_dir: Path,
) -> None:
    page = written(*two_groups(runs_dir, seeds=3))
    (svg,) = section(page, "curves").all("svg")
    styles = [_style(each) for each in svg.all("path")]
    for place in range(2):
        assert sum(f"stroke: var(--line-{place})" in style for style in styles) == 4  # and runs
        bands = [each for each in svg.all("use") if f"fill: var(--line-{place})" in _style(each)]
        assert len(bands) == 1
    assert not any("#" in _style(each) for each in _all(svg))
    keys = [each.text.strip() for each in section(page, "curves").all("li")]
    assert keys == ["TD3 tau 0.005 (n = 3)", "TD3 tau 0.01 (n = 3)"]
    style = page.all("style")[0].text
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_the_numbers_along_an_axis_are_not_rounded(runs_dir: Path) -> None:
    values = [0.37051, 0.37053, 0.37055, 0.37058]
    (svg,) = section(written(write_run(runs_dir, values)), "curves").all("svg")
    ticks = [each.text for each in svg.all("text") if each.text.startswith("0.37")]
    assert len(ticks) > 2
    assert len(set(ticks)) == len(ticks)


@pytest.mark.slow
def test_names_are_unique_in_a_page(runs_dir: Path) -> None:
    run = trained(runs_dir)
    page = written(run, without=frozenset(("health", "settings")))
    names = [each.attributes["id"] for each in _all(page) if "id" in each.attributes]
    assert len(page.all("svg")) > 4
    assert len(set(names)) == len(names)


def _style(element: Element) -> str:
    return element.attributes.get("style", "")


def _all(element: Element) -> list[Element]:
    return [element, *(each for child in element.children for each in _all(child))]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that was trained, changed while it learned, and measured in every way."""
    runs_dir = tmp_path_factory.mktemp("runs")
    values = {"steps": 1200, "learning_starts": 100, "eval_interval": 400, "eval_episodes": 1}
    values |= {"bias_interval": 1}
    outcome, _ = train_tiny(runs_dir, PENDULUM, **values)
    run = RunDirectory.open(outcome.run)
    run.note({"step": 500, "field": "tau", "old": 0.005, "new": 0.01, "time": "2026-11-24T17:00"})
    run.note({"step": 700, "event": "pause", "time": "now"})
    run.note({"step": 800, "event": "inexact", "message": "Digits differ.", "time": "now"})
    return run.path


@pytest.fixture
def trained_run(small: Path, runs_dir: Path) -> Path:
    shutil.copytree(small, runs_dir / small.name)
    return runs_dir / small.name


def trained(runs_dir: Path, **values: object) -> Path:
    """Write a run with every column of the training statistics."""
    path = write_run(runs_dir, [1.0, 2.0], [0.0] * 30, bias=[(0.5, 0.1), (0.4, 0.1)], **values)
    table = RunDirectory.open(path).table("training", training_columns())
    for step in range(100, 1001, 100):
        table.add((step, step, *np.full(len(training_columns()) - 3, 0.5 + step), step / 10))
    table.flush()
    return path


@pytest.mark.slow
def test_a_run_shows_its_live_changes_bias_health_machine_and_command(trained_run: Path) -> None:
    page = written(trained_run)
    assert sections(page) == [
        *("results", "curves", "differ", "learning", "bias", "health", "journal", "runs"),
        *("settings", "machine", "commands"),
    ]
    (changes,) = section(page, "journal").all("table")
    assert changes.rows[0][:4] == ["500", "τ  Target averaging", "0.005", "0.01"]
    assert changes.rows[1][:2] == ["700", "paused"]
    assert changes.rows[2][:2] == ["800", "continued with deviations: Digits differ."]
    # The mark of the change is as high as the plot, and dotted.
    (svg,) = section(page, "curves").all("svg")
    assert sum("dasharray" in each.attributes.get("style", "") for each in svg.all("path")) == 1
    titles = [each.text for each in section(page, "health").all("strong")]
    assert "Saturated actions" in titles
    facts = dict(row for row in section(page, "machine").all("table")[0].rows)
    assert facts["Pendulum-v1"] == "3 observations, 1 action, at most 200 steps"
    assert facts["Numerics class"] == RunDirectory.open(trained_run).config.numerics
    assert facts["torch"]
    (command,) = section(page, "commands").all("pre")
    assert command.text.endswith(f"--journal {trained_run.name}")


def test_the_bias_is_told_with_the_divisor_that_it_has(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0, 2.0], bias=[(0.5, 0.1), (0.4, 0.1)])
    bias = section(written(path), "bias")
    assert "Bias of Q ÷ max(|mean return|, 1)" in bias.text
    assert "divided by the absolute mean of that return, or by 1 if that is larger" in bias.text


@pytest.mark.slow
def test_losses_are_told_as_each_algorithm_has_them(runs_dir: Path) -> None:
    paths = [trained(runs_dir, algorithm=name) for name in ("td3", "tqc")]
    for shown, comparable in ((paths[:1], True), (paths[1:], True), (paths, False)):
        page = written(*shown, without=frozenset(PARTS) - {"learning"})
        text = section(page, "learning").text
        assert "of TQC its quantile Huber loss" in text
        assert "for TQC over both critics" in text
        assert ("losses of these algorithms are not comparable" not in text) == comparable


@pytest.mark.slow
def test_parts_can_be_left_out(trained_run: Path) -> None:
    page = written(trained_run, without=frozenset(PARTS))
    assert sections(page) == ["results", "curves", "differ", "runs"]
    with pytest.raises(RequestError, match=r"no part of a report called 'healt'.*health"):
        ReportRequest(without=frozenset(("healt",)))


def test_names_of_strangers_are_text_and_nothing_else(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0, 2.0], seed=seed) for seed in range(2)]
    for path in paths:
        write_label(path, RunLabel(name=HOSTILE, note=HOSTILE))
        RunDirectory.open(path).note({"step": 5, "event": HOSTILE, "time": HOSTILE})
        description = tomllib.loads((path / "run.toml").read_text())
        description |= {"machine": {"processor": HOSTILE}, "versions": {HOSTILE: HOSTILE}}
        (path / "run.toml").write_text(tomli_w.dumps(description))
    document = document_of(
        [read_facts(path) for path in paths],
        ReportRequest(title=HOSTILE, question=HOSTILE, by=("run",), missing=(HOSTILE,)),
    )
    text = html_of(document)
    page = read(text)
    assert {each.name for each in _all(page)} - {"root"} <= ELEMENTS
    attributes = {name for each in _all(page) for name in each.attributes}
    assert not {name for name in attributes if name.startswith("on")}
    assert "<script>alert(1)</script>\" onload='x' & " in page.text
    assert not {"\u202e", "\x07", "\x00"} & set(text)
    (policy,) = [each for each in page.all("meta") if "http-equiv" in each.attributes]
    assert policy.attributes["content"].startswith("default-src 'none'")
    sources = [each.attributes.get("src", "data:") for each in _all(page)]
    assert all(source.startswith("data:") for source in sources)
    links = [v for each in _all(page) for n, v in each.attributes.items() if n.endswith("href")]
    assert all(link.startswith("#f") for link in links)


@pytest.mark.slow
def test_the_print_has_the_text_of_the_page(
    trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_label(trained_run, RunLabel(name="$a_1$ 漢字", note=HOSTILE))
    document = document_of(
        [read_facts(trained_run)],
        ReportRequest(question="Why?", without=frozenset(("learning", "health"))),
    )
    printed: list[str] = []
    put = Sheets.put
    monkeypatch.setattr(
        Sheets, "put", lambda self, text, *a, **k: (printed.append(text), put(self, text, *a, **k))
    )
    target = tmp_path / "report.pdf"
    with_suffix_of(target, REPORT_EXPORTERS).export(document, target)
    assert target.read_bytes().startswith(b"%PDF")
    assert target.stat().st_size < 500_000
    assert {each.name for each in tmp_path.iterdir()} == {"report.pdf", "runs"}
    page = read(html_of(document))
    for table in page.all("table"):
        for row in table.rows:
            assert {word for cell in row for word in cell.split()} <= {
                word for text in printed for word in text.split()
            } | _cut(printed, row)
    assert {each.text for each in page.all("h2")} <= set(printed)


def _cut(printed: list[str], row: list[str]) -> set[str]:
    """Return the words of a row that are longer than a line, and so printed in pieces."""
    whole = "".join(printed)
    return {word for cell in row for word in cell.split() if word in whole}


def test_what_is_missing_is_said(runs_dir: Path) -> None:
    path = write_run(runs_dir)
    for name in ("episodes", "evaluations"):
        (path / f"{name}.csv").unlink()
    description = tomllib.loads((path / "run.toml").read_text())
    del description["machine"], description["versions"]
    (path / "run.toml").write_text(tomli_w.dumps(description))
    page = written(path)
    missing = [each.text for each in section(page, "missing").all("li")]
    assert missing == [
        "Training metrics: not recorded in these runs.",
        "Bias of the critics: it was not measured in these runs.",
        "Health of the networks: not recorded in these runs.",
        "Live changes: there were none.",
        "Machine and versions of 1 run: they are not on record.",
    ]
    assert "Nothing has been measured yet." in section(page, "curves").text
    assert section(page, "runs").all("table")[0].rows[0][2] == "interrupted"


@pytest.mark.slow
def test_a_run_of_the_first_version_is_reported(root: Path, runs_dir: Path) -> None:
    shutil.copytree(root / "tests" / "data" / "schema1" / "run", runs_dir / "old")
    page = written(runs_dir / "old")
    assert section(page, "learning").all("svg")
    assert section(page, "machine").all("table")


@pytest.mark.slow
def test_a_run_that_trains_is_reported_as_far_as_it_has_come(runs_dir: Path) -> None:
    reports: list[Element] = []

    def report(event: object) -> None:
        if isinstance(event, Evaluated) and not reports:
            (path,) = [each for each in runs_dir.iterdir() if (each / "run.toml").exists()]
            reports.append(written(path))

    values = {"steps": 400, "eval_interval": 200, "eval_episodes": 1}
    train_tiny(runs_dir, PENDULUM, react=report, background_evaluation=False, **values)
    (page,) = reports
    states = [each.text for each in section(page, "results").all("dd")]
    assert "running" in states
    assert "of 400 steps" in states
    assert (
        "1 run that was still training when this report was written"
        in section(page, "missing").text
    )


def test_the_steps_of_a_parent_are_not_trained_again_in_each_branch(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0, 2.0], every=600, steps=1200, seed=seed) for seed in (0, 1)]
    for path in paths:
        make_branch(path, run="parent", checkpoint="last.safetensors", env_steps=1000)
    assert "Steps trained, all runs400" in section(written(*paths), "results").text
    assert "Steps trained200" in section(written(paths[0]), "results").text


def test_a_comparison_of_environments_ranks_none_of_them(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [1.0, 2.0]), write_run(runs_dir, [50.0], env=CAR)]
    page = written(*paths)
    assert "Highest final return" not in page.text
    assert {row[0] for row in section(page, "results").all("table")[0].rows} == {
        "Pendulum-v1 TD3",
        "MountainCarContinuous-v0 TD3",
    }


@pytest.mark.parametrize("metric", ["bias", "info.x"])
@pytest.mark.slow
def test_no_group_is_called_the_highest_by_a_metric_that_is_no_return(
    runs_dir: Path, metric: str
) -> None:
    paths = [
        _with_info(write_run(runs_dir, [1.0], [0.0] * 5, tau=tau, bias=[(bias, 0.2)]))
        for tau, bias in ((0.005, 0.1), (0.01, 40.0))
    ]
    results = section(written(*paths, metric=metric), "results")
    assert "return" not in results.all("dl")[0].text
    assert "The best of many noisy values" not in results.text
    assert ("standard deviation of the bias over the states" in results.text) == (metric == "bias")
    assert "interquartile mean [95 % interval]" in results.text
    (about, *_) = (
        each.text for each in section(written(paths[1], metric=metric), "results").all("dt")
    )
    assert about.endswith(", final")


def _with_info(path: Path) -> Path:
    """Add a column of the environment's info to the episodes of a run."""
    table = path / "episodes.csv"
    head, *rows = table.read_text("utf-8").splitlines()
    table.write_text("\n".join((f"{head},info.x", *(f"{row},2.5" for row in rows), "")), "utf-8")
    return path


def test_the_numbers_of_a_report_are_rounded_as_on_the_terminal(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, [900.1 + 100.2 * seed], seed=seed) for seed in range(3)]
    paths.append(write_run(runs_dir, [5.0], tau=0.01))
    page = section(written(*paths), "results")
    wanted = compare([read_facts(path).results for path in paths]).groups[0].final
    rows = page.all("table")[0].rows
    assert " ".join(rows[0][2:4]) == estimate_text(wanted) == "1,000 [900, 1,100]"
    assert rows[0][2] in page.all("dl")[0].text


def test_films_that_make_the_page_too_large_are_left_out_and_named(runs_dir: Path) -> None:
    document = document_of([read_facts(write_run(runs_dir, [1.0]))], ReportRequest())
    films = tuple(
        Film(gif=bytes(size), width=10, height=10, about=name)
        for name, size in (("small", 10**6), ("large", 3 * 10**6), ("other", 10**6))
    )
    made = replace(document, sections=(Section(name="films", title="Films", blocks=films),))
    fitting = within_limit(made)
    assert [film.about for film in fitting.films()] == ["small", "other"]
    (left_out,) = [b for b in fitting.sections[0].blocks if isinstance(b, Paragraph)]
    assert left_out.text.startswith("large: left out. The film has 3.0 MB")
    assert len(html_of(fitting)) < LIMIT
    assert [each.attributes["alt"] for each in read(html_of(fitting)).all("img")] == [
        "small",
        "other",
    ]


@pytest.mark.release
def test_the_largest_report_is_small_enough_to_be_sent(runs_dir: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for number in range(100):
        values = rng.normal(size=1000)
        path = write_run(
            runs_dir,
            list(values),
            seed=number,
            tau=0.001 + number / 1000,
            bias=[(float(value), 1.0) for value in values],
        )
        write_label(path, RunLabel(name=HOSTILE * 20, note=HOSTILE * 2000))
        table = RunDirectory.open(path).table("training", training_columns())
        for step in range(100, 100_000, 100):
            table.add((step, step, *rng.normal(size=len(training_columns()) - 3), step / 10))
        table.flush()
        run = RunDirectory.open(path)
        for step in range(20):
            run.note({"step": step, "event": HOSTILE * 100, "time": HOSTILE * 100})
        paths.append(path)
    text = html_of(document_of([read_facts(path) for path in paths], ReportRequest()))
    assert len(text.encode()) < LIMIT


# Commands ---------------------------------------------------------------------------------------


def settings_of(command: str) -> dict[str, object]:
    """Return the settings that a command trains with, as the command line understands it."""
    words = shlex.split(command)
    assert words[:2] == ["td3-studio", "train"]
    env, options = words[2], list(zip(words[3::2], words[4::2], strict=True))
    values = {}
    for option, value in options:
        if option == "--set":
            name, _, text = value.partition("=")
            values[name] = parse_value(name, text)
        elif option in ("--steps", "--seed"):
            values[option[2:]] = parse_value(option[2:], value)
    presets = [value for option, value in options if option == "--preset"]
    config, tunables = compose(env, presets, values)
    return to_dict(config) | to_dict(tunables)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"preset": "Pendulum-v1 + DDPG"},
        {"preset": "deleted"},
        {"preset": ""},
        {"actor_hidden": (32, 16), "tau": 0.1, "twin_critics": False, "reward_floor": -12.5},
        {"tau": "0.02@200, 0.005@400"},
        {"env_args": '{"g": 9.0}', "critic_lr": 1e-5, "numerics": "avx2", "seed": 12},
    ],
)
def test_a_command_gives_the_settings_of_its_run(runs_dir: Path, values: dict) -> None:
    if values.get("preset") == "Pendulum-v1 + DDPG":
        config, tunables = compose(PENDULUM, ["Pendulum-v1", "DDPG"], {})
        path = RunDirectory.create(runs_dir, config, tunables).path
    else:
        path = write_run(runs_dir, **values)
    facts = read_facts(path)
    (command,) = commands_of([facts])
    wanted = to_dict(facts.directory.config) | to_dict(facts.directory.first_tunables)
    found = settings_of(command)
    assert found | {"preset": ""} == wanted | {"preset": ""}


def test_runs_that_differ_in_the_seed_share_a_command(runs_dir: Path) -> None:
    paths = [write_run(runs_dir, seed=seed) for seed in (3, 5)] + [write_run(runs_dir, tau=0.1)]
    first, second = commands_of([read_facts(path) for path in paths])
    assert "--seeds 3,5" in first
    assert "--set tau=0.1" in second
    assert "--seed 0" in second


def test_the_command_of_a_branch_names_its_parent_and_what_was_changed(runs_dir: Path) -> None:
    parent = RunDirectory.open(write_run(runs_dir))
    config, tunables = make_settings(
        to_dict(parent.config) | to_dict(parent.first_tunables) | {"tau": 0.02}
    )
    path = RunDirectory.create(runs_dir, config, tunables).path
    name = "step_000000500.safetensors"
    make_branch(path, run=parent.path.name, checkpoint=name, env_steps=500)
    (command,) = commands_of([read_facts(path)])
    words = shlex.split(command)
    assert words[:3] == ["td3-studio", "branch", f"{parent.path.name}/checkpoints/{name}"]
    assert "tau=0.02" in words
    assert not any(word.startswith("seed=") for word in words)


def test_the_command_of_a_branch_with_a_seed_of_its_own_has_that(trained_run: Path) -> None:
    parent = RunDirectory.open(trained_run)
    values = to_dict(parent.config) | to_dict(parent.first_tunables) | {"seed": 9}
    path = RunDirectory.create(trained_run.parent, *make_settings(values)).path
    description = tomllib.loads((path / "run.toml").read_text())
    about = {"run": trained_run.name, "checkpoint": "last.safetensors", "env_steps": 1200}
    (path / "run.toml").write_text(tomli_w.dumps(description | {"parent": about}))
    (command,) = commands_of([read_facts(path)])
    assert shlex.split(command)[3:] == ["--steps", "1200", "--seed", "9"]


def test_the_command_of_a_branch_has_its_own_seed_even_if_the_parent_is_gone(
    runs_dir: Path,
) -> None:
    parent = finish(runs_dir, steps=60)
    assert parent.last_checkpoint is not None
    words = {}
    for seed in (9, RunDirectory.open(parent.run).config.seed):
        values = {"steps": 80, "seed": seed}
        ended = branch(parent.last_checkpoint, values, Control(), lambda _: None, runs_dir)
        assert isinstance(ended, Ended)
        words[seed] = ended.run
    shutil.rmtree(parent.run)
    told = {seed: shlex.split(commands_of([read_facts(run)])[0]) for seed, run in words.items()}
    assert told.pop(9)[3:7] == ["--steps", "80", "--seed", "9"]
    assert all("--seed" not in each for each in told.values())


@pytest.mark.parametrize("kept", [True, False])
def test_a_branch_is_not_made_again_from_an_agent_of_another_step(
    runs_dir: Path, kept: bool
) -> None:
    values = {"steps": 60, "checkpoint_interval": 30 if kept else 0}
    first = finish(runs_dir, **values)
    outcome = branch(first.last_checkpoint, {"steps": 80}, Control(), lambda _: None, runs_dir)
    # The parent goes on, and its last agent is another one.
    assert isinstance(resume(first.run, Control(), lambda _: None, steps=90), Ended)
    (command,) = commands_of([read_facts(outcome.run)])
    if kept:
        name = f"{first.run.name}/checkpoints/step_000000060.safetensors"
        assert shlex.split(command) == ["td3-studio", "branch", name, "--steps", "80"]
    else:
        assert command.startswith(f"# {outcome.run.name}: branched from step 60 of")


def test_the_command_of_a_branch_with_live_changes_repeats_them(runs_dir: Path) -> None:
    first = finish(runs_dir, steps=60, checkpoint_interval=30)
    control = Control(boundary_hook=lambda step: step == 70 and control.change({"tau": 0.3}))
    values = {"steps": 80, "tau": 0.1}
    outcome = branch(first.last_checkpoint, values, control, lambda _: None, runs_dir)
    (command,) = commands_of([read_facts(outcome.run)])
    (again,) = repeated(command, runs_dir)
    assert same(tensors(RunDirectory.open(again).last), tensors(outcome.last_checkpoint))
    assert RunDirectory.open(again).journal()[0]["step"] == 70


MINUTE = {"steps": 300, "learning_starts": 50, "eval_interval": 150, "eval_episodes": 1}


def repeated(command: str, runs_dir: Path) -> list[Path]:
    """Type a command of a report, and return the folders of what it trained."""
    before = set(runs_dir.iterdir())
    words = shlex.split(command)
    assert words[0] == "td3-studio"
    assert app.main([*words[1:], "--runs-dir", str(runs_dir)]) == 0
    made = [path for path in set(runs_dir.iterdir()) - before if (path / "run.toml").exists()]
    return sorted(made, key=lambda path: RunDirectory.open(path).config.seed)


def assert_same_runs(first: Path, second: Path) -> None:
    """Compare what two runs learned, bit for bit, and how they were measured."""
    one, other = RunDirectory.open(first), RunDirectory.open(second)
    assert one.path != other.path
    assert same(tensors(one.last), tensors(other.last))
    assert one.evaluations() == other.evaluations() != []


@pytest.mark.parametrize(
    "values",
    [
        *release({"tau": 0.1, "seed": 7}),
        *slow({"exploration_noise": "0.3@0, 0.05@250", "normalize_observations": True}),
        *release({"env_args": '{"g": 9.5}', "twin_critics": False, "n_step": 3}),
    ],
)
def test_the_command_of_a_report_makes_the_run_again(runs_dir: Path, values: dict) -> None:
    outcome, _ = train_tiny(runs_dir, PENDULUM, **MINUTE, **values)
    (command,) = commands_of([read_facts(outcome.run)])
    (again,) = repeated(command, runs_dir)
    assert_same_runs(outcome.run, again)


@pytest.mark.slow
def test_the_command_of_a_run_that_was_changed_live_makes_the_changes_again(
    runs_dir: Path,
) -> None:
    control = Control()

    def change(event: object) -> None:
        if isinstance(event, Evaluated) and event.env_steps == 150:
            control.change({"tau": 0.05})

    outcome, _ = train_tiny(runs_dir, PENDULUM, control=control, react=change, **MINUTE)
    assert any("field" in entry for entry in read_facts(outcome.run).entries)
    (command,) = commands_of([read_facts(outcome.run)])
    (again,) = repeated(command, runs_dir)
    assert_same_runs(outcome.run, again)


@pytest.mark.release
def test_the_command_of_a_branch_and_of_a_group_make_them_again(runs_dir: Path) -> None:
    runs = [train_tiny(runs_dir, PENDULUM, **MINUTE, seed=seed)[0].run for seed in (1, 2)]
    (command,) = commands_of([read_facts(path) for path in runs])
    for first, again in zip(runs, repeated(command, runs_dir), strict=True):
        assert_same_runs(first, again)
    values = {"tau": 0.2, "steps": 450}
    parent = RunDirectory.open(runs[0]).last
    outcome = branch(parent, values, Control(), lambda _: None, runs_dir)
    (command,) = commands_of([read_facts(outcome.run)])
    (again,) = repeated(command, runs_dir)
    assert_same_runs(outcome.run, again)


@pytest.mark.slow
def test_a_report_replaces_a_file_only_when_it_is_complete(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = document_of([read_facts(write_run(runs_dir, [1.0]))], ReportRequest())
    for name in ("report.html", "report.pdf"):
        target = tmp_path / name
        target.write_text("before")
        broken = replace(document, sections=(*document.sections, "no section"))
        with pytest.raises(AttributeError):
            with_suffix_of(target, REPORT_EXPORTERS).export(broken, target)
        assert target.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 3  # both, and the runs


@pytest.mark.parametrize("name", ["report.html", "report.pdf"])
def test_a_report_that_does_not_fit_on_the_disk_is_refused_and_keeps_the_earlier_file(
    runs_dir: Path, tmp_path: Path, name: str
) -> None:
    document = document_of([read_facts(write_run(runs_dir, [1.0]))], ReportRequest())
    target = tmp_path / name
    target.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(RequestError, match=f"{name} cannot be written: File too large"):
            with_suffix_of(target, REPORT_EXPORTERS).export(document, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert target.read_text() == "before"
    assert {each.name for each in tmp_path.iterdir()} == {name, "runs"}


def test_the_lock_of_a_living_run_is_told(runs_dir: Path) -> None:
    path = write_run(runs_dir, [1.0])
    with RunLock(path):
        page = written(path)
    assert "running" in [each.text for each in section(page, "results").all("dd")]
