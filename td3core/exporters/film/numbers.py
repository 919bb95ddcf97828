"""Computes the numbers of an episode before it is filmed, and checks that it is filmed again."""

from contextlib import closing

import numpy as np

from td3core.checkpoint import Checkpoint
from td3core.checkpoint.agent import agent_of, spec_of
from td3core.config.env_choice import EnvChoice
from td3core.errors import RequestError
from td3core.exporters.film.frames import naming_environment
from td3core.playing.numbers import EpisodeLog, EpisodeNumbers
from td3core.playing.playback import Playback


def play(source: Checkpoint, seed: int, index: int) -> EpisodeNumbers:
    """Play a noise-free episode of a seed to its end, without rendering.

    Raises:
        RequestError: the environment cannot be made.
        RunError: it raised an exception.
    """
    critic, log = source.critic(), EpisodeLog(source.header.env.obs_dim, most_bytes=None)
    with (
        naming_environment(source.header.choice),
        closing(Playback(agent_of(source), seed, index, log=log)) as playback,
    ):
        *_, last = playback
    steps = log.after(0, 0, critic)
    assert steps is not None
    numbers = EpisodeNumbers(spec_of(source.header, critic))
    numbers.add(steps)
    numbers.end(last.number)
    return numbers


def require_repeated(numbers: EpisodeNumbers, log: EpisodeLog, choice: EnvChoice) -> None:
    """Refuse an episode whose latest step differs from the same one of an earlier playback.

    Raises:
        RequestError: it differs; the numbers belong to another episode.
    """
    step, obs, action = log.latest
    row = step.number - 1
    if (
        row < numbers.count
        and step.over == (step.number == numbers.count)
        and np.array_equal(step.total, numbers.total[row], equal_nan=True)
        and np.array_equal(obs, numbers.obs[row], equal_nan=True)
        and np.array_equal(action, numbers.action[row], equal_nan=True)
    ):
        return
    raise RequestError(
        "{env_id} does not repeat itself: step {step} differs although the seed is the same. Film"
        " it without instruments.",
        env_id=choice.env_id,
        step=step.number,
    )
