"""Short texts that several sections of a report share."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from td3core.config import RunConfig, Tunables, setting_words, specs
from td3core.config.value_text import typographic
from td3core.errors import brief
from td3core.protocol.run_status import RunStatus
from td3core.protocol.wording import STATES
from td3core.runs.listing import RunSummary
from td3core.text import tr

LONGEST_VALUE = 60


def state_of_runs(runs: Sequence[RunSummary]) -> tuple[str, str]:
    """Return the state of runs in a word or two, with details if needed."""
    counts = Counter(run.state for run in runs)
    if len(runs) == 1:
        done = tr("of {steps:,} steps", steps=runs[0].steps)
        return str(STATES[runs[0].state]), done if runs[0].env_steps < runs[0].steps else ""
    if len(counts) == 1:
        return tr("all {state}", state=STATES[runs[0].state]), ""
    finished = counts.pop(RunStatus.FINISHED, 0)
    rest = ", ".join(f"{count} {STATES[state]}" for state, count in counts.items())
    return tr("{n} of {count} finished", n=finished, count=len(runs)), rest


def labels() -> dict[str, str]:
    """Return the label of every setting, preceded by its symbol."""
    return {
        name: f"{spec.symbol}  {spec.label}" if spec.symbol else str(spec.label)
        for kind in (RunConfig, Tunables)
        for name, spec in specs(kind)
    }


def value_text(name: str, value: Any) -> str:
    """Return the value of a setting, shortened."""
    return brief(typographic(str(setting_words(name, value))) or tr("none"), LONGEST_VALUE)
