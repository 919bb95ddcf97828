"""The window runs the commands of its own program."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.replay.renderer import protocol
from studio.replay.renderer_client import RendererClient
from studio.tasks.cli_process import CliProcess
from tests.support.hostile import HostileFolder


@pytest.mark.slow
def test_a_command_takes_nothing_from_the_current_folder(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = HostileFolder(tmp_path)
    monkeypatch.chdir(hostile.path)
    command = CliProcess()
    with qtbot.waitSignal(command.answered, timeout=60_000) as answered:
        command.run(["check", "Pendulum-v1", "--json"])
    assert isinstance(answered.args[0], dict)
    assert hostile.imported == []


def test_nor_does_the_renderer(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = HostileFolder(tmp_path)
    monkeypatch.chdir(hostile.path)
    client = RendererClient({})
    client.reader.start()
    client.send(protocol.Quit())
    # It has imported all it needs by then; closing would not wait for that.
    assert client.reader.wait(60_000)
    client.stop()
    assert str(client.ending) == "exit status 0"
    assert hostile.imported == []
