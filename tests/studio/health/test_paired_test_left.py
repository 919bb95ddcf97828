"""A paired test outlives its window: kept on disk, it is found by the next and finished there."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QPushButton

from studio.experiments.paired_test_file import KeptTest, PairedTestFile, standing
from studio.experiments.paired_test_session import PairedTestSession, PairedTestStage
from td3core.checkpoint import read_header
from td3core.experiments.groups.group import open_group
from td3core.experiments.groups.messages import GroupStarted, ResumedGroup
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.paired_tests import plan_paired_test
from td3core.protocol.steering import Verb
from td3core.runs.directory import RunDirectory
from td3core.text import NO_TEXT
from tests.studio.experiments.test_groups import PlayedGroup, played
from tests.td3core.analysis.many_runs import write_run
from tests.td3core.helpers import finish, new_group

__all__ = ["played"]


def write_finished(runs_dir: Path, value: float, seed: int, group: str) -> Path:
    path = write_run(runs_dir, [0.0, value + seed], seed=seed, group=group)
    RunDirectory.open(path).write_ending({"stopped": "finished", "env_steps": 1000})
    return path


@pytest.fixture
def begun(runs_dir: Path) -> KeptTest:
    """A paired test of which nothing has been trained yet."""
    run = RunDirectory.open(finish(runs_dir, "Pendulum-v1", steps=60).run)
    test = plan_paired_test(run.last, read_header(run.last), {"critic_lr": 1e-4}, steps=40, pairs=2)
    return KeptTest(test=test, run=run.path, series="a slower critic")


@pytest.fixture
def left(runs_dir: Path, begun: KeptTest) -> KeptTest:
    """A paired test whose window was closed when three of its four runs were over."""
    test, names = begun.test, list[str]()
    for arm, over, value in ((test.with_change, 2, 50.0), (test.without, 1, 20.0)):
        group = new_group(
            runs_dir, test.seeds, arm.config, arm.tunables, checkpoint=test.checkpoint
        )
        names.append(group.name)
        for seed in test.seeds[:over]:
            write_finished(runs_dir, value, seed, group.name)
    kept = replace(begun, groups=tuple(names))
    file = PairedTestFile(runs_dir)
    file.write(kept)
    file.leave()
    return kept


def test_a_paired_test_is_read_as_it_was_written_by_one_window_at_a_time(
    runs_dir: Path, begun: KeptTest
) -> None:
    first, other = PairedTestFile(runs_dir), PairedTestFile(runs_dir)
    assert other.find() is None
    kept = replace(begun, groups=("one", "two"))
    first.write(begun)
    first.write(kept)
    assert other.find() is None
    first.leave()
    assert other.find() == kept
    assert kept.change.setting == "critic_lr"
    assert (kept.change.old, kept.change.new) == (3e-4, 1e-4)
    other.discard()
    assert first.find() is None
    assert list((runs_dir / "trials").iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [("schema", 99), ("groups", ["../.."]), ("setting", "none"), ("seeds", ""), ("steps", None)],
)
def test_a_file_that_makes_no_sense_is_passed_over(
    runs_dir: Path, begun: KeptTest, key: str, value: Any
) -> None:
    for kept in (begun, replace(begun, series="newer")):
        file = PairedTestFile(runs_dir)
        file.write(kept)
        file.leave()
    older, newer = sorted((runs_dir / "trials").glob("*.json"))
    newer.write_text(json.dumps(json.loads(newer.read_text()) | {key: value}))
    found = PairedTestFile(runs_dir)
    expected = json.loads(older.read_text())["series"]
    assert found.find() == replace(begun, series=expected)
    found.leave()


def test_the_disk_says_how_far_a_paired_test_is(runs_dir: Path, left: KeptTest) -> None:
    found = standing(runs_dir, left)
    assert found.kept == left
    assert [sorted(runs) for runs in found.runs] == [list(left.test.seeds)]
    assert found.finished == 3
    gone = replace(left, groups=(left.groups[0], "gone"))
    assert standing(runs_dir, gone).kept.groups == left.groups[:1]
    (runs_dir / "groups" / left.groups[1] / "group.json").write_text("{")
    assert standing(runs_dir, left).kept.groups == left.groups[:1]


@pytest.fixture
def session(qtbot: Any, runs_dir: Path) -> Iterator[PairedTestSession]:
    made = PairedTestSession(runs_dir, lambda: 10**6)
    yield made
    made.shutdown()


def test_a_paired_test_that_waits_when_the_window_closes_is_kept(
    runs_dir: Path, begun: KeptTest, session: PairedTestSession
) -> None:
    session.start(begun)
    assert session.stage is PairedTestStage.WAITING
    session.stop()
    session.shutdown()
    found = PairedTestFile(runs_dir)
    assert found.find() == begun
    found.leave()


def test_both_sides_have_to_branch_off_the_same_agent(
    qtbot: Any, begun: KeptTest, session: PairedTestSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PairedTestSession, "free_cores", property(lambda _: 2))
    told: list[Any] = []
    session.refused.connect(told.append)
    session.start(replace(begun, test=replace(begun.test, steps=41)))
    qtbot.waitUntil(lambda: session.stage is PairedTestStage.ENDED, timeout=20_000)
    assert "is now at step 60, not 59" in str(told[0])


def test_a_paired_test_that_is_closed_is_forgotten(
    runs_dir: Path, begun: KeptTest, session: PairedTestSession
) -> None:
    session.start(begun)
    session.stop()
    session.close()
    assert session.stage is PairedTestStage.NONE
    session.shutdown()
    assert PairedTestFile(runs_dir).find() is None


def resumed(qtbot: Any, name: str) -> PlayedGroup:
    """Return the process in which a group was resumed, once it exists."""

    def job() -> Any:
        return PlayedGroup.last.job if PlayedGroup.last is not None else None

    qtbot.waitUntil(
        lambda: isinstance(job(), ResumedGroup) and job().path.name == name, timeout=20_000
    )
    group, path = PlayedGroup.last, job().path
    group.report(GroupStarted(group=open_group(path), jobs=1, reason=NO_TEXT))
    return group


@pytest.mark.slow
def test_the_next_window_shows_what_became_of_a_paired_test_and_finishes_it(
    qtbot: Any,
    left: KeptTest,
    window: Any,
    played: Any,
    find: Any,
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paired_tests = window.health.paired_tests
    monkeypatch.setattr(type(paired_tests), "free_cores", property(lambda _: 2))
    qtbot.waitUntil(lambda: paired_tests.stage is PairedTestStage.ENDED, timeout=20_000)
    qtbot.waitUntil(lambda: window.panels.if_made("health") is not None, timeout=20_000)
    qtbot.waitUntil(lambda: find("trial_box").isVisible(), timeout=20_000)
    said = find("trial_text").text()
    assert said.startswith("Ended without a verdict; 3 of 4 runs finished.")
    assert said in window.log.toPlainText()
    shown = [b.objectName() for b in find("trial_box").findChildren(QPushButton) if b.isVisible()]
    assert sorted(shown) == ["trial_close", "trial_continue"]
    find("trial_continue").click()
    first, second = left.test.seeds
    group = resumed(qtbot, left.groups[1])
    group.show(first, SeedState.FINISHED, run=standing(runs_dir, left).runs[0][first])
    find("trial_stop").click()
    assert group.commands[-1].verb is Verb.STOP
    assert find("trial_text").text().startswith("Ended without a verdict; 3 of 4 runs finished.")
    PlayedGroup.last.job = None
    find("trial_continue").click()
    group = resumed(qtbot, left.groups[1])
    write_finished(runs_dir, 20.0, second, left.groups[1])
    made = standing(runs_dir, left).runs[1]
    for seed, run in made.items():
        group.show(seed, SeedState.FINISHED, run=run)
    group.end()
    qtbot.waitUntil(lambda: paired_tests.stage is PairedTestStage.DONE, timeout=20_000)
    verdict = "After 40 steps 30 [30, 30] better, 2 of 2 pairs."
    assert find("trial_text").text() == verdict
    qtbot.waitUntil(lambda: window.comparison.session.active, timeout=20_000)
    # A paired test neither accepted nor closed is found again.
    window.close()
    again = PairedTestSession(runs_dir, lambda: 0)
    with qtbot.waitSignal(again.found, timeout=20_000):
        again.find()
    assert again.verdict is not None
    assert str(again.verdict.in_words(40)) == verdict
    again.close()
    again.shutdown()
