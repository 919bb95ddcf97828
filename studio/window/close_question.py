"""Asks what happens to running training when the window closes."""

from PySide6.QtWidgets import QWidget

from studio.widgets.messages import choose
from td3core.text import Text, tr

_LEAVING = Text(
    "Runs that are stopped can be resumed. In the background they continue on their own."
)
_STAYING = Text(
    "Runs are saved before they stop, and can be resumed. To keep training, the window stays open."
)


def ask_what_to_do(parent: QWidget, *, can_leave: bool) -> str:
    """Ask whether to ``stop`` training, to ``keep`` it in the background, or to ``cancel``.

    A run in the window's own process cannot be left running, nor can a sweep: to continue them,
    the window stays open.
    """
    ways = {"stop": tr("Stop and close")}
    if can_leave:
        ways["keep"] = tr("Keep training in the background")
    answer = choose(
        parent,
        "close_question",
        tr("Training is in progress"),
        str(_LEAVING if can_leave else _STAYING),
        ways,
        question=tr("Stop the training and close the window?"),
        no="" if can_leave else tr("Keep training"),
        # Neither Enter nor Escape ends a run.
        default="keep",
    )
    return answer or "cancel"
