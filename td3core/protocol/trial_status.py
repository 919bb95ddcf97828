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
