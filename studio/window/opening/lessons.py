"""Opens the lessons, and trains the one that is asked for."""

import time
from functools import partial
from typing import TYPE_CHECKING

from studio.experiments.queue_file import QueuedRun
from studio.widgets.controls import bring_to_front
from td3core.experiments.lessons import Lesson

if TYPE_CHECKING:
    from studio.window.main_window import MainWindow


def show_lessons(window: "MainWindow") -> None:
    """Open the dialog of the lessons."""
    # Imported on first use, so that it does not delay the start.
    from studio.lessons.dialog import LessonsDialog
    from td3core.experiments.lessons import load_lessons

    dialog = window.findChild(LessonsDialog)
    if dialog is None:
        dialog = LessonsDialog(load_lessons(), window)
        dialog.wanted.connect(partial(train_lesson, window))
    bring_to_front(dialog)


def train_lesson(window: "MainWindow", lesson: Lesson) -> None:
    """Train the arms of a lesson one after the other, or let them wait for what trains."""
    series = f"{lesson.title} · {time.strftime('%H:%M:%S')}"
    first, *others = (
        QueuedRun(config=arm.config, tunables=arm.tunables, seeds=lesson.seeds, series=series)
        for arm in lesson.arms
    )
    if window.many.busy:
        others.insert(0, first)
    else:
        window.many.start(first)
    for run in others:
        window.many.add(run)
