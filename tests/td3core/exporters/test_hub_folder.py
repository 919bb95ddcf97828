"""The folder for the Hub: complete, with a card whose metadata YAML reads."""

import json
from pathlib import Path

import av
import pytest
import yaml

from td3core import checkpoint
from td3core.cli import app
from td3core.errors import RequestError
from td3core.exporters import hub_folder, numpy_file, video
from td3core.exporters.film.files import partial_path
from tests.td3core.exporters.actors import BUNDLED, trained

PENDULUM = BUNDLED / "Pendulum-v1.safetensors"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return the folder of the bundled Pendulum agent, and what was said of it."""
    target = tmp_path_factory.mktemp("hub") / "pendulum.hub"
    return target, str(hub_folder.export(PENDULUM, target))


@pytest.mark.slow
def test_the_folder_holds_card_networks_actor_and_film(
    exported: tuple[Path, str], tmp_path: Path
) -> None:
    target, said = exported
    assert said.startswith("largest error ")
    assert [each.name for each in target.parent.iterdir()] == ["pendulum.hub"]
    wanted = {"README.md", "config.json", "model.safetensors", "actor.py", "replay.mp4"}
    assert {each.name for each in target.iterdir()} == wanted
    assert checkpoint.read_header(target / "model.safetensors").env.env_id == "Pendulum-v1"
    config = json.loads((target / "config.json").read_text())
    assert (config["algorithm"], config["hidden"], config["activation"]) == (
        "td3",
        [64, 64],
        "relu",
    )
    assert config["control_rate_hz"] == 20.0
    with av.open(str(target / "replay.mp4")) as film:
        assert film.streams.video[0].frames == 200
    numpy_file.export(PENDULUM, tmp_path / "alone.py")
    assert (target / "actor.py").read_text() == (tmp_path / "alone.py").read_text()


@pytest.mark.slow
def test_the_card_names_the_result_as_the_hub_reads_it(exported: tuple[Path, str]) -> None:
    _, metadata, text = (exported[0] / "README.md").read_text().split("---\n", 2)
    told = yaml.safe_load(metadata)
    (model,) = told["model-index"]
    (result,) = model["results"]
    assert model["name"] == "TD3"
    assert result["dataset"] == {"name": "Pendulum-v1", "type": "Pendulum-v1"}
    assert result["metrics"][0]["type"] == "mean_reward"
    assert result["metrics"][0]["value"] == "-151.95 +/- 93.43"
    assert "reinforcement-learning" in told["tags"]
    assert "over 100 episodes, seed 1000" in text


@pytest.mark.slow
def test_the_hubs_own_library_reads_the_card(tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    hub_folder.export(PENDULUM, tmp_path / "a.hub")
    data = hub.ModelCard.load(tmp_path / "a.hub" / "README.md").data
    assert (data.library_name, data.model_name) == ("td3-studio", "TD3")
    (result,) = data.eval_results
    assert (result.task_type, result.dataset_type) == ("reinforcement-learning", "Pendulum-v1")
    assert (result.metric_type, result.metric_value) == ("mean_reward", "-151.95 +/- 93.43")


def test_an_agent_without_an_evaluation_or_pictures_says_so(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undrawable(*_: object, **__: object) -> None:
        raise RequestError("{env_id} cannot be drawn here.", env_id="Pendulum-v1")

    monkeypatch.setattr(video, "record", undrawable)
    source = trained(runs_dir, "relu", steps=30)
    assert checkpoint.read_header(source).evaluation is None
    said = hub_folder.export(source, tmp_path / "a.hub")
    assert str(said).endswith("; no film: Pendulum-v1 cannot be drawn here.")
    card = (tmp_path / "a.hub" / "README.md").read_text()
    assert "It was not evaluated." in card
    assert "model-index" not in card
    assert not (tmp_path / "a.hub" / "replay.mp4").exists()


FAULTS = {
    "error": (ZeroDivisionError("no light"), "ZeroDivisionError: no light."),
    "file": (OSError("no light"), "OSError: no light."),
    "exit": (SystemExit(1), "SystemExit: it called sys.exit(1)."),
}


@pytest.mark.parametrize(("fault", "reason"), FAULTS.values(), ids=FAULTS)
def test_an_environment_that_fails_to_be_drawn_costs_the_film_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, reason: str
) -> None:
    def fail(_: object) -> None:
        raise fault

    monkeypatch.setattr("td3core.exporters.film.frames.draw", fail)
    said = hub_folder.export(PENDULUM, tmp_path / "a.hub")
    assert str(said).endswith(f"; no film: The environment Pendulum-v1 raised {reason}")
    files = {each.name for each in (tmp_path / "a.hub").iterdir()}
    assert files == {"README.md", "config.json", "model.safetensors", "actor.py"}


def test_ctrl_c_while_a_film_is_drawn_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("td3core.exporters.film.frames.draw", interrupted)
    with pytest.raises(KeyboardInterrupt):
        hub_folder.export(PENDULUM, tmp_path / "a.hub")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.hub").mkdir()
    with pytest.raises(RequestError, match="is no folder of an earlier export"):
        hub_folder.export(PENDULUM, tmp_path / "a.hub")
    assert list((tmp_path / "a.hub").iterdir()) == []


def test_an_earlier_export_is_replaced_by_force_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(video, "record", lambda *_, **__: None)
    target = tmp_path / "a.hub"
    words = ["export", str(PENDULUM), "--to", str(target)]
    assert app.main(words) == 0
    (target / "README.md").write_text("old")
    assert app.main(words) == 2
    assert "already exists; --force replaces it" in " ".join(capsys.readouterr().err.split())
    assert app.main([*words, "--force"]) == 0
    assert (target / "README.md").read_text() != "old"
    (target / "thesis.txt").write_text("precious")
    assert app.main([*words, "--force"]) == 2
    assert "is no folder of an earlier export" in " ".join(capsys.readouterr().err.split())
    assert (target / "thesis.txt").read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["a.hub"]


def test_what_a_killed_export_left_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "record", lambda *_, **__: None)
    left = partial_path(tmp_path / "a.hub")
    left.mkdir()
    (left / "half").touch()
    hub_folder.export(PENDULUM, tmp_path / "a.hub")
    assert [each.name for each in tmp_path.iterdir()] == ["a.hub"]
    assert not (tmp_path / "a.hub" / "half").exists()
