"""Curves of the presets' runs, as shown in the explanations of plots."""

import json
from importlib.resources import files

import numpy as np
import pytest

from td3core.analysis.healthy import COURSES, USUAL, USUAL_OF_TQC, healthy_course
from td3core.config.algorithms import TD3, TQC

RECORDED = sorted(
    path.name.removesuffix(".csv") for path in (files("resources") / "healthy").iterdir()
)


@pytest.mark.parametrize("preset", RECORDED)
@pytest.mark.parametrize("column", COURSES)
def test_a_recorded_run_has_a_course_of_each_quantity(preset: str, column: str) -> None:
    env = preset.removesuffix("-tqc")
    found = healthy_course(env, column, TD3 if env == preset else TQC)
    assert found is not None
    assert found.env == env
    assert {USUAL, f"{USUAL_OF_TQC}-tqc"} <= set(RECORDED)
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


def test_losses_of_tqc_are_shown_beside_those_of_a_run_of_tqc() -> None:
    for env in ("BipedalWalker-v3", "Nowhere-v0"):
        found = healthy_course(env, "critic1_loss", TQC)
        other = healthy_course("BipedalWalker-v3", "critic1_loss")
        assert found is not None
        assert other is not None
        assert found.env == USUAL_OF_TQC
        # Of quantiles, not of squares.
        assert found.values.max() < other.values.max()
