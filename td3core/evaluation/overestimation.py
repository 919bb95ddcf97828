"""Overestimation: the critics' estimates against the returns obtained.

At each state of the noise-free evaluation episodes, min(Q₁, Q₂)(s, π(s)) is compared with the
discounted sum, from there on, of the rewards that the critics learn from:

    bias(s) = min Q(s, π(s)) - G(s)

Fujimoto et al. (2018), figure 1, compare the means of both; Chen et al. (REDQ, 2021), section 3,
divide mean and standard deviation over the states by the mean return, and find that the deviation
matters more: values that are too high everywhere do not mislead the actor.

A time limit truncates an episode, but not the value of its states. The episode is therefore
continued, without counting for the evaluation's return, until the weight of the missing rewards is
below a hundredth.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from td3core.arrays import Doubles, Floats
from td3core.errors import require_no_interrupt
from td3core.evaluation.result import Overestimation
from td3core.inference.critic import Critic
from td3core.playing.numbers import EpisodeLog, discounted_returns, shaped
from td3core.playing.playback import Act, Playback

_LEAST_WEIGHT = 0.01
"""Smallest γᵏ after k extra steps at which another step is still worth its cost."""
_MOST_STEPS = 1_000
"""Most extra steps after the time limit."""
_MOST_OPEN = 0.5
"""Largest weight of a return's last term, which is an estimated value and not a reward; beyond it
the return says too little."""
_DRAWS = 1_000
"""Draws of the bootstrap."""
_INTERVAL = (2.5, 97.5)


class ValueNetworks(NamedTuple):
    """The critics of an agent, and the rewards that they learn from."""

    critic: Critic
    target: Critic | None
    """The critics' targets; None if the file lacks them."""
    gamma: float
    reward_scale: float
    reward_floor: float
    """The agent learns from max(reward_scale × reward, reward_floor), per decision."""


class EpisodeValues(NamedTuple):
    """Estimates and returns at each of the n states of an episode."""

    q: Floats
    """Q of each critic, (critics, n)."""
    expected: Floats
    """The value used in targets, (n,): min(Q1, Q2), or the mean of the kept quantiles."""
    target: Floats | None
    """The same for the target critics, (n,)."""
    returns: Doubles
    """Discounted returns G, (n,)."""
    open: Doubles
    """Weight of min Q at the last state in each return, (n,); 0 where the episode terminated."""


def episode_values(
    playback: Playback,
    log: EpisodeLog,
    policy: Act,
    networks: ValueNetworks,
    keep_going: Callable[[], bool] = lambda: True,
) -> EpisodeValues | None:
    """Return the values of an ended episode; first continue it if a time limit truncated it.

    Args:
        playback: The episode; its environment is stepped further.
        log: All its steps.
        policy: Its noise-free policy.
        networks: The critics.
        keep_going: Called after every step; the evaluation ends once it returns False.

    Returns:
        ``None`` if ``keep_going`` ended it.
    """
    steps = log.after(0, 0, None)
    assert steps is not None, "an episode has at least one step"
    rest, terminated, obs = list[float](), playback.step.terminated, playback.obs
    while not terminated and _worth_a_step(len(rest), networks.gamma):
        if not keep_going():
            return None
        try:
            following, reward, terminated, _, _ = playback.env.step(policy(obs))
        except BaseException as problem:
            # The environment may refuse steps after the end of its episode.
            require_no_interrupt(problem)
            break
        # Results of steps after the end may be invalid.
        if following.shape != obs.shape or not np.isfinite([reward, *following]).all():
            break
        rest.append(reward)
        obs = following
    rewards = np.append(steps.reward, rest)
    rewards = shaped(rewards, networks.reward_scale, networks.reward_floor)
    count, gamma, target = len(steps.reward), networks.gamma, networks.target
    weights = np.zeros(count)
    if not terminated:
        final = networks.critic.target_value(obs[None], policy(obs)[None])
        rewards = np.append(rewards, float(final[0]))
        weights = gamma ** np.arange(len(rewards) - 1, len(rest), -1.0)[:count]
    q, expected = networks.critic.judge(steps.obs, steps.action)
    return EpisodeValues(
        q=q,
        expected=expected,
        target=None if target is None else target.target_value(steps.obs, steps.action),
        returns=discounted_returns(rewards, gamma)[:count],
        open=weights,
    )


def overestimation(episodes: Sequence[EpisodeValues], seed: int) -> Overestimation | None:
    """Return the bias over the states of episodes.

    States whose return is an estimated value for more than half of its weight are left out.

    Args:
        episodes: The values of each episode.
        seed: Seed of the bootstrap.

    Returns:
        ``None`` if no state is left.
    """
    known = [_known(each) for each in episodes]
    known = [each for each in known if each.returns.size]
    if not known:
        return None
    sizes = np.array([each.returns.size for each in known])
    returns = np.concatenate([each.returns for each in known])
    q = np.concatenate([each.q for each in known], axis=1).astype(np.float64)
    expected = np.concatenate([each.expected for each in known]).astype(np.float64)
    bias = expected - returns
    scale = max(abs(float(returns.mean())), 1.0)
    targets = [each.target for each in known if each.target is not None]
    target = float((np.concatenate(targets) - returns).mean()) / scale if targets else None
    low = high = None
    if len(known) > 1:
        means = _drawn_means(bias, returns, sizes, seed)
        low, high = map(float, np.percentile(means, _INTERVAL))
    return Overestimation(
        mean=float(bias.mean()) / scale,
        std=float(bias.std()) / scale,
        low=low,
        high=high,
        critics=tuple(((q - returns).mean(axis=1) / scale).tolist()),
        target=target,
        q=float(expected.mean()),
        returns=float(returns.mean()),
        open=float(np.concatenate([each.open for each in known]).mean()),
        states=len(returns),
    )


def _worth_a_step(played: int, gamma: float) -> bool:
    return played < _MOST_STEPS and gamma**played >= _LEAST_WEIGHT


def _known(episode: EpisodeValues) -> EpisodeValues:
    rows = episode.open <= _MOST_OPEN
    return EpisodeValues(
        q=episode.q[:, rows],
        expected=episode.expected[rows],
        target=None if episode.target is None else episode.target[rows],
        returns=episode.returns[rows],
        open=episode.open[rows],
    )


def _drawn_means(bias: Doubles, returns: Doubles, sizes: NDArray[np.int64], seed: int) -> Doubles:
    """Return the mean bias of :data:`_DRAWS` bootstrap samples of whole episodes."""
    firsts = np.cumsum(sizes) - sizes
    sums = np.stack([np.add.reduceat(column, firsts) for column in (bias, returns)])
    drawn = np.random.default_rng(seed).integers(len(sizes), size=(_DRAWS, len(sizes)))
    counts = sizes[drawn].sum(axis=1)
    mean_bias, mean_return = sums[:, drawn].sum(axis=2) / counts
    found: Doubles = mean_bias / np.maximum(np.abs(mean_return), 1.0)
    return found
