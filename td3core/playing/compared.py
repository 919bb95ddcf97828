"""Agents compared side by side, and their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from td3core.playing.disturbance import Variant
from td3core.text import NO_TEXT, Text

FEWEST, MOST = 2, 4
"""How many agents can be compared."""


class ComparedAgent(NamedTuple):
    """An agent in a comparison, and how it acts there."""

    path: Path
    variant: Variant = Variant.PLAIN


class AgentFacts(NamedTuple):
    """Facts about a compared agent, once it is loaded."""

    agent: ComparedAgent
    env_steps: int
    mean_return: float | None
    """Mean return of the evaluation in the checkpoint, if any."""
    noise: float = 0.0
    """Its exploration noise in the comparison."""
    run: str = ""
    """Name of its run; empty if it belongs to none."""
    changed_ns: int = 0
    """Modification time of its file, if known: another agent may have taken its path since."""


def names_of(agents: Sequence[AgentFacts]) -> list[str]:
    """Return the name of each agent, with its run only if they belong to several."""
    runs = [facts.run or facts.agent.path.stem for facts in agents]
    several = len({_run_of(facts) for facts in agents}) > 1
    return [_name(facts, run if several else "") for facts, run in zip(agents, runs, strict=True)]


def _run_of(facts: AgentFacts) -> Path:
    path = facts.agent.path
    return path.parent if path.parent.name == "checkpoints" else path


def _name(facts: AgentFacts, run: str) -> str:
    return " · ".join(filter(None, (str(_agent(facts)), str(_variant(facts)), run)))


def _agent(facts: AgentFacts) -> Text:
    match facts.agent.path.stem:
        case "best":
            return Text("best, step {step:,}", step=facts.env_steps)
        case "last":
            return Text("last, step {step:,}", step=facts.env_steps)
    return Text("step {step:,}", step=facts.env_steps)


def _variant(facts: AgentFacts) -> Text:
    match facts.agent.variant:
        case Variant.NOISE:
            return Text("noise σ {noise:g}", noise=facts.noise)
        case Variant.PUSH:
            return Text("pushed")
    return NO_TEXT
