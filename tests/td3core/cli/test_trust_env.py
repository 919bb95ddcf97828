"""Commands that open a third party's run import none of its code before they may."""

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
import typer

from td3core.cli import app, consent, doctor
from td3core.cli.numerics import command_line
from td3core.config.env_choice import EnvChoice
from td3core.envs import trust, trust_store
from td3core.experiments.sweeps.file import parse
from td3core.experiments.sweeps.folder import SweepFolder, SweepState
from td3core.experiments.sweeps.launch import SweepRequest
from td3core.experiments.sweeps.spec import SweepSpec, with_module
from td3core.experiments.sweeps.state import state_of
from td3core.exporters import stable_baselines3_zip
from td3core.runs.directory import RunDirectory
from td3core.system import allowed_code, numerics
from tests.support.marks import slow
from tests.support.stranger import Stranger
from tests.td3core.cli.test_commands import last_line, small
from tests.td3core.helpers import finish, new_group

NAME = "theirs_env"
ENV = f"{NAME}:Slide"
Command = Callable[[Path, Path], list[str]]

COMMANDS: dict[str, Command] = {
    "eval": lambda run, _: ["eval", str(run), "--episodes", "1"],
    "replay": lambda run, out: ["replay", str(run), "--video", str(out / "film.mp4")],
    "film": lambda run, out: ["film", str(run), "--out", str(out / "growth.mp4")],
    "film side by side": lambda run, out: [
        "film", str(run), str(run), "--side-by-side", "--out", str(out / "both.mp4"),
    ],
    "export": lambda run, out: ["export", str(run), "--to", str(out / "film.mp4")],
    "report": lambda run, out: ["report", str(run), "--film", "--out", str(out / "report.html")],
    "follow": lambda run, out: [
        "follow", str(run), "--film", "--tensorboard", str(out / "curves"),
    ],
    "import": lambda _, out: ["import", str(out / "zoo"), f"--runs-dir={out / 'new'}"],
    "resume": lambda run, _: ["resume", str(run), "--steps", "80"],
    "resume a group": lambda run, _: ["resume", "theirs", "--runs-dir", str(run.parent)],
    "verify": lambda run, _: ["verify", str(run), "--steps", "10"],
    "branch": lambda run, out: ["branch", str(run), "--steps", "80", f"--runs-dir={out / 'new'}"],
    "train": lambda _, out: ["train", OWN, *THEIR_PRESET, f"--runs-dir={out / 'new'}"],
    "train a group": lambda _, out: [
        "train", OWN, *THEIR_PRESET, "--seeds", "2", f"--runs-dir={out / 'new'}",
    ],
    "sweep": lambda _, out: [
        "sweep", str(out / "theirs.toml"), "--env-module=own_env", f"--runs-dir={out / 'new'}",
    ],
}  # fmt: skip
"""Every command that can be made to import what a file names."""
OWN = "own_env:Slide"
"""Typed by the user. It imports what its argument names."""
THEIR_PRESET = ["--preset", "Theirs", "--steps", "40", "--no-eval", *small()]
PRESET = f"""
name = "Theirs"
env = "{OWN}"
[settings]
env_args = '{{"helper": "{ENV}"}}'
"""
SWEEP = f"""
environment = "Slide"
steps = 60
trials = 2
jobs = 1
sampler = "grid"
[settings]
learning_starts = 20
eval_interval = 30
eval_episodes = 1
batch_size = 8
actor_hidden = [8]
critic_hidden = [8]
[space.env_args]
choices = ["", '{{"helper": "{ENV}"}}']
"""
LAYERS: dict[str, Any] = dict.fromkeys(("eval", "train", "import"), ())
LAYERS |= dict.fromkeys(("train a group", "resume a group", "sweep", "report"), pytest.mark.release)
"""What is not slow: those that take a moment, and those that start several processes, or draw."""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stranger]:
    made = Stranger(tmp_path, monkeypatch)
    yield made
    made.leave(NAME, "own_env", "second_env")
    gym.registry.pop("StrangerSlide-v0", None)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the runs folder of a run of a stranger, and the folder of their module.

    Beside the runs lies the agent as a folder of RL Zoo.
    """
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        made = Stranger(folder, patch)
        made.write(NAME)
        agent = finish(folder / "runs", ENV, eval_interval=30).last_checkpoint
        assert agent is not None
        (folder / "zoo").mkdir()
        stable_baselines3_zip.export(agent, folder / "zoo" / "agent.zip")
        (folder / "zoo" / "args.yml").write_text(f"algo: td3\nenv: '{ENV}'\n")
        made.leave(NAME)
        gym.registry.pop("StrangerSlide-v0", None)
    return folder / "runs", made.folder


@pytest.fixture
def run(
    trained: tuple[Path, Path],
    stranger: Stranger,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Return a run of a stranger; this process has not imported their module.

    They have made a group of such runs, a preset and a sweep, too.
    """
    stranger.write(NAME)
    stranger.write("own_env")
    theirs, modules = trained
    shutil.copytree(theirs, runs_dir)
    shutil.copytree(theirs.parent / "zoo", tmp_path / "zoo")
    (found,) = (path for path in runs_dir.iterdir() if path.is_dir())
    # As if it had been trained with the module of this test.
    description = (found / "run.toml").read_text()
    assert str(modules) in description
    (found / "run.toml").write_text(description.replace(str(modules), str(stranger.folder)))
    opened = RunDirectory.open(found)
    group = new_group(runs_dir, (0, 1), opened.config, opened.first_tunables)
    group.path.rename(group.path.with_name("theirs"))
    monkeypatch.setenv("TD3_STUDIO_PRESETS", str(tmp_path / "presets"))
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "theirs.toml").write_text(PRESET)
    (tmp_path / "theirs.toml").write_text(SWEEP)
    return found


def answers(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let commands ask, and be given these answers."""
    monkeypatch.setattr(consent, "is_interactive", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))


@pytest.mark.parametrize("name", ["eval", *slow("resume", "verify", "film")])
def test_a_run_knows_where_the_module_of_its_environment_lies(
    stranger: Stranger,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    elsewhere = [each for each in sys.path if each != str(stranger.folder)]
    monkeypatch.setattr(sys, "path", [*elsewhere])
    # That it says so is no consent.
    assert app.main(COMMANDS[name](run, tmp_path)) == 2
    assert str(stranger.folder / f"{NAME}.py") in capsys.readouterr().err
    assert stranger.imported == set()
    assert app.main([*COMMANDS[name](run, tmp_path), "--trust-env"]) == 0
    assert stranger.imported == {NAME}
    if name == "eval":
        stranger.leave(NAME)
        monkeypatch.setattr(sys, "path", [*elsewhere])
        stranger.folder.rename(tmp_path / "moved")
        assert app.main([*COMMANDS[name](run, tmp_path), "--trust-env"]) == 2
        said = capsys.readouterr().err
        assert f"No module named '{NAME}' in {Path.cwd()}, {stranger.folder}" in said


def test_every_command_that_can_be_told_to_trust_a_file_is_tried_here(run: Path) -> None:
    program = typer.main.get_command(app.app)
    assert isinstance(program, typer.core.TyperGroup)
    trusting = {
        name
        for name, command in program.commands.items()
        if any(each.name == "trust_env" for each in command.params)
    }
    assert trusting == {words(run, run)[0] for words in COMMANDS.values()}


@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_terminal_a_strangers_code_is_refused_and_not_imported(
    stranger: Stranger,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    assert app.main(COMMANDS[name](run, tmp_path)) == 2
    # A report has read the runs before it plays their agents.
    lines = capsys.readouterr().err.strip().splitlines()
    said = "\n".join(line for line in lines if not line.startswith("0 % Reading run"))
    assert said.count("\n") == 0, said
    for words in ("--trust-env", str(stranger.folder / f"{NAME}.py")):
        assert words in said
    assert NAME not in stranger.imported
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=LAYERS.get(each, pytest.mark.slow)) for each in COMMANDS],
)
def test_with_the_option_each_command_runs_it_and_remembers_nothing(
    stranger: Stranger, run: Path, tmp_path: Path, name: str
) -> None:
    assert app.main([*COMMANDS[name](run, tmp_path), "--trust-env"]) == 0
    assert NAME in stranger.imported
    assert NAME not in {module for module, _ in trust_store.remembered()}


def test_a_film_side_by_side_asks_for_the_code_of_every_agent(
    stranger: Stranger, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger.write("second_env")
    second = finish(run.parent, "second_env:Slide", eval_interval=30).run
    stranger.leave("second_env")
    stranger.allow(NAME)
    out = str(tmp_path / "both.mp4")
    assert app.main(["film", str(run), str(second), "--side-by-side", "--out", out]) == 2
    said = capsys.readouterr().err
    assert "--trust-env" in said
    assert str(stranger.folder / "second_env.py") in said
    assert "second_env" not in stranger.imported


@pytest.mark.slow
def test_neither_an_environment_variable_nor_what_lies_in_a_run_can_allow_code(
    stranger: Stranger,
    run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allowed = [(NAME, str(stranger.folder))]
    entries = [{"module": name, "folder": folder} for name, folder in allowed]
    claims = {"list": json.dumps(allowed), "file": json.dumps({"trusted": entries})}
    for name in ("CONSENT", "ALLOWED", "ALLOWED_CODE", "TRUSTED", "TRUST_ENV"):
        monkeypatch.setenv(f"TD3_STUDIO_{name}", claims["file"])
    for folder in (run, run / "checkpoints", run.parent):
        (folder / "trusted.json").write_text(claims["file"])
        (folder / "allowed_code.json").write_text(claims["list"])
        (folder / "consent").write_text(claims["list"])
    with (run / "run.toml").open("a") as file:
        file.write(f"\n[consent]\n{NAME} = '{stranger.folder}'\n")
    monkeypatch.chdir(run)
    for name, words in COMMANDS.items():
        assert app.main(words(run, tmp_path)) == 2, name
        assert "--trust-env" in capsys.readouterr().err, name
        assert NAME not in stranger.imported, name
    # Nor can they tell a process that another one starts.
    with subprocess.Popen(
        command_line(COMMANDS["eval"](run, tmp_path)), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        _, said = child.communicate(allowed_code.first_message())
    assert (child.returncode, b"--trust-env" in said) == (2, True)
    assert NAME not in stranger.imported


@pytest.mark.parametrize("words", [["list"], ["compare"], ["follow"], ["stop"], ["doctor"]])
def test_commands_without_the_option_import_nothing_of_a_strangers_run(
    stranger: Stranger, run: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setattr(doctor, "renders", lambda _: doctor.Diagnosis("renders", "not tried"))
    named = [str(run)] if words[0] not in ("list", "doctor") else []
    app.main([*words, *named])
    assert stranger.imported == set()


def test_the_refusal_is_one_json_object(
    run: Path, stranger: Stranger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["eval", str(run), "--json"]) == 2
    assert "--trust-env" in last_line(capsys.readouterr().out)["error"]


def test_yes_on_the_terminal_is_asked_for_once(
    stranger: Stranger,
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers(monkeypatch, "y\n")
    assert app.main(COMMANDS["eval"](run, run)) == 0
    said = capsys.readouterr().err
    assert f"module {NAME} in {stranger.folder / NAME}.py" in said
    assert stranger.imported == {NAME}
    allowed_code.replace(())
    monkeypatch.undo()
    monkeypatch.setenv("TD3_STUDIO_TRUST", str(stranger.trusted))
    monkeypatch.syspath_prepend(str(stranger.folder))
    assert app.main(COMMANDS["eval"](run, run)) == 0
    assert "Run this code?" not in capsys.readouterr().err


@pytest.mark.parametrize("text", ["\n", "n\n", "", "what?\n"], ids=repr)
def test_anything_but_yes_is_no_and_is_not_remembered(
    stranger: Stranger, run: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    answers(monkeypatch, text)
    assert app.main(COMMANDS["resume"](run, run)) == 2
    assert stranger.imported == set()
    assert not stranger.trusted.exists()


def test_a_module_that_lies_elsewhere_by_now_is_asked_about_again(
    stranger: Stranger, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger.allow(NAME)
    stranger.write(NAME, tmp_path / "elsewhere")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert app.main(COMMANDS["eval"](run, run)) == 2
    assert stranger.imported == set()


def test_a_damaged_file_of_answers_means_no(stranger: Stranger, run: Path) -> None:
    stranger.allow(NAME)
    stranger.trusted.write_bytes(stranger.trusted.read_bytes()[:-5])
    assert app.main(COMMANDS["eval"](run, run)) == 2
    assert stranger.imported == set()


@pytest.mark.slow
def test_a_real_terminal_is_asked(stranger: Stranger, run: Path, root: Path) -> None:
    pty = pytest.importorskip("pty")
    controller, terminal = pty.openpty()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(root), str(stranger.folder)))}
    code = "from td3core.cli.app import main; raise SystemExit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *COMMANDS["eval"](run, run)],
        env=environment, stdin=terminal, stderr=terminal, stdout=subprocess.PIPE,
    )  # fmt: skip
    said = b""
    while b"[y/N]" not in said:
        said += os.read(controller, 1024)
    assert stranger.imported == set(), "it has been asked by now"
    os.write(controller, b"y\n")
    out, _ = process.communicate(timeout=60)
    os.close(terminal)
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith(b"return")
    assert stranger.imported == {NAME}
    assert {each.entry for each in trust.needed(EnvChoice(ENV))} == trust_store.remembered()


# Child processes ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_child_processes_run_what_this_one_was_allowed_to(
    stranger: Stranger, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger.write(NAME)
    children = {
        "eval_interval": 30,
        "background_evaluation": True,
        "num_envs": 2,
        "env_processes": 2,
    }
    run = finish(runs_dir, ENV, steps=60, **children).run
    stranger.leave(NAME)
    assert app.main(["resume", str(run), "--steps", "120"]) == 2
    assert stranger.imported == set()
    assert app.main(["resume", str(run), "--steps", "120", "--trust-env"]) == 0
    assert "evaluat" not in capsys.readouterr().err.replace("evaluation ", "")
    # This one, two that step, one that evaluates.
    assert len(stranger.processes) == 4


@pytest.mark.parametrize(
    "other",
    slow(False, True),
    ids=["same class", "other"],
)
def test_a_command_of_the_window_runs_what_its_first_message_allows(
    stranger: Stranger, run: Path, tmp_path: Path, other: bool
) -> None:
    here = numerics.current()
    others = [each for each in numerics.available() if each != here]
    if other and not others:
        pytest.skip("this processor has one class")
    # Of another class than the run, it runs again in a process of the run's.
    environment = numerics.environment_of(others[0] if other else here)
    allowed_code.allow([(NAME, str(stranger.folder))])
    told = allowed_code.first_message()
    for message, status in ((told, 0), (b"[]\n", 2), (b"", 2)):
        done = subprocess.run(
            command_line(COMMANDS["eval"](run, tmp_path)),
            input=message, env=environment, capture_output=True,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        assert stranger.imported == ({NAME} if message == told else set())
        stranger.marks.unlink(missing_ok=True)


# What the user types -----------------------------------------------------------------------------


def test_what_is_typed_needs_nothing_and_its_runs_open_without_a_question(
    stranger: Stranger, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger.write(NAME)
    options = ["--steps", "60", "--no-eval", "--runs-dir", str(runs_dir), "--json"]
    assert app.main(["train", "Slide", "--env-module", NAME, *options, *small()]) == 0
    saved = last_line(capsys.readouterr().out)["last_checkpoint"]
    allowed_code.replace(())
    assert app.main(["eval", saved, "--episodes", "1"]) == 0
    allowed_code.replace(())
    assert app.main(["check", ENV, "--quick"]) == 0


def test_another_runs_journal_names_no_code(stranger: Stranger, run: Path, runs_dir: Path) -> None:
    options = ["--steps", "30", "--no-eval", "--runs-dir", str(runs_dir), *small()]
    assert app.main(["train", "Pendulum-v1", "--journal", str(run), *options]) == 0
    assert stranger.imported == set()


def test_a_sweep_of_a_stranger_imports_nothing(
    stranger: Stranger, runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger.write(NAME)
    file, arguments = tmp_path / "s.toml", json.dumps({"env_id": ENV})
    file.write_text(
        "environment = 'GymV26Environment-v0'\nsteps = 30000\n"
        f"[settings]\nenv_args = '{arguments}'\n[space]\ntau = {{low = 0.0, high = 1.0}}\n"
    )
    assert app.main(["sweep", str(file), "--runs-dir", str(runs_dir)]) == 2
    # As one that had been started.
    folder = runs_dir / "sweeps" / "s"
    folder.mkdir(parents=True)
    file.rename(folder / "sweep.toml")
    assert app.main(["sweep", "resume", "s", "--runs-dir", str(runs_dir)]) == 2
    assert capsys.readouterr().err.count("--trust-env") == 2
    assert stranger.imported == set()


def test_a_sweep_is_continued_with_the_module_that_its_runs_name_once_that_is_allowed(
    stranger: Stranger,
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stranger.write(NAME)
    text = SWEEP.split("[space", maxsplit=1)[0] + "[space]\ntau.choices = [0.1, 0.2]\n"
    folder, spec = SweepFolder(runs_dir, "slid"), with_module(parse(text, "slid"), NAME)
    folder.begin(text, spec)
    folder.make_run(0, 0, *spec.run_settings({"tau": 0.1}, 0), "")
    begun: list[SweepSpec] = []

    def conduct(request: SweepRequest, *_: object) -> tuple[SweepState, bool]:
        begun.append(request.spec)
        return state_of(spec, folder, [], {}, seconds=0.0, running=False), False

    monkeypatch.setattr("td3core.experiments.sweeps.launch.conduct", conduct)
    resume = ["sweep", "resume", "slid", "--runs-dir", str(runs_dir)]
    assert app.main(resume) == 2
    assert "--trust-env" in capsys.readouterr().err
    assert stranger.imported == set()
    # The same as without the option: the user names the module of the runs.
    for more in (["--trust-env"], ["--env-module", NAME]):
        assert app.main([*resume, *more]) == 0
    assert begun == [spec, spec]
    assert spec.environment == ENV


# Seeing it and taking it back --------------------------------------------------------------------


def test_what_is_allowed_is_listed_and_can_be_taken_back(
    stranger: Stranger,
    run: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "renders", lambda _: doctor.Diagnosis("renders", "not tried"))
    stranger.allow(NAME)
    assert app.main(["doctor"]) == 0
    # Without the white space: a long path is broken wherever the line ends.
    said = "".join(capsys.readouterr().out.split())
    assert f"{NAME}in{stranger.folder}".replace(" ", "") in said
    assert app.main(["doctor", "--forget", NAME]) == 0
    assert app.main(["doctor", "--forget", NAME]) == 2
    assert app.main(COMMANDS["eval"](run, run)) == 2
    assert stranger.imported == set()


# Folders that are laid out to be imported from ---------------------------------------------------


def test_modules_in_the_folder_of_a_run_are_never_found(
    stranger: Stranger, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json", "gymnasium", "sitecustomize", "usercustomize"):
        stranger.write(name, run)
        stranger.write(name, run / "checkpoints")
    (run / "more.pth").write_text("import gymnasium\n")
    stranger.write("json", tmp_path / "elsewhere" / "checkpoints")
    link = tmp_path / "linked"
    link.symlink_to(run, target_is_directory=True)
    monkeypatch.chdir(run)
    for path in (run, link, link / "checkpoints" / "last.safetensors"):
        assert app.main(["eval", str(path), "--episodes", "1"]) == 2
        assert stranger.imported == set()
    # Allowed, the module still comes from where it was asked about.
    assert app.main(["eval", str(link), "--episodes", "1", "--trust-env"]) == 0
    assert stranger.imported == {NAME}


def test_a_name_in_notes_or_journal_is_only_text(
    stranger: Stranger, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger.write(NAME)
    run = finish(runs_dir).run
    (run / "notes.json").write_text(json.dumps({"name": ENV, "note": ENV}))
    with (run / "journal.jsonl").open("a") as file:
        for field in ("env", "env_args", "consent"):
            line = {"step": 10, "field": field, "old": "", "new": ENV, "time": "now"}
            file.write(json.dumps(line) + "\n")
    assert app.main(["list", "--runs-dir", str(runs_dir)]) == 0
    app.main(["resume", str(run), "--steps", "80"])
    options = ["--steps", "30", "--no-eval", "--runs-dir", str(runs_dir), *small()]
    app.main(["train", "Pendulum-v1", "--journal", str(run), *options])
    assert stranger.imported == set()
    assert "Traceback" not in capsys.readouterr().err
