"""A run has one name everywhere."""

from pathlib import Path

import pytest

from td3core.analysis.groups import group_runs
from td3core.analysis.results import read_results
from td3core.cli import app
from td3core.config import to_dict
from td3core.config.presets import compose
from td3core.playing.compared import AgentFacts, ComparedAgent, names_of
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import summarise
from td3core.runs.metadata import RunLabel, write_label
from td3core.runs.naming import full_name_of, names_of_folders, runs_of_agents, told_apart
from tests.studio.fake_runs import make_run

ENV = "Pendulum-v1"

NAME = "seed 3 · TD3 · γ 0.9"


def preset_run(runs: Path, env: str = ENV, **values: object) -> RunDirectory:
    config, tunables = compose(env, (), {})
    return make_run(runs, **{**to_dict(config), **to_dict(tunables), **values})


@pytest.fixture
def run(runs_dir: Path) -> RunDirectory:
    # As recorded in a run: "auto" is resolved.
    recorded = {"numerics": "avx512", "engine": "compiled", "info_columns": "reward_ctrl"}
    return preset_run(runs_dir, seed=3, gamma=0.9, **recorded)


def test_the_list_the_legends_the_dialogs_and_the_terminal_name_a_run_alike(
    run: RunDirectory, runs_dir: Path, capsys
) -> None:
    def names() -> set[str]:
        (group,) = group_runs([read_results(run.path)], ("run",))
        agent = run.path / "checkpoints" / "best.safetensors"
        assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
        (line,) = capsys.readouterr().out.splitlines()
        found = summarise(run)
        full = {found.full_title, full_name_of(run.path)}
        assert full == {f"{ENV} · {found.title}"}
        return {found.title, group.name, *runs_of_agents([agent]), line.split("\t")[7]}

    assert names() == {NAME}
    write_label(run.path, RunLabel(name="mine"))
    assert names() == {"mine"}
    assert full_name_of(run.path) == "Pendulum-v1 · mine"


def test_a_schedule_that_differs_from_the_preset_is_in_the_name(runs_dir: Path) -> None:
    run = preset_run(runs_dir, seed=3, tau="0.005@5000, 0.05@10000")
    assert summarise(run).title == "seed 3 · TD3 · τ 0.005@5000, 0.05@10000"
    walker = preset_run(runs_dir, "BipedalWalker-v3", seed=3, reward_floor=-10.0)
    assert summarise(walker).title.startswith("seed 3 · TD3 · ")


def test_runs_that_are_called_alike_are_told_apart_by_their_start(runs_dir: Path) -> None:
    first, second = (
        preset_run(runs_dir, created=f"2026-01-0{day}T10:00:00+00:00") for day in (1, 2)
    )
    other = preset_run(runs_dir, "BipedalWalker-v3")
    found = names_of_folders([first.path, second.path, other.path, runs_dir / "gone"])
    assert found[first.path].startswith("Pendulum-v1 · seed 0 · TD3 · 2026-01-01 ")
    assert found[second.path].startswith("Pendulum-v1 · seed 0 · TD3 · 2026-01-02 ")
    assert found[other.path] == "BipedalWalker-v3 · seed 0 · TD3"
    assert found[runs_dir / "gone"] == "gone"
    assert told_apart(["a", "b"], ["", ""]) == ["a", "b"]


def test_a_name_of_several_lines_is_one_line_wherever_it_is_shown(runs_dir: Path) -> None:
    run = make_run(runs_dir, name="first\n  second\tthird\n")
    assert run.label().name == "first second third"
    assert full_name_of(run.path) == "Pendulum-v1 · first second third"
    assert summarise(run).title == "first second third"


def test_a_forged_environment_and_preset_are_one_line_in_the_name_of_their_run(
    runs_dir: Path,
) -> None:
    run = make_run(runs_dir, env="A\nB-v0", preset="my\npreset")
    assert full_name_of(run.path) == "A B-v0 · seed 0 · my preset"
    assert summarise(run).full_title == "A B-v0 · seed 0 · my preset"


def test_agents_side_by_side_carry_the_names_of_their_runs(run: RunDirectory, runs_dir) -> None:
    other = make_run(runs_dir, seed=4, name="mine")
    paths = [each.path / "checkpoints" / "last.safetensors" for each in (run, other)]
    lanes = [
        AgentFacts(agent=ComparedAgent(path), env_steps=100, mean_return=None, run=name)
        for path, name in zip(paths, runs_of_agents(paths), strict=True)
    ]
    assert names_of(lanes) == [f"last, step 100 · {NAME}", "last, step 100 · mine"]
