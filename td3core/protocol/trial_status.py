"""The state of a sweep's trial."""

from enum import StrEnum

from td3core.text import Text


class TrialStatus(StrEnum):
    """State of a trial."""

    RUNNING = "running"
    """Begun and not ended; perhaps its sweep was stopped."""
    DONE = "done"
    PRUNED = "pruned"
    FAILED = "failed"


TRIAL_STATES = {
    TrialStatus.RUNNING: Text("running"),
    TrialStatus.DONE: Text("done"),
    TrialStatus.PRUNED: Text("pruned"),
    TrialStatus.FAILED: Text("failed"),
}
"""Names of the states."""


def names_of_states(*, running: bool) -> dict[TrialStatus, Text]:
    """Return the names of the states; ``running`` tells whether the sweep is."""
    stopped = {} if running else {TrialStatus.RUNNING: Text("stopped")}
    return TRIAL_STATES | stopped
