"""Computes the numbers of an episode before it is filmed."""

from contextlib import closing

from td3core.checkpoint import Checkpoint
from td3core.checkpoint.agent import agent_of, spec_of
from td3core.playing.numbers import EpisodeLog, EpisodeNumbers
from td3core.playing.playback import Playback


def play(source: Checkpoint, seed: int, index: int) -> EpisodeNumbers:
    """Play a noise-free episode of a seed to its end, without rendering.

    Raises:
        RequestError: the environment cannot be made.
    """
    critic, log = source.critic(), EpisodeLog(source.header.env.obs_dim, most_bytes=None)
    with closing(Playback(agent_of(source), seed, index, log=log)) as playback:
        *_, last = playback
    steps = log.after(0, 0, critic)
    assert steps is not None
    numbers = EpisodeNumbers(spec_of(source.header, critic))
    numbers.add(steps)
    numbers.end(last.number)
    return numbers
