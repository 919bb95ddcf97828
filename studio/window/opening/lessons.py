"""Opens the lessons, and trains the requested one."""

import time
from functools import partial

from PySide6.QtWidgets import QWidget

from studio.experiments.many_runs import ManyRuns
from studio.experiments.queue_file import QueuedRun
from studio.widgets.controls import bring_to_front
from td3core.experiments.lessons import Lesson


def show_lessons(many: ManyRuns, window: QWidget) -> None:
    """Open the dialog of the lessons in front of a window."""
    # Imported on first use, so that it does not delay the start.
    from studio.experiments.lessons_dialog import LessonsDialog
    from td3core.experiments.lessons import load_lessons

    dialog = window.findChild(LessonsDialog)
    if dialog is None:
        dialog = LessonsDialog(load_lessons(), window)
        dialog.wanted.connect(partial(train_lesson, many))
    bring_to_front(dialog)


def train_lesson(many: ManyRuns, lesson: Lesson) -> None:
    """Train the arms of a lesson one after the other, after any training in progress."""
    # In English: the queue's file outlives the window, and its language.
    series = f"{lesson.title.english} · {time.strftime('%H:%M:%S')}"
    first, *others = (
        QueuedRun(
            config=arm.config,
            tunables=arm.tunables,
            seeds=lesson.seeds,
            series=series,
            variant=arm.name,
        )
        for arm in lesson.arms
    )
    if many.busy:
        others.insert(0, first)
    else:
        many.start(first)
    for run in others:
        many.add(run)
