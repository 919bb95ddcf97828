"""Asks what happens to running training and other tasks when the window closes."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from studio.widgets.messages import choose
from td3core.text import Text, tr

_LEAVING = Text(
    "Runs that are stopped can be resumed. In the background they continue on their own."
)
_STAYING = Text(
    "Runs are saved before they stop, and can be resumed. To keep training, the window stays open."
)


def ask_what_to_do(parent: QWidget, *, can_leave: bool, tasks: Sequence[str] = ()) -> str:
    """Ask whether to ``stop`` training, to ``keep`` it in the background, or to ``cancel``.

    A run in the window's own process cannot be left running, nor can a sweep: to continue them,
    the window stays open. ``tasks`` are the titles of other tasks, which end with the window.
    """
    texts = [str(_LEAVING if can_leave else _STAYING)]
    if tasks:
        texts.append(_unfinished(tasks))
    ways = {"stop": tr("Stop and close")}
    if can_leave:
        ways["keep"] = tr("Keep training in the background")
    answer = choose(
        parent,
        "close_question",
        tr("Training is in progress"),
        "\n\n".join(texts),
        ways,
        question=tr("Stop the training and close the window?"),
        no="" if can_leave else tr("Keep training"),
        # Neither Enter nor Escape ends a run.
        default="keep",
    )
    return answer or "cancel"


def ask_to_end(parent: QWidget, tasks: Sequence[str]) -> str:
    """Ask whether to ``stop`` tasks that end with the window, or to ``cancel`` its closing."""
    answer = choose(
        parent,
        "close_question",
        tr("A task is in progress"),
        _unfinished(tasks),
        {"stop": tr("End and close")},
        question=tr("Close the window all the same?"),
        no=tr("Keep it open"),
    )
    return answer or "cancel"


def _unfinished(tasks: Sequence[str]) -> str:
    names = ", ".join(f"“{task}”" for task in tasks)
    return tr("Not finished yet, and lost when the window closes: {tasks}.", tasks=names)
