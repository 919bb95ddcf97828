"""Runs are compared by recorded numbers of their environment's info."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from td3core.analysis.comparison import compare
from td3core.analysis.figure_data import figure_of
from td3core.analysis.results import read_results, recorded_info
from td3core.cli import app
from td3core.config import make_settings
from td3core.protocol.rows import EPISODE_COLUMNS
from td3core.runs.directory import RunDirectory
from td3core.text import Text


def write_run(folder: Path, seed: int, values: list[float]) -> Path:
    settings = {"env": "Pendulum-v1", "seed": seed, "info_columns": "speed", "steps": 1000}
    run = RunDirectory.create(folder, *make_settings(settings))
    table = run.table("episodes", (*EPISODE_COLUMNS, "info.speed"))
    for at, value in enumerate(values):
        table.add((at, 100 * (at + 1), -1.0, -1.0, 100, 0, f"{at}", value))
    table.flush()
    run.write_ending({"stopped": "finished", "message": Text(""), "env_steps": 1000, "wall_s": 1.0})
    return run.path


def test_the_last_episodes_count_and_there_is_no_best(tmp_path: Path) -> None:
    values = [float("nan"), *np.linspace(0.0, 1.8, 19).tolist()]
    runs = [read_results(write_run(tmp_path, seed, values)) for seed in range(3)]
    assert recorded_info(runs) == ("info.speed",)
    comparison = compare(runs, "info.speed")
    (group,) = comparison.groups
    # A tenth of 19 episodes, so two.
    assert group.final is not None
    assert group.final.value == pytest.approx(1.75)
    assert group.best is None
    figure = figure_of(comparison, "steps", smoothing=1)
    assert str(figure.y_label) == "info.speed, mean of an episode"
    assert figure.lines[0].y[-1] == pytest.approx(1.8)


def test_the_command_compares_by_a_column_and_refuses_one_that_is_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(write_run(tmp_path, seed, [1.0, 2.0])) for seed in range(2)]

    def call(metric: str, *more: str) -> tuple[int, str, str]:
        words = ["compare", *runs, "--metric", metric, "--runs-dir", str(tmp_path), *more]
        status = app.main(words)
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    table = tmp_path / "figure.csv"
    status, out, _ = call("info.speed", "--csv", str(table), "--json")
    assert status == 0
    told = json.loads(out.splitlines()[-1])
    assert told["metric"] == "info.speed"
    assert told["groups"][0]["final"]["value"] == 2.0
    assert told["groups"][0]["best"] is None
    with table.open() as file:
        assert len(list(csv.DictReader(file))) > 0
    assert "info.speed: interquartile mean" in call("info.speed")[1]
    status, _, said = call("info.sped")
    assert status == 2
    assert "Did you mean info.speed?" in said
    status, _, said = call("speed")
    assert status == 2
    assert "There is no metric called 'speed'" in said
