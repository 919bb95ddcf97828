"""Nothing that a command prints for people escapes a language."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from td3core.cli import app, doctor
from td3core.envs.catalogue import KNOWN
from td3core.runs.new_run import versions
from tests.support.scripted import STEPS
from tests.support.stretched import INSIDE, OPEN
from tests.td3core.helpers import finish
from tests.td3core.test_text import write_catalogue

_WORD = re.compile(r"[^\W\d_]{2,}")


def words_left(shown: str, *data: str) -> set[str]:
    """Return the words of what is shown that are neither translated nor data."""
    plain = INSIDE.sub("\n", shown)
    for each in sorted(data, key=len, reverse=True):
        plain = plain.replace(each, "\n")
    return set(_WORD.findall(plain))


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be wrapped."""
    monkeypatch.setenv("COLUMNS", "400")


def test_the_list_of_runs_is_translated_but_not_the_lines_for_other_programs(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs_dir: Path,
    stretched: None,
    wide: None,
) -> None:
    run = finish(runs_dir, STEPS).run
    (runs_dir / "broken").mkdir()
    (runs_dir / "broken" / "run.toml").write_text("steps = 1")
    words = ["list", "--runs-dir", str(runs_dir)]
    assert app.main(words) == 0
    for_programs = capsys.readouterr().out
    assert OPEN not in for_programs
    assert "\tfinished\t" in for_programs
    assert app.main([*words, "--json"]) == 0
    states = [each["state"] for each in json.loads(capsys.readouterr().out)]
    assert states == ["finished", "unreadable"]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert app.main(words) == 0
    shown = capsys.readouterr().out
    title = next(line.split("\t")[7] for line in for_programs.splitlines() if run.name in line)
    data = [str(runs_dir), run.name, title, STEPS, "broken", "run.toml", "'schema'"]
    assert words_left(shown, *data) == set()
    assert f"{OPEN}finished" in shown
    assert f"{OPEN}last return" in shown


def products() -> Iterator[tuple[str, float]]:
    yield "NumPy", 1.0


def test_what_the_doctor_finds_is_translated(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    runs_dir: Path,
    stretched: None,
    wide: None,
) -> None:
    monkeypatch.setattr(doctor, "products", products)
    monkeypatch.setattr(doctor, "RENDER_ONCE", "raise SystemExit(3)")
    monkeypatch.setattr(doctor, "KNOWN", KNOWN[:1])
    monkeypatch.setattr(doctor.processor, "name", lambda: "Processor")
    monkeypatch.setattr(doctor, "default_runs_dir", lambda: runs_dir)
    allowed = {("theirs", "/their/folder")}
    monkeypatch.setattr(doctor.trust_store, "remembered", lambda: allowed)
    slowing = {"ATEN_CPU_CAPABILITY": "avx2"}
    monkeypatch.setattr(doctor.numerics, "slowing_variables", lambda: slowing)
    assert app.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    packages = [*versions(), "PySide6-Essentials", "NumPy", "Processor"]
    packages += next(iter(allowed))
    data = [*packages, *versions().values(), KNOWN[0].env_id, KNOWN[0].group, str(runs_dir)]
    here = [doctor.numerics.current(), *doctor.numerics.available(), doctor.numerics.kernels()]
    assert words_left(shown, *data, *here, *slowing, *slowing.values(), "av") == set()
    assert "may slow the libraries" in shown
    assert f"{OPEN}missing" in shown
    assert f"{OPEN}no: " in shown


def test_a_refusal_is_translated_and_english_for_scripts(
    capsys: pytest.CaptureFixture[str], runs_dir: Path, stretched: None
) -> None:
    words = ["resume", "nowhere", "--runs-dir", str(runs_dir)]
    assert app.main([*words, "--json"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"] == f"'nowhere' is no run in {runs_dir}."
    assert words_left(captured.err, "td3-studio:", "nowhere", str(runs_dir)) == set()
    assert f"{OPEN} is no run in " in captured.err


CHOOSING = """
import sys
from pathlib import Path
from td3core import text
text.files = lambda _: Path(sys.argv[1])
from td3core.cli.app import run_program
raise SystemExit(run_program(["resume", "nowhere", "--runs-dir", sys.argv[1]]))
"""


def test_the_environment_chooses_the_language_of_the_command_line(tmp_path: Path) -> None:
    header = "Content-Type: text/plain; charset=UTF-8\n"
    known = {"{name} is no run in {folder}.": "{name} ist kein Lauf in {folder}."}
    write_catalogue(tmp_path, "de", {"": header, **known})
    done = subprocess.run(
        [sys.executable, "-c", CHOOSING, str(tmp_path)],
        env=os.environ | {"LANGUAGE": "de"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = f"td3-studio: 'nowhere' ist kein Lauf in {tmp_path}.\n"
    assert (done.returncode, done.stderr) == (2, said)


TYPER = {
    *("Usage", "OPTIONS", "COMMAND", "ARGS", "Commands", "Arguments", "Options"),
    *("default", "required"),
    *("Show", "this", "message", "and", "exit"),
}
"""What Typer writes itself."""
METAVARS = {"CHECKPOINT", "DIR", "SEED"}


@pytest.mark.parametrize("command", [None, "eval"])
def test_the_help_is_translated(
    capsys: pytest.CaptureFixture[str], stretched: None, wide: None, command: str | None
) -> None:
    assert app.main([*filter(None, [command]), "--help"]) == 0
    shown = re.sub(r"--[\w-]+", "", capsys.readouterr().out)
    names = ["td3-studio", "eval"] if command else ["td3-studio"]
    left = words_left(shown, *names) - TYPER - METAVARS
    assert left == (set() if command else {*app.COMMANDS, "doctor"}), shown
