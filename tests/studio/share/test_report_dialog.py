"""Reports from the window: inputs of the dialog, and output of its command."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget
from pytestqt.qtbot import QtBot

from studio.share.menu import ShareButton
from studio.share.report_dialog import ReportDialog, ReportSubject
from tests.studio.replay.scenes import WAIT_MS
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.exporters.read_page import read, section, sections


def opened(qtbot: QtBot, share: ShareButton, runs: list[Path], options=()) -> ReportDialog:
    share.tasks.report_runs(runs, options)
    qtbot.waitUntil(lambda: bool(share.window().findChildren(ReportDialog)), timeout=WAIT_MS)
    (dialog,) = share.window().findChildren(ReportDialog)
    return dialog


def test_the_command_has_what_the_dialog_shows(
    qtbot: QtBot,
    share: ShareButton,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [write_run(runs_dir, [1.0], seed=seed) for seed in range(2)]
    dialog = opened(qtbot, share, runs, ["--x", "time"])
    asked: list[str] = []

    def choose(_parent, _title, first: str, _kinds) -> tuple[str, str]:
        asked.append(first)
        return str(tmp_path / "mine"), "PDF (*.pdf)"

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    dialog.title_edit.setText(" Mine ")
    dialog.parts["health"].setChecked(False)
    dialog.parts["journal"].setChecked(False)
    dialog.film.setChecked(True)
    target = str(tmp_path / "mine.pdf")
    found = dialog.words()
    assert found is not None
    assert asked == ["2 runs.html"]
    # Paper shows no films, and an empty question counts as none.
    assert found[0] == [
        *("report", "--out", target, "--title", "Mine", "--without", "health,journal"),
        *("--x", "time", "--force", "--json", "--", *map(str, runs)),
    ]
    assert found[1] == tmp_path / ".mine.pdf.part"
    dialog.close()


@pytest.mark.slow
def test_a_report_is_written_and_can_be_opened(
    qtbot: QtBot,
    share: ShareButton,
    runs_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dialog = opened(qtbot, share, [write_run(runs_dir, [1.0, 2.0])])
    target = tmp_path / "report.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    dialog.question_edit.setText("Is it <better>?")
    dialog.parts["commands"].setChecked(False)
    assert not dialog.open_button.isEnabled()
    with qtbot.waitSignal(dialog.job.answered, timeout=4 * WAIT_MS):
        qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    assert dialog.open_button.isEnabled()
    assert dialog.job.status.text().replace("\u200b", "").startswith(f"Written to {target}: 1 run")
    page = read(target.read_text("utf-8"))
    assert "Is it <better>?" in [each.text for each in page.all("p")]
    assert "commands" not in sections(page)
    assert section(page, "runs").all("table")
    dialog.close()


def test_a_deleted_run_is_left_out_of_a_report_which_says_so(
    qtbot: QtBot, share: ShareButton, runs_dir: Path
) -> None:
    runs = [write_run(runs_dir, [1.0], seed=seed) for seed in range(3)]
    shutil.rmtree(runs[0])
    dialog = opened(qtbot, share, runs)
    assert list(dialog.subject.sources) == [str(run) for run in runs[1:]]
    said = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "1 deleted run is left out." in said
    dialog.close()
    # Without any, there is nothing to write.
    with qtbot.waitSignal(share.tasks.refused, timeout=WAIT_MS) as refused:
        share.tasks.report_runs(runs[:1])
    assert "is not a run" in str(refused.args[0])


def test_a_sweep_that_is_gone_is_refused_with_a_sentence(
    qtbot: QtBot, share: ShareButton, runs_dir: Path
) -> None:
    with qtbot.waitSignal(share.tasks.refused, timeout=WAIT_MS) as refused:
        share.tasks.report_sweep("gone", runs_dir)
    assert "There is no sweep in" in str(refused.args[0])


def test_code_that_is_allowed_after_the_dialog_was_closed_starts_no_report(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    asked: list[Callable[[], object]] = []
    subject = ReportSubject(name="run", sources=["run"])
    dialog = ReportDialog(subject, asked.append, window)
    dialog.film.setChecked(True)
    dialog.show()
    qtbot.mouseClick(dialog.start_button, Qt.MouseButton.LeftButton)
    dialog.close()
    qtbot.waitUntil(lambda: not window.findChildren(ReportDialog))
    asked[0]()
