"""``train --seeds`` and ``resume`` of a group: answers, tables, exit statuses and refusals."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from td3core.cli.app import main
from td3core.experiments.jobs import perform
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import list_runs
from td3core.training.launch import train
from tests.support.health import breakable_rule
from tests.support.waiting import eventually
from tests.td3core.experiments.conftest import STEPS_ENV
from tests.td3core.experiments.stage import Actor, Stage, break_the_second, ended, failed, finish
from tests.td3core.experiments.test_processes import ENDLESS, shortened
from tests.td3core.helpers import new_group, run, tiny

Answer = tuple[int, dict[str, Any]]
KEYS = {
    *("seed", "run", "stopped", "env_steps", "updates", "episodes", "wall_s", "steps_per_s"),
    *("last_eval_return", "best_eval_return", "best_checkpoint", "last_checkpoint", "advice"),
}


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> Callable[..., Answer]:
    """Run a command whose processes are played; return its status and object."""

    def call(*words: str, act: Callable[[Actor], None] = finish) -> Answer:
        monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", Stage(act))
        status = main([*words, "--runs-dir", str(runs_dir), "--json"])
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1
        return status, json.loads(lines[0])

    return call


def test_a_group_answers_with_one_object_for_all_its_runs(command) -> None:
    status, answer = command("train", STEPS_ENV, "--seeds", "0-1,7", "--steps", "60")
    assert status == 0
    assert set(answer) == {"group", "runs"}
    assert [run["seed"] for run in answer["runs"]] == [0, 1, 7]
    assert all(set(run) == KEYS for run in answer["runs"])


def test_each_run_of_a_group_is_advised(
    command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    monkeypatch.setattr("td3core.cli.experiments.groups.log", lambda text: said.append(str(text)))
    monkeypatch.setattr("td3core.cli.advice.load_rules", lambda: (breakable_rule(),))
    trained = run(runs_dir / "other", steps=60)[0].run

    def act(actor: Actor) -> None:
        actor.start()
        actor.report(replace(ended(actor.config), run=trained if actor.seed else Path("gone")))

    status, answer = command("train", STEPS_ENV, "--seeds", "2", "--steps", "60", act=act)
    assert status == 0
    assert [len(each["advice"]) for each in answer["runs"]] == [0, 1]
    assert answer["runs"][1]["advice"][0]["rule"] == "learns"
    assert [line[:37] for line in said if "Health" in line] == [
        "seed 1  Health: It learns (updates 40"
    ]


def test_one_failing_seed_fails_the_command_after_the_others_are_done(command) -> None:
    words = ("train", STEPS_ENV, "--seeds", "3", "--steps", "60")
    status, answer = command(*words, act=break_the_second)
    assert status == 1
    assert [run["stopped"] for run in answer["runs"]] == ["finished", "failed", "finished"]
    assert answer["runs"][1]["error"] == "It broke."
    assert answer["error"] == "1 of 3 runs failed.\nSeed 1: It broke."


def test_the_reason_of_each_failed_seed_is_a_line_also_if_it_has_no_full_stop(command) -> None:
    def act(actor: Actor) -> None:
        actor.report(failed(f"The environment raised ValueError: boom {actor.seed}"))

    status, answer = command("train", STEPS_ENV, "--seeds", "2", "--steps", "60", act=act)
    assert status == 1
    assert answer["error"].splitlines() == [
        "2 of 2 runs failed.",
        "Seed 0: The environment raised ValueError: boom 0",
        "Seed 1: The environment raised ValueError: boom 1",
    ]


def test_a_run_whose_process_was_killed_has_not_stopped_in_any_way(command) -> None:
    def act(actor: Actor) -> None:
        actor.start()
        actor.report(failed("The process was ended by signal 9."))

    status, answer = command("train", STEPS_ENV, "--seeds", "1-1", "--steps", "60", act=act)
    assert status == 1
    (found,) = answer["runs"]
    assert (found["run"], found["stopped"]) == ("r", None)
    assert found["error"] == "The process was ended by signal 9."


def test_settings_that_every_run_refuses_are_a_wrong_request(command, runs_dir: Path) -> None:
    def act(actor: Actor) -> None:
        actor.report(failed("device cannot be cuda.", request=True))

    status, answer = command("train", STEPS_ENV, "--seeds", "2", "--steps", "60", act=act)
    assert (status, answer) == (2, {"error": "device cannot be cuda."})
    assert list((runs_dir / "groups").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--seeds", "5", "--seed", "1"), "--seeds and --seed exclude each other."),
        (("--seeds", "1", "--set", "seed=9"), "--seeds and --set seed exclude each other."),
        (("--seeds", "5", "--journal", "x"), "--seeds and --journal exclude each other."),
        (("--seeds", "0"), "seeds cannot be 0."),
        (("--seeds", ""), "seeds is empty."),
        (("--jobs", "2"), "--jobs needs --seeds: a single run is one job."),
        (
            ("--seeds", "2", "--jobs", "0"),
            "--jobs cannot be 0; it must be a whole number from 1 to 1,024.",
        ),
        (("--seeds", "2", "--set", "batch_size=4096", "--set", "buffer_size=10"), "batch_size"),
    ],
)
def test_a_wrong_request_starts_nothing(command, runs_dir: Path, words, sentence: str) -> None:
    status, answer = command("train", STEPS_ENV, *words)
    assert status == 2
    assert answer["error"].startswith(sentence)
    assert not runs_dir.exists()


def test_a_length_that_a_run_of_the_group_has_passed_is_refused_and_changes_nothing(
    command, runs_dir: Path
) -> None:
    config, tunables = tiny(STEPS_ENV)
    group = new_group(runs_dir, (0, 1), config, tunables)
    for seed, steps in ((0, 60), (1, 40)):
        RunDirectory.create(runs_dir, replace(config, seed=seed), tunables, group=group.name)
        (made,) = (run for run in list_runs(runs_dir) if run.config.seed == seed)
        trained, _ = run(runs_dir.parent / "trained", steps=steps)
        assert isinstance(trained, Ended)
        made.write_ending(asdict(trained))
    before = (group.path / "group.json").read_bytes()
    status, answer = command("resume", group.name, "--steps", "50", "--trust-env")
    assert (status, list(answer)) == (2, ["error"])
    assert answer["error"].startswith("steps cannot be 50: ")
    assert answer["error"].endswith(" is at step 60.")
    assert (group.path / "group.json").read_bytes() == before
    assert command("resume", group.name, "--steps", "70", "--trust-env")[0] == 0


@pytest.mark.parametrize("exact", [False, True])
def test_a_run_of_a_group_that_would_not_go_on_exactly_is_refused_if_that_is_asked_for(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], exact: bool
) -> None:
    config, tunables = tiny(keep_replay=False)
    group = new_group(runs_dir, (0,), config, tunables)
    control = Control.stopping_at(40)
    train(config, tunables, control, lambda _: None, runs_dir, group=group.name)

    def act(actor: Actor) -> None:
        perform(actor.job, Control(), actor.report)

    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", Stage(act))
    before = (group.path / "group.json").read_bytes()
    words = ["resume", group.name, "--runs-dir", str(runs_dir), "--json", "--trust-env"]
    status = main([*words, "--exact", "--steps", "80"] if exact else words)
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    if exact:
        assert status == 2
        assert "cannot be resumed exactly" in answer["error"]
        assert group.runs()[0].env_steps == 40
        assert (group.path / "group.json").read_bytes() == before
    else:
        assert (status, answer["runs"][0]["env_steps"]) == (0, 60)


def test_a_finished_group_answers_what_its_runs_answer(
    command, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config, tunables = tiny(eval_interval=20)
    group = new_group(runs_dir, (0,), config, tunables)
    done = train(config, tunables, Control(), lambda _: None, runs_dir, group=group.name)
    assert isinstance(done, Ended)
    status, answer = command("resume", group.name, "--trust-env")
    (found,) = answer["runs"]
    assert (status, found.pop("seed")) == (0, 0)
    assert main(["resume", str(done.run), "--json"]) == 0
    assert found == json.loads(capsys.readouterr().out)
    assert found["steps_per_s"] is not None


@pytest.mark.parametrize("jobs", ["0", "-1", "1025"])
def test_a_number_of_jobs_that_cannot_be_is_refused_when_a_group_goes_on(
    command, runs_dir: Path, jobs: str
) -> None:
    group = new_group(runs_dir, (0, 1), *tiny(), jobs=2)
    status, answer = command("resume", group.name, "--jobs", jobs, "--trust-env")
    allowed = "a whole number from 1 to 1,024"
    assert (status, answer) == (2, {"error": f"--jobs cannot be {jobs}; it must be {allowed}."})


def test_the_table_at_the_end_has_the_mean_over_the_seeds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", Stage(finish))
    words = ("--seeds", "1-3", "--steps", "60", "--runs-dir", str(runs_dir))
    assert main(["train", STEPS_ENV, *words]) == 0
    out = capsys.readouterr().out
    # The scripted runs return their seed. The deviation is that of a sample.
    assert "2.0 ± 1.0" in out
    assert "10.0 ± 0.0" in out


def test_the_mean_over_one_seed_has_no_deviation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], runs_dir: Path
) -> None:
    monkeypatch.setattr("td3core.experiments.groups.runner.RunProcess", Stage(finish))
    words = ("--seeds", "3-3", "--steps", "60", "--runs-dir", str(runs_dir))
    assert main(["train", STEPS_ENV, *words]) == 0
    (line,) = (each for each in capsys.readouterr().out.splitlines() if "mean" in each)
    assert "3.0" in line
    assert "3.0 ±" not in line


@pytest.mark.slow
def test_ctrl_c_saves_all_runs_and_resume_finishes_them(runs_dir: Path, root: Path) -> None:
    settings = [f"--set={n}={v}" for n, v in shortened(tiny(STEPS_ENV, steps=ENDLESS)).items()]
    words = [*settings, "--runs-dir", str(runs_dir), "--json"]
    train = [sys.executable, "-m", "td3core", "train", STEPS_ENV, "--seeds", "2", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(train, cwd=root, stdout=pipe, stderr=pipe, text=True) as process:

        def all_train() -> bool:
            runs = list(list_runs(runs_dir))
            return len(runs) == 2 and all(run.steps_on_record() > 100 for run in runs)

        eventually(all_train)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    answer = json.loads(out.splitlines()[-1])
    assert [run["stopped"] for run in answer["runs"]] == ["user", "user"]
    assert all(Path(run["last_checkpoint"]).exists() for run in answer["runs"])
    assert f"td3-studio resume {answer['group']}" in err
