"""A dialog for files overwrites only what its user has agreed to overwrite."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from studio.share.export_dialog import ExportDialog
from studio.share.film_dialogs import AgentFilmDialog
from studio.share.picture_dialog import PictureDialog
from studio.share.report_dialog import ReportDialog, ReportSubject
from studio.share.screenshot import Screenshot
from studio.share.task_dialog import TaskDialog
from studio.widgets.figure_export import choose_file
from td3core.exporters.registry import EXPORTERS
from td3core.playing.step import BEGINNING


def answer_with(monkeypatch: pytest.MonkeyPatch, path: Path, kind: str = "") -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), kind))


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [("tau_0.005", "csv", "tau_0.005.csv"), ("q.PNG", "png", "q.PNG"), ("a", "svg", "a.svg")],
)
def test_an_export_keeps_the_name_it_was_given(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, name: str, kind: str, expected: str
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    answer_with(monkeypatch, Path(name))
    assert choose_file(parent, "", "a", kind, pytest.fail) == Path(expected)


AGENT = Path("agent.safetensors")


def exporting(parent: QWidget, at: int) -> TaskDialog:
    dialog = ExportDialog(AGENT, parent)
    dialog.formats.setCurrentIndex(at)
    return dialog


def filming(parent: QWidget) -> TaskDialog:
    return AgentFilmDialog(AGENT, 0, 1.0, parent)


def reporting(parent: QWidget) -> TaskDialog:
    return ReportDialog(ReportSubject(name="a", sources=["a"]), lambda then: then(), parent)


@pytest.mark.parametrize(
    ("make", "suffix"),
    [
        *((partial(exporting, at=at), each.suffixes[0]) for at, each in enumerate(EXPORTERS)),
        (filming, ".mp4"),
        (reporting, ".html"),
    ],
)
def test_a_file_whose_suffix_was_left_out_is_not_overwritten(
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[QWidget], TaskDialog],
    suffix: str,
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    dialog = make(parent)
    answer_with(monkeypatch, tmp_path / "mine")
    found = dialog.words()
    assert found is not None
    assert str(tmp_path / f"mine{suffix}") in found[0]
    (tmp_path / f"mine{suffix}").write_text("precious")
    assert dialog.words() is None
    assert f"mine{suffix} exists already" in dialog.job.status.text().replace("\u200b", "")
    # A name typed whole was confirmed in the dialog.
    answer_with(monkeypatch, tmp_path / f"mine{suffix}")
    assert dialog.words() == found


def test_a_picture_whose_suffix_was_left_out_is_not_overwritten(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = QWidget()
    qtbot.addWidget(parent)
    image = QImage(8, 8, QImage.Format.Format_RGB32)
    dialog = PictureDialog(
        Screenshot(image=image, names=("a",), steps=(BEGINNING,)), "name", parent
    )
    (tmp_path / "mine.png").write_text("precious")
    answer_with(monkeypatch, tmp_path / "mine")
    dialog.save_button.click()
    dialog.shutdown()
    assert (tmp_path / "mine.png").read_text() == "precious"
    assert "mine.png exists already" in dialog.status.text().replace("\u200b", "")
