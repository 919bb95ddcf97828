"""The evaluations of the bundled agents, from the records next to them."""

import json
from importlib.resources import files
from pathlib import Path

from td3core.evaluation.result import EvaluationResult


def bundled_evaluation(agent: Path) -> EvaluationResult | None:
    """Return the evaluation of a bundled agent from its record; None for any other agent.

    These episodes did not select the agent, unlike those in a best agent's own file. The record
    lacks their lengths.
    """
    if agent.parent != Path(str(files("resources") / "agents")):
        return None
    try:
        found = json.loads(agent.with_suffix(".json").read_text("utf-8"))["evaluation"]
    except FileNotFoundError:
        return None
    return EvaluationResult(tuple(found["returns"]), (), found["seed"])
