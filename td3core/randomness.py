"""Random generators: one per purpose, all derived from the seed of the run.

Nothing uses a global generator. Evaluating, rendering or replaying therefore never changes a run,
and every stream can be saved and restored.
"""

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

_WORD = (1 << 64) - 1


class Purpose(IntEnum):
    """Purpose of a generator. The values are part of the file format."""

    NETWORK_INIT = 0
    ENVIRONMENT = 1
    WARM_UP = 2
    EXPLORATION = 3
    REPLAY = 4
    SMOOTHING = 5
    EVALUATION = 6


def generator(seed: int, purpose: Purpose, slot: int = 0) -> np.random.Generator:
    """Return the generator for a purpose in a run with this seed.

    Each parallel environment has its own; ``slot`` 0 gives the generator of a single environment.
    """
    key = (int(purpose), slot) if slot else (int(purpose),)
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


def episode_seed(seed: int, purpose: Purpose, episode: int) -> int:
    """Return the reset seed, from 0 to 2³¹ - 1, of an episode counted from 0."""
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), episode))
    # Environments take a signed 32-bit seed.
    return int(sequence.generate_state(1)[0] >> 1)


def generator_state(source: np.random.Generator) -> NDArray[np.uint64]:
    """Return the state of a PCG64 generator as six 64-bit words (6,)."""
    state = source.bit_generator.state
    inner = state["state"]
    words = [
        inner["state"] >> 64,
        inner["state"] & _WORD,
        inner["inc"] >> 64,
        inner["inc"] & _WORD,
        state["has_uint32"],
        state["uinteger"],
    ]
    return np.array(words, dtype=np.uint64)


def restore_generator(target: np.random.Generator, words: NDArray[np.uint64]) -> None:
    """Restore the state ``words`` (6,) that :func:`generator_state` returned."""
    high, low, inc_high, inc_low, has_uint32, uinteger = (int(word) for word in words)
    target.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": inc_high << 64 | inc_low},
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }


def correlated(
    before: NDArray[np.float32] | None, drawn: NDArray[np.float32], correlation: float
) -> NDArray[np.float32]:
    """Return the next value (act_dim,) of a first-order autoregressive process, variance 1.

    n_t = ρ n_(t-1) + sqrt(1 - ρ²) ε_t: the Ornstein-Uhlenbeck process in discrete time (Lillicrap
    et al. 2016), but stationary from its first value on, so that ρ does not change its variance.

    Args:
        before: n_(t-1); None or zeros if this is the first value.
        drawn: ε_t, standard normal.
        correlation: ρ.
    """
    # Checkpoints store a missing previous value as zeros.
    if before is None or not before.any():
        return drawn
    following: NDArray[np.float32] = np.float32(correlation) * before
    following += np.float32(math.sqrt(1.0 - correlation**2)) * drawn
    return following
