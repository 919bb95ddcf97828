"""A lesson is read in a dialog, trained as groups of seeds, and ends in their comparison."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QTextBrowser

from studio.experiments.lessons_dialog import LessonsDialog
from studio.experiments.many_runs import ManyRuns
from studio.experiments.queue_file import QueuedRun, read_queue
from studio.session.group_record import GroupRecord
from studio.window.group_comparison import name_of
from studio.window.main_window import MainWindow
from studio.window.opening.lessons import train_lesson
from td3core.experiments.groups.seed_status import SeedState
from td3core.experiments.lessons import Lesson, load_lessons
from tests.studio.experiments.test_groups import PlayedGroup, played
from tests.support.marks import release, slow
from tests.td3core.analysis.many_runs import write_run

__all__ = ["played"]

FIRST_LESSON, *LESSONS = load_lessons()


@pytest.fixture
def lessons() -> tuple[Lesson, ...]:
    return load_lessons()


@pytest.fixture
def dialog(qtbot, lessons: tuple[Lesson, ...]) -> LessonsDialog:
    made = LessonsDialog(lessons)
    qtbot.addWidget(made)
    made.show()
    return made


def short(lesson: Lesson, steps: int) -> Lesson:
    """Return a lesson whose runs end quickly."""
    arms = tuple(
        replace(
            arm,
            config=replace(arm.config, steps=steps, learning_starts=200, eval_interval=steps // 2),
        )
        for arm in lesson.arms[:2]
    )
    return replace(lesson, arms=arms, seeds=(0, 1))


def test_the_dialog_shows_question_arms_and_cost_of_the_current_lesson(
    dialog: LessonsDialog, lessons: tuple[Lesson, ...]
) -> None:
    view: QTextBrowser = dialog.findChild(QTextBrowser, "lesson_view")
    listed: QListWidget = dialog.findChild(QListWidget, "lesson_list")
    assert listed.count() == len(lessons)
    for row, lesson in enumerate(lessons):
        listed.setCurrentRow(row)
        text = view.toPlainText()
        assert str(lesson.question) in text
        assert all(arm.name in text for arm in lesson.arms)
        runs = len(lesson.arms) * len(lesson.seeds)
        assert dialog.findChild(object, "lesson_cost").text().startswith(f"{runs} runs of")


def test_variants_are_shown_in_the_language_and_kept_in_english(
    qtbot, lessons: tuple[Lesson, ...], stretched: None
) -> None:
    dialog = LessonsDialog(lessons)
    qtbot.addWidget(dialog)
    dialog.findChild(QListWidget, "lesson_list").setCurrentRow(1)
    text = dialog.findChild(QTextBrowser, "lesson_view").toPlainText()
    arm = lessons[1].arms[0]
    assert str(arm.title) in text
    assert str(arm.title) != arm.name == arm.title.english
    queued = QueuedRun(config=arm.config, tunables=arm.tunables, variant=arm.name)
    assert queued.about.startswith(str(arm.title))


def test_enter_asks_for_the_current_lesson(
    qtbot, dialog: LessonsDialog, lessons: tuple[Lesson, ...]
) -> None:
    asked: list[Lesson] = []
    dialog.wanted.connect(asked.append)
    dialog.list.setCurrentRow(2)
    with qtbot.waitSignal(dialog.wanted):
        qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
    assert asked == [lessons[2]]
    assert not dialog.isVisible()


@pytest.mark.slow
def test_the_arms_of_a_lesson_train_one_after_the_other_into_one_comparison(
    qtbot,
    window: MainWindow,
    find,
    played: type[PlayedGroup],
    lessons: tuple[Lesson, ...],
    runs_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(played, "suffixes", iter(("_3seeds_a", "_3seeds_b")))
    window.toolbar.action("lessons").trigger()
    window.findChild(LessonsDialog).run.click()
    lesson, comparing = lessons[0], window.comparison.session
    first = played.last
    assert first.group.tunables == lesson.arms[0].tunables
    assert [run.tunables for run in window.many.queue.runs] == [
        arm.tunables for arm in lesson.arms[1:]
    ]
    path = write_run(runs_dir, [3.0, 4.0], seed=0, group=first.group.name, tau=0.1)
    first.show(0, SeedState.TRAINING, run=path)
    qtbot.waitUntil(lambda: comparing.active and not comparing.busy)
    assert find("compare_heading").text().startswith(str(lesson.title))
    first.end()
    qtbot.waitUntil(lambda: played.last is not first)
    second = played.last
    assert second.group.config.twin_critics is not first.group.config.twin_critics
    path = write_run(runs_dir, [1.0, 2.0], seed=0, group=second.group.name, tau=0.2)
    second.show(0, SeedState.TRAINING, run=path)
    qtbot.waitUntil(lambda: len(comparing.shown.lines["return"]) >= 2)
    # A line each: the legend has no room for every seed.
    # It is called what the lesson calls it, not by its settings.
    assert [line.label for line in comparing.shown.lines["return"]] == [
        arm.name for arm in lesson.arms[:2]
    ]


def test_a_lesson_keeps_its_title_in_english_and_shows_it_translated(
    stretched: None, lessons: tuple[Lesson, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[QueuedRun] = []
    many, lesson = SimpleNamespace(busy=True, add=added.append), lessons[0]
    monkeypatch.setattr("studio.window.opening.lessons.time.strftime", lambda _: "12:00:00")
    train_lesson(cast(ManyRuns, many), lesson)
    assert {run.series for run in added} == {f"{lesson.title.english} · 12:00:00"}
    named = SimpleNamespace(series=added[0].series)
    assert name_of(cast(GroupRecord, named)) == f"{lesson.title} · 12:00:00"
    assert str(lesson.title) != lesson.title.english


@pytest.mark.slow
def test_a_lesson_waits_in_the_queue_while_something_trains(
    qtbot,
    window: MainWindow,
    find,
    played: type[PlayedGroup],
    lessons: tuple[Lesson, ...],
    runs_dir: Path,
) -> None:
    train_lesson(window.many, lessons[0])
    train_lesson(window.many, lessons[1])
    waiting = len(lessons[0].arms) - 1 + len(lessons[1].arms)
    assert len(window.many.queue.runs) == waiting
    qtbot.waitUntil(lambda: len(read_queue(runs_dir)) == waiting)
    # They belong together after a restart as well.
    assert read_queue(runs_dir)[-1].series.startswith(str(lessons[1].title))
    assert read_queue(runs_dir)[-1].variant == lessons[1].arms[-1].name


@pytest.mark.slow
def test_queue_and_groups_say_which_variant_they_are(
    window: MainWindow, find, played: type[PlayedGroup], lessons: tuple[Lesson, ...]
) -> None:
    lesson = lessons[0]
    train_lesson(window.many, lesson)
    entries = find("queue_list")
    for row, arm in enumerate(lesson.arms[1:]):
        assert entries.item(row).text().splitlines()[1].startswith(f"{arm.name} · 3 seeds")
    shown = find("group_combo")
    assert shown.currentText() == f"{lesson.arms[0].name} · {played.last.group.name}"


@pytest.mark.parametrize("button", ["stop_button", "group_stop_button"])
@pytest.mark.slow
def test_stop_says_what_the_queue_goes_on_with_and_how_to_end_it(
    qtbot,
    window: MainWindow,
    find,
    played: type[PlayedGroup],
    lessons: tuple[Lesson, ...],
    monkeypatch: pytest.MonkeyPatch,
    button: str,
) -> None:
    monkeypatch.setattr(played, "suffixes", map("_{}".format, range(9)))
    lesson = replace(lessons[0], arms=(*lessons[0].arms[:2], lessons[0].arms[0]))
    train_lesson(window.many, lesson)
    how = "To end it, remove the waiting runs under “Group and queue”, then press Stop."
    endings = (how, "its last run.")
    for arm, ending in zip(lesson.arms[1:], endings, strict=True):
        before = played.last
        before.show(0, SeedState.TRAINING)
        find(button).click()
        qtbot.waitUntil(lambda: played.last is not before)  # noqa: B023
        assert window.banner.isVisible()
        start = f"The queue continues with Pendulum-v1 · {arm.name} · 3 seeds"
        assert window.banner.text.startswith(start)
        assert window.banner.text.endswith(ending)
    # It is over with the last one.
    played.last.end()
    assert not window.banner.isVisible()
    # One that ends by itself has no need of words.
    train_lesson(window.many, replace(lesson, arms=lesson.arms[:2]))
    before = played.last
    before.end()
    qtbot.waitUntil(lambda: played.last is not before)
    assert not window.banner.isVisible()


@pytest.mark.parametrize(
    "lesson", [*slow(FIRST_LESSON), *release(*LESSONS)], ids=lambda lesson: lesson.name
)
def test_a_lesson_runs_to_its_comparison(qtbot, window: MainWindow, lesson: Lesson) -> None:
    train_lesson(window.many, short(lesson, 400))
    comparing = window.comparison.session

    def compared() -> bool:
        return (
            not window.many.busy
            and not window.many.queue.runs
            and not comparing.busy
            and comparing.shown is not None
            and len(comparing.shown.comparison.groups) == 2
        )

    qtbot.waitUntil(compared, timeout=120_000)
    assert [len(each.group.runs) for each in comparing.shown.comparison.groups] == [2, 2]
    names = [each.name for each in comparing.shown.comparison.groups]
    assert names == [arm.name for arm in lesson.arms[:2]]
