"""Events in words, for the terminal and the window alike."""

from td3core.protocol.events import Ended, Evaluated, Started


def repeated_steps(event: Started) -> str:
    """Name the steps on record that a resumed run takes again; empty without any."""
    count = event.repeated_steps
    if not count:
        return ""
    steps = "1 step" if count == 1 else f"{count:,} steps"
    if not event.env_steps:
        return f"Repeating {steps}: the run had no checkpoint yet"
    return f"Repeating {steps} recorded after the checkpoint at step {event.env_steps:,}"


def success(event: Evaluated) -> str:
    """Return the share of episodes that reach the threshold; empty if there is none."""
    if event.success is None:
        return ""
    return f"{event.success:.0%} reach {event.reward_threshold:g}"


def ending(event: Ended) -> str:
    """Return how a run ended that did not fail."""
    return "finished" if event.stopped == "finished" else "stopped and saved"
