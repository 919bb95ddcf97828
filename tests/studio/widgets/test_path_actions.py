"""Menu actions for runs and agents: their folder, their path, a command for the terminal."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QUrl
from PySide6.QtGui import QAction, QDesktopServices, QGuiApplication
from pytestqt.qtbot import QtBot

from studio.replay.checkpoint_list import CheckpointPanel
from studio.widgets.path_actions import command
from tests.studio.fake_runs import make_run
from tests.studio.run_browser.runs_list import action, choose, read_again

pytestmark = pytest.mark.shared_window


@given(st.text(st.characters(exclude_characters="\0/"), min_size=1))
def test_a_copied_command_names_the_path_whatever_is_in_it(name: str) -> None:
    path = Path("/runs") / name
    assert shlex.split(command("resume", path, windows=False)) == [
        "td3-studio",
        "resume",
        str(path),
    ]


def test_a_copied_command_is_quoted_as_windows_does() -> None:
    path = Path("C:/My runs/a")
    words = ["td3-studio", "eval", str(path)]
    assert command("eval", path, windows=True) == subprocess.list2cmdline(words)


@pytest.fixture
def folders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the folders that are opened."""
    opened: list[str] = []

    def note(url: QUrl) -> bool:
        opened.append(url.toLocalFile())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", note)
    return opened


def copied() -> str:
    return QGuiApplication.clipboard().text()


@pytest.mark.parametrize(
    ("stopped", "verb"), [("finished", "eval"), ("user", "resume"), (None, "resume")]
)
def test_the_menu_of_a_run_has_its_folder_path_and_command(
    qtbot: QtBot, window, runs_dir: Path, folders: list[str], stopped: str | None, verb: str
) -> None:
    run = make_run(runs_dir, stopped=stopped)
    read_again(qtbot, window.runs)
    choose(window.runs, run)
    action(window.runs, "folder").trigger()
    assert folders == [str(run.path)]
    action(window.runs, "path").trigger()
    assert copied() == str(run.path)
    action(window.runs, "command").trigger()
    assert shlex.split(copied()) == ["td3-studio", verb, str(run.path)]


def test_the_menu_of_an_agent_has_its_folder_path_and_command(
    qtbot: QtBot, tmp_path: Path, folders: list[str]
) -> None:
    panel = CheckpointPanel()
    qtbot.addWidget(panel)
    agent = tmp_path / "my runs" / "last.safetensors"
    panel.branch_action.setData(agent)
    for name in ("folder", "path"):
        panel.findChild(QAction, f"agent_{name}").trigger()
    assert folders == [str(agent.parent)]
    assert copied() == str(agent)
    panel.findChild(QAction, "agent_command").trigger()
    assert copied() == f"td3-studio eval '{agent}'"
    panel.shutdown()
