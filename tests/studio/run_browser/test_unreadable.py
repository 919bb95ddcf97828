"""A run that cannot be opened has a row with the reason."""

import os
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel

from studio.run_browser.columns import RunColumn, about, detail_of, text_of
from studio.run_browser.rows import Found, RunRow
from studio.run_browser.scanner import scan
from studio.widgets.labels import breakable
from td3core.protocol.run_status import RunStatus
from td3core.runs.recent import newest_runs
from tests.studio.fake_runs import make_run
from tests.studio.run_browser.runs_list import read_again


def rows_of(folder: Path) -> dict[str, RunRow]:
    """Read a folder of runs as the list does."""
    found: list[Found] = []
    scan(folder, {}, lambda news: found.append(news), lambda: False)  # type: ignore[arg-type]
    return {row.path.name: row for news in found for row in news.rows}


def test_a_run_of_a_newer_version_shows_the_reason_in_its_row(runs_dir: Path) -> None:
    run = make_run(runs_dir).path
    text = (run / "run.toml").read_text()
    (run / "run.toml").write_text(text.replace("schema = 1", "schema = 99"))
    row = rows_of(runs_dir)[run.name]
    assert row.summary is None
    assert "written by a newer TD3 Studio" in detail_of(row)
    assert "written by a newer TD3 Studio" in about(row)


def test_one_bad_run_stops_no_list(runs_dir: Path) -> None:
    good = make_run(runs_dir).path
    pipe = runs_dir / "pipe"
    pipe.mkdir()
    os.mkfifo(pipe / "run.toml")
    odd = Path(os.fsdecode(os.fsencode(runs_dir) + b"/bad\xff"))
    shutil.copytree(good, odd)
    shutil.copytree(good, runs_dir / "table")
    (runs_dir / "table" / "evaluations.csv").unlink()
    os.mkfifo(runs_dir / "table" / "evaluations.csv")
    rows = rows_of(runs_dir)
    assert set(rows) == {good.name, "pipe", odd.name, "table"}
    assert "not a regular file" in rows["pipe"].problem
    for row in rows.values():
        for column in RunColumn:
            text_of(row, column, RunStatus.FINISHED).encode()
        about(row).encode()


def test_a_run_that_fails_while_it_is_read_is_listed_with_the_reason(
    runs_dir: Path, monkeypatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    run = make_run(runs_dir).path
    monkeypatch.setattr("studio.run_browser.scanner.summarise", fail)
    assert "Permission denied" in rows_of(runs_dir)[run.name].problem


def test_a_run_whose_files_carry_the_time_zero_is_listed(runs_dir: Path) -> None:
    run = make_run(runs_dir).path
    for path in (*run.rglob("*"), run):
        os.utime(path, (0, 0))
    assert rows_of(runs_dir)[run.name].summary is not None
    assert [found.path for found in newest_runs(runs_dir, 1)] == [run]


@pytest.mark.parametrize("target", ["gone.toml", "run.toml"])
def test_a_run_whose_description_is_a_broken_link_is_listed_with_the_reason(
    runs_dir: Path, target: str
) -> None:
    run = make_run(runs_dir).path
    (run / "run.toml").unlink()
    (run / "run.toml").symlink_to(target)
    assert "run.toml" in rows_of(runs_dir)[run.name].problem


def test_an_unreadable_folder_of_runs_is_not_called_empty(qtbot, browser, runs_dir) -> None:
    runs_dir.symlink_to(runs_dir.name)
    read_again(qtbot, browser)
    hint = browser.findChild(QLabel, "runs_hint")
    assert hint.isVisible()
    assert hint.text().startswith(breakable(f"{runs_dir} cannot be read: "))
    runs_dir.unlink()
    read_again(qtbot, browser)
    assert "Press Train" in hint.text()


def test_a_list_stays_while_its_folder_cannot_be_read_and_says_so_once(
    qtbot, browser, runs_dir
) -> None:
    run = make_run(runs_dir).path
    read_again(qtbot, browser)
    refusals: list[str] = []
    browser.refused.connect(lambda message: refusals.append(str(message)))
    away = runs_dir.rename(runs_dir.with_name("away"))
    runs_dir.symlink_to(runs_dir.name)
    read_again(qtbot, browser)
    read_again(qtbot, browser)
    assert browser.view.isVisible()
    assert list(browser.model.rows) == [run]
    (refusal,) = refusals
    assert refusal.startswith(f"{runs_dir} cannot be read: ")
    runs_dir.unlink()
    away.rename(runs_dir)
    read_again(qtbot, browser)
    assert list(browser.model.rows) == [run]
    assert len(refusals) == 1
