"""The import dialog: what it shows of a file, what it asks, and its result."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from studio.share.import_dialog import ImportDialog
from studio.tasks.background_task import Stopped
from studio.window.main_window import MainWindow
from td3core.checkpoint import read_header
from td3core.runs.directory import RunDirectory
from td3core.system.allowed_code import LocatedModule
from tests.studio.window.test_opening import drop
from tests.td3core.importers import foreign_files as files
from tests.td3core.importers.test_rl_zoo import statistics

WAIT_MS = 60_000


def dialog_of(window: MainWindow) -> ImportDialog:
    (dialog,) = window.findChildren(ImportDialog)
    return dialog


def opened(qtbot: QtBot, window: MainWindow, begin: Callable[[], Any]) -> ImportDialog:
    """Call a function that opens the dialog, and wait until it has read the file."""
    begin()
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=WAIT_MS)
    dialog = dialog_of(window)
    qtbot.waitUntil(lambda: status(dialog) != "Reading…", timeout=WAIT_MS)
    return dialog


def status(dialog: ImportDialog) -> str:
    return dialog.job.status.text().replace("\u200b", "")


@pytest.mark.slow
def test_a_dropped_agent_is_asked_for_its_environment_and_plays(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, runs_dir: Path
) -> None:
    file = files.write_cleanrl(tmp_path)
    dialog = opened(qtbot, window, lambda: drop(window, file))
    assert dialog.kind.text().replace("\u200b", "") == "CleanRL TD3"
    assert dialog.sizes.text() == "3 observations · 1 action"
    assert not dialog.form.isRowVisible(dialog.group)
    assert dialog.env.currentText() == "Pendulum-v1"
    assert dialog.hint.text() == "Not in the file; its name suggests it."
    assert "no target networks" in dialog.notes.text()
    dialog.env.setCurrentText("")
    assert not dialog.start_button.isEnabled()
    dialog.env.setCurrentText("Pendulum-v1")
    with qtbot.waitSignal(dialog.imported, timeout=2 * WAIT_MS) as told:
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert status(dialog).startswith("Imported.")
    run = RunDirectory.open(Path(told.args[0]["run"]))
    assert window.replay.player.path == run.last
    origin = read_header(run.last).origin
    assert origin is not None
    assert origin.kind == "CleanRL TD3"
    # Mismatches are reported in the dialog, without further effect.
    before = len(list(run.path.parent.iterdir()))
    dialog.env.setCurrentText("MountainCarContinuous-v0")
    with qtbot.waitSignal(dialog.job.ended, timeout=2 * WAIT_MS):
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert "those of MountainCarContinuous-v0 have 2 and 1" in status(dialog)
    assert len(list(run.path.parent.iterdir())) == before
    dialog.close()


def test_a_file_that_cannot_be_read_says_so_and_cannot_be_imported(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.zip").write_bytes(b"PK\x05\x06")
    chosen = str(tmp_path / "broken.zip")
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        QFileDialog, "getOpenFileName", lambda *words: asked.append(words) or (chosen, "")
    )
    dialog = opened(qtbot, window, window.importing.action.trigger)
    assert "*.zip" in asked[0][3]
    assert status(dialog).startswith("broken.zip cannot be imported: in the zip, ")
    dialog.env.setCurrentText("Pendulum-v1")
    assert not dialog.start_button.isEnabled()
    dialog.close()


def test_curves_name_their_environment(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    file = tmp_path / "monitor.csv"
    file.write_text(files.monitor([(-1000.0, 200, 1.5), (-800.0, 200, 3.0)]))
    dialog = opened(qtbot, window, lambda: drop(window, file))
    assert dialog.env.currentText() == "Pendulum-v1"
    assert dialog.hint.text() == "Named in the file."
    assert dialog.sizes.text() == "400 steps"
    words = dialog.words()
    assert words is not None
    assert "--env" not in words[0]
    dialog.env_args.setText('{"g": 9.0}')
    words = dialog.words()
    assert words is not None
    assert words[0][4:8] == ["--env", "Pendulum-v1", "--env-args", '{"g": 9.0}']
    assert dialog.form.isRowVisible(dialog.group)
    assert dialog.name.placeholderText().endswith("/monitor.csv (stable-baselines3 monitor)")
    dialog.name.setText("PPO, first seed")
    dialog.group.setText("PPO ")
    words = dialog.words()
    assert words is not None
    assert words[0][8:12] == ["--name", "PPO, first seed", "--group", "PPO"]
    dialog.close()


@pytest.mark.parametrize("allowed", [True, False])
def test_an_answer_about_code_that_comes_after_the_dialog_was_closed_has_no_effect(
    qtbot: QtBot,
    window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    allowed: bool,
) -> None:
    file = tmp_path / "monitor.csv"
    file.write_text(files.monitor([(-1000.0, 200, 1.5)]))
    dialog = opened(qtbot, window, lambda: drop(window, file))
    asked: list[tuple[Any, ...]] = []
    monkeypatch.setattr(window.consent, "obtain", lambda *words, typed: asked.append(words))
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    dialog.close()
    qtbot.waitUntil(lambda: not window.share.tasks.dialogs)
    (_, then, declined) = asked[0]
    if allowed:
        then()
    else:
        declined(LocatedModule(name="mine", path="/mine.py"))


@pytest.mark.slow
def test_statistics_of_observations_are_asked_for_and_read(
    qtbot: QtBot,
    window: MainWindow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("stable_baselines3", reason="stable-baselines3 is not installed")
    zoo = files.write_zoo(tmp_path)
    # Without the folder around it.
    agent = Path(shutil.copy(zoo / "Pendulum-v1.zip", tmp_path / "agent.zip"))
    dialog = opened(qtbot, window, lambda: drop(window, agent))
    field = dialog.statistics
    assert field.isVisible()
    dialog.env.setCurrentText("mine:Env")
    (tmp_path / "bad.pkl").write_bytes(b"no pickle")
    for name, said in ((tmp_path / "bad.pkl", "bad.pkl cannot be imported"), (statistics(zoo), "")):
        monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_, found=name: (str(found), ""))
        qtbot.mouseClick(field.button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: status(dialog) != "Reading…", timeout=WAIT_MS)
        assert status(dialog).startswith(said)
        assert dialog.start_button.isEnabled() == (not said)
    assert dialog.sizes.text().endswith("· normalised")
    assert dialog.env.currentText() == "mine:Env"
    words = dialog.words()
    assert words is not None
    at = words[0].index("--vecnormalize")
    assert words[0][at + 1] == str(statistics(zoo))
    field.edit.clear()
    qtbot.waitUntil(lambda: status(dialog) != "Reading…", timeout=WAIT_MS)
    assert "normalised" not in dialog.sizes.text()
    words = dialog.words()
    assert words is not None
    assert "--vecnormalize" not in words[0]
    dialog.close()
    # An agent that cannot have any is not asked for them.
    dialog = opened(qtbot, window, lambda: drop(window, files.write_cleanrl(tmp_path)))
    assert not dialog.statistics.isVisible()
    dialog.close()


def test_escape_ends_the_reading_of_a_file(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, go_on = threading.Event(), threading.Event()

    def read(_file: Path, _statistics: Path | None, stopped: Stopped) -> None:
        while not stopped() and not go_on.wait(0.01):
            pass
        ended.set()

    monkeypatch.setattr("studio.share.import_dialog._examine", read)
    window.importing.show_file(tmp_path / "agent.zip")
    qtbot.keyClick(dialog_of(window), Qt.Key.Key_Escape)
    try:
        qtbot.waitUntil(ended.is_set, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: not window.findChildren(ImportDialog), timeout=WAIT_MS)
    finally:
        go_on.set()
