"""An import makes a run that is listed, played, exported and branched as any other."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from td3core import __version__, checkpoint
from td3core.analysis.results import read_results
from td3core.checkpoint.agent import agent_of
from td3core.cli import app
from td3core.config import EnvChoice
from td3core.envs.make import check_env
from td3core.errors import RequestError
from td3core.exporters import hub_folder, stable_baselines3_zip, video
from td3core.exporters.actor.deployed import deployed_actor
from td3core.exporters.registry import EXPORTERS, find_exporter
from td3core.exporters.report.commands import commands_of
from td3core.exporters.report.contents import ReportRequest, document_of
from td3core.exporters.report.page import html_of
from td3core.exporters.report.run_facts import read_facts
from td3core.importers import destination, importing
from td3core.playing.side_by_side import SideBySide
from td3core.protocol.control import Control
from td3core.protocol.events import Ended
from td3core.runs.directory import RunDirectory
from td3core.runs.journal import read as read_journal
from td3core.training.launch import branch
from tests.td3core.exporters.actors import BUNDLED
from tests.td3core.exporters.read_page import read, section, sections
from tests.td3core.helpers import Told, finish
from tests.td3core.importers import foreign_files as files
from tests.td3core.training.resuming import contents, go_on, refused

PENDULUM = EnvChoice("Pendulum-v1")


def imported(path: Path, runs_dir: Path) -> RunDirectory:
    made = importing.import_to_run(importing.examine(path), PENDULUM, check_env, runs_dir)
    assert made.run is not None
    return RunDirectory.open(made.run)


def messages(run: Path) -> list[str]:
    return [entry.get("message", "") for entry in read_journal(run / "journal.jsonl")]


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    status = app.main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_command_asks_for_the_environment_and_makes_a_run(
    tmp_path: Path, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, folder = files.write_cleanrl(tmp_path), str(runs_dir)
    status, told = command(capsys, "import", str(file), "--runs-dir", folder)
    assert status == 2
    assert told["error"] == (
        "td3_continuous_action.cleanrl_model does not name its environment; --env does. It may be"
        " Pendulum-v1."
    )
    assert not runs_dir.exists() or not list(runs_dir.iterdir())
    words = ("import", str(file), "--env", "Pendulum-v1", "--runs-dir", folder)
    status, told = command(capsys, *words)
    assert status == 0
    assert told["kind"] == "CleanRL TD3"
    assert len(told["notes"]) == 4
    run = RunDirectory.open(Path(told["run"]))
    (entry,) = read_journal(run.journal_file)
    assert (entry["event"], entry["notes"]) == ("import", told["notes"])
    assert (entry["kind"], entry["sha256"]) == (told["kind"], told["sha256"])
    assert str(run.last) == told["checkpoint"]
    # Again: another run, and the first stays.
    assert command(capsys, *words)[1]["run"] != told["run"]
    status, told = command(capsys, "eval", str(run.path), "--episodes", "1")
    assert (status, told["episodes"]) == (0, 1)
    target = tmp_path / "actor.py"
    status, told = command(capsys, "export", str(run.path), "--to", str(target))
    assert (status, target.exists()) == (0, True)


@pytest.mark.parametrize(
    ("given", "used"),
    [
        (None, {"action_repeat": 2}),
        (EnvChoice("Pendulum-v1"), {"action_repeat": 2}),
        (EnvChoice("Pendulum-v1", '{"g": 9.0}'), {"g": 9.0}),
        (EnvChoice("Pendulum-v0"), {}),
    ],
)
def test_the_arguments_of_a_files_own_environment_are_kept_unless_others_are_given(
    given: EnvChoice | None, used: dict[str, Any], runs_dir: Path, tmp_path: Path
) -> None:
    source = finish(
        runs_dir, "Pendulum-v1", steps=40, env_args='{"action_repeat": 2}'
    ).last_checkpoint
    assert source is not None
    stable_baselines3_zip.export(source, tmp_path / "agent.zip")
    found = importing.examine(tmp_path / "agent.zip")
    assert json.loads(importing.choice_of(found, given, "agent.zip").args or "{}") == used


def test_a_file_that_exists_is_replaced_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, target = files.write_cleanrl(tmp_path), tmp_path / "mine.safetensors"
    target.write_text("mine")
    words = ("import", str(file), "--env", "Pendulum-v1", "--out", str(target))
    status, told = command(capsys, *words)
    assert (status, target.read_text()) == (2, "mine")
    assert "already exists" in told["error"]
    status, told = command(capsys, *words, "--force")
    assert (status, told["checkpoint"], told["run"]) == (0, str(target), None)
    origin = checkpoint.load(target).header.origin
    assert origin is not None
    assert origin.sha256 == told["sha256"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothing.zip",), "nothing.zip cannot be imported: the file cannot be read (No such"),
        (("nothing",), "There is no"),
        (("notes.txt",), "cannot be imported; these can: RL Zoo"),
        (("a.cleanrl_model", "--env-args", "{}"), "--env-args needs --env"),
        (("a.cleanrl_model",), "a.cleanrl_model cannot be imported: in the file,"),
        (("monitor.csv", "--out", "x.safetensors"), "Curves are imported as a run"),
        (("monitor.csv", "--vecnormalize", "v.pkl"), "takes no statistics"),
    ],
)
def test_what_cannot_be_imported_gets_a_sentence(
    tmp_path: Path,
    words: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("notes.txt", "a.cleanrl_model"):
        Path(name).write_text("no agent")
    Path("monitor.csv").write_text(files.monitor([(-1.0, 200, 1.0)]))
    status, told = command(capsys, "import", *words)
    assert status == 2
    assert said in told["error"]
    assert not Path("x.safetensors").exists()


def test_nothing_is_left_of_an_import_that_fails(
    cleanrl: Path, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(destination, "write_label", full)
    with pytest.raises(RequestError, match="No space left on device"):
        imported(cleanrl, runs_dir)
    assert not list(runs_dir.iterdir())


def test_a_branch_fills_its_buffer_with_the_agents_own_actions_and_says_so(
    peers: dict[str, Path], runs_dir: Path, stored: list[Any]
) -> None:
    origin, told = imported(peers["td3"], runs_dir), Told()
    values = {"steps": 110, "eval_interval": 0, "checkpoint_interval": 0, "exploration_noise": 0.0}
    outcome = branch(origin.last, values, Control(), told, runs_dir)
    assert isinstance(outcome, Ended), outcome
    before = checkpoint.load(origin.last)
    # 40 steps to fill it, then an update for each.
    assert outcome.updates == before.header.counters.updates + 10
    policy = before.policy()
    assert len(stored) == 50
    for obs, action, *_ in stored[:40]:
        assert np.array_equal(action, policy(obs))
    said = messages(outcome.run)
    assert any("Until step 100 the agent fills it with its own noisy actions" in m for m in said)
    assert outcome.last_checkpoint is not None
    after = checkpoint.load(outcome.last_checkpoint)
    assert after.header.origin is not None
    assert before.header.origin is not None
    assert after.header.origin.sha256 == before.header.origin.sha256
    assert after.header.origin.notes == ()
    # Adam goes on from the steps in the file.
    assert after.tensors["critic_adam.step"] == before.tensors["critic_adam.step"] + 10


@pytest.mark.slow
def test_an_imported_run_is_not_trained_in_place_unless_it_is_given_steps(
    cleanrl: Path, runs_dir: Path
) -> None:
    origin = imported(cleanrl, runs_dir)
    before = contents(origin.path)
    assert refused(origin.path) == (
        f"{origin.path.name} was imported; branch it, or give it --steps to train it on in place."
    )
    assert {**contents(origin.path), "lock": b""} == {**before, "lock": b""}
    stopped, _ = go_on(origin.path, steps=30, control=Control.stopping_at(20))
    assert isinstance(stopped, Ended), stopped
    # From here on it is a run like any other.
    ended, _ = go_on(origin.path)
    assert isinstance(ended, Ended)
    assert (ended.stopped, ended.env_steps) == ("finished", 30)


def test_a_branch_of_an_agent_without_targets_and_moments_says_so(
    cleanrl: Path, runs_dir: Path, stored: list[Any]
) -> None:
    origin, told = imported(cleanrl, runs_dir), Told()
    values = {"steps": 20, "eval_interval": 0, "checkpoint_interval": 0, "batch_size": 8}
    outcome = branch(origin.last, values, Control(), told, runs_dir)
    assert isinstance(outcome, Ended), outcome
    # It was trained before: no action is drawn at random, though its steps are not known.
    policy = checkpoint.load(origin.last).policy()
    assert all(np.abs(action - policy(obs)).max() < 0.6 for obs, action, *_ in stored)
    said = " ".join(messages(outcome.run))
    assert "no target networks: they begin as copies" in said
    assert "no optimiser state: its moments begin at zero" in said


FORMATS = ("weights", "numpy", "c", "onnx", "stable-baselines3", "hub", "video")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in ("hub", "video") else ()) for n in FORMATS],
)
def test_every_format_takes_an_imported_agent(
    cleanrl: Path, runs_dir: Path, tmp_path: Path, name: str
) -> None:
    assert {each.name for each in EXPORTERS} == set(FORMATS)
    if name == "onnx":
        pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    exporter = next(each for each in EXPORTERS if each.name == name)
    target = tmp_path / f"agent{exporter.suffixes[0]}"
    exporter.export(imported(cleanrl, runs_dir).last, target)
    assert target.exists()


def test_an_imported_agent_plays_beside_one_of_the_studio(cleanrl: Path, runs_dir: Path) -> None:
    agents = [
        checkpoint.load(path)
        for path in (imported(cleanrl, runs_dir).last, BUNDLED / "Pendulum-v1.safetensors")
    ]
    with closing(SideBySide([agent_of(agent) for agent in agents], 3, 0)) as both:
        while not both.step.over:
            both.advance()
        assert [step.number for step in both.steps] == [200, 200]
        assert both.steps[0].total < both.steps[1].total


def test_the_curves_of_a_folder_end_with_its_agent(zoo: Path, runs_dir: Path) -> None:
    run = imported(zoo, runs_dir)
    assert run.evaluations() == [(20, -950.0), (40, -600.0)]
    # Its episodes ended at steps 200 and 400; the agent is that of step 60.
    assert not (run.path / "episodes.csv").exists()
    assert len(read_results(run.path).curve("eval", "steps")[0]) == 2


@pytest.mark.slow
def test_an_imported_pendulum_learns_on(peers: dict[str, Path], runs_dir: Path) -> None:
    from td3core.evaluation.evaluate import evaluate

    origin = imported(peers["td3"], runs_dir)
    values = {
        "steps": 6060,
        "eval_interval": 0,
        "checkpoint_interval": 0,
        "batch_size": 100,
        "actor_lr": 1e-3,
        "critic_lr": 1e-3,
        "gamma": 0.98,
    }
    outcome = branch(origin.last, values, Control(), Told(), runs_dir)
    assert isinstance(outcome, Ended), outcome
    assert outcome.last_checkpoint is not None
    returns = [
        np.mean(evaluate(checkpoint.load(p).policy(), PENDULUM, episodes=10, seed=1).returns)  # type: ignore[union-attr]
        for p in (origin.last, outcome.last_checkpoint)
    ]
    assert returns[0] < -900
    assert returns[1] > -500


@pytest.mark.parametrize(
    ("name", "history"),
    [
        ("a.py", "# Imported by td3-studio {version} from CleanRL TD3, {file}\n"),
        ("a.h", " * Imported by td3-studio {version} from CleanRL TD3, {file}\n"),
    ],
)
def test_an_exported_actor_names_the_program_that_trained_it(
    cleanrl: Path, runs_dir: Path, tmp_path: Path, name: str, history: str
) -> None:
    find_exporter(tmp_path / name, None).export(imported(cleanrl, runs_dir).last, tmp_path / name)
    text = (tmp_path / name).read_text()
    assert history.format(version=__version__, file=cleanrl.name) in text
    assert "rained" not in text
    # The file says nothing of them.
    assert "env_steps" not in text


@pytest.mark.slow
def test_what_was_trained_on_after_an_import_says_both(cleanrl: Path, runs_dir: Path) -> None:
    origin = imported(cleanrl, runs_dir)
    go_on(origin.path, steps=20)
    usage = deployed_actor(origin.last).usage()
    assert usage[1] == (
        f"Trained on to 20 environment steps by td3-studio {__version__}, from CleanRL TD3,"
        f" {cleanrl.name}"
    )


def test_the_card_of_an_imported_agent_names_its_program(
    peers: dict[str, Path], runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "record", lambda *_, **__: None)
    hub_folder.export(imported(peers["sac"], runs_dir).last, tmp_path / "a.hub")
    card = (tmp_path / "a.hub" / "README.md").read_text()
    assert "# stable-baselines3 SAC agent playing **Pendulum-v1**" in card
    assert "from stable-baselines3 SAC, sac.zip, after 60 environment steps" in card
    config = json.loads((tmp_path / "a.hub" / "config.json").read_text())
    assert "algorithm" not in config
    assert config["imported_from"]["kind"] == "stable-baselines3 SAC"


def test_a_report_has_the_origin_of_an_import_and_not_the_machine_it_was_made_on(
    peers: dict[str, Path], runs_dir: Path
) -> None:
    run = imported(peers["sac"], runs_dir)
    origin = checkpoint.read_header(run.last).origin
    assert origin is not None
    facts = read_facts(run.path)
    assert commands_of([facts]) == [
        f"# {run.path.name}: imported from stable-baselines3 SAC, sac.zip, SHA-256 {origin.sha256}"
    ]
    assert (facts.machine, facts.versions) == ({}, {})


def test_a_report_says_which_settings_of_an_import_stand_in_for_unknown_ones(
    cleanrl: Path, runs_dir: Path
) -> None:
    run = imported(cleanrl, runs_dir)
    page = read(html_of(document_of([read_facts(run.path)], ReportRequest())))
    assert "differ" not in sections(page)
    (said,) = [e.text for e in section(page, "missing").all("li") if "Settings of" in e.text]
    assert said.endswith("that the imported file does not have: the table shows the defaults.")
