"""The evaluations of the bundled agents, from the records beside them."""

import json
from importlib.resources import files
from pathlib import Path

from td3core.evaluation.result import EvaluationResult


def bundled_evaluation(agent: Path) -> EvaluationResult | None:
    """Return the evaluation that a bundled agent was judged by; None for any other agent.

    Its episodes chose nothing, unlike those that a best agent carries in its own file. The record
    has no lengths of them.
    """
    if agent.parent != Path(str(files("resources") / "agents")):
        return None
    try:
        found = json.loads(agent.with_suffix(".json").read_text("utf-8"))["evaluation"]
    except FileNotFoundError:
        return None
    return EvaluationResult(tuple(found["returns"]), (), found["seed"])
