"""Facts about events, in words and as numbers."""

from pathlib import Path

import pytest

from td3core.protocol.events import Failed
from td3core.protocol.rows import evaluation_of
from td3core.protocol.run_status import RunStatus
from td3core.protocol.wording import ending, repeated_steps, success
from td3core.text import Text
from tests.support.events import ended, evaluated, started
from tests.td3core.helpers import tiny

FAILED = Text("It failed.")


@pytest.mark.parametrize(
    ("count", "step", "said"),
    [
        (0, 40, ""),
        (1, 0, "Repeating the 1 recorded step: no checkpoint exists"),
        (12, 0, "Repeating all 12 recorded steps: no checkpoint exists"),
        (1, 40, "Repeating 1 step recorded after the checkpoint at step 40"),
        (1200, 4000, "Repeating 1,200 steps recorded after the checkpoint at step 4,000"),
    ],
)
def test_a_resumed_run_says_which_steps_it_takes_again(count: int, step: int, said: str) -> None:
    assert str(repeated_steps(started(*tiny(), env_steps=step, repeated_steps=count))) == said


def test_an_evaluation_tells_its_success_only_by_a_threshold() -> None:
    assert not success(evaluated(10, 5.0))
    assert str(success(evaluated(10, 320.5, reward_threshold=300.0))) == "100 % reach 300"


@pytest.mark.parametrize("mean", ["nan", "inf", "much"])
def test_an_evaluation_without_a_finite_mean_is_refused(mean: str) -> None:
    with pytest.raises(ValueError, match=mean):
        evaluation_of({"env_steps": "10", "mean": mean, "seed": "0", "time_s": "1"}, None)


def test_an_ending_is_told_apart_from_a_stop() -> None:
    saved = Path("run/checkpoints/last.safetensors")
    assert str(ending(ended("finished", last_checkpoint=saved))) == "finished"
    assert str(ending(ended("user", last_checkpoint=saved))) == "stopped and saved"


def test_a_run_stopped_before_its_first_step_does_not_say_that_it_is_saved() -> None:
    assert str(ending(ended("user"))) == "stopped with nothing to save"


def test_a_failure_tells_how_far_the_run_came_if_it_had_begun() -> None:
    nothing = Failed(message=FAILED, details="")
    assert (nothing.env_steps, nothing.run, nothing.last_checkpoint) == (0, None, None)
    saved = Path("run/checkpoints/last.safetensors")
    begun = Failed(message=FAILED, details="", ending=ended("failed", last_checkpoint=saved))
    assert (begun.env_steps, begun.run, begun.last_checkpoint) == (30, Path("run"), saved)


@pytest.mark.parametrize("word", ["finished", "user", "failed"])
def test_a_run_that_has_ended_has_the_word_of_its_ending(word: str) -> None:
    status = RunStatus.after(word)
    assert status.stopped == word


def test_a_run_without_an_ending_has_no_word_for_it() -> None:
    assert RunStatus.RUNNING.stopped is None
    assert RunStatus.INTERRUPTED.stopped is None
