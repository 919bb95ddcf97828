"""The list of export formats: complete, cheap to read, and all that the command needs."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import av
import pytest

from td3core import checkpoint
from td3core.cli import app
from td3core.errors import RequestError
from td3core.exporters.registry import (
    EXPORTERS,
    FIGURE_EXPORTERS,
    Exporter,
    find_exporter,
    with_suffix_of,
)
from td3core.text import Text
from tests.td3core.helpers import finish, write_checkpoint


def made_up(name: str, *suffixes: str) -> Exporter:
    return Exporter(name=name, suffixes=suffixes, about=Text("Made up."), module=f"made_up_{name}")


def error(capsys: pytest.CaptureFixture[str], source: Path, target: Path, *options: str) -> str:
    assert app.main(["export", str(source), "--to", str(target), *options]) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize("exporter", EXPORTERS, ids=lambda exporter: exporter.name)
def test_every_format_can_be_loaded_and_says_what_it_holds(exporter: Exporter) -> None:
    assert list(inspect.signature(exporter.load()).parameters) == ["checkpoint", "target"]
    assert str(exporter.about).endswith(".")
    assert "\n" not in str(exporter.about)
    assert exporter.suffixes
    assert all(suffix.startswith(".") and suffix.islower() for suffix in exporter.suffixes)


def test_every_module_of_the_room_is_in_the_list(root: Path) -> None:
    modules = {path.stem for path in (root / "td3core" / "exporters").glob("*.py")}
    both = (*EXPORTERS, *FIGURE_EXPORTERS)
    listed = {exporter.module.rpartition(".")[2] for exporter in both}
    assert modules - {"__init__", "registry"} == listed
    assert len({exporter.name for exporter in both}) == len(both)


def test_reading_the_list_loads_no_format(root: Path) -> None:
    code = (
        "import sys, td3core.exporters.registry;"
        "heavy = {'av', 'gymnasium', 'torch', 'safetensors', 'matplotlib'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize(
    ("target", "name", "found"),
    [
        ("a.safetensors", None, "weights"),
        ("a.SAFETENSORS", None, "weights"),
        ("a.b.mp4", None, "video"),
        ("a.mp4", "weights", "weights"),
        ("a", "video", "video"),
    ],
)
def test_the_suffix_chooses_the_format_unless_one_is_named(
    target: str, name: str | None, found: str
) -> None:
    assert find_exporter(Path(target), name).name == found


@pytest.mark.parametrize("target", ["agent", "agent.xyz", ".mp4"])
def test_a_suffix_of_no_format_is_refused_with_those_of_all(target: str) -> None:
    suffixes = re.escape(", ".join(suffix for each in EXPORTERS for suffix in each.suffixes))
    with pytest.raises(RequestError, match=f"matches no format; choose one: {suffixes}"):
        find_exporter(Path(target))


def test_a_format_is_a_module_and_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "def export(checkpoint, target): target.write_bytes(checkpoint.read_bytes()[:3])"
    (tmp_path / "made_up_three.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    source, target = tmp_path / "source", tmp_path / "target.x"
    source.write_text("abcdef")
    with_suffix_of(target, (made_up("three", ".x"),)).export(source, target)
    assert target.read_text() == "abc"


def test_the_command_lists_the_formats(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert app.main(["export", "--help"]) == 0
    shown = capsys.readouterr().out
    for exporter in EXPORTERS:
        assert f"{exporter.name} ({', '.join(exporter.suffixes)}): {exporter.about}" in shown


def test_the_command_refuses_what_names_no_format(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = write_checkpoint(tmp_path / "a.safetensors")
    assert "choose one: .safetensors, .mp4, .gif, .webp" in error(
        capsys, source, tmp_path / "a.xyz"
    )
    slip = error(capsys, source, tmp_path / "a.mp4", "--format", "weight")
    assert "no format called 'weight'" in slip
    assert "weights?" in slip
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_named_format_may_have_any_suffix(tmp_path: Path) -> None:
    source, target = write_checkpoint(tmp_path / "a.safetensors"), tmp_path / "agent.bin"
    assert app.main(["export", str(source), "--to", str(target), "--format", "weights"]) == 0
    assert not checkpoint.read_header(target).complete


@pytest.mark.slow
def test_an_exported_video_shows_one_whole_episode(runs_dir: Path, tmp_path: Path) -> None:
    saved, video = finish(runs_dir, "Pendulum-v1", steps=30).last_checkpoint, tmp_path / "a.mp4"
    assert app.main(["export", str(saved), "--to", str(video)]) == 0
    with av.open(str(video)) as film:
        assert film.streams.video[0].frames == 200
