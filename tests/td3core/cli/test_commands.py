"""The commands, through the function that the program itself calls."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import av
import gymnasium as gym
import numpy as np
import pytest
import typer

from td3core import __version__, checkpoint
from td3core.cli import app
from td3core.config import RunConfig
from td3core.evaluation.evaluate import evaluate
from td3core.runs.directory import RunDirectory
from td3core.runs.tables import read_table
from tests.support.health import breakable_rule
from tests.support.marks import release, slow
from tests.support.scripted import STEPS, Script, ScriptedEnv
from tests.support.waiting import eventually
from tests.td3core.helpers import TINY, finish

TRAIN_KEYS = {
    "run",
    "env_steps",
    "updates",
    "episodes",
    "wall_s",
    "steps_per_s",
    "last_eval_return",
    "best_eval_return",
    "advice",
    "best_checkpoint",
    "last_checkpoint",
    "stopped",
}
EVAL_KEYS = {"returns", "mean", "std", "episodes", "seed"}
FIXED = {name: value for name, value in TINY.items() if name not in ("steps", "threads")}


def small(**values: Any) -> list[str]:
    """Return the ``--set`` options of tiny settings."""
    return [f"--set={name}={value}" for name, value in {**FIXED, **values}.items()]


def last_line(out: str) -> Any:
    return json.loads(out.splitlines()[-1])


def train(capsys: pytest.CaptureFixture[str], runs_dir: Path, *more: str, **values: Any) -> Any:
    options = ["--steps", "60", "--threads", "1", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", STEPS, *options, *small(**values), *more]) == 0
    return last_line(capsys.readouterr().out)


@pytest.mark.parametrize(("learning_starts", "told"), [(59, False), (60, True)])
def test_training_says_beforehand_that_a_run_is_too_short_to_learn(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, learning_starts: int, told: bool
) -> None:
    options = ["--steps", "60", "--threads", "1", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", STEPS, *options, *small(learning_starts=learning_starts)]) == 0
    captured = capsys.readouterr()
    sentence = "It will not learn: 60 steps are not more than the warm-up, learning_starts 60."
    assert (sentence in captured.err) is told
    assert (last_line(captured.out)["updates"] == 0) is told


def test_training_prints_one_object_with_exactly_the_promised_keys(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    options = ["--steps", "60", "--seed", "7", "--threads", "1", "--runs-dir", str(runs_dir)]
    status = app.main(["train", STEPS, *options, "--json", *small(eval_interval=20)])
    captured = capsys.readouterr()
    assert status == 0
    assert len(captured.out.splitlines()) == 1
    found = last_line(captured.out)
    assert set(found) == TRAIN_KEYS
    assert (found["env_steps"], found["updates"], found["episodes"]) == (60, 40, 6)
    assert found["stopped"] == "finished"
    assert found["steps_per_s"] > 0
    assert found["wall_s"] > 0
    run = RunDirectory.open(Path(found["run"]))
    assert run.path.parent == runs_dir
    assert (run.config.seed, run.config.steps, run.config.threads) == (7, 60, 1)
    assert found["best_checkpoint"] == str(run.best)
    assert found["last_checkpoint"] == str(run.last)
    means = [float(row["mean"]) for row in read_table(run.path / "evaluations.csv")]
    assert found["last_eval_return"] == means[-1]
    assert found["best_eval_return"] == max(means)
    assert str(run.path) in captured.err.replace("\n", "")


def test_a_setting_that_the_algorithm_does_not_use_is_said_to_have_no_effect(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    options = ["--runs-dir", str(runs_dir), "--json", "--set=dropped_quantiles=1"]
    said = "dropped_quantiles has no effect with td3.\n"
    assert app.main(["train", STEPS, "--steps", "60", *options, *small()]) == 0
    out, err = capsys.readouterr()
    assert err.count(said) == 1
    assert app.main(["branch", last_line(out)["run"], "--steps", "80", *options]) == 0
    assert capsys.readouterr().err.count(said) == 1
    words = ["--set", "quantiles=5", "--set", "algorithm=tqc"]
    assert app.main(["train", STEPS, "--steps", "60", *options, *small(), *words]) == 0
    assert "no effect" not in capsys.readouterr().err


def test_a_finished_run_is_advised_again_by_resume(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("td3core.cli.progress", "td3core.cli.advice"):
        monkeypatch.setattr(f"{module}.load_rules", lambda: (breakable_rule(),))
    trained = train(capsys, runs_dir)
    assert [each["rule"] for each in trained["advice"]] == ["learns"]
    assert app.main(["resume", trained["run"], "--json"]) == 0
    again = last_line(capsys.readouterr().out)
    assert set(again) == TRAIN_KEYS
    assert again["advice"] == trained["advice"]


def test_a_resumed_run_keeps_the_advice_of_the_steps_before(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("td3core.cli.progress", "td3core.cli.advice"):
        monkeypatch.setattr(f"{module}.load_rules", lambda: (breakable_rule(),))
    trained = train(capsys, runs_dir)
    steps = str(trained["env_steps"] + 1)
    assert app.main(["resume", trained["run"], "--steps", steps, "--json"]) == 0
    (now,), (then,) = last_line(capsys.readouterr().out)["advice"], trained["advice"]
    assert (now["rule"], now["since"]) == (then["rule"], then["since"])


def test_without_evaluations_their_figures_are_null(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    found = train(capsys, runs_dir, "--no-eval", eval_interval=20)
    nulls = {key for key, value in found.items() if value is None}
    assert nulls == {"last_eval_return", "best_eval_return", "best_checkpoint"}


def test_settings_given_on_the_command_line_are_those_of_the_run(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    found = train(capsys, runs_dir, tau="0.25", actor_hidden="4,3", twin_critics="off")
    run = RunDirectory.open(Path(found["run"]))
    assert run.first_tunables.tau == 0.25
    assert (run.config.actor_hidden, run.config.twin_critics) == ((4, 3), False)


def test_a_preset_is_chosen_by_environment_or_by_name(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    few = ["--steps", "20", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", "Pendulum-v1", *few]) == 0
    by_env = RunDirectory.open(Path(last_line(capsys.readouterr().out)["run"]))
    assert (by_env.config.preset, by_env.config.actor_hidden) == ("Pendulum-v1", (64, 64))
    assert app.main(["train", STEPS, "--preset", "MountainCarContinuous-v0", *few]) == 0
    by_name = RunDirectory.open(Path(last_line(capsys.readouterr().out)["run"]))
    assert by_name.config.preset == "MountainCarContinuous-v0"
    assert by_name.first_tunables.exploration_noise == 0.7


def test_the_same_command_twice_gives_the_same_agent(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    one, other = (train(capsys, runs_dir, eval_interval=20) for _ in range(2))
    for key in ("last_eval_return", "best_eval_return", "updates", "episodes"):
        assert one[key] == other[key]
    a, b = (checkpoint.load(Path(found["last_checkpoint"])).tensors for found in (one, other))
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_evaluating_the_best_checkpoint_repeats_the_logged_figure_bit_for_bit(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    values = {"seed": 6, "steps": 700, "learning_starts": 100, "eval_interval": 200}
    sizes = {"actor_hidden": (256, 256), "critic_hidden": (16,), "eval_episodes": 3}
    outcome = finish(runs_dir, "Pendulum-v1", **values, **sizes)
    rows = read_table(outcome.run / "evaluations.csv")
    best = max(rows, key=lambda row: float(row["mean"]))
    for target in (str(outcome.best_checkpoint), str(outcome.run)):
        assert app.main(["eval", target, "--episodes", "3", "--seed", "6", "--json"]) == 0
        found = last_line(capsys.readouterr().out)
        assert set(found) >= EVAL_KEYS
        assert found["returns"] == [float(part) for part in best["returns"].split()]
        assert (found["mean"], found["std"]) == (float(best["mean"]), float(best["std"]))
        assert found["mean"] == outcome.best_eval_return
        assert (found["episodes"], found["seed"]) == (3, 6)


def test_an_evaluation_for_people_is_one_line(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    outcome = finish(runs_dir)
    assert app.main(["eval", str(outcome.last_checkpoint), "--episodes", "4"]) == 0
    found = evaluate(
        checkpoint.load(Path(str(outcome.last_checkpoint))).policy(), STEPS, episodes=4, seed=0
    )
    assert found is not None
    printed = capsys.readouterr().out
    assert printed == f"return {found.mean:.1f} ± {found.std:.1f} over 4 episodes\n"
    assert app.main(["eval", str(outcome.last_checkpoint), "--episodes", "1"]) == 0
    assert capsys.readouterr().out == f"return {found.returns[0]:.1f} of 1 episode\n"


@pytest.mark.slow
def test_a_film_has_one_frame_for_each_step_and_shows_the_evaluated_episodes(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, tmp_path: Path
) -> None:
    short = '{"max_episode_steps": 20}'
    outcome = finish(runs_dir, "Pendulum-v1", steps=30, env_args=short)
    saved, video = str(outcome.last_checkpoint), tmp_path / "film.mp4"
    options = ["--video", str(video), "--episodes", "2", "--seed", "3", "--json"]
    assert app.main(["replay", saved, *options]) == 0
    said = capsys.readouterr()
    assert re.search(r"^\d+ % Episode 1 of 2, [\d,]+ frames?$", said.err, re.MULTILINE)
    found = last_line(said.out)
    assert found["frames"] == sum(found["lengths"]) == 40
    with av.open(str(video)) as film:
        (stream,) = film.streams.video
        pictures = [frame.to_ndarray(format="rgb24") for frame in film.decode(stream)]
        assert (stream.codec_context.name, stream.average_rate) == ("h264", 30)
    assert len(pictures) == 40
    assert {picture.shape for picture in pictures} == {(500, 500, 3)}
    assert np.ptp(pictures[0]) > 100, "something is drawn"
    assert np.abs(pictures[0].astype(int) - pictures[15]).max() > 100, "and it moves"
    assert app.main(["eval", saved, "--episodes", "2", "--seed", "3", "--json"]) == 0
    assert last_line(capsys.readouterr().out)["returns"] == found["returns"]


def test_an_export_holds_the_networks_of_the_run(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, tmp_path: Path
) -> None:
    outcome, slim = finish(runs_dir, eval_interval=30), tmp_path / "slim.safetensors"
    assert app.main(["export", str(outcome.run), "--to", str(slim)]) == 0
    assert capsys.readouterr().out == ""
    one, other = (
        checkpoint.load(path).policy() for path in (Path(str(outcome.best_checkpoint)), slim)
    )
    obs = np.float32([0.1, -0.2, 0.3])
    assert np.array_equal(one(obs), other(obs))


def test_runs_are_listed_as_json_newest_first(
    capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    assert app.main(["list", "--runs-dir", str(runs_dir), "--json"]) == 0
    assert last_line(capsys.readouterr().out) == []
    outcome = finish(runs_dir, eval_interval=20, seed=5)
    (runs_dir / "rubbish").mkdir()
    assert app.main(["list", "--runs-dir", str(runs_dir), "--json"]) == 0
    (found,) = last_line(capsys.readouterr().out)
    assert (found["run"], found["env"], found["seed"]) == (str(outcome.run), STEPS, 5)
    assert (found["env_steps"], found["steps"]) == (60, 60)
    assert found["best_eval_return"] == outcome.best_eval_return


def test_runs_are_listed_for_people_with_their_names(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    outcome = finish(runs_dir, eval_interval=20)
    assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
    assert outcome.run.name in capsys.readouterr().out


def test_the_runs_folder_of_the_environment_variable_is_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(tmp_path / "elsewhere"))
    assert app.main(["train", STEPS, "--steps", "20", "--no-eval", "--json", *small()]) == 0
    assert Path(last_line(capsys.readouterr().out)["run"]).parent == tmp_path / "elsewhere"


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out == f"td3-studio {__version__}\n"


@pytest.mark.parametrize("command", [None, *app.COMMANDS, "doctor"])
def test_the_help_names_every_value_and_shows_no_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str | None
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert app.main([*filter(None, [command]), "--help"]) == 0
    shown = capsys.readouterr().out
    assert (command or "td3-studio") in shown
    assert re.findall(r"<\w[^>]*>|\[[\d.]*<?=?x[<>]=[^]]*\]", shown) == []


def test_every_option_but_a_flag_has_a_name_for_its_value() -> None:
    program: Any = typer.main.get_command(app.app)
    unnamed = [
        (name, parameter.name)
        for name, command in program.commands.items()
        for parameter in command.params
        if not parameter.metavar and not getattr(parameter, "is_flag", False)
    ]
    assert unnamed == []


def test_a_run_that_fails_has_status_one_and_says_so_in_its_object(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    env = scripted(Script(faults={30: lambda o: (o[0], float("nan"), *o[2:])}))
    options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", env, *options, *small()]) == 1
    captured = capsys.readouterr()
    found = last_line(captured.out)
    assert (found["stopped"], found["env_steps"]) == ("failed", 29)
    assert Path(found["last_checkpoint"]).exists()
    assert "reward of nan" in captured.err.replace("\n", " ")


def test_a_disk_full_at_the_very_end_is_told_in_one_sentence(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full)
    assert app.main(["train", STEPS, "--steps", "60", "--runs-dir", str(runs_dir), *small()]) == 1
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith("The run failed: The run is over, but its agent could not be saved as")
    assert said.endswith("No space left on device.")


def test_a_run_that_fails_prints_all_the_promised_keys_too(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    env = scripted(Script(faults={30: lambda o: (o[0], float("nan"), *o[2:])}))
    app.main(["train", env, "--steps", "60", "--runs-dir", str(runs_dir), "--json", *small()])
    assert set(last_line(capsys.readouterr().out)) >= TRAIN_KEYS


@pytest.mark.parametrize(
    "number", [*slow(signal.SIGINT), *release(signal.SIGTERM)], ids=["Ctrl-C", "terminate"]
)
def test_an_interrupted_training_saves_and_ends_well(
    root: Path, runs_dir: Path, number: int
) -> None:
    options = ["--steps", "1000000", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    command = [sys.executable, "-m", "td3core", "train", "Pendulum-v1", *options]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("Run ")
            eventually(lambda: list(runs_dir.glob("*/episodes.csv")))
            process.send_signal(number)
            out, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, said
    found = last_line(out)
    assert set(found) == TRAIN_KEYS
    assert found["stopped"] == "user"
    assert 0 < found["env_steps"] < 1_000_000
    saved = checkpoint.load(Path(found["last_checkpoint"]))
    assert saved.header.counters.env_steps == found["env_steps"]
    assert "Traceback" not in said


def test_the_first_interrupt_only_asks_and_the_handlers_come_back(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, scripted: Any
) -> None:
    before = signal.getsignal(signal.SIGINT)
    script = Script(
        on_step=lambda step: os.kill(os.getpid(), signal.SIGINT) if step == 25 else None
    )
    options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", scripted(script), *options, *small()]) == 0
    found = last_line(capsys.readouterr().out)
    assert (found["stopped"], found["env_steps"]) == ("user", 25)
    assert signal.getsignal(signal.SIGINT) is before
    assert RunConfig(env="a").steps > 60


def register_solvable(reward_threshold: float | None) -> str:
    """Register an environment whose episodes return 0, 1, 2, ... in turn."""
    script = Script(reward=lambda step, _: float((step - 1) // 10) if step % 10 == 0 else 0.0)
    gym.register(
        "Scripted/Solvable-v0",
        ScriptedEnv,
        reward_threshold=reward_threshold,
        kwargs={"script": script},
    )
    return "Scripted/Solvable-v0"


@pytest.mark.parametrize(
    ("threshold", "share", "words"),
    [(2.0, 0.5, ", 50 % reach 2"), (9.0, 0.0, ", 0 % reach 9"), (None, None, "")],
)
def test_success_against_the_threshold_is_printed_logged_and_kept(
    capsys: pytest.CaptureFixture[str],
    runs_dir: Path,
    threshold: float | None,
    share: float | None,
    words: str,
) -> None:
    try:
        ended = finish(runs_dir, register_solvable(threshold))
        gym.registry.pop("Scripted/Solvable-v0")
        register_solvable(threshold)
        saved = str(ended.last_checkpoint)
        assert app.main(["eval", saved, "--episodes", "4", "--json"]) == 0
        found = last_line(capsys.readouterr().out)
        assert found["returns"] == [0.0, 1.0, 2.0, 3.0]
        assert (found["success"], found["reward_threshold"]) == (share, threshold)
        gym.registry.pop("Scripted/Solvable-v0")
        register_solvable(threshold)
        assert app.main(["eval", saved, "--episodes", "4"]) == 0
        assert capsys.readouterr().out == f"return 1.5 ± 1.1 over 4 episodes{words}\n"
        options = ["--steps", "60", "--runs-dir", str(runs_dir), "--json"]
        values = small(eval_interval=60)
        assert app.main(["train", "Scripted/Solvable-v0", *options, *values]) == 0
        captured = capsys.readouterr()
        (row,) = read_table(Path(last_line(captured.out)["run"]) / "evaluations.csv")
        returns = [float(part) for part in row["returns"].split()]
        expected = "" if threshold is None else str(sum(r >= threshold for r in returns) / 2)
        assert row["success"] == expected
        assert ("reach" in captured.err) == (threshold is not None)
    finally:
        gym.registry.pop("Scripted/Solvable-v0", None)


def test_an_option_counts_and_says_that_set_has_another_value(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seed", "2", "--set", "seed=1", "--steps", "60", "--set", "steps=60"]
    assert app.main(["train", STEPS, *options, "--runs-dir", str(runs_dir), *small()]) == 0
    said = capsys.readouterr().err
    assert "seed is 2, by its own option; --set has 1." in said
    assert "steps is" not in said
    (run,) = runs_dir.iterdir()
    assert RunDirectory.open(run).config.seed == 2


def test_a_journal_without_changes_is_said_to_repeat_nothing(
    runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = train(capsys, runs_dir)["run"]
    options = ["--steps", "60", "--runs-dir", str(runs_dir), *small()]
    assert app.main(["train", STEPS, *options, "--journal", first]) == 0
    assert f"{Path(first).name} has no live changes to repeat." in capsys.readouterr().err
