"""An environment's info becomes columns of episodes.csv, and changes nothing else."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core.analysis.results import read_results
from td3core.config import RunConfig, make_settings
from td3core.config.info_columns import MOST
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended, EpisodeEnded, Progress, Warned
from td3core.runs.directory import RunDirectory
from td3core.runs.tables import read_table
from td3core.training.launch import resume
from tests.support.scripted import Script
from tests.td3core.helpers import Told, fail, finish, run, same, tensors

Register = Callable[[Script], str]
REACHER = {
    "env": "Reacher-v5",
    "steps": 220,
    "learning_starts": 40,
    "batch_size": 8,
    "checkpoint_interval": 0,
}
"""Episodes of 50 steps."""


def episodes(told: Told) -> list[EpisodeEnded]:
    return [each for progress in told.all(Progress) for each in progress.ended]


def column(run_folder: Path, name: str) -> list[str]:
    return [row[name] for row in read_table(run_folder / "episodes.csv")]


def test_the_mean_over_each_episode_is_recorded(scripted: Register, tmp_path: Path) -> None:
    script = Script(
        episodes=((4, "terminated"), (2, "truncated")),
        info=lambda step: {
            "speed": step,
            "terms": {"forward": np.float32(0.5), "deep": {"er": np.array([2.0])}},
            "late": 7.0,
            **({"success": True} if step == 4 else {}),
        },
    )
    names = "terms.forward, speed,terms.deep.er ,speed, success"
    outcome, told = run(
        tmp_path, scripted(script), steps=12, learning_starts=12, info_columns=names
    )
    assert isinstance(outcome, Ended)
    found = episodes(told)
    assert [each.info["info.speed"] for each in found] == [2.5, 1.5, 2.5, 1.5]
    assert {each.info["info.terms.forward"] for each in found} == {0.5}
    assert {each.info["info.terms.deep.er"] for each in found} == {2.0}
    # A mean over the steps that have it; without one there is none.
    assert [each.info["info.success"] for each in found[::2]] == [1.0, 1.0]
    assert all(math.isnan(each.info["info.success"]) for each in found[1::2])
    first = (outcome.run / "episodes.csv").read_text().splitlines()[0]
    assert first.endswith(",time_s,info.terms.forward,info.speed,info.terms.deep.er,info.success")
    assert column(outcome.run, "info.speed") == ["2.5", "1.5", "2.5", "1.5"]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({3: math.nan}, "x that is not finite; the first is episode 0."),
        ({3: np.float32(np.inf)}, "x that is not finite; the first is episode 0."),
        ({3: "fast"}, "x that is no number; the first is episode 0."),
        ({3: np.zeros(3)}, "x that is no number; the first is episode 0."),
        ({3: 1j, 4: math.nan}, "x that is no number; the first is episode 0."),
    ],
)
def test_what_is_no_finite_number_leaves_its_column_empty_and_is_said_once(
    scripted: Register, tmp_path: Path, values: dict[int, Any], sentence: str
) -> None:
    script = Script(
        episodes=((5, "terminated"),),
        # The check before training sees only numbers: what is returned changes later.
        info=lambda step: {"x": values.get(step, 1.0) if script.made > 2 else 1.0, "y": step},
    )
    outcome, told = run(
        tmp_path, scripted(script), steps=15, learning_starts=15, info_columns="x, y"
    )
    assert isinstance(outcome, Ended)
    assert [str(each.message) for each in told.all(Warned)] == [
        f"info.x stays empty for episodes in which the environment returned a {sentence}"
    ]
    assert column(outcome.run, "info.x") == ["nan"] * 3
    # The other columns, and the rows, are as they would be.
    assert column(outcome.run, "info.y") == ["3.0"] * 3
    assert list(read_results(outcome.run).info["info.y"][:, 1]) == [3.0] * 3
    assert not len(read_results(outcome.run).info["info.x"])


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"num_envs": 2},
        pytest.param({"num_envs": 2, "env_processes": 1}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_no_digit_of_a_run_depends_on_it(tmp_path: Path, more: dict[str, Any]) -> None:
    without = finish(tmp_path / "a", **REACHER, **more)
    with_it = finish(tmp_path / "b", **REACHER, **more, info_columns="reward_dist, reward_ctrl")
    assert same(tensors(without.last_checkpoint), tensors(with_it.last_checkpoint))
    for name in ("return", "length", "env_steps", "shaped_return"):
        assert column(without.run, name) == column(with_it.run, name)
    # Reacher's reward is the sum of these two.
    rows = read_table(with_it.run / "episodes.csv")
    for row in rows:
        terms = float(row["info.reward_dist"]) + float(row["info.reward_ctrl"])
        assert 50 * terms == pytest.approx(float(row["return"]), rel=1e-6)
    assert len(rows) == 4


def test_a_run_that_was_interrupted_within_an_episode_has_the_same_means(tmp_path: Path) -> None:
    values = {**REACHER, "info_columns": "reward_dist"}
    whole = finish(tmp_path / "a", **values)
    halted, _ = run(tmp_path / "b", **values, control=Control.stopping_at(75))
    assert isinstance(halted, Ended)
    outcome = resume(halted.run, Control(), Told())
    assert isinstance(outcome, Ended)
    assert column(outcome.run, "info.reward_dist") == column(whole.run, "info.reward_dist")
    assert same(tensors(whole.last_checkpoint), tensors(outcome.last_checkpoint))


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (", ".join(f"n{i}" for i in range(MOST + 1)), "at most 20 are recorded"),
        ('a"b', "cannot name a column"),
        ("a\nb", "cannot name a column"),
        ("n" * 65, "more than 64 characters"),
    ],
)
def test_names_that_cannot_be_columns_are_refused(names: str, reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        make_settings({"env": "Pendulum-v1", "info_columns": names})


def test_names_are_kept_in_one_spelling() -> None:
    assert RunConfig(env="A-v0", info_columns=" b ,a,, b").info_columns == "b, a"


def test_a_name_that_is_close_to_another_or_no_number_is_refused_before_anything_is_written(
    scripted: Register, tmp_path: Path
) -> None:
    env = scripted(Script(info=lambda step: {"x_velocity": 1.0, "path": "abc", "bad": math.inf}))
    for names, sentence in (
        ("x_velocty", "Did you mean x_velocity?"),
        ("path", "it is no finite number."),
        ("bad", "it is no finite number."),
    ):
        failed, _ = fail(tmp_path, env, info_columns=names)
        assert str(failed.message).startswith(f"info_columns cannot contain {names}: ")
        assert str(failed.message).endswith(sentence)
    assert not list(tmp_path.iterdir())


def test_a_name_that_may_come_later_is_warned_of(scripted: Register, tmp_path: Path) -> None:
    env = scripted(Script(info=lambda step: {"x_velocity": 1.0}))
    outcome, told = run(tmp_path, env, info_columns="success")
    assert isinstance(outcome, Ended)
    (warning,) = told.all(Warned)
    assert "had no success in 100 random steps" in str(warning.message)
    assert set(column(outcome.run, "info.success")) == {"nan"}


def test_runs_from_before_and_hostile_tables_are_read(scripted: Register, tmp_path: Path) -> None:
    outcome = finish(tmp_path, scripted(Script()), steps=40)
    assert read_results(outcome.run).info == {}
    table = outcome.run / "episodes.csv"
    names, *rows = table.read_text().splitlines()
    many = "".join(f",info.n{i}" for i in range(3 * MOST))
    lines = [names + many, *(row + ",1" * 3 * MOST for row in rows)]
    lines[-1] = rows[-1] + ",x" + ",1" * (3 * MOST - 1)
    table.write_text("\n".join(lines) + "\n")
    found = read_results(outcome.run)
    assert list(found.info) == [f"info.n{i}" for i in range(MOST)]
    assert all(len(each) == len(rows) - 1 for each in found.info.values())


def test_a_run_writes_its_setting_and_opens_with_it(scripted: Register, tmp_path: Path) -> None:
    env = scripted(Script(info=lambda step: {"x": 1.0}))
    outcome = finish(tmp_path, env, info_columns="x")
    assert RunDirectory.open(outcome.run).config.info_columns == "x"
