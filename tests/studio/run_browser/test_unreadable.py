"""A run that cannot be opened has a row with the reason."""

import os
import shutil
from pathlib import Path

from studio.run_browser.columns import RunColumn, about, detail_of, text_of
from studio.run_browser.rows import Found, RunRow
from studio.run_browser.scanner import scan
from td3core.protocol.run_status import RunStatus
from tests.studio.fake_runs import make_run


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
