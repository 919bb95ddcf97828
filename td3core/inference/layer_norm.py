"""Layer normalisation (Ba, Kiros and Hinton, *Layer Normalization*, 2016), without gain and bias.

The weights and biases of the next layer already have that freedom, so nothing more is learned or
saved. Its use in critics is from DroQ (Hiraoka et al., 2022).
"""

import numpy as np

from td3core.arrays import Floats

EPSILON = 1e-5
"""Added to the variance."""


def layer_norm(x: Floats) -> Floats:
    """Return (x - mean) / sqrt(variance + ε) of each row of (..., units), over its units."""
    x = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(x).mean(axis=-1, keepdims=True)
    x /= np.sqrt(variance + np.float32(EPSILON))
    return x
