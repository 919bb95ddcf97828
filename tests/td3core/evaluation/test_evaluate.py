from typing import Any

import numpy as np
import pytest

from td3core.evaluation.evaluate import evaluate
from td3core.evaluation.result import EvaluationResult, success_of
from td3core.inference.policy import Policy
from td3core.randomness import Purpose, episode_seed
from tests.support.scripted import STEPS, Script

STILL = Policy([(np.zeros((1, 2), np.float32), np.zeros(1, np.float32))], "relu")
PAIR = Policy([(np.eye(2, 3, dtype=np.float32), np.zeros(2, np.float32))], "relu")


def test_exactly_the_asked_number_of_episodes_is_completed(scripted: Any) -> None:
    script = Script([(3, "terminated"), (5, "truncated")], reward=lambda *_: 2.0)
    found = evaluate(STILL, scripted(script), episodes=5, seed=9)
    assert found == EvaluationResult((6.0, 10.0, 6.0, 10.0, 6.0), (3, 5, 3, 5, 3), 9)
    assert script.steps == 19
    assert script.seeds == [episode_seed(9, Purpose.EVALUATION, i) for i in range(5)]
    assert (script.made, script.closed) == (5, 5)


def test_mean_and_spread_are_those_of_the_returns() -> None:
    found = EvaluationResult((1.0, 2.0, 6.0), (1, 1, 1), 0)
    assert found.mean == 3.0
    assert found.std == pytest.approx(np.sqrt(14 / 3))


def test_no_noise_is_added_and_nothing_is_left_to_chance() -> None:
    one, again = (evaluate(PAIR, STEPS, episodes=4, seed=2) for _ in range(2))
    assert one == again
    other = evaluate(PAIR, STEPS, episodes=4, seed=3)
    assert one is not None
    assert other is not None
    assert set(one.returns).isdisjoint(other.returns)


def test_fewer_episodes_are_the_first_of_more() -> None:
    few = evaluate(PAIR, STEPS, episodes=2, seed=2)
    many = evaluate(PAIR, STEPS, episodes=5, seed=2)
    assert few is not None
    assert many is not None
    assert many.returns[:2] == few.returns


def test_an_evaluation_that_is_called_off_has_no_result_and_closes_its_environment(
    scripted: Any,
) -> None:
    script = Script()
    found = evaluate(
        STILL, scripted(script), episodes=5, seed=0, keep_going=lambda: script.steps < 14
    )
    assert found is None
    assert script.steps == 14
    assert (script.made, script.closed) == (2, 2)


def test_an_environment_that_raises_is_closed(scripted: Any) -> None:
    def broken(_: Any) -> Any:
        raise RuntimeError("the joint broke")

    script = Script(faults={3: broken})
    with pytest.raises(RuntimeError, match="the joint broke"):
        evaluate(STILL, scripted(script), episodes=1, seed=0)
    assert (script.made, script.closed) == (1, 1)


@pytest.mark.parametrize(
    ("returns", "threshold", "share"),
    [
        ((1.0, 2.0, 3.0, 4.0), 3.0, 0.5),
        ((-4.0, -3.75), -3.75, 0.5),
        ((1.0,), 2.0, 0.0),
        ((5.0, 6.0), 5.0, 1.0),
        ((5.0, 6.0), None, None),
        ((0.0, -1.0), 0.0, 0.5),
    ],
)
def test_success_is_the_share_of_episodes_that_reach_the_threshold(
    returns: Any, threshold: float | None, share: float | None
) -> None:
    assert success_of(returns, threshold) == share
    assert EvaluationResult(returns, (1,) * len(returns), 0).success(threshold) == share
