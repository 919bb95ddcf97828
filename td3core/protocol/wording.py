"""Events in words, for the terminal and the window alike."""

from td3core.errors import Message
from td3core.protocol.events import Ended, Evaluated, Started


def repeated_steps(event: Started) -> Message:
    """Return which steps on record a resumed run takes again; empty without any."""
    count, step = event.repeated_steps, event.env_steps
    if not count:
        return Message("")
    if not step:
        return Message("Repeating all {count:,} recorded steps: no checkpoint exists", count=count)
    if count == 1:
        return Message("Repeating 1 step recorded after the checkpoint at step {step:,}", step=step)
    return Message(
        "Repeating {count:,} steps recorded after the checkpoint at step {step:,}",
        count=count,
        step=step,
    )


def success(event: Evaluated) -> Message:
    """Return the share of episodes that reach the threshold; empty if there is none."""
    if event.success is None:
        return Message("")
    return Message(
        "{share:.0%} reach {threshold:g}", share=event.success, threshold=event.reward_threshold
    )


def ending(event: Ended) -> Message:
    """Return how a run ended that did not fail."""
    return Message("finished" if event.stopped == "finished" else "stopped and saved")
