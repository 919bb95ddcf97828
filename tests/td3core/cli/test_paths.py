"""Names and paths of runs and files: the same in every command, and never at a run's cost."""

import json
from pathlib import Path

import pytest

from td3core.cli import app
from td3core.cli.options import assignments
from td3core.cli.paths import continuing, find_checkpoint, find_run, require_writable_name
from td3core.errors import RequestError
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.recent import newest_runs
from td3core.training.launch import train
from tests.td3core.helpers import finish, new_group, tiny


@pytest.fixture
def run(runs_dir: Path) -> Path:
    return finish(runs_dir, eval_interval=30).run


def refused(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    assert app.main(list(command)) == 2
    said = capsys.readouterr().err.strip().splitlines()
    return said[-1]


@pytest.mark.parametrize("name", ["checkpoints/last.safetensors", "run.toml", "new.safetensors"])
def test_nothing_is_exported_into_a_run(
    run: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    said = refused(capsys, "export", str(run), "--to", str(run / name), "--force")
    assert run.name in said
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


def test_a_checkpoint_is_named_from_the_folder_of_runs(run: Path) -> None:
    named = Path(run.name, "checkpoints", "last.safetensors")
    assert find_checkpoint(named, run.parent) == run / "checkpoints" / "last.safetensors"


def test_the_command_to_go_on_names_a_folder_that_is_not_the_usual_one(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = runs_dir / "of mine"
    told = f"Continue with: td3-studio sweep resume tau --runs-dir '{folder}'"
    assert str(continuing("tau", folder, "sweep", "resume")) == told
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(folder))
    assert str(continuing("tau", folder, "sweep", "resume")) == told.partition(" --runs-dir")[0]


def test_the_name_of_a_group_is_answered_with_one_of_its_runs(runs_dir: Path) -> None:
    config, tunables = tiny(steps=30)
    name = new_group(runs_dir, (0, 1), config, tunables).path.name
    for find in (find_run, find_checkpoint):
        with pytest.raises(RequestError, match=r"is no run in|is neither a run in"):
            find(Path(name), runs_dir)
    member = train(config, tunables, Control(), lambda _: None, runs_dir, group=name)
    assert isinstance(member, Ended)
    for find in (find_run, find_checkpoint):
        with pytest.raises(RequestError) as caught:
            find(Path(name), runs_dir)
        told = f"{name} is a group of runs; name one of them, such as {member.run.name}."
        assert str(caught.value) == told


def test_a_file_that_is_there_is_replaced_only_by_force(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "agent.safetensors"
    target.write_text("precious")
    assert "--force" in refused(capsys, "export", str(run), "--to", str(target))
    assert target.read_text() == "precious"
    assert app.main(["export", str(run), "--to", str(target), "--force"]) == 0
    assert target.read_bytes()[:8] != b"precious"


def test_a_model_named_from_the_current_folder_is_found_from_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    model = tmp_path / "models" / "ä.xml"
    model.touch()
    monkeypatch.chdir(tmp_path / "models")
    names = {"xml_file": "./ä.xml", "more": ["../models/ä.xml", "./none.xml"], "own": "ä.xml"}
    values = assignments([f"env_args={json.dumps(names)}"])
    assert json.loads(values["env_args"]) == {
        "xml_file": str(model),
        "more": [str(model), "./none.xml"],
        "own": "ä.xml",
    }
    assert assignments(["env_args="]) == {"env_args": ""}
    with pytest.raises(RequestError, match="env_args cannot be '3': it is a number"):
        assignments(["env_args=3"])


@pytest.mark.parametrize("name", ["", "."])
def test_a_name_that_is_none_is_refused_in_a_sentence(
    run: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert "name the file to write" in refused(capsys, "export", str(run), "--to", name)
    assert "name the file to write" in refused(capsys, "replay", str(run), "--video", name)


@pytest.mark.parametrize(
    "command",
    [
        *["resume", "verify", "follow", "pause", "unpause", "save", "stop"],
        *["tune NAME tau=0.1", "film NAME --out a.gif", "train Pendulum-v1 --journal NAME"],
    ],
)
def test_a_name_that_is_no_run_is_refused_with_the_folder_that_was_searched(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [word.replace("NAME", "nothere") for word in command.split()]
    words += [] if "nothere" in words else ["nothere"]
    said = refused(capsys, *words, "--runs-dir", str(runs_dir))
    assert said == f"td3-studio: 'nothere' is no run in {runs_dir}."


@pytest.mark.parametrize(
    "command", ["branch", "eval", "replay --video a.gif", "export --to a.safetensors"]
)
def test_a_name_that_is_no_agent_is_refused_with_the_folder_that_was_searched(
    runs_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [word.replace("a.", f"{tmp_path}/a.") for word in command.split()]
    said = refused(capsys, *words, "nothere", "--runs-dir", str(runs_dir))
    assert said == f"td3-studio: 'nothere' is neither a run in {runs_dir} nor a checkpoint."


@pytest.mark.parametrize(
    ("sources", "sentence"),
    [
        (("gone.safetensors",), "There is no checkpoint at {cwd}/gone.safetensors."),
        (("AGENT", "gone.safetensors"), "There is no checkpoint at {cwd}/gone.safetensors."),
        (("AGENT", "gone"), "'gone' is neither a run in {runs} nor a checkpoint."),
        (("AGENT", "RUN"), "{run} is a folder; give one run, or several checkpoints."),
        (("RUN", "RUN"), "{run} is a folder; give one run, or several checkpoints."),
    ],
)
def test_a_film_names_the_one_of_its_sources_that_it_refuses(
    run: Path,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sources: tuple[str, ...],
    sentence: str,
) -> None:
    # Not in the folder of runs: the run is meant by its name.
    monkeypatch.chdir(tmp_path)
    given = {"AGENT": str(run / "checkpoints" / "best.safetensors"), "RUN": run.name}
    words = [given.get(source, source) for source in sources]
    said = refused(capsys, "film", *words, "--out", "a.gif", "--runs-dir", str(runs_dir))
    assert said == "td3-studio: " + sentence.format(cwd=tmp_path, runs=runs_dir, run=run.name)


class Killed(BaseException):
    """Stands for the end of a process: nothing is cleaned up."""


@pytest.fixture
def begun(runs_dir: Path) -> Path:
    """Return the folder of a run whose process was killed before it was described."""

    def kill(folder: Path) -> None:
        (folder / "lock").touch()
        (folder / ".run.toml.1.2.part").write_text("schema = 1")
        raise Killed

    with pytest.raises(Killed):
        RunDirectory.create(runs_dir, *tiny(), claim=kill)
    (path,) = runs_dir.iterdir()
    return path


@pytest.mark.parametrize(
    "command",
    [
        *["resume", "verify", "follow", "stop", "branch", "eval", "export --to a.safetensors"],
        "film --out a.gif",
    ],
)
def test_a_folder_that_a_kill_left_without_a_description_is_called_no_run(
    begun: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    said = refused(capsys, *command.split(), begun.name, "--runs-dir", str(runs_dir))
    assert said == f"td3-studio: {begun} is not a run: it holds no run.toml."


@pytest.mark.slow
def test_a_folder_that_a_kill_left_without_a_description_is_listed_nowhere_and_hinders_nothing(
    begun: Path,
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TD3_STUDIO_RUNS", str(runs_dir))
    assert app.main(["list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == []
    assert app.main(["doctor"]) == 0
    assert newest_runs(runs_dir, 10) == []
    run = finish(runs_dir)
    assert run.run != begun
    assert app.main(["list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert listed["run"] == str(run.run)


def test_a_name_may_be_new_in_an_ordinary_folder(tmp_path: Path) -> None:
    require_writable_name(tmp_path / "agent.safetensors", overwrite=False)


@pytest.mark.parametrize(
    "command",
    [
        *["resume EMPTY", "verify EMPTY", "stop EMPTY", "eval EMPTY", "branch EMPTY"],
        *["list --runs-dir EMPTY", "train Pendulum-v1 --journal EMPTY", "film EMPTY --out a.gif"],
        "follow RUN --tensorboard EMPTY",
    ],
)
def test_an_empty_text_is_not_taken_for_the_current_folder(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(run)
    given = {"EMPTY": "", "RUN": str(run)}
    said = refused(capsys, *(given.get(word, word) for word in command.split()))
    assert said.endswith("it is empty.")


def test_a_file_in_a_folder_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(RequestError, match=r"a\.html cannot be written: No such file"):
            require_writable_name(folder / "a.html", overwrite=True)
    # Root may write everywhere.
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(RequestError, match=r"a\.html cannot be written: Permission denied"):
        require_writable_name(tmp_path / "a.html", overwrite=True)


def test_a_run_is_found_by_the_name_that_list_shows(run: Path, runs_dir: Path) -> None:
    name = Path(run.name)
    assert find_run(name, runs_dir).path == run
    assert find_run(run).path == run
    assert find_checkpoint(name, runs_dir) == run / "checkpoints" / "best.safetensors"
    last = find_checkpoint(name, runs_dir, last=True)
    assert last == run / "checkpoints" / "last.safetensors"
    assert find_checkpoint(last) == last
    with pytest.raises(RequestError, match="name the run's folder"):
        find_run(run / "run.toml")


def test_a_branch_may_name_the_run_it_starts_from(
    run: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--runs-dir", str(runs_dir), "--steps", "80", "--json"]
    assert app.main(["branch", run.name, *options]) == 0
    said = capsys.readouterr()
    made = json.loads(said.out.splitlines()[-1])
    assert made["env_steps"] == 80
    assert Path(made["run"]).parent == runs_dir
    told = " ".join(said.err.split())
    assert f"branched from {run.name} at step " in told
    assert "resumed" not in told


def test_a_file_is_no_folder_of_runs(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "not a folder of runs" in refused(capsys, "list", "--runs-dir", str(run / "run.toml"))


def test_a_folder_without_runs_is_said_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.main(["list", "--runs-dir", str(tmp_path / "empty")]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "There are no runs in" in said.err


@pytest.mark.parametrize(
    ("steps", "reason"), [("-3", "steps cannot be -3"), ("40", "is at step 60")]
)
def test_a_length_that_cannot_be_is_refused_when_a_run_is_to_go_on(
    run: Path, capsys: pytest.CaptureFixture[str], steps: str, reason: str
) -> None:
    assert reason in refused(capsys, "resume", str(run), "--steps", steps)


@pytest.mark.parametrize(
    ("slip", "meant"), [("Pendulm-v1", "Pendulum-v1"), ("pendulum-v1", "Pendulum-v1")]
)
def test_a_misspelt_environment_suggests_one_that_people_have(
    capsys: pytest.CaptureFixture[str], slip: str, meant: str
) -> None:
    said = refused(capsys, "train", slip)
    assert said.endswith(f"Did you mean {meant}?")


def test_an_empty_environment_is_refused_in_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "Name an environment" in refused(capsys, "train", "")
