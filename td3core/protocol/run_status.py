"""The state of a run: the one place that interprets how a run ended."""

from enum import StrEnum

from td3core.text import Text


class RunStatus(StrEnum):
    """State of a run."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Neither ended nor alive: its process was killed, or the power failed."""

    @classmethod
    def after(cls, stopped: str) -> "RunStatus":
        """Return the state after an ending; ``stopped`` as in ``ending.json``.

        Raises:
            KeyError: not one of ``finished``, ``user`` and ``failed``.
        """
        return _ENDINGS[stopped]

    @property
    def stopped(self) -> str | None:
        """Its value of ``stopped`` in ``ending.json``; None for a run that has not ended."""
        return next((word for word, status in _ENDINGS.items() if status is self), None)

    @property
    def phrase(self) -> Text:
        """The predicate of a sentence about a run, such as ``is running``."""
        return _PHRASES[self]


_ENDINGS = {
    "finished": RunStatus.FINISHED,
    "user": RunStatus.STOPPED,
    "failed": RunStatus.FAILED,
}
_PHRASES = {
    RunStatus.RUNNING: Text("is running"),
    RunStatus.FINISHED: Text("has finished"),
    RunStatus.STOPPED: Text("was stopped"),
    RunStatus.FAILED: Text("has failed"),
    RunStatus.INTERRUPTED: Text("was interrupted"),
}
