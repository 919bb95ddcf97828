"""A program that starts a command reads its progress as data; a person reads words."""

import json
from pathlib import Path

import pytest

from td3core.cli.progress_line import CODEC, CommandProgress, tell_progress
from td3core.text import Text

READING = Text("Reading run {number} of {count}", number=2, count=4)


def test_a_program_that_asks_for_it_gets_share_and_message_as_data(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TD3_STUDIO_PROGRESS", "json")
    tell_progress(READING, 0.25)
    tell_progress(READING)
    lines = capsys.readouterr().err.encode().splitlines()
    assert list(map(CODEC.decode, lines)) == [
        CommandProgress(message=READING, share=0.25),
        CommandProgress(message=READING),
    ]


def test_the_line_that_the_manual_shows_is_one_that_a_command_writes(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (root / "resources/manual/command-line.md").read_text("utf-8")
    (shown,) = (json.loads(line) for line in page.splitlines() if '"CommandProgress"' in line)
    monkeypatch.setenv("TD3_STUDIO_PROGRESS", "json")
    tell_progress(READING, 0.5)
    assert json.loads(capsys.readouterr().err) == shown


def test_everyone_else_reads_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TD3_STUDIO_PROGRESS", raising=False)
    tell_progress(READING, 0.25)
    tell_progress(READING)
    said = capsys.readouterr().err.splitlines()
    assert said == ["25 % Reading run 2 of 4", "Reading run 2 of 4"]
