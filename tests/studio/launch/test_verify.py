"""The window verifies a run in a separate process, and shows the result."""

import json
import tempfile
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialogButtonBox, QProgressBar

from studio.launch import verify_dialog
from studio.launch.verify_dialog import VerifyDialog
from td3core.cli.progress_line import CommandProgress
from td3core.runs.naming import full_name_of
from td3core.text import Text
from tests.studio.launch.test_resume import listed, train_before

START = {"from_step": 1200, "steps": 500}


@pytest.fixture
def dialog(qtbot) -> VerifyDialog:
    made = VerifyDialog()
    qtbot.addWidget(made)
    return made


def fingerprints(run: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in run.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_run_is_tried_from_the_list_and_left_as_it_was(qtbot, window, runs_dir, monkeypatch):
    run = train_before(runs_dir)
    before = fingerprints(run.path)
    folders = []
    make = verify_dialog.tempfile.mkdtemp
    monkeypatch.setattr(
        verify_dialog.tempfile, "mkdtemp", lambda **how: folders.append(make(**how)) or folders[-1]
    )
    said: list[str] = []
    window.verify.job.command.progressed.connect(lambda told: said.append(str(told.message)))
    listed(qtbot, window, run, "verify").trigger()
    qtbot.waitUntil(window.verify.isVisible)
    assert window.verify.busy
    qtbot.waitUntil(lambda: not window.verify.busy, timeout=120_000)
    assert window.verify.verdict.text().startswith(f"Yes. {full_name_of(run.path)} resumes exactly")
    assert any("steps without interruption" in text for text in said)
    assert any("an interruption half-way" in text for text in said)
    assert fingerprints(run.path) == before
    qtbot.waitUntil(lambda: not any(Path(folder).exists() for folder in folders))
    window.verify.close()


@pytest.mark.slow
def test_closing_ends_the_check_and_leaves_nothing(qtbot, window, runs_dir):
    run = train_before(runs_dir)
    listed(qtbot, window, run, "verify").trigger()
    qtbot.waitUntil(lambda: "without interruption" in window.verify.verdict.text(), timeout=60_000)
    children = psutil.Process().children()
    (process,) = (each for each in children if str(run.path) in each.cmdline())
    folder = Path(process.environ()["TMPDIR"])
    assert folder.exists()
    cancel = window.verify.buttons.button(QDialogButtonBox.StandardButton.Cancel)
    qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    assert not window.verify.isVisible()
    assert not window.verify.busy
    qtbot.waitUntil(lambda: not folder.exists())
    assert not process.is_running()


@pytest.mark.slow
def test_a_run_that_cannot_be_tried_says_why(qtbot, dialog, tmp_path):
    dialog.check(tmp_path / "nothing")
    qtbot.waitUntil(lambda: not dialog.busy, timeout=60_000)
    assert "could not be verified" in dialog.verdict.text()
    assert "is not a run" in dialog.verdict.text()


def test_a_check_that_cannot_start_says_so_and_leaves_nothing(
    qtbot, dialog, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(
        "studio.tasks.cli_process.command_line", lambda _: [str(tmp_path / "missing")]
    )
    busy: list[bool] = []
    dialog.job.busy_changed.connect(busy.append)
    dialog.check(tmp_path / "walk")
    qtbot.waitUntil(lambda: not dialog.busy)
    assert dialog.verdict.text().startswith("walk could not be verified. ")
    assert busy[-1] is False
    assert dialog.buttons.standardButtons() == QDialogButtonBox.StandardButton.Close
    qtbot.waitUntil(lambda: not [*tmp_path.glob("td3-studio-verify-*")])


def test_a_check_shows_how_far_it_is(dialog) -> None:
    told = CommandProgress(message=Text("steps with an interruption half-way"), share=0.5)
    dialog.job.command.progressed.emit(told)
    assert dialog.verdict.text() == "steps with an interruption half-way"
    assert dialog.findChild(QProgressBar, "verify_progress").value() == 50


def test_the_dialog_grows_with_its_verdict(qtbot, dialog) -> None:
    dialog.show()
    found = START | {"exact": False, "differences": ["A file differs."] * 9}
    dialog.job.command.answered.emit(found)
    verdict = dialog.verdict
    qtbot.waitUntil(lambda: verdict.height() >= verdict.heightForWidth(verdict.width()))
    assert verdict.text().count("A file differs.") == 9


def test_what_differs_is_listed(dialog):
    found = START | {"exact": False, "differences": ["The counters differ.", "a.csv differs."]}
    text = verify_dialog.in_words("walk", json.loads(json.dumps(found)))
    assert text.startswith("No. walk does not resume exactly (verified from step 1,200 to 1,700)")
    assert text.splitlines()[1:] == ["•  The counters differ.", "•  a.csv differs."]
