"""Moves runs to the trash or, if that fails, deletes them for good. Asks before each step."""

import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QFile, QObject, Signal
from PySide6.QtWidgets import QWidget

from studio.run_browser.dialogs import ask_to_delete, ask_to_trash
from studio.run_browser.rows import RunRow
from studio.tasks.background_queue import BackgroundQueue
from td3core.errors import file_reason
from td3core.runs.lock import holder, kept_free
from td3core.text import Text

Runs = Sequence[RunRow]


class RunDeletion(QObject):
    """Checks, asks and deletes in turn; everything but the questions happens in the background."""

    refused = Signal(object)
    deleted = Signal(object)
    """The paths of the runs that no longer exist."""

    def __init__(self, queue: BackgroundQueue, window: QWidget) -> None:
        super().__init__(window)
        self._queue, self._window = queue, window

    def start(self, runs: Runs) -> None:
        """Delete runs, unless one of them is running or the user refuses."""
        self._queue.add(lambda: _running(runs), partial(self._ask_to_trash, runs))

    def _ask_to_trash(self, runs: Runs, running: Runs) -> None:
        if running:
            self.refused.emit(_refusal(running[0]))
        elif ask_to_trash(self._window, runs):
            self._queue.add(lambda: _trash(runs), partial(self._ask_to_delete, runs))

    def _ask_to_delete(self, runs: Runs, outcome: tuple[Runs, list[Text]]) -> None:
        left, problems = outcome
        if left and ask_to_delete(self._window, left):
            self._queue.add(lambda: problems + _delete(left), partial(self._conclude, runs))
        else:
            self._conclude(runs, problems)

    def _conclude(self, runs: Runs, problems: list[Text]) -> None:
        for problem in problems:
            self.refused.emit(problem)
        self._queue.add(lambda: _gone(runs), self.deleted.emit)


def _running(runs: Runs) -> Runs:
    return [run for run in runs if holder(run.path)]


def _refusal(run: RunRow) -> Text:
    return Text("{run} is running and cannot be deleted.", run=run.title)


def _gone(runs: Runs) -> list[Path]:
    return [run.path for run in runs if not run.path.exists()]


def _trash(runs: Runs) -> tuple[Runs, list[Text]]:
    """Move runs to the trash; return those that could not be moved, and refusals.

    A run may have been resumed while the question was open.
    """
    left, refusals = [], []
    for run in runs:
        with kept_free(run.path) as free:
            if not free:
                refusals.append(_refusal(run))
            elif not move_to_trash(run.path):
                left.append(run)
    return left, refusals


def move_to_trash(path: Path) -> bool:
    """Move a folder to the desktop's trash; False if there is none, or it is on another disk."""
    # Its return values differ on success and failure; check the effect instead.
    there = path.exists()
    QFile.moveToTrash(str(path))
    return there and not path.exists()


def _delete(runs: Runs) -> list[Text]:
    """Delete runs for good; return why some could not be deleted, if any."""
    problems = []
    for run in runs:
        try:
            with kept_free(run.path) as free:
                if free:
                    shutil.rmtree(run.path)
                else:
                    problems.append(_refusal(run))
        except OSError as problem:
            reason = file_reason(problem)
            problems.append(
                Text("{run} cannot be deleted: {reason}.", run=run.title, reason=reason)
            )
    return problems
