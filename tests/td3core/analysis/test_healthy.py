"""Curves of the presets' runs, as shown in the explanations of plots."""

import json
from importlib.resources import files

import numpy as np
import pytest

from td3core.analysis.healthy import COURSES, USUAL, healthy_course

RECORDED = sorted(
    path.name.removesuffix(".csv") for path in (files("resources") / "healthy").iterdir()
)


@pytest.mark.parametrize("env", RECORDED)
@pytest.mark.parametrize("column", COURSES)
def test_a_recorded_run_has_a_course_of_each_quantity(env: str, column: str) -> None:
    found = healthy_course(env, column)
    assert found is not None
    assert found.env == env
    assert USUAL in RECORDED
    assert len(found.env_steps) == len(found.values) > 10
    assert np.all(np.diff(found.env_steps) > 0)
    assert np.all(np.isfinite(found.values))


def test_the_return_is_that_of_the_evaluations_of_a_bundled_agent() -> None:
    found = healthy_course("Hopper-v5", "return")
    agent = json.loads((files("resources") / "agents" / "Hopper-v5.json").read_text())
    assert found is not None
    assert found.evaluated
    assert np.column_stack((found.env_steps, found.values)).tolist() == agent["curve"]


def test_environments_without_a_run_on_record_have_the_usual_one() -> None:
    for env in ("", "Nowhere-v0", "../agents/Pendulum-v1", "module:Class"):
        found = healthy_course(env, "q1")
        assert found is not None
        assert found.env == USUAL
    assert healthy_course(USUAL, "buffer_age") is None
