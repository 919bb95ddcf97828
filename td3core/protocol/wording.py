"""Events in words, for the terminal and the window alike."""

from collections.abc import Mapping

from td3core.config.value_text import format_share
from td3core.protocol.events import Ended, Evaluated, JournalEvent, Phase, Started
from td3core.protocol.run_status import RunStatus
from td3core.text import NO_TEXT, Text

STATES = {
    RunStatus.RUNNING: Text("running"),
    RunStatus.FINISHED: Text("finished"),
    RunStatus.STOPPED: Text("stopped"),
    RunStatus.FAILED: Text("failed"),
    RunStatus.INTERRUPTED: Text("interrupted"),
}
PHASES = {
    Phase.WARM_UP: Text("warm-up"),
    Phase.LEARNING: Text("learning"),
    Phase.EVALUATING: Text("evaluating"),
    Phase.PAUSED: Text("paused"),
}

JOURNAL: Mapping[str, Text] = {
    JournalEvent.PAUSE: Text("paused"),
    JournalEvent.SAVE: Text("saved by hand"),
    JournalEvent.STOP: Text("stopped"),
    JournalEvent.RESUME: Text("resumed"),
    JournalEvent.BRANCH: Text("branched"),
    JournalEvent.IMPORT: Text("imported"),
    JournalEvent.INEXACT: Text("continued with deviations"),
}
"""Journal entries in words; other entries come from a newer version."""


def repeated_steps(event: Started) -> Text:
    """Return how many recorded steps a resumed run takes again; empty if none."""
    count, step = event.repeated_steps, event.env_steps
    if not count:
        return NO_TEXT
    if not step:
        return Text.counted(
            "Repeating the {n} recorded step: no checkpoint exists",
            "Repeating all {n:,} recorded steps: no checkpoint exists",
            n=count,
        )
    return Text.counted(
        "Repeating {n} step recorded after the checkpoint at step {step:,}",
        "Repeating {n:,} steps recorded after the checkpoint at step {step:,}",
        n=count,
        step=step,
    )


def success(event: Evaluated) -> Text:
    """Return the share of episodes that reach the threshold; empty if there is none."""
    if event.success is None:
        return NO_TEXT
    share = format_share(event.success)
    return Text("{share} reach {threshold:g}", share=share, threshold=event.reward_threshold)


def ending(event: Ended) -> Text:
    """Return how a run that did not fail ended."""
    if event.stopped == "finished":
        return Text("finished")
    if event.last_checkpoint is None:
        return Text("stopped with nothing to save")
    return Text("stopped and saved")
