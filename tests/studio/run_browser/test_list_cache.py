"""The cache of a long list for the next start."""

from dataclasses import replace
from pathlib import Path

import pytest

from studio.run_browser import rows
from studio.run_browser.rows import Found, RunRow
from studio.run_browser.scanner import scan
from td3core.runs.directory import RunDirectory
from td3core.runs.listing import RunSummary
from td3core.runs.listing import summarise as summarise_run
from tests.td3core.analysis.many_runs import write_run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose list counts as long from three runs on."""
    monkeypatch.setattr(rows, "LEAST_RUNS", 3)
    monkeypatch.setattr("studio.run_browser.scanner._MANY_READ", 2)
    monkeypatch.setattr(
        "studio.run_browser.rows.platformdirs.user_cache_path",
        lambda *_: tmp_path / "cache",
    )
    for seed in range(3):
        write_run(tmp_path / "runs", [1.0, 2.0 + seed], seed=seed)
    return tmp_path / "runs"


def scanned(folder: Path) -> dict[Path, RunRow]:
    found: list[Found] = []
    scan(folder, {}, found.append, lambda: False)
    return {row.path: row for news in found for row in news.rows}


def test_the_next_start_reads_only_what_has_changed(folder, monkeypatch) -> None:
    before = scanned(folder)
    changed = next(iter(before))
    with (changed / "evaluations.csv").open("a") as file:
        file.write("900,77.0,1.0,,0,77.0 77.0,10 10,0,90.0\n")
    read: list[Path] = []

    def summarise(run: RunDirectory, _: object) -> RunSummary:
        read.append(run.path)
        return summarise_run(run)

    monkeypatch.setattr("studio.run_browser.scanner.summarise", summarise)
    after = scanned(folder)
    assert read == [changed]
    assert after[changed].summary.best_eval_return == 77.0
    assert {k: v for k, v in after.items() if k != changed} == {
        k: v for k, v in before.items() if k != changed
    }


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1}', '{"schema": 99}', "[" * 10_000])
def test_a_damaged_record_is_ignored(folder, text) -> None:
    before = scanned(folder)
    (file,) = folder.parent.glob("cache/lists/*.json")
    file.write_text(text)
    assert rows.load(folder) == {}
    assert scanned(folder) == before


def test_a_run_of_the_record_that_is_gone_is_not_listed(folder) -> None:
    before = scanned(folder)
    gone = next(iter(before))
    rows.save(folder, before | {folder / "x": replace(before[gone], path=folder / "x")})
    (gone / "run.toml").unlink()
    assert set(scanned(folder)) == set(before) - {gone}
